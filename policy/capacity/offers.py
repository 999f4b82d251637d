"""How many members a card, or a row of cards, can serve (HAMi: fit of NVIDIA cards)."""

from collections.abc import Sequence
from typing import Final

from policy.capacity.shapes import CardRoom, Member
from policy.hami.request import WHOLE_CARD
from policy.keys import NVIDIA
from policy.placement.fit import MIG_MODE
from policy.placement.order import memory_on

UNBOUNDED: Final = 10**9
"""As many members as nothing asked for allows: more than any cluster holds."""


def accepts(member: Member, room: CardRoom) -> bool:
    """Tell whether the card is one that the member may ever use, however full it is."""
    card, allowed = room.card, member.filter
    return (
        card.healthy
        and card.vendor == NVIDIA
        and card.mode != MIG_MODE
        and allowed.allows_type(card.type)
        and allowed.allows_mode(card.mode)
        and allowed.allows_uuid(card.uuid)
    )


def offer(member: Member, room: CardRoom) -> int:
    """Return how many like ``member`` can have a share of the card, one each, added until no more fits.

    In HAMi's rules a request for all cores wants an unused card, and one for no cores a card whose cores are not
    all given.
    """
    return _shares(member, room) if accepts(member, room) else 0


def _shares(member: Member, room: CardRoom) -> int:
    card, use, asked = room.card, room.use, member.request
    free = card.slots - use.slots
    if free <= 0:
        return 0
    memory, cores = card.memory - use.memory, card.cores - use.cores
    alone = member.alone or asked.cores == WHOLE_CARD == card.cores
    if (alone and use.slots) or memory < 0 or cores < 0 or (not asked.cores and not cores and card.cores):
        return 0
    need = memory_on(card, asked)
    return min(
        1 if alone else free,
        memory // need if need else UNBOUNDED,
        cores // asked.cores if asked.cores else UNBOUNDED,
    )


def most_on_different_cards(offers: Sequence[int], cards: int) -> int:
    """Return how many members can have ``cards`` different cards each, where card i can serve ``offers[i]``.

    A member takes at most one share of a card, so w members fit if and only if the offers, each cut to w, hold
    w times ``cards`` (Gale and Ryser). The sum divided by ``cards`` would be too much.
    """
    if cards <= 1:
        return sum(offers) if cards else UNBOUNDED
    low, high = 0, sum(offers) // cards
    if max(offers, default=0) <= 1:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(each, middle) for each in offers) >= cards * middle:
            low = middle
        else:
            high = middle - 1
    return low


class Offers:
    """What cards offer one member, each card looked at once.

    Equal cards of a cluster are mostly one object, and all live as long as the count does, so that a card's identity is
    the cheapest key for it.
    """

    def __init__(self, member: Member) -> None:
        self._member = member
        self._known: dict[int, tuple[int, bool]] = {}

    def of(self, cards: Sequence[CardRoom]) -> tuple[list[int], int]:
        """Return what each of ``cards`` offers, nothing to a member without GPUs, and how many are idle."""
        known = self._known
        found = [known.get(id(card)) or self._look(card) for card in cards]
        offered = [offers for offers, _ in found] if self._member.gpus else []
        return offered, sum(idle for _, idle in found)

    def _look(self, card: CardRoom) -> tuple[int, bool]:
        accepted = accepts(self._member, card)
        found = (_shares(self._member, card), card.is_idle) if accepted else (0, False)
        self._known[id(card)] = found
        return found
