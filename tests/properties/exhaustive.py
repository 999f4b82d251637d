"""Whether cards can serve a request at all, found out by trying every choice of them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from policy.facts import NOTHING, UNKNOWN_NUMA, Card, Use
from tests.properties.ledger import beyond, whole


def choices(
    cards: Sequence[Card],
    nums: int,
    *,
    bind: bool,
    takes: Callable[[Card], bool],
    affords: Callable[[Sequence[Card]], bool],
) -> Iterator[frozenset[str]]:
    """Yield the UUIDs of each set of ``nums`` cards that would do.

    Args:
        cards: what there is to choose from.
        nums: how many are wanted.
        bind: whether they must share a NUMA node.
        takes: tells whether a card can give its part.
        affords: tells whether the namespace's quota allows the set.
    """
    for chosen in combinations(filter(takes, cards), nums):
        if (not bind or _share_a_node(chosen)) and affords(chosen):
            yield frozenset(card.uuid for card in chosen)


def _share_a_node(cards: Sequence[Card]) -> bool:
    numas = {card.numa for card in cards}
    return len(cards) < 2 or (len(numas) == 1 and UNKNOWN_NUMA not in numas)


def has_room(card: Card, beside: Use, share: Use, *, mutex: bool) -> bool:
    """Tell whether a card that others hold ``beside`` of can give ``share`` (HAMi: checks of the fit)."""
    if beyond(beside + share, whole(card)) != NOTHING:
        return False
    if beside.slots and (mutex or share.cores == card.cores == 100):
        return False
    return bool(share.cores) or not card.cores or beside.cores < card.cores


def within(limit: Use, others: Use, need: Use) -> bool:
    """Tell whether a quota lets a pod hold ``need``; holding nothing is always allowed (HAMi: quota)."""
    if not (need.memory or need.cores):
        return True
    total = others + need
    return total.memory <= limit.memory and total.cores <= limit.cores
