"""From facts to rooms: what is left, who may not come, and what nobody knows."""

from dataclasses import replace
from typing import Any

import pytest

from policy.capacity.asked import UnmodelledPodError, member_of, quota_members
from policy.capacity.count import Cause, measure, most
from policy.capacity.shapes import Locality, Member, whole_cards
from policy.capacity.view import Asking, Bar, LocalAmounts, Unknown, view
from policy.facts import Device, Facts, Kubelet, Node, Quota, gather
from policy.hami.annotations import AnnotationError
from policy.hami.request import InvalidRequestError, Request
from policy.pod import Pod, read_pod
from tests.policy.capacity.pods import CONFIG, HALF, PAIR, asking, gpu, pod_of
from tests.policy.placement.build import card, cluster
from tests.policy.placement.build import pod as holder


@pytest.mark.parametrize(
    ("pod", "asked", "cpus", "memory"),
    [
        (pod_of(gpu(2) | {"cpu": "16", "memory": "1Gi"}), whole_cards(2), 16000, 1024),
        (pod_of(gpu(1, gpumem=8000, gpucores=30) | {"cpu": "1500m"}), Request(1, 8000, cores=30), 1500, 0),
        (pod_of(gpu(1), {"cpu": 2}), whole_cards(1), 2000, 0),
        (pod_of(gpu(1), gpu(2)), whole_cards(3), 0, 0),
        (pod_of(gpu(2), init=(gpu(1),)), whole_cards(2), 0, 0),
        (pod_of({"cpu": 1}, init=(gpu(2), gpu(1))), whole_cards(2), 1000, 0),
        (pod_of(gpu(1, gpumem=8000), init=(gpu(1, gpumem=4000) | {"cpu": 8},)), Request(1, 8000), 8000, 0),
        (pod_of({"memory": "1"}), Request(0), 0, 1),
    ],
)
def test_a_pod_is_read_as_one_shape(pod: Pod, asked: Request, cpus: int, memory: int) -> None:
    found = member_of(pod, CONFIG, count=3)
    assert (found.request, found.cpus, found.memory, found.count, found.name) == (asked, cpus, memory, 3, "p")


@pytest.mark.parametrize(
    ("annotations", "locality", "alone"),
    [
        ({}, Locality.NODE, False),
        ({"nvidia.com/numa-bind": "true"}, Locality.GPU, False),
        ({"hami.io/numa-alignment": "strict"}, Locality.GPU_CPU, False),
        ({"hami.io/numa-alignment": "best-effort"}, Locality.NODE, False),
        ({"hami.io/gpu-scheduler-policy": "mutex,binpack"}, Locality.NODE, True),
    ],
)
def test_annotations_say_what_must_lie_together(annotations: dict[str, str], locality: Locality, alone: bool) -> None:
    found = member_of(pod_of(gpu(1), annotations=annotations), CONFIG, "worker")
    assert (found.locality, found.alone, found.name) == (locality, alone, "worker")


