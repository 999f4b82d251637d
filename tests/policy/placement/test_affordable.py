"""Cards that a quota can pay together, where those that come first in the pod's order cost too much."""

from collections.abc import Sequence

import pytest

from policy.facts import NOTHING, Card, Entry, Quota
from policy.hami.request import Request
from policy.keys import GPU_POLICY, NUMA_BIND
from policy.placement.affordable import affordable
from policy.placement.fit import Fit, fit
from policy.placement.rules import Budget, Layout
from tests.policy.placement.build import APP, INIT, card, device, rules

HALF = Request(2, percent=50)


def budget(quota: Quota, *entries: Entry) -> Budget:
    """A quota for the first container of a pod; ``entries`` are those of its app containers."""
    return Budget(quota, NOTHING, 1, Layout(((), *entries), [INIT, *[APP] * len(entries)]), 0)


def fitted(cards: Sequence[Card], limits: Budget, asked: Request = HALF, **wishes: str) -> Fit:
    keys = {"policy": GPU_POLICY, "bind": NUMA_BIND}
    return fit(asked, cards, {}, rules({keys[name]: text for name, text in wishes.items()}).within(limits))


def names(found: Fit) -> str:
    return "".join(pick.uuid[-1] for pick in found.picks or ())


@pytest.mark.parametrize(
    ("memory", "limit", "taken"),
    [
        ([8000, 4000, 4000], 8000, "ab"),
        ([8000, 4000, 4000], 4000, "bc"),
        ([8000, 4000, 6000, 2000], 4000, "bd"),
        ([4000, 8000, 4000], 4000, "ac"),
        ([8000, 4000, 4000], 3999, ""),
    ],
)
def test_a_dear_card_in_front_leaves_the_quota_to_cheaper_ones(memory: Sequence[int], limit: int, taken: str) -> None:
    """Half of each card is asked for, so that large cards cost more; the first cards are taken if they can be paid."""
    cards = [card(letter, memory=amount) for letter, amount in zip("abcd", memory, strict=False)]
    assert names(fitted(cards, budget(Quota(memory=limit)))) == taken


def test_one_card_more_never_makes_a_request_fail() -> None:
    cards = [card("a", memory=8000), card("b", memory=4000), card("c", memory=4000)]
    limits = budget(Quota(memory=4000))
    assert fitted(cards[1:], limits).picks == fitted(cards, limits).picks


def test_a_card_that_the_pod_uses_at_another_time_is_paid_already() -> None:
    """The init container may have what the app container holds later, and no more than 4,000 beside it."""
    limits = budget(Quota(memory=8000), (device("c", 2000, 0), device("d", 2000, 0)))
    asked = Request(2, memory=4000)
    assert names(fitted([card("a"), card("b"), card("c"), card("d")], limits, asked)) == "cd"
    assert names(fitted([card("a"), card("d")], limits, asked)) == ""


def test_a_quota_of_memory_and_one_of_cores_hold_together() -> None:
    """Card c is cheap in cores and b in memory; only both of them can be paid in both."""
    paid = (device("b", 4000, 0), device("c", 0, 30), device("d", 4000, 0))
    found = fitted([card(letter) for letter in "abcd"], budget(Quota(12000, 60), paid), Request(2, 4000, cores=30))
    assert names(found) == "bc"


def test_cards_of_one_numa_node_are_paid_together() -> None:
    cards = [card("a", 0, memory=8000), card("b", 1, memory=8000), card("c", 0), card("d", 1, memory=1000)]
    assert names(fitted(cards, budget(Quota(memory=5000)), bind="true")) == "bd"
    assert names(fitted(cards, budget(Quota(memory=4499)), bind="true")) == ""


def test_cards_that_are_taken_have_no_reason_and_the_others_have_hamis() -> None:
    cards = [card("a", memory=8000), card("b", memory=4000), card("c", memory=4000), card("d", healthy=False)]
    assert fitted(cards, budget(Quota(memory=4000))).reasons == {
        "GPU-a": "ResourceQuotaNotFit",
        "GPU-d": "CardNotHealth",
    }
    refused = fitted(cards, budget(Quota(memory=3999)))
    assert refused.text == "1/4 AllocatedCardsInsufficientRequest, 1/4 CardNotHealth, 2/4 ResourceQuotaNotFit"


def test_many_cards_of_many_prices_are_searched_at_once() -> None:
    """Every pair, triple … of 48 cards would be more sets than could ever be compared."""
    cards = tuple(device(letter, 1000 + ord(letter), 0) for letter in map(chr, range(200, 248)))
    found = affordable(cards, 24, budget(Quota(memory=24 * 1000 + sum(range(200, 224)))))
    assert found == cards[:24]
