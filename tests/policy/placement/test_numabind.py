"""Several cards of one NUMA node: the nodes are judged whole."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from policy.facts import UNKNOWN_NUMA, Card, Use
from policy.hami.request import Request
from policy.keys import GPU_POLICY, NUMA_BIND
from policy.placement.fit import Fit, fit, fit_node
from policy.placement.numabind import shortfall
from policy.placement.order import Order
from tests.policy.placement.build import card, rules


def bound(nums: int, cards: Sequence[Card], policy: str = "spread") -> Fit:
    return fit(Request(nums), cards, {}, rules({NUMA_BIND: "true", GPU_POLICY: policy}))


def letters(found: Fit) -> str:
    return "".join(pick.uuid[-1] for pick in found.picks or ())


FULL = {"slots": 0}
SICK = {"healthy": False}


@pytest.mark.parametrize(
    ("cards", "nums", "taken"),
    [
        ([card("a", 1), card("b", 1), card("c", 0)], 2, "ab"),
        ([card("a", 0), card("b", 1), card("c", 0)], 2, "ac"),
        ([card("a", 0), card("b", 1, **FULL), card("c", 0)], 2, "ac"),
        ([card("a", 0), card("b", 1, **SICK), card("c", 0)], 2, "ac"),
        ([card("a", 0), card("b", 1), card("c", 1), card("d", 0)], 2, "bc"),
        ([card("a", 0, **FULL), card("b", 1), card("c", 0), card("d", 1)], 2, "bd"),
        ([card("a", 33), card("b", 9), card("c", 33)], 2, "ac"),
        ([card("a", UNKNOWN_NUMA), card("b", UNKNOWN_NUMA), card("c", 0), card("d", 0)], 2, "cd"),
        ([card("a", UNKNOWN_NUMA), card("b", 0)], 1, "a"),
    ],
)
def test_the_first_numa_node_that_is_complete_serves(cards: Sequence[Card], nums: int, taken: str) -> None:
    assert letters(bound(nums, cards)) == taken


@pytest.mark.parametrize(
    ("cards", "nums", "text"),
    [
        ([card("a", 1), card("b", 0)], 2, "1/2 AllocatedCardsInsufficientRequest, 1/2 NumaNotFit"),
        ([card("a", 0), card("b", 0), card("c", 1)], 3, "1/3 AllocatedCardsInsufficientRequest, 2/3 NumaNotFit"),
        ([card("a", 0), card("b", 0)], 3, "2/2 AllocatedCardsInsufficientRequest"),
        (
            [card("a", UNKNOWN_NUMA), card("b", UNKNOWN_NUMA)],
            2,
            "1/2 AllocatedCardsInsufficientRequest, 1/2 NumaNotFit",
        ),
        (
            [card("a", 0), card("b", 1, **FULL)],
            2,
            "1/2 AllocatedCardsInsufficientRequest, 1/2 CardTimeSlicingExhausted",
        ),
        ([card("a", 0, **SICK), card("b", 1, **SICK)], 2, "2/2 CardNotHealth"),
        ([card("a", 0, **SICK)], 1, "1/1 CardNotHealth"),
    ],
)
def test_where_no_node_is_complete_the_cards_are_counted_as_hami_walks(
    cards: Sequence[Card], nums: int, text: str
) -> None:
    assert bound(nums, cards).text == text


def test_a_run_that_returns_to_a_node_given_up_counts_anew() -> None:
    assert shortfall({"a": 0, "b": 1, "c": 0, "d": 0}) == {
        "a": "NumaNotFit",
        "b": "NumaNotFit",
        "c": "AllocatedCardsInsufficientRequest",
        "d": "AllocatedCardsInsufficientRequest",
    }
    assert shortfall({}) == {}


@pytest.mark.parametrize(
    ("policy", "order", "taken"),
    [
        ("spread", Order.NUMAFIT, "cd"),
        ("binpack", Order.NUMAFIT, "ba"),
        ("mutex", Order.NUMAFIT, ""),
        ("spread", Order.HAMI, "cd"),
        ("binpack", Order.HAMI, "ba"),
        ("numa", Order.NUMAFIT, "ab"),
        ("numa", Order.HAMI, "dc"),
    ],
)
def test_the_pods_policy_chooses_between_nodes_that_can_hold_it(policy: str, order: Order, taken: str) -> None:
    """NUMA node 0 is fuller than node 1."""
    use = {"GPU-a": Use(5, 20000, 50), "GPU-b": Use(8, 32000, 80), "GPU-c": Use(1, 4000, 10), "GPU-d": Use(4)}
    cards = [card("a", 0), card("b", 0), card("c", 1), card("d", 1)]
    wanted = rules({NUMA_BIND: "true", GPU_POLICY: policy})
    assert letters(fit_node(Request(2, memory=100, cores=5), cards, use, wanted, order)) == taken


def test_mutex_does_not_mix_nodes_although_it_visits_idle_cards_first() -> None:
    """HAMi meets nodes 1, 0, 1, 0 here, loses its picks at each change and refuses."""
    cards = [card("a", 0), card("b", 1), card("c", 0), card("d", 1)]
    wanted = rules({NUMA_BIND: "true", GPU_POLICY: "mutex"})
    assert letters(fit_node(Request(2), cards, {}, wanted, Order.HAMI)) == "db"
    assert letters(fit_node(Request(2), cards, {}, wanted, Order.NUMAFIT)) == "ac"


PAIRS: Mapping[str, Mapping[str, int]] = {
    "GPU-a": {"GPU-b": 10, "GPU-c": 300},
    "GPU-b": {"GPU-d": 300},
    "GPU-c": {"GPU-d": 20},
}


def test_topology_aware_takes_the_best_set_inside_one_node() -> None:
    cards = [card("a", 0), card("b", 0), card("c", 1), card("d", 1)]
    wanted = replace(rules({NUMA_BIND: "true", GPU_POLICY: "topology-aware"}), pair_scores=PAIRS)
    assert letters(fit(Request(2), cards, {}, wanted)) == "cd"
    free = replace(rules({GPU_POLICY: "topology-aware"}), pair_scores=PAIRS)
    assert letters(fit(Request(2), cards, {}, free)) == "ac"
    assert fit(Request(3), cards, {}, wanted).text == "2/4 AllocatedCardsInsufficientRequest, 2/4 NumaNotFit"
