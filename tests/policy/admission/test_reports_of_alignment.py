"""What users of HAMi reported of NUMA nodes and gangs (HAMi: public issues), one test each, named after the report."""

from typing import Any

import pytest

from policy.keys import VGPU_MODE
from tests.policy.admission.build import (
    ALIGN,
    BIND,
    COUNT,
    STATIC,
    cluster,
    container,
    judged,
    kubelet,
    limits,
    node,
    pod,
    refused,
    warned,
)


def owned_by(kind: str, **metadata: Any) -> dict[str, Any]:
    return {"ownerReferences": [{"kind": kind, "name": "o", "controller": True}], **metadata}


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"])
def test_tk_01_strict_in_a_replica_set_is_warned_of_failing_for_ever(kind: str) -> None:
    found = judged(pod(annotations={ALIGN: "strict"}, metadata=owned_by(kind)))
    assert [finding.text for finding in found.findings] == [
        f"strict-restarts-forever: a strict pod that fails to align is replaced by its {kind}; use best-effort."
    ]
    assert judged(pod(annotations={ALIGN: "best-effort"}, metadata=owned_by(kind))).findings == ()


@pytest.mark.parametrize("kind", ["Job", "Workflow", ""])
def test_tk_01_strict_in_a_pod_that_is_not_replaced_at_once_is_fine(kind: str) -> None:
    assert judged(pod(annotations={ALIGN: "strict"}, metadata=owned_by(kind))).findings == ()


EXCLUSIVE = {"cpu": "8", "memory": "8Gi"}


@pytest.mark.parametrize(
    ("resources", "aligned"),
    [
        ({"limits": EXCLUSIVE, "requests": EXCLUSIVE}, True),
        ({"limits": EXCLUSIVE}, True),
        ({"limits": {"cpu": 8, "memory": "8Gi"}, "requests": {"cpu": "8000m", "memory": "8589934592"}}, True),
        ({"limits": {"cpu": "2000m", "memory": "1Gi"}}, True),
        ({}, False),
        ({"requests": EXCLUSIVE}, False),
        ({"limits": {"cpu": "8"}}, False),
        ({"limits": {"cpu": "1500m", "memory": "1Gi"}}, False),
        ({"limits": {"cpu": "500m", "memory": "1Gi"}}, False),
        ({"limits": EXCLUSIVE, "requests": {"cpu": "4", "memory": "8Gi"}}, False),
        ({"limits": EXCLUSIVE, "requests": {"cpu": "8", "memory": "4Gi"}}, False),
        ({"limits": {"cpu": "8", "memory": "much"}}, False),
        ({"limits": {"cpu": "8", "memory": 0}}, False),
    ],
)
def test_tk_03_alignment_means_nothing_without_cpus_of_ones_own(resources: dict[str, Any], aligned: bool) -> None:
    named = {**resources, "limits": {**resources.get("limits", {}), COUNT: 1}}
    source = pod({"name": "c", "resources": named}, annotations={ALIGN: "best-effort"})
    assert ("alignment-without-exclusive-cpus" in warned(judged(source))) is not aligned


def test_tk_03_one_container_without_limits_takes_the_cpus_from_all() -> None:
    side = {"name": "mesh", "resources": {}}
    assert warned(judged(pod(container(), side, annotations={ALIGN: "strict"}))) == {"alignment-without-exclusive-cpus"}
    assert warned(judged(pod(annotations={ALIGN: "strict"}, initContainers=[side]))) == {
        "alignment-without-exclusive-cpus"
    }


@pytest.mark.parametrize("resources", [{"limits": {"cpu": 8}}, {"requests": {"memory": "1Gi"}}])
def test_tk_03_resources_of_the_pod_take_the_cpus_from_all(resources: dict[str, Any]) -> None:
    source = pod(annotations={ALIGN: "strict"}, resources=resources)
    assert warned(judged(source)) == {"alignment-without-exclusive-cpus"}


def test_tk_06_a_node_of_34_numa_ids_with_two_in_use_is_judged_by_the_two() -> None:
    grace = node(numas=[0, 0, 33, 33], kubelet=kubelet("single-numa-node"))
    for annotations in ({BIND: "true"}, {ALIGN: "strict"}):
        assert judged(pod(container(limits(2)), annotations=annotations), cluster(grace), STATIC).allowed
        found = judged(pod(container(limits(3)), annotations=annotations), cluster(grace), STATIC)
        assert len(refused(found)) == 1
        assert "the largest has 2" in found.refusals[0].message


def test_tk_09_strict_on_a_mig_pod_is_said_at_admission() -> None:
    assert refused(judged(pod(annotations={ALIGN: "strict", VGPU_MODE: "mig"}))) == {"alignment-on-mig"}


@pytest.mark.parametrize(
    "joined",
    [
        {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}},
        {"metadata": {"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}}},
        {
            "metadata": {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}},
            "annotations": {"kueue.x-k8s.io/pod-group-total-count": "4"},
        },
        {"annotations": {"scheduling.k8s.io/group-name": "g"}},
        {"annotations": {"scheduling.volcano.sh/group-name": "g"}},
        {"annotations": {"pod-group-name": "g"}},
        {"annotations": {"gang.scheduling.koordinator.sh/name": "g"}},
        {"schedulingGroup": {"podGroupName": "g"}},
        {"workloadRef": {"name": "g"}},
    ],
)
def test_gp_03_a_strict_member_of_a_gang_is_warned_of_stopping_the_rest(joined: dict[str, Any]) -> None:
    strict = {**joined, "annotations": {**joined.get("annotations", {}), ALIGN: "strict"}}
    (finding,) = judged(pod(**strict)).findings
    assert finding.text == (
        'strict-in-group: one strict failure stops the whole group "g" while it holds its GPUs; use best-effort.'
    )
    assert judged(pod(**joined)).findings == ()
