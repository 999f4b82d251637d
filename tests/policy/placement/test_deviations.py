"""Where numafit takes other cards than HAMi: questions that nobody handed out, and answers that would be wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from policy.keys import ALLOCATED, GPU_POLICY, NUMA_BIND, TO_ALLOCATE
from tests.vectors.deviations import DEVIATIONS
from tests.vectors.runner import Vector, judge, load_answers

ANSWERS = load_answers()


def listed(letter: str, numa: int = 0, **fields: object) -> dict[str, Any]:
    known = {"used": 0, "usedmem": 0, "usedcores": 0, "count": 10, "totalmem": 40000, "totalcore": 100}
    names = {"id": f"GPU-{letter}", "index": ord(letter) - ord("a"), "numa": numa, "mode": "hami-core"}
    return {**known, **names, "type": "NVIDIA", "vendor": "NVIDIA", "health": True, **fields}


def asked(nums: int, mem: int = 1000) -> dict[str, object]:
    return {"nums": nums, "mem": mem, "pct": 0, "cores": 10, "type": "NVIDIA"}


def share(letter: str, mem: int = 1500) -> dict[str, object]:
    return {"uuid": f"GPU-{letter}", "type": "NVIDIA", "mem": mem, "cores": 2}


def refit(entries: str, init: Sequence[str], app: Sequence[str], allowed: Sequence[str], **more: Any) -> Any:
    annotations = {TO_ALLOCATE: entries, ALLOCATED: entries, **more.pop("annos", {})}
    pod = {"ns": "n", "name": "p", "node": "node-1", "init": init, "app": app, "annos": annotations}
    devices = [listed("a", 0), listed("b", 1), listed("c", 0), listed("d", 1)]
    request = {"podUID": "u", "podNamespace": "n", "podName": "p", "nodeName": "node-1", "deviceType": "NVIDIA"}
    return {
        "state": {"devices": devices, "pods": {"u": pod}, **more},
        "request": {**request, "allowedDeviceUUIDs": allowed},
    }


BIND = {NUMA_BIND: "true"}
MOVED = {"succeeded": True, "containerDevices": "GPU-b,NVIDIA,1500,1:GPU-c,NVIDIA,1500,1:"}

CASES: Sequence[tuple[str, str, Mapping[str, Any], Mapping[str, object]]] = [
    (
        "numa-node-judged-whole",
        "fit.nvidia",
        {
            "devicesInListOrder": [listed("a", 0), listed("b", 1, used=10), listed("c", 0)],
            "request": asked(2),
            "annos": BIND,
        },
        {"fit": True, "uuids": ["GPU-c", "GPU-b"]},
    ),
    (
        "numa-node-judged-whole",
        "fit.nvidia",
        {"devicesInListOrder": [listed("a", -1), listed("b", -1)], "request": asked(2), "annos": BIND},
        {"fit": True, "uuids": ["GPU-b", "GPU-a"]},
    ),
    (
        "numa-node-judged-whole",
        "fit.restricted",
        {
            "devices": [listed("a", 0), listed("b", 1), listed("c", 0), listed("d", 1)],
            "allowed": ["GPU-a", "GPU-b", "GPU-c"],
            "request": asked(2),
            "annotations": {**BIND, GPU_POLICY: "mutex"},
        },
        {"fit": False, "uuids": [], "reason": "HAMi's"},
    ),
    (
        "numa-node-judged-whole",
        "refit",
        refit(
            "GPU-b,NVIDIA,1500,1:GPU-d,NVIDIA,1500,1:;",
            [],
            ["main"],
            ["GPU-a", "GPU-b", "GPU-c"],
            annos={**BIND, GPU_POLICY: "mutex"},
        ),
        MOVED,
    ),
    (
        "quota-keeps-positions",
        "fit.nvidia",
        {
            "devicesInListOrder": [listed("a")],
            "request": asked(1, 1500),
            "quota": {"mem": {"used": 0, "limit": 2048}},
            "prior": [[share("a")]],
            "ni": 2,
            "na": 2,
        },
        {"fit": False, "uuids": [], "reason": "1/1 ResourceQuotaNotFit"},
    ),
    (
        "quota-keeps-positions",
        "fit.nvidia",
        {
            "devicesInListOrder": [listed("a"), listed("b")],
            "request": asked(1, 1500),
            "quota": {"mem": {"used": 0, "limit": 2048}},
            "annos": {GPU_POLICY: "topology-aware"},
        },
        {"fit": True, "uuids": ["GPU-a", "GPU-b"]},
    ),
    (
        "quota-keeps-positions",
        "refit",
        refit(
            "GPU-a,NVIDIA,5000,10:;" * 3,
            ["i"],
            ["x", "y"],
            ["GPU-b"],
            quota={"mem": {"used": 10000, "limit": 12000}},
        ),
        {"succeeded": True, "containerDevices": "GPU-b,NVIDIA,5000,10:"},
    ),
    (
        "mig-card-not-placed",
        "fit.nvidia",
        {"devicesInListOrder": [listed("a"), listed("b", mode="mig")], "request": asked(1)},
        {"fit": True, "uuids": ["GPU-b"]},
    ),
    (
        "mig-card-not-placed",
        "fit.restricted",
        {
            "devices": [listed("a", mode="mig")],
            "allowed": ["GPU-a"],
            "request": asked(1),
            "annotations": {},
        },
        {"fit": True, "uuids": ["GPU-a"]},
    ),
]


@pytest.mark.parametrize(("name", "group", "question", "wrong"), CASES)
def test_a_question_of_the_shape_passes_under_the_rule_and_a_wrong_answer_does_not(
    name: str, group: str, question: Mapping[str, Any], wrong: Mapping[str, object]
) -> None:
    vector = Vector("unseen", group, "all", question, {"fit": "whatever HAMi says"})
    found = judge(vector, ANSWERS, DEVIATIONS)
    assert found.rule is not None, found.got
    assert found.rule.name == name
    assert not found.rule.holds(vector, wrong)
    assert not found.rule.holds(vector, "raised an error")


@pytest.mark.parametrize(
    ("group", "question"),
    [
        ("fit.nvidia", {"devicesInListOrder": [listed("a"), listed("b")], "request": asked(1), "annos": BIND}),
        ("fit.nvidia", {"devicesInListOrder": [listed("a")], "request": asked(1), "quota": {"mem": {"limit": 1}}}),
        ("refit", refit("GPU-a,NVIDIA,1,1:;", [], ["main"], ["GPU-b"], annos=BIND)),
    ],
)
def test_no_rule_speaks_of_questions_that_numafit_answers_as_hami(group: str, question: object) -> None:
    vector = Vector("unseen", group, "all", question, None)
    assert [rule.name for rule in DEVIATIONS if rule.covers(vector)] == []
