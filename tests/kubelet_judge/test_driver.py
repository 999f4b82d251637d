"""The judge's driver without the judge: drawing, comparing, shrinking, and what is said where Go is missing."""

import json
from pathlib import Path
from random import Random

import pytest

from tests.kubelet_judge import build
from tests.kubelet_judge.compare import ARBITRARY, common, disagreements, outcome, predicted
from tests.kubelet_judge.judge import Answer
from tests.kubelet_judge.profiles import PROFILES, question
from tests.kubelet_judge.recorded import is_of_older_release
from tests.kubelet_judge.shrink import shrink

ADMITTED = {"admit": True, "reason": None, "containers": [{"name": "a", "cpus": "1-2"}]}
REFUSED = {"admit": False, "reason": "TopologyAffinityError", "containers": [{"name": "a"}]}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_seed_draws_the_same_questions_again_and_the_model_answers_them(profile: str) -> None:
    for number in range(5):
        drawn = question(Random(f"7 {number}"), profile)
        assert drawn == question(Random(f"7 {number}"), profile)
        assert json.loads(json.dumps(drawn)) == drawn
        assert predicted(drawn)["outcomes"]


def test_what_differs_between_runs_is_no_part_of_the_answer() -> None:
    other = {"admit": True, "reason": None, "containers": [{"name": "a", "cpus": "3-4"}]}
    shared = {"admit": True, "reason": None, "containers": [{"name": "a", "cpus": ARBITRARY}]}
    assert common([ADMITTED, other]) == shared
    assert disagreements([ADMITTED, other], {"outcomes": ["admit"], **ADMITTED}) == []


def test_the_model_must_name_every_end_that_was_seen() -> None:
    model = {"outcomes": ["admit"], **ADMITTED}
    assert disagreements([ADMITTED, ADMITTED], model) == []
    assert disagreements([ADMITTED, REFUSED], model) == [
        "outcomes: kubelet ended in TopologyAffinityError, the model knows admit"
    ]
    assert disagreements([ADMITTED, REFUSED], {**model, "outcomes": ["TopologyAffinityError", "admit"]}) == []


def test_a_difference_is_named_by_its_path() -> None:
    model = {"outcomes": ["admit"], **ADMITTED, "containers": [{"name": "a", "cpus": "0-1"}]}
    assert disagreements([ADMITTED], model) == ["containers[0].cpus: kubelet '1-2', model '0-1'"]


@pytest.mark.parametrize(
    ("picked", "found"),
    [(["g0"], 0), (["g1"], 0), (["g2"], 1)],
)
def test_a_pick_outside_of_the_foreseen_bounds_is_a_difference(picked: list[str], found: int) -> None:
    call = {"available": ["g0", "g1"], "must_include": [], "size": 1}
    run = {**ADMITTED, "containers": [{"name": "a", "devices": {"gpu": {"size": 1, "call": call, "picked": picked}}}]}
    bounds = {"size": 1, "call": call, "forced": [], "allowed": ["g0", "g1"], "picked": ["g0"]}
    model = {**ADMITTED, "outcomes": ["admit"], "containers": [{"name": "a", "devices": {"gpu": bounds}}]}
    assert len(disagreements([run], model)) == found


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        ({"panic": "runtime error: index out of range"}, "panic"),
        ({"stalls": "10s"}, "stall"),
        ({"kubelet_starts": False, "start_error": "unknown policy"}, "no-start"),
        (ADMITTED, "admit"),
        (REFUSED, "TopologyAffinityError"),
    ],
)
def test_each_way_to_end_has_a_name(answer: Answer, end: str) -> None:
    assert outcome(answer) == end


def test_shrinking_leaves_only_what_the_disagreement_needs() -> None:
    drawn = question(Random(3), "several-pods")
    drawn["node"]["kubelet"]["topologyManagerPolicy"] = "restricted"
    small = shrink(drawn, lambda smaller: smaller["node"]["kubelet"].get("topologyManagerPolicy") == "restricted")
    assert small == {
        "node": {
            "numa": drawn["node"]["numa"],
            "devices": {},
            "kubelet": {"topologyManagerPolicy": "restricted", "deviceHintDomain": "device_nodes"},
        },
        "pod": {"containers": []},
    }


def test_vectors_of_older_releases_are_known_by_devices_on_fewer_nodes_than_there_are() -> None:
    node = {
        "numa": [0, 1],
        "devices": {"gpu": [{"id": "g0", "numa": [0]}]},
        "kubelet": {"topologyManagerPolicy": "best-effort"},
    }
    vector = {"node": node, "pod": {"containers": [{"name": "c", "limits": {"gpu": 1}}]}}
    assert is_of_older_release(vector)
    node["devices"] = {"gpu": [{"id": "g0", "numa": [0]}, {"id": "g1", "numa": [1]}]}
    assert not is_of_older_release(vector)


def test_a_missing_go_is_an_error_that_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(build.JudgeError, match=r"there is no `go`: install Go 1\.26 or newer"):
        build.judge_program({"XDG_CACHE_HOME": str(tmp_path)})
