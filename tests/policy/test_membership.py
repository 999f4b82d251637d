"""Which marks join which group, and which only look as if they did."""

from typing import Any

import pytest

from policy.membership import contradict, gangs, read_memberships, retries_bind
from policy.plain import MalformedObjectError

COUNT = {"kueue.x-k8s.io/pod-group-total-count": "4"}


def systems(annotations: Any = None, labels: Any = None, **spec: Any) -> dict[str, str]:
    return {found.system: found.name for found in read_memberships(annotations or {}, labels or {}, spec)}


@pytest.mark.parametrize(
    ("annotations", "labels", "spec", "expected"),
    [
        ({}, {"scheduling.x-k8s.io/pod-group": "g"}, {}, {"coscheduling": "g"}),
        ({"scheduling.x-k8s.io/pod-group": "g"}, {}, {}, {}),
        ({}, {"scheduling.x-k8s.io/pod-group": ""}, {}, {}),
        ({}, {"pod-group.scheduling.sigs.k8s.io": "g"}, {}, {"koordinator": "g"}),
        ({"gang.scheduling.koordinator.sh/name": "g"}, {}, {}, {"koordinator": "g"}),
        ({}, {"kueue.x-k8s.io/pod-group-name": "g"}, {}, {}),
        (COUNT, {"kueue.x-k8s.io/pod-group-name": "g"}, {}, {"kueue": "g"}),
        (COUNT, {}, {}, {}),
        ({"pod-group-name": "g"}, {"kai.scheduler/subgroup-name": "workers"}, {}, {"kai": "g"}),
        ({"scheduling.volcano.sh/group-name": "g"}, {}, {}, {"volcano": "g"}),
        ({"scheduling.k8s.io/group-name": "g"}, {}, {}, {"volcano": "g"}),
        ({}, {"scheduling.k8s.io/group-name": "g"}, {}, {}),
        ({}, {"grove.io/podgang": "g"}, {}, {"grove": "g"}),
        ({}, {"jobset.sigs.k8s.io/jobset-name": "g"}, {}, {"jobset": "g"}),
        ({}, {"leaderworkerset.sigs.k8s.io/group-key": "g"}, {}, {"leaderworkerset": "g"}),
        ({}, {}, {"schedulingGroup": {"podGroupName": "g"}}, {"kubernetes-1.36+": "g"}),
        ({}, {}, {"schedulingGroup": {}}, {}),
        ({}, {}, {"workloadRef": {"name": "w", "podGroup": "p"}}, {"kubernetes-1.35": "w/p"}),
        ({}, {}, {"workloadRef": {"podGroup": "p"}}, {}),
    ],
)
def test_a_mark_counts_where_its_system_looks_for_it(
    annotations: Any, labels: Any, spec: Any, expected: dict[str, str]
) -> None:
    assert systems(annotations, labels, **spec) == expected


def test_hami_waits_for_the_node_lock_of_coscheduling_and_native_groups_only() -> None:
    assert retries_bind(read_memberships({}, {"scheduling.x-k8s.io/pod-group": "g"}, {}))
    assert retries_bind(read_memberships({}, {}, {"schedulingGroup": {"podGroupName": "g"}}))
    assert not retries_bind(read_memberships({"pod-group-name": "g"}, {"grove.io/podgang": "g"}, {}))
    assert not retries_bind(read_memberships({}, {}, {"workloadRef": {"name": "w"}}))


def test_two_gangs_of_different_names_contradict_each_other_and_an_owner_does_not() -> None:
    native = {"schedulingGroup": {"podGroupName": "b"}}
    assert contradict(read_memberships({}, {"scheduling.x-k8s.io/pod-group": "a"}, native))
    assert not contradict(read_memberships({}, {"scheduling.x-k8s.io/pod-group": "b"}, native))
    owned = read_memberships({}, {"jobset.sigs.k8s.io/jobset-name": "a"}, native)
    assert not contradict(owned)
    assert [member.name for member in gangs(owned)] == ["b"]


@pytest.mark.parametrize("spec", [{"schedulingGroup": []}, {"workloadRef": {"name": 3}}])
def test_a_field_of_another_shape_is_an_error_that_names_it(spec: Any) -> None:
    with pytest.raises(MalformedObjectError, match=r"spec\."):
        read_memberships({}, {}, spec)
