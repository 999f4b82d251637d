"""What one pod may cost: work that grows with the square of a list is never done."""

from time import process_time
from typing import Any

import pytest

from policy.admission.case import Operator
from policy.admission.judge import Verdict, judge_creation
from policy.admission.levels import resolve
from policy.facts import Card, Facts, Node, gather
from policy.keys import NOUSE_UUID, USE_UUID
from policy.pod import read_pod

SECONDS = 10.0
"""Of CPU, where some milliseconds are usual; a square of these lengths takes twice as long at least."""


def judged(annotations: dict[str, str], facts: Facts | None = None, **spec: Any) -> tuple[Verdict, float]:
    limits = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000}
    source = {
        "metadata": {"annotations": annotations},
        "spec": {"containers": [{"name": "main", "resources": {"limits": limits}}], **spec},
    }
    levels = resolve({}, static_cluster=True)
    before = process_time()
    verdict = judge_creation(read_pod(source), source, Operator(), levels, facts, fresh=True)
    return verdict, process_time() - before


def uuids(count: int, prefix: str = "GPU") -> str:
    return ",".join(f"{prefix}-{number}" for number in range(count))


@pytest.mark.parametrize(
    "annotations",
    [
        {USE_UUID: uuids(40_000), NOUSE_UUID: uuids(40_000, "GPU-other")},
        {USE_UUID: uuids(40_000), NOUSE_UUID: uuids(39_999)},
        {USE_UUID: f"{uuids(40_000)},GPU-39999"},
    ],
)
def test_lists_of_uuids_are_read_in_time_that_grows_with_their_length(annotations: dict[str, str]) -> None:
    verdict, seconds = judged(annotations)
    assert {finding.code for finding in verdict.findings} <= {"pin-also-excluded", "pin-duplicate"}
    assert seconds < SECONDS


def test_an_affinity_that_would_be_compared_too_often_is_as_good_as_unknown() -> None:
    nodes = [Node(f"n{number}", cards=(Card(f"GPU-{number}", memory=40000),)) for number in range(1000)]
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [str(n)]}]} for n in range(2000)]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    verdict, seconds = judged({}, gather(nodes, [], {}, {}, 0.0), affinity=affinity)
    assert verdict.findings == ()
    assert seconds < SECONDS
