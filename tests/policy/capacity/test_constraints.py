"""What keeps a member from free cards, in the words of who operates the cluster, and what is left of whole nodes."""

from dataclasses import replace
from typing import Any

import pytest

from policy.capacity.constraints import Binding, Constraint, bindings
from policy.capacity.count import measure, most
from policy.capacity.quotas import group_quota
from policy.capacity.shapes import Limits, Locality, Member, whole_cards
from policy.capacity.view import Asking, LocalAmounts, view
from policy.facts import Kubelet, Node, Quota, Use, gather
from policy.hami.annotations import CardFilter
from policy.hami.request import Request
from policy.keys import USE_TYPE
from policy.pod import Pod
from tests.policy.capacity.pods import CONFIG
from tests.policy.placement.build import card

FOUR = tuple(card(letter, numa=at // 2) for at, letter in enumerate("abcd"))
APART = (card("a"), card("b", numa=1))
ALIGNED = Kubelet("single-numa-node")


def member(gpus: int = 2, **fields: Any) -> Member:
    return replace(Member("m", request=whole_cards(gpus), locality=Locality.GPU), **fields)


def found(wanted: Member, node: Node, limits: Limits | None = None, **amounts: Any) -> dict[Constraint, int]:
    seen = view(gather([node], [], {}, {}, None), [Asking(wanted, Pod())], **amounts)
    bound = limits or Limits()
    return {each.constraint: each.shares for each in bindings(measure(wanted, seen.cluster, bound), seen, bound)}


TAINTS = ({"key": "gpu", "effect": "NoSchedule"},)
CPUS = member(cpus=8000, locality=Locality.GPU_CPU)
CASES: list[tuple[Member, Node, dict[Constraint, int]]] = [
    (member(), Node("n", cards=FOUR), {}),
    (member(), Node("n", cards=APART), {Constraint.NUMA: 2}),
    (member(3), Node("n", cards=FOUR), {Constraint.NUMA: 4}),
    (member(5), Node("n", cards=FOUR), {Constraint.FRAGMENTATION: 4}),
    (member(), Node("n", cards=FOUR, unschedulable=True), {Constraint.UNSCHEDULABLE: 4}),
    (member(), Node("n", cards=FOUR, problem="no JSON"), {Constraint.UNREAD: 4}),
    (member(), Node("n", cards=FOUR, taints=TAINTS), {Constraint.TAINT: 4}),
    (CPUS, Node("n", cards=FOUR, kubelet=Kubelet("none")), {Constraint.TOPOLOGY_POLICY: 4}),
    (member(filter=CardFilter.of({USE_TYPE: "H100"})), Node("n", cards=FOUR), {Constraint.TYPE: 4}),
    (member(), Node("n"), {Constraint.CARDS: 0}),
]


@pytest.mark.parametrize(("wanted", "node", "expected"), CASES)
def test_each_constraint_has_its_word(wanted: Member, node: Node, expected: dict[Constraint, int]) -> None:
    assert found(wanted, node, whole={"n": LocalAmounts()}) == expected


def test_amounts_bind_by_numa_node_and_on_the_whole() -> None:
    node = Node("n", cards=FOUR, kubelet=ALIGNED)
    local = {"n": {0: LocalAmounts(7000, 0), 1: LocalAmounts(8000, 0)}}
    assert found(CPUS, node, local=local) == {Constraint.CPU: 2}
    assert found(replace(CPUS, memory=1, locality=Locality.GPU_CPU_MEM), node, local=local) == {
        Constraint.SEVERAL: 2,
        Constraint.MEMORY: 2,
    }
    assert found(CPUS, node, whole={"n": LocalAmounts(9000)}) == {Constraint.NODE: 2}


def test_limits_of_the_group_bind() -> None:
    node = Node("n", cards=FOUR)
    assert found(member(), node, Limits(quota=1)) == {Constraint.QUOTA: 2}
    assert found(member(), node, Limits(domains={})) == {Constraint.CARDS: 0}


def test_the_constraint_that_keeps_most_cards_comes_first() -> None:
    nodes = [Node("apart", cards=APART), Node("shut", cards=FOUR, unschedulable=True)]
    seen = view(gather(nodes, [], {}, {}, None), [Asking(member(), Pod())])
    assert bindings(measure(member(), seen.cluster), seen) == (
        Binding(Constraint.UNSCHEDULABLE, 4),
        Binding(Constraint.NUMA, 2),
    )


def test_of_a_whole_node_the_smaller_amount_counts_and_one_without_cards_counts_too() -> None:
    launcher = Member("launcher", cpus=1000)
    nodes = [Node("a", cards=FOUR), Node("b"), Node("c")]
    local = {"a": {0: LocalAmounts(2000), 1: LocalAmounts(3000)}}
    whole = {"a": LocalAmounts(4000), "b": LocalAmounts(6000)}
    seen = view(gather(nodes, [], {}, {}, None), [Asking(launcher, Pod())], local, whole=whole)
    assert most(launcher, seen.cluster) == 4 + 6


def named(name: str, gpus: int, count: int) -> Member:
    return Member(name, count, Request(gpus, 10000, cores=10))


@pytest.mark.parametrize(
    ("members", "quota", "paid"),
    [
        ([named("a", 1, 2)], Quota(memory=15000), 1),
        ([named("a", 1, 2), named("b", 2, 2)], None, None),
        ([named("a", 1, 2), named("b", 2, 2)], Quota(), None),
        ([named("a", 1, 2), named("b", 2, 2)], Quota(memory=60000), 4),
        ([named("a", 1, 2), named("b", 2, 2)], Quota(memory=59999), 3),
        ([named("b", 2, 2), named("a", 1, 2)], Quota(memory=15000), 1),
        ([named("a", 1, 2), named("b", 2, 2)], Quota(cores=39), 2),
        ([named("a", 1, 2), Member("free", 3)], Quota(memory=0), 3),
    ],
)
def test_a_quota_pays_the_cheapest_members_first(members: list[Member], quota: Quota | None, paid: int | None) -> None:
    facts = gather([], [], {"team": quota} if quota else {}, {}, None)
    assert group_quota(members, "team", facts, CONFIG, ()) == paid


def test_what_the_namespace_has_already_is_paid_first() -> None:
    facts = gather([], [], {"team": Quota(memory=60000)}, {}, None)
    used = replace(facts, quota_use={"team": Use(1, 30001, 0)})
    assert group_quota([named("a", 1, 2), named("b", 2, 2)], "team", used, CONFIG, ()) == 2
