"""The cheapest move of another pod that lets a group start."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from policy.capacity.group import Group
from policy.capacity.moves import Mover
from policy.capacity.shapes import Limits
from policy.capacity.view import Asking
from policy.facts import Card, Device, Facts, Node, gather
from policy.pod import Pod
from tests.policy.capacity.pods import CONFIG, HALF, PAIR, asking, gpu, pod_of
from tests.policy.placement.build import card, held
from tests.policy.placement.build import pod as holder


def two_nodes(*pods: Pod, cards: tuple[Card, ...] = (card("x"),)) -> Facts:
    nodes = [Node("node-1", cards=PAIR), Node("node-2", cards=cards)]
    return gather(nodes, held(*pods), {}, {}, None)


def sharer(name: str, letter: str, memory: int = HALF) -> Pod:
    """A pod of one container that holds a share of a card of node-1, and asks for it again when it is moved."""
    limits = gpu(1, gpumem=memory, gpucores=30)
    asked = pod_of(limits).containers
    return replace(holder([(Device(f"GPU-{letter}", memory, 30),)]), name=name, uid=name, containers=asked)


def search(facts: Facts, gpus: int, **fields: Any) -> Any:
    wanted = asking(gpus)
    return Mover(facts, [wanted], CONFIG, {}, **fields).cheapest(Group((wanted.member,)))


def test_the_cheapest_move_frees_what_is_missing_and_takes_what_nobody_needs() -> None:
    facts = two_nodes(sharer("large", "a", 30000), sharer("small", "b", 10000))
    found = search(two_nodes(sharer("small", "b", 10000)), 2)
    assert (found.move.pod.pod.name, found.move.onto, found.move.cards) == ("small", "node-2", Fraction(3, 10))
    assert search(facts, 2).move is None
    assert search(facts, 2).complete


def test_a_move_may_stay_on_its_node() -> None:
    facts = two_nodes(sharer("one", "a", 10000), sharer("two", "b", 10000), cards=())
    found = search(facts, 1)
    assert (found.move.pod.pod.name, found.move.onto) == ("one", "node-1")


def test_a_search_that_is_cut_short_does_not_say_that_there_is_no_move() -> None:
    found = search(two_nodes(sharer("one", "a"), cards=()), 2, most_tried=1)
    assert (found.move, found.complete) == (None, False)


def test_who_is_leaving_anyway_is_not_moved() -> None:
    leaving = replace(sharer("one", "a"), terminating=True)
    assert search(two_nodes(leaving), 2).move is None


def test_unlike_members_may_start_together_where_none_of_them_finds_more_alone() -> None:
    """Five cards hold a member of two and one of three; four held each of them as often."""
    cards = tuple(card(letter) for letter in "abcde")
    small, large = asking(2), Asking(replace(asking(3).member, name="large"), asking(3).pod)
    nodes = [Node("node-1", cards=cards), Node("node-2", cards=(card("x"),))]
    facts = gather(nodes, held(sharer("one", "e")), {}, {}, None)
    found = Mover(facts, [small, large], CONFIG, {}).cheapest(Group((small.member, large.member))).move
    assert found is not None
    assert (found.pod.pod.name, found.onto) == ("one", "node-2")


def test_a_move_for_a_group_that_shares_a_node_is_judged_there() -> None:
    facts = two_nodes(sharer("one", "b"))
    wanted = asking(1)
    group = Group((replace(wanted.member, count=2),), limits=Limits(domains={"node-1": "node-1", "node-2": "node-2"}))
    found = Mover(facts, [wanted], CONFIG, {}).cheapest(group).move
    assert found is not None
    assert found.onto == "node-2"


def test_who_cannot_go_elsewhere_is_not_moved() -> None:
    pinned = sharer("one", "b")
    pinned = replace(pinned, annotations={**pinned.annotations, "nvidia.com/use-gpuuuid": "GPU-b"})
    found = search(two_nodes(pinned), 2)
    assert (found.move, found.complete) == (None, True)


def test_who_would_leave_too_little_is_not_asked_where_to_go() -> None:
    facts = two_nodes(sharer("one", "a"), sharer("two", "b"))
    wanted = asking(1)
    group = Group((replace(wanted.member, count=3),), limits=Limits(domains={"node-1": "rack"}))
    found = Mover(facts, [wanted], CONFIG, {}, most_tried=2).cheapest(group)
    assert (found.move, found.complete) == (None, True)


def test_a_node_that_is_gone_takes_no_part() -> None:
    facts = two_nodes(sharer("one", "b")).without_node("node-1")
    assert search(facts, 2).move is None
