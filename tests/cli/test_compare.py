"""`numafit compare`: tables, JSON and refusals; the statistics have tests of their own."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Numafit

HEAD = "run,submitted_at,queue_seconds,run_seconds,gpus\n"


@pytest.fixture
def sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Local placement: forty minutes become thirty-six on eight cards, and two minutes of queue become eight."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "remote.csv").write_text(HEAD + "".join(f"r{n},{7200 * n},120,2400,8\n" for n in range(5)))
    local = [
        {"run": f"l{n}", "submitted_at": 7200 * n + 3600, "queue_seconds": 480, "run_seconds": 2160, "gpus": 8}
        for n in range(5)
    ]
    (tmp_path / "local.json").write_text(json.dumps({"runs": local}))
    return tmp_path


@pytest.mark.usefixtures("sets")
def test_a_table_shows_both_sets_the_difference_and_the_trap(numafit: Numafit) -> None:
    answer = numafit("compare", "remote.csv", "local.json")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "A: remote.csv, 5 runs; B: local.json, 5 runs"
    assert lines[1].split("  ")[0] == "MEASURE"
    medians = [line.split() for line in lines if " median " in line]
    assert [words[-9:] for words in medians] == [
        ["median", "120", "480", "360", "+300.0", "360", "to", "360", "higher"],
        ["median", "2400", "2160", "-240", "-10.0", "-240", "to", "-240", "lower"],
        ["median", "2520", "2640", "120", "+4.8", "120", "to", "120", "higher"],
        ["median", "320", "288", "-32", "-10.0", "-32", "to", "-32", "lower"],
    ]
    assert lines[-2].startswith("B differs: queue time higher (median, p95, p99); run time lower")
    assert lines[-1].startswith("faster-but-later  in B runs take 240 s less and are completed 120 s later")


@pytest.mark.usefixtures("sets")
def test_json_names_the_method_and_each_statistic(numafit: Numafit) -> None:
    document = json.loads(numafit("compare", "remote.csv", "local.json", "-o", "json").out)
    assert (document["apiVersion"], document["kind"], document["differs"]) == ("numafit.io/v1", "Comparison", True)
    assert document["a"] == {"file": "remote.csv", "runs": 5}
    assert document["method"]["percentiles"] == "linear"
    by_name = {one["measure"]: one for one in document["measures"]}
    assert by_name["submission to completion"]["statistics"][0] == {
        "statistic": "median",
        "a": 2520.0,
        "b": 2640.0,
        "difference": 120.0,
        "percent": pytest.approx(4.76, abs=0.01),
        "interval": [120.0, 120.0],
        "verdict": "higher",
    }
    assert [warning["code"] for warning in document["warnings"]] == ["faster-but-later"]


@pytest.mark.usefixtures("sets")
def test_sets_that_do_not_differ_and_sets_that_cannot_tell_are_said(numafit: Numafit) -> None:
    same = numafit("compare", "remote.csv", "remote.csv")
    assert "The runs do not differ as far as they show: all intervals hold 0." in same.out
    one = numafit("compare", "-", "remote.csv", stdin="run_seconds\n2400\n")
    assert "cannot be told: one run does not say how much runs vary." in one.out
    assert [line.split()[0] for line in one.out.splitlines()[-3:]] == ["too-few-runs", "order-unknown", "not-compared"]
    nothing = numafit("compare", "-", "remote.csv", stdin="step_seconds\n1\n")
    assert "Nothing is told by both sets, so nothing can be compared." in nothing.out


@pytest.mark.usefixtures("sets")
@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        ("", "-: line 1: none of queue_seconds, run_seconds and step_seconds is there, so there is nothing to compare"),
        (HEAD, "-: holds no run; each is a row below"),
        ("run_seconds\n" + "x\n" * 12, "-: and 2 more"),
        ("{", "-: not JSON: "),
        ("[5]", "-: a list of runs was expected"),
    ],
)
def test_runs_that_cannot_be_read_are_refused_with_their_place(numafit: Numafit, stdin: str, said: str) -> None:
    answer = numafit("compare", "-", "remote.csv", stdin=stdin)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


@pytest.mark.usefixtures("sets")
def test_files_that_cannot_be_read_are_refused(numafit: Numafit) -> None:
    Path("latin.csv").write_bytes(b"run_seconds\n\xe9\n")
    assert "latin.csv: not UTF-8 text" in numafit("compare", "latin.csv", "remote.csv").err
    assert "nowhere.csv cannot be read: No such file" in numafit("compare", "nowhere.csv", "remote.csv").err
    assert "A and B are both stdin" in numafit("compare", "-", "-").err
