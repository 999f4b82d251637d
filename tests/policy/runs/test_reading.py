"""Runs from tables and JSON: whole ones exactly, odd ones with the place that is odd."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.runs.run import Run, read_csv, read_json

HEAD = "run,submitted_at,queue_seconds,run_seconds,gpus,step_seconds\n"


@given(st.text(max_size=200) | st.lists(st.sampled_from([HEAD, "a,", "1,", "\n", '"', "nan,", "-1,"])).map("".join))
def test_any_text_is_read_or_its_problems_are_named(text: str) -> None:
    runs, problems = read_csv(text)
    assert all(isinstance(run, Run) for run in runs)
    assert all(problems)


TIME = "a time with its zone such as 2026-11-04T10:00:00Z, or seconds since 1970"
ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)


@given(
    st.recursive(
        ANYTHING,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["runs", "run", "run_seconds", "step_seconds"]), inner, max_size=4)
        ),
        max_leaves=10,
    )
)
def test_any_document_is_read_or_its_problems_are_named(document: Any) -> None:
    runs, problems = read_json(document)
    assert all(isinstance(run, Run) for run in runs)
    assert all(problems)


def test_rows_of_one_run_are_joined_with_their_steps_in_order() -> None:
    text = f"{HEAD}a,2026-11-04T10:00:00Z,60,,8,0.5\na,,,120,8,0.25\nb,0,0,1,1,\n"
    assert read_csv(text) == (
        (Run("a", 1793786400.0, 60, 120, 8, (0.5, 0.25)), Run("b", 0, 0, 1, 1)),
        (),
    )


def test_rows_without_a_name_are_runs_of_their_own() -> None:
    runs, problems = read_csv("run_seconds,loss\r\n1,0.1\r\n2,0.2\r\n")
    assert problems == ()
    assert [(run.name, run.run) for run in runs] == [("line 2", 1), ("line 3", 2)]


@pytest.mark.parametrize("wrapped", [False, True], ids=["list", "object"])
def test_json_holds_the_same_with_steps_as_a_list(*, wrapped: bool) -> None:
    listed = [{"run": "a", "submitted_at": 5, "queue_seconds": 1, "run_seconds": 2, "gpus": 4, "step_seconds": [1, 2]}]
    document = json.loads(json.dumps({"runs": listed} if wrapped else listed))
    assert read_json(document) == ((Run("a", 5, 1, 2, 4, (1, 2)),), ())


def test_what_runs_cost_follows_from_their_times() -> None:
    run = Run("a", queue=120, run=2400, gpus=8)
    assert (run.turnaround, run.gpu_minutes) == (2520, 320)
    assert (Run("b", run=1).turnaround, Run("b", gpus=1).gpu_minutes) == (None, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: none of queue_seconds, run_seconds and step_seconds is there, so there is nothing to compare"),
        ("run_second\n1\n", "line 1: 'run_second' is no column that is read; did you mean run_seconds?"),
        ("run_seconds,run_seconds\n1,2\n", "line 1: 'run_seconds' is there twice"),
        ("run_seconds\n-1\n", "line 2: run_seconds is '-1'; it must be a number from 0 up"),
        ("run_seconds\nnan\n", "line 2: run_seconds is 'nan'; it must be a number from 0 up"),
        ("run_seconds\n\n1 min\n", "line 3: run_seconds is '1 min'; it must be a number from 0 up"),
        (
            "run_seconds,submitted_at\n1,2026-11-04T10:00\n",
            f"line 2: submitted_at is '2026-11-04T10:00'; it must be {TIME}",
        ),
        ("run,run_seconds\na,1\na,2\n", "line 3: run_seconds of run 'a' is 2, and above it is 1"),
        ('run_seconds\n"1\n', "line 2: unexpected end of data; a table of comma-separated values was expected"),
    ],
)
def test_what_is_odd_in_a_table_is_said_with_its_line(text: str, said: str) -> None:
    assert said in read_csv(text)[1]


@pytest.mark.parametrize("document", [5, [1], {"run": []}, None])
def test_json_that_holds_no_runs_is_said(document: object) -> None:
    said = "a list of runs was expected, each an object, or an object with such a list under runs"
    assert read_json(document) == ((), (said,))


def test_odd_values_in_json_are_said_with_the_run() -> None:
    _, problems = read_json([{"run_seconds": True}, {"step_seconds": [1, "x", None, {}]}])
    assert problems == (
        "run 1: run_seconds is true; it must be a number from 0 up",
        "run 2: step_seconds is 'x'; it must be a number from 0 up",
        "run 2: step_seconds is dict; it must be a number from 0 up",
    )
