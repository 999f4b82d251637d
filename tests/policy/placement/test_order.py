"""In which order cards are tried."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.facts import UNKNOWN_NUMA, Card, Use
from policy.hami.annotations import Weights
from policy.hami.request import Request
from policy.placement.order import Order, Standing, memory_on, score, visiting
from tests.policy.placement.build import card

CARDS = (
    Standing(card("a", numa=0), 15, 0),
    Standing(card("b", numa=1), 20, 1),
    Standing(card("c", numa=0), 15, 0),
    Standing(card("d", numa=1), 15, 2),
)
POLICIES = (
    "binpack",
    "spread",
    "numa",
    "mutex",
    "topology-aware",
    "numa,binpack",
    "spread,numa",
    "mutex,topology-aware",
    " binpack ",
)


def test_the_names_of_the_orders_are_what_settings_say() -> None:
    assert list(Order) == ["hami", "numafit"]


def letters(cards: Sequence[Card]) -> str:
    return "".join(each.uuid[-1] for each in cards)


@pytest.mark.parametrize(
    ("policy", "hami", "hami_bound", "numafit"),
    [
        ("binpack", "bdca", "cabd", "bacd"),
        ("spread", "dcab", "dbca", "acdb"),
        ("topology-aware", "dcab", "dbca", "acdb"),
        ("numa", "dbca", "dbca", "acbd"),
        ("mutex", "cabd", "cabd", "acbd"),
        ("numa,binpack", "bdca", "bdca", "acbd"),
        ("spread,numa", "dcab", "dbca", "acdb"),
        ("spread,numa,spread", "dcab", "dbca", "acdb"),
        ("mutex,topology-aware", "dcab", "dbca", "acdb"),
        (" binpack ", "bdca", "cabd", "bacd"),
        ("", "dcab", "dbca", "acdb"),
    ],
)
def test_a_policy_orders_cards_and_the_order_breaks_its_ties(
    policy: str, hami: str, hami_bound: str, numafit: str
) -> None:
    assert letters(visiting(CARDS, policy, Order.HAMI, numa_bind=False)) == hami
    assert letters(visiting(CARDS, policy, Order.HAMI, numa_bind=True)) == hami_bound
    assert letters(visiting(CARDS, policy, Order.NUMAFIT, numa_bind=False)) == numafit
    assert letters(visiting(CARDS, policy, Order.NUMAFIT, numa_bind=True)) == numafit


def test_numafit_tries_cards_of_unknown_numa_node_after_equal_ones_of_known() -> None:
    cards = [Standing(card("a", numa=UNKNOWN_NUMA), 0, 0), Standing(card("b", numa=5), 0, 0)]
    assert letters(visiting(cards, "spread", Order.NUMAFIT, numa_bind=False)) == "ba"


@given(
    cards=st.permutations(CARDS),
    policy=st.sampled_from(POLICIES),
    order=st.sampled_from(Order),
    numa_bind=st.booleans(),
)
@settings(max_examples=60)
def test_the_order_of_the_input_does_not_matter(
    cards: Sequence[Standing], policy: str, order: Order, *, numa_bind: bool
) -> None:
    expected = visiting(CARDS, policy, order, numa_bind=numa_bind)
    assert visiting(cards, policy, order, numa_bind=numa_bind) == expected


@pytest.mark.parametrize(
    ("order", "request_", "weights", "expected"),
    [
        (Order.HAMI, Request(4, memory=4000, cores=10), Weights(), 6.0),
        (Order.NUMAFIT, Request(4, memory=4000, cores=10), Weights(), 9.0),
        (Order.NUMAFIT, Request(1, percent=50), Weights(0, 0, 1), 6.0),
        (Order.NUMAFIT, Request(1, cores=90), Weights(0, 2, 0), 20.0),
        (Order.NUMAFIT, Request(1), Weights(3, 0, 0), 6.0),
    ],
)
def test_a_score_is_how_full_the_card_would_be(
    order: Order, request_: Request, weights: Weights, expected: float
) -> None:
    assert score(card("a"), Use(1, 4000, 10), [request_], weights, order) == expected


@pytest.mark.parametrize("lacking", ["slots", "memory", "cores"])
def test_a_card_that_lacks_something_altogether_scores_nothing(lacking: str) -> None:
    assert score(card("a", **{lacking: 0}), Use(1, 1, 1), [Request(1)], Weights()) == 0


def test_cards_that_are_equally_full_are_equal_whatever_their_size() -> None:
    third = score(card("a", slots=30, memory=3, cores=9), Use(9, 0, 0), [Request(1, memory=1)], Weights())
    assert third == score(card("b", slots=3, memory=30, cores=7), Use(0, 9, 0), [Request(1, memory=1)], Weights())


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (Request(1, memory=512, percent=50), 512),
        (Request(1, percent=50), 20000),
        (Request(1, percent=0), 0),
        (Request(1), 0),
    ],
)
def test_an_amount_wins_over_a_percentage(request_: Request, expected: int) -> None:
    assert memory_on(card("a"), request_) == expected


def test_a_percentage_is_rounded_down() -> None:
    assert memory_on(card("a", memory=3), Request(1, percent=50)) == 1
