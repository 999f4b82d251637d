"""On the recorded cluster, what is counted and what can be placed one after the other are the same number."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policy.capacity.asked import member_of
from policy.capacity.count import measure
from policy.capacity.view import Asking, Unknown, view
from policy.facts import Facts
from policy.placement.order import Order
from policy.placement.place import place
from policy.pod import Pod
from tests.policy.capacity.pods import CONFIG, gpu, pod_of
from webhook.cluster.file import FileCluster

RECORDED = Path(__file__).parents[2] / "data" / "hami-cluster.json"
BIND = {"nvidia.com/numa-bind": "true"}
SPREAD = {"hami.io/gpu-scheduler-policy": "spread"}


def placed_in_turn(pod: Pod, facts: Facts) -> int:
    """Place pods like ``pod`` until none fits."""
    count = 0
    while True:
        like = replace(pod, uid=f"more-{count}", name=f"more-{count}", namespace="elsewhere")
        found = place(like, facts, None, CONFIG, Order.NUMAFIT, now=0).reservation
        if found is None:
            return count
        facts, count = facts.with_reservation(found), count + 1


@pytest.mark.parametrize(
    ("limits", "annotations", "fitting"),
    [
        (gpu(1), {}, 8),
        (gpu(2), {}, 4),
        (gpu(2), BIND, 2),
        (gpu(4), BIND, 0),
        (gpu(1, gpumem=8000, gpucores=20), {}, 66),
        (gpu(1, **{"gpumem-percentage": 30}), {}, 36),
        (gpu(1, gpumem=8000, gpucores=20), {"nvidia.com/use-gputype": "H100"}, 20),
        (gpu(2, gpumem=8000, gpucores=20), SPREAD, 33),
        (gpu(1, gpumem=8000), {"hami.io/gpu-scheduler-policy": "mutex"}, 8),
    ],
)
def test_as_many_fit_as_can_be_placed_in_turn(
    limits: dict[str, Any], annotations: dict[str, str], fitting: int
) -> None:
    facts = FileCluster.load([RECORDED]).facts()
    pod = pod_of(limits, annotations=annotations)
    member = member_of(pod, CONFIG)
    seen = view(facts, [Asking(member, pod)])
    found = measure(member, seen.cluster)
    # The webhook makes whole cards exclusive before a pod is placed.
    whole = {**limits, "nvidia.com/gpucores": 100} if member.takes_whole_cards else limits
    assert found.members == fitting
    assert fitting == placed_in_turn(pod_of(whole, annotations=annotations), facts)
    assert Unknown.NUMA not in seen.unknown