@pytest.mark.parametrize(
    ("pod", "error", "text"),
    [
        (pod_of(gpu(1, gpumem=1), gpu(1, gpumem=1)), UnmodelledPodError, "2 containers of team/p ask for shares"),
        (pod_of(gpu(1), init=(gpu(2),)), UnmodelledPodError, "init container of team/p asks for more"),
        (pod_of(gpu(1, gpumem=5), init=(gpu(1, gpumem=6),)), UnmodelledPodError, "asks for more"),
        (pod_of(gpu(2, gpumem=5), init=(gpu(1, gpumem=6),)), UnmodelledPodError, "asks for more"),
        (pod_of(gpu(-1)), InvalidRequestError, "nvidia.com/gpu"),
        (pod_of(gpu(1), annotations={"hami.io/numa-alignment": "no"}), AnnotationError, "best-effort or strict"),
        (pod_of(gpu(1) | {"cpu": "many"}), InvalidRequestError, "cpu of container .* is 'many'"),
        (pod_of(gpu(1) | {"cpu": -1}), InvalidRequestError, "quantity from 0"),
    ],
)
def test_what_is_no_one_shape_is_said_to_be_none(pod: Pod, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        member_of(pod, CONFIG)


def test_cards_are_taken_as_reservations_say_and_cordoned_ones_are_not_there() -> None:
    busy = holder([(Device("GPU-a", HALF, 50),)])
    facts = cluster([card("a"), card("b"), card("c", numa=1)], busy, cordoned=["GPU-c"])
    seen = view(facts, [asking()])
    found = measure(asking().member, seen.cluster)
    assert (found.free_gpus, found.members) == (1, 1)
    share = Member(request=Request(1, 10000, cores=25), locality=Locality.GPU)
    assert most(share, seen.cluster) == 2 + 4
    assert seen.unknown == frozenset()


def facts_of(*nodes: Node) -> Facts:
    return gather(nodes, [], {}, {}, taken_at=100.0)


@pytest.mark.parametrize(
    ("fields", "bar"),
    [
        ({"unschedulable": True}, Bar.UNSCHEDULABLE),
        ({"problem": "no JSON"}, Bar.UNREAD),
        ({"taints": ({"key": "gpu", "effect": "NoSchedule"},)}, Bar.TAINT),
        ({"kubelet": Kubelet("none")}, Bar.TOPOLOGY_POLICY),
        ({"kubelet": Kubelet("best-effort")}, Bar.TOPOLOGY_POLICY),
    ],
)
def test_a_closed_node_is_named_with_its_reason(fields: dict[str, Any], bar: Bar) -> None:
    wanted = Asking(replace(asking().member, cpus=1000, locality=Locality.GPU_CPU), asking().pod)
    seen = view(facts_of(Node("shut", cards=PAIR, **fields), Node("open", cards=PAIR)), [wanted])
    assert seen.closed == {"p": {bar: ("shut",)}}
    found = measure(wanted.member, seen.cluster)
    assert (found.members, found.lost) == (2, {Cause.BARRED: 2})


def test_a_selector_closes_nodes_to_its_pod_alone() -> None:
    picky = read_pod({"metadata": {"name": "picky"}, "spec": {"nodeSelector": {"pool": "a"}}})
    members = [Asking(replace(asking().member, name="picky"), picky), asking()]
    seen = view(facts_of(Node("n", cards=PAIR)), members)
    assert seen.closed == {"picky": {Bar.SELECTOR: ("n",)}, "p": {}}
    assert [most(each.member, seen.cluster) for each in members] == [0, 2]


def test_what_nobody_knows_refuses_nothing_and_is_said() -> None:
    wanted = Asking(replace(asking(2).member, cpus=64000, locality=Locality.GPU_CPU), asking().pod)
    facts = facts_of(Node("n", cards=(*PAIR, card("c", numa=-1), card("d", numa=-1))))
    seen = view(facts, [wanted], oldest=101.0)
    assert seen.unknown == {Unknown.CPU, Unknown.NUMA, Unknown.TOPOLOGY_POLICY, Unknown.STALE}
    assert most(wanted.member, seen.cluster) == 1
    assert Unknown.STALE not in view(facts, [wanted], oldest=100.0).unknown


def test_amounts_by_numa_node_bind_where_somebody_says_them() -> None:
    wanted = Asking(replace(asking().member, cpus=8000, memory=1024, locality=Locality.GPU_CPU), asking().pod)
    facts = facts_of(Node("n", cards=(*PAIR, card("c", numa=2)), kubelet=Kubelet("single-numa-node")))
    local = {"n": {0: LocalAmounts(8000, 4096), 2: LocalAmounts(7999, 4096), 5: LocalAmounts(64000, 0)}}
    seen = view(facts, [wanted], local)
    (alike,) = seen.cluster
    assert (alike.room.cpu, alike.room.memory, seen.unknown) == (79999, 8192, frozenset())
    assert most(wanted.member, seen.cluster) == 1
    half = {"n": {0: LocalAmounts(8000), 2: LocalAmounts(None)}}
    assert view(facts, [wanted], half).unknown == {Unknown.CPU}


def test_a_node_without_cards_counts_where_its_cpus_are_known() -> None:
    launcher = Asking(Member("launcher", cpus=1000, locality=Locality.GPU_CPU), Pod())
    facts = facts_of(Node("cpu-only"), Node("unknown"))
    seen = view(facts, [launcher], {"cpu-only": {0: LocalAmounts(3000)}})
    assert most(launcher.member, seen.cluster) == 3


def test_named_cards_keep_their_names_and_all_others_lose_them() -> None:
    pinned = asking(annotations={"nvidia.com/use-gpuuuid": "GPU-b"})
    free = Asking(replace(asking().member, name="free"), asking().pod)
    twins = facts_of(Node("n", cards=PAIR), Node("m", cards=(card("x"), card("y"))))
    seen = view(twins, [pinned, free])
    assert [most(each.member, seen.cluster) for each in (pinned, free)] == [1, 4]
    assert len(view(twins, [free]).cluster) == 1


@pytest.mark.parametrize(
    ("quota", "asked", "members"),
    [
        (Quota(memory=100000), Request(2, 15000, cores=20), 2),
        (Quota(memory=100000, cores=30), Request(2, 15000, cores=20), 0),
        (Quota(cores=80), Request(2, 15000, cores=20), 1),
        (Quota(memory=100000), Request(1, percent=50), 3),
        (Quota(memory=1), Request(1, 15000), 0),
        (Quota(), Request(1, 15000), None),
        (None, Request(1, 15000), None),
        (Quota(memory=1), Request(0), None),
    ],
)
def test_a_quota_pays_for_so_many_more(quota: Quota | None, asked: Request, members: int | None) -> None:
    """The namespace holds 40,000 MiB and 40 percent of a card already."""
    busy = holder([(Device("GPU-a", 40000, 40),)])
    facts = cluster(PAIR, busy, quota=quota)
    seen = view(facts, [asking()])
    assert quota_members(Member(request=asked), "team", facts, CONFIG, seen.cluster) == members
