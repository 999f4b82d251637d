"""Facts: values that are copied where something changed, and never change themselves."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from policy.facts import (
    NOTHING,
    UNKNOWN_NUMA,
    Card,
    Facts,
    Kubelet,
    Node,
    NodeState,
    Reservation,
    Use,
    gather,
    take_inventory,
)
from policy.pod import Pod

USES = st.builds(Use, slots=st.integers(0, 3), memory=st.integers(0, 9), cores=st.integers(0, 9))


def node(name: str, *uuids: str, **fields: Any) -> Node:
    return Node(name, cards=tuple(Card(uuid, place) for place, uuid in enumerate(uuids)), **fields)


def reservation(uid: str, on: str = "n1", namespace: str = "team", **devices: Use) -> Reservation:
    return Reservation(Pod(namespace=namespace, name=uid, uid=uid), on, devices=devices)


def test_use_adds_up_takes_away_and_peaks_in_each_dimension_by_itself() -> None:
    one, other = Use(1, 20, 3), Use(2, 10, 5)
    assert one + other == Use(3, 30, 8)
    assert one - other == Use(-1, 10, -2)
    assert one.peak(other) == Use(2, 20, 5)
    assert one + NOTHING == one == one - NOTHING


def test_what_a_reservation_holds_is_the_sum_over_its_cards() -> None:
    assert reservation("u", a=Use(1, 2, 3), b=Use(10, 20, 30)).total == Use(11, 22, 33)
    assert reservation("u").total == NOTHING


def test_a_reservation_counts_on_its_node_and_in_its_namespace() -> None:
    facts = gather([node("n1", "a")], [], {}, {}, 5.0)
    held = facts.with_reservation(reservation("u", a=Use(1, 2, 3))).with_reservation(reservation("v", a=Use(1, 1, 1)))
    assert held.nodes["n1"].use == {"a": Use(2, 3, 4)}
    assert held.quota_use == {"team": Use(2, 3, 4)}
    assert held.pod_nodes == {"u": "n1", "v": "n1"}
    assert held.reservation("u") == reservation("u", a=Use(1, 2, 3))
    assert (held.taken_at, held.inventory) == (5.0, facts.inventory)


def test_a_reservation_takes_the_place_of_the_pods_earlier_one_on_whatever_node() -> None:
    facts = Facts().with_reservation(reservation("u", "n1", a=Use(1, 2, 3)))
    moved = facts.with_reservation(reservation("u", "n2", b=Use(1, 5, 5)))
    assert moved.nodes["n1"].use == {}
    assert moved.nodes["n2"].use == {"b": Use(1, 5, 5)}
    assert moved.pod_nodes == {"u": "n2"}
    assert moved.quota_use == {"team": Use(1, 5, 5)}
    again = moved.with_reservation(reservation("u", "n2", b=Use(1, 1, 1)))
    assert again.nodes["n2"].use == {"b": Use(1, 1, 1)}


def test_a_pod_that_is_gone_holds_nothing() -> None:
    facts = Facts().with_reservation(reservation("u", a=Use(1, 2, 3))).without_pod("u")
    assert (facts.nodes["n1"], facts.pod_nodes, facts.reservation("u")) == (NodeState(), {}, None)
    assert facts.quota_use["team"] == NOTHING
    assert facts.without_pod("u") is facts


def test_a_node_that_is_gone_takes_its_cards_along_and_not_what_pods_hold() -> None:
    held = reservation("u", a=Use(1, 2, 3))
    facts = gather([node("n1", "a"), node("n2", "b")], [held], {}, {}, 0.0).without_node("n1")
    assert facts.nodes["n1"].node is None
    assert facts.inventory.card_nodes == {"b": "n2"}
    assert facts.reservation("u") == held
    assert facts.quota_use == {"team": Use(1, 2, 3)}
    back = facts.with_node(node("n1", "a"))
    assert back.nodes["n1"].use == {"a": Use(1, 2, 3)}


def test_a_node_that_did_not_change_is_no_change() -> None:
    facts = gather([node("n1", "a")], [], {}, {}, 0.0)
    assert facts.with_node(node("n1", "a")) is facts
    assert facts.with_node(node("n1", "a", cordoned=frozenset({"a"}))).nodes["n1"].node != facts.nodes["n1"].node


def test_only_the_node_that_changed_is_copied() -> None:
    facts = gather([node("n1", "a"), node("n2", "b")], [], {}, {}, 0.0)
    assert facts.with_reservation(reservation("u", "n1", a=Use(1, 1, 1))).nodes["n2"] is facts.nodes["n2"]
    assert facts.with_node(node("n1")).nodes["n2"] is facts.nodes["n2"]


# Kinds of nodes.

ALIKE = Node("n1", labels={"pool": "a"}, cards=(Card("a", memory=8, numa=0), Card("b", memory=8, numa=1)))


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {"pool": "b"}},
        {"cards": (Card("c", memory=8, numa=0), Card("d", memory=8, numa=1))},
        {"cards": (Card("c", memory=8, numa=0, healthy=False), Card("d", memory=8, numa=1))},
        {"cordoned": frozenset({"a"})},
        {"unschedulable": True},
        {"pair_scores": {"a": {"b": 1}}},
    ],
)
def test_nodes_that_differ_in_what_no_rule_asks_are_of_one_kind(change: Mapping[str, Any]) -> None:
    (kind,) = take_inventory([ALIKE, replace(ALIKE, name="n2", **change)]).kinds
    assert kind.names == ("n1", "n2")
    assert kind.numa_sizes == {0: 1, 1: 1}


@pytest.mark.parametrize(
    "change",
    [
        {"cards": (Card("c", memory=8, numa=0),)},
        {"cards": (Card("c", memory=8, numa=0), Card("d", memory=8, numa=UNKNOWN_NUMA))},
        {"cards": (Card("c", memory=8, numa=0), Card("d", memory=9, numa=1))},
        {"cards": (Card("c", memory=8, numa=0), Card("d", memory=8, numa=1, cores=50))},
        {"cards": (Card("c", memory=8, numa=0), Card("d", memory=8, numa=1, type="T"))},
        {"cards": (Card("c", memory=8, numa=0), Card("d", memory=8, numa=1, mode="mig"))},
        {"taints": ({"key": "a", "effect": "NoSchedule"},)},
        {"kubelet": Kubelet("none")},
        {"problem": "no JSON"},
    ],
)
def test_nodes_that_differ_in_what_a_rule_asks_are_of_two_kinds(change: Mapping[str, Any]) -> None:
    kinds = take_inventory([ALIKE, replace(ALIKE, name="n2", **change)]).kinds
    assert [kind.names for kind in kinds] == [("n1",), ("n2",)]


def test_nodes_without_cards_are_of_no_kind_unless_their_cards_could_not_be_read() -> None:
    inventory = take_inventory([Node("n1"), Node("n2", problem="no JSON")])
    assert [kind.names for kind in inventory.kinds] == [("n2",)]
    assert set(inventory.nodes) == {"n1", "n2"}


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ({}, {"n1", "n2", "n3"}),
        ({"pool": "a"}, {"n1", "n2"}),
        ({"pool": "a", "rack": "7"}, {"n2"}),
        ({"pool": "z"}, set()),
        ({"pool": "a", "rack": "8"}, set()),
    ],
)
def test_a_kind_names_the_nodes_among_which_a_selectors_all_are(selector: dict[str, str], names: set[str]) -> None:
    labels = ({"pool": "a"}, {"pool": "a", "rack": "7"}, {"pool": "b"})
    alike = [replace(ALIKE, name=f"n{place}", labels=found) for place, found in enumerate(labels, start=1)]
    (kind,) = take_inventory(alike).kinds
    assert set(kind.selected(selector)) == names


# Any sequence of changes.


def _plain(facts: Facts) -> dict[str, Any]:
    """Facts without what makes no difference: order, empty states, and uses of nothing."""
    states = {
        name: (state.node, dict(state.reservations), {uuid: use for uuid, use in state.use.items() if use != NOTHING})
        for name, state in facts.nodes.items()
        if state.node or state.reservations
    }
    kinds = {
        (kind.names, tuple(sorted(kind.numa_sizes.items())), tuple(sorted(kind.labelled.items())))
        for kind in facts.inventory.kinds
    }
    return {
        "nodes": states,
        "pods": dict(facts.pod_nodes),
        "known": dict(facts.inventory.nodes),
        "cards": dict(facts.inventory.card_nodes),
        "kinds": kinds,
        "quota": {name: use for name, use in facts.quota_use.items() if use != NOTHING},
    }


NAMESPACES = {"u": "team", "v": "team", "w": "other", "x": "other"}
NAMES, UIDS = st.sampled_from(["n1", "n2", "n3"]), st.sampled_from(sorted(NAMESPACES))


class Changes(RuleBasedStateMachine):
    """Facts changed step by step beside the parts that they are made of."""

    def __init__(self) -> None:
        super().__init__()
        self.facts = Facts()
        self.nodes: dict[str, Node] = {}
        self.held: dict[str, Reservation] = {}
        self.before: list[tuple[Facts, str]] = []

    def _become(self, facts: Facts) -> None:
        self.before.append((self.facts, repr(self.facts)))
        self.facts = facts

    @rule(name=NAMES, cards=st.integers(0, 3), label=st.sampled_from(["a", "b"]), problem=st.sampled_from(["", "x"]))
    def with_node(self, name: str, cards: int, label: str, problem: str) -> None:
        made = node(name, *(f"{name}-{place}" for place in range(cards)), labels={"pool": label}, problem=problem)
        self.nodes[name] = made
        self._become(self.facts.with_node(made))

    @rule(name=NAMES)
    def without_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self._become(self.facts.without_node(name))

    @rule(uid=UIDS, name=NAMES, uses=st.lists(USES, max_size=3))
    def with_reservation(self, uid: str, name: str, uses: list[Use]) -> None:
        devices = {f"{name}-{place}": use for place, use in enumerate(uses)}
        made = Reservation(Pod(namespace=NAMESPACES[uid], uid=uid), name, devices=devices)
        self.held[uid] = made
        self._become(self.facts.with_reservation(made))

    @rule(uid=UIDS)
    def without_pod(self, uid: str) -> None:
        self.held.pop(uid, None)
        self._become(self.facts.without_pod(uid))

    @invariant()
    def equals_facts_gathered_anew(self) -> None:
        order = [name for name in self.facts.inventory.nodes if name in self.nodes]
        fresh = gather([self.nodes[name] for name in order], self.held.values(), {}, {}, None)
        assert _plain(self.facts) == _plain(fresh)

    def teardown(self) -> None:
        """No earlier value has changed."""
        assert all(repr(facts) == shown for facts, shown in self.before)


Changes.TestCase.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
TestChanges = Changes.TestCase


@settings(max_examples=100, deadline=None)
@given(st.lists(USES, max_size=5))
def test_what_was_added_can_be_taken_away_again(uses: list[Use]) -> None:
    total = sum(uses, NOTHING)
    for use in reversed(uses):
        total -= use
    assert total == NOTHING
