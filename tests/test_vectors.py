"""Every vector as one test, the rules under which answers may differ, and the program that asks."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vectors.__main__ import main
from tests.vectors.deviations import DEVIATIONS
from tests.vectors.runner import Deviation, Vector, judge, load_answers, matches, read

FILES = sorted((Path(__file__).parent / "data" / "vectors").glob("*.json"))
ANSWERS = load_answers()
VECTORS = [vector for path in FILES for vector in read(path)]


@pytest.mark.parametrize("vector", [pytest.param(vector, id=vector.id) for vector in VECTORS])
def test_answers_as_expected_or_under_a_named_deviation(vector: Vector) -> None:
    found = judge(vector, ANSWERS, DEVIATIONS)
    assert found.passed, f"expected {vector.expected!r}, got {found.got!r}"


def _covered() -> Iterator[tuple[Deviation, Vector]]:
    return ((rule, vector) for rule in DEVIATIONS for vector in VECTORS if rule.covers(vector))


@pytest.mark.parametrize(
    ("rule", "vector"),
    [pytest.param(rule, vector, id=f"{rule.name}-{vector.id}") for rule, vector in _covered()],
)
def test_a_deviation_does_not_excuse_every_answer(rule: Deviation, vector: Vector) -> None:
    assert not rule.holds(vector, "raised an error")


CARD = {"id": "GPU-a", "index": 0, "count": 1, "devmem": 1, "devcore": 100, "type": "T", "numa": -2, "mode": ""}
CARD |= {"health": True}


@pytest.mark.parametrize(
    ("name", "group", "question", "expect"),
    [
        (
            "unreadable-never-written",
            "codec.encode_pod",
            [[{"uuid": "", "type": "NVIDIA", "mem": 1, "cores": 2}]],
            ",NVIDIA,1,2:;",
        ),
        ("register-holds-no-card", "register.json_parse", "[null]", [None]),
        ("register-holds-no-card", "codec.decode_node_legacy", ",1,1,1,T,0,true:", [CARD | {"id": ""}]),
        ("register-is-canonical", "register.json_parse", json.dumps([CARD]), [CARD]),
        (
            "amount-is-refused",
            "webhook.mutate_container",
            {"container": {"limits": {"nvidia.com/gpu": 1, "nvidia.com/gpumem-percentage": "0.5"}}, "config": {}},
            {"hasResource": True},
        ),
        (
            "requested-count-stays",
            "webhook.mutate_container",
            {"container": {"limits": {"nvidia.com/gpumem": 5}, "requests": {"nvidia.com/gpu": 2}}, "config": {}},
            {"hasResource": True, "limits": {"nvidia.com/gpumem": 5, "nvidia.com/gpu": 1}, "env": []},
        ),
        (
            "variable-once",
            "webhook.mutate_container",
            {
                "container": {"limits": {}, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"}]},
                "config": {"overwriteEnv": True},
            },
            {"hasResource": False, "limits": {}, "env": [["NVIDIA_VISIBLE_DEVICES", "none"]] * 2},
        ),
        (
            "ended-init-is-free",
            "accounting.steady",
            {
                "entries": [[{"uuid": "g", "type": "NVIDIA", "mem": 7, "cores": 1}], [], []],
                "numInit": 1,
                "numApp": 1,
                "sidecarIndexes": [],
            },
            [{"uuid": "g", "mem": 7, "cores": 1, "slots": 1}],
        ),
    ],
)
def test_a_question_nobody_handed_out_falls_under_its_rule(
    name: str, group: str, question: object, expect: object
) -> None:
    found = judge(Vector("unseen", group, "all", question, expect), ANSWERS, DEVIATIONS)
    assert found.passed, found.got
    assert found.rule is not None
    assert found.rule.name == name


def test_names_of_deviations_are_unique() -> None:
    names = [rule.name for rule in DEVIATIONS]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, False),
        ({}, {"a": 1}, False),
        ([{"a": 1}], [{"a": 1, "b": 2}], False),
        ([1, 2], (1, 2), True),
        (["x", "y"], frozenset({"y", "x"}), True),
        (["x", "y"], frozenset({"y"}), False),
        (16.0, 16.0004, True),
        (16.0, 16.1, False),
        (1, True, False),
        ("error: no card", "error", True),
        ("error", "ok", False),
    ],
)
def test_compares_named_keys_at_the_top_and_everything_below(expected: object, got: object, same: bool) -> None:
    assert matches(expected, got) is same


def test_reports_each_failing_vector_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = {"id": "P1", "group": "client.physical_id", "versions": "all", "input": "GPU-a-0", "expect": "GPU-a-0"}
    wrong = right | {"id": "P2", "expect": "GPU-a"}
    path = tmp_path / "some.json"
    path.write_text(json.dumps({"vectors": [right, wrong]}))

    assert main([str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "P2 client.physical_id: expected 'GPU-a', got 'GPU-a-0'",
        "1 passed, 1 failed",
    ]


def test_counts_an_area_that_nobody_judges_as_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "group.json"
    path.write_text(json.dumps({"vectors": [{"id": "G1", "input": {}, "expect": {"n": 1}}]}))

    assert main([str(path)]) == 1
    assert "nothing: area not judged yet" in capsys.readouterr().out


def test_keeps_asking_after_an_answer_that_fails() -> None:
    broken = Vector("X1", "client.physical_id", "all", {"no": "text"}, "GPU-a")
    found = judge(broken, ANSWERS, DEVIATIONS)
    assert not found.passed
    assert str(found.got).startswith("raised AttributeError")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"vectors": [{"id": "X"}]}', '{"vectors": 3}'])
def test_says_which_file_holds_no_vectors(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text)

    assert main([str(path)]) == 2
    assert f"{path} is no file of vectors" in capsys.readouterr().err


def test_names_the_vectors_under_each_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = {
        "id": "R9",
        "group": "request.parse",
        "versions": "v2.10",
        "input": {"container": {"limits": {"nvidia.com/gpu": -1}}, "config": {}},
        "expect": {"nums": -1, "mem": 0, "pct": 100, "cores": 0},
    }
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"vectors": [old]}))

    assert main(["-v", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("old-release (docs/decisions.md 2): ")
    assert lines[1] == "    R9"
    assert lines[-1] == "1 passed, 0 failed"
