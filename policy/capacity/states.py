"""The states that nodes pass through while members land on them, as numbers, for searches that see each many times.

Two nodes are one state where no member can tell them apart: cards that none can use are left out, amounts are cut
to what the group could use, and NUMA nodes and cards stand in one order.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from policy.capacity.count import most
from policy.capacity.landing import landings
from policy.capacity.offers import offer
from policy.capacity.shapes import Alike, CardRoom, Member, NodeRoom, ZoneRoom
from policy.placement.order import memory_on

Goods = tuple[int, ...]
"""What a node offers, or a member needs: seats for each kind of member if it came alone, then amounts in all."""


class States:
    """The states of one group's nodes.

    Attributes:
        members: the kinds of members; their place here is their number.
        goods: by state.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = tuple(members)
        self.goods: list[Goods] = []
        self._rooms: list[NodeRoom] = []
        self._numbers: dict[object, int] = {}
        self._cards: dict[CardRoom, int] = {}
        self._steps: dict[tuple[int, int], tuple[int, ...]] = {}
        self._cpus = sum(member.count * member.cpus for member in members)
        self._memory = sum(member.count * member.memory for member in members)
        self._most_cards = sum(member.count * member.gpus for member in members)

    def number(self, room: NodeRoom) -> int:
        """Return the number of the state that ``room`` is in."""
        reduced = self._reduce(room)
        key = self._key(reduced)
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self._rooms)
            self._rooms.append(reduced)
            self.goods.append(self._offered(reduced))
        return known

    def after(self, state: int, kind: int) -> tuple[int, ...]:
        """Return the states in which one member of ``kind`` can leave a node in ``state``, fullest first."""
        known = self._steps.get((state, kind))
        if known is None:
            ways = sorted(landings(self._rooms[state], self.members[kind]), key=lambda way: way.left)
            known = self._steps[state, kind] = tuple(dict.fromkeys(self.number(way.room) for way in ways))
        return known

    def is_full(self, state: int) -> bool:
        """Tell whether no member of any kind can land on a node in ``state``."""
        return not any(self.goods[state][: len(self.members)])

    def need(self, kind: int) -> Goods:
        """Return what one member of ``kind`` takes of the goods at least."""
        member = self.members[kind]
        seats = tuple(int(each == kind) for each in range(len(self.members)))
        cards = {card.card for room in self._rooms for card in room.cards if offer(member, card)}
        memory = min((memory_on(card, member.request) for card in cards), default=0)
        return (*seats, member.cpus, member.memory, member.gpus * memory, member.gpus * member.request.cores)

    def _offered(self, room: NodeRoom) -> Goods:
        alone = (Alike(room, ("",)),)
        seats = tuple(min(most(member, alone), member.count) for member in self.members)
        cards = room.cards
        memory = sum(card.card.memory - card.use.memory for card in cards)
        cores = sum(card.card.cores - card.use.cores for card in cards)
        return (*seats, room.cpu or 0, room.memory or 0, memory, cores)

    def _reduce(self, room: NodeRoom) -> NodeRoom:
        cpu, memory = _cut(room.cpu, self._cpus), _cut(room.memory, self._memory)
        zones = (
            ZoneRoom(tuple(self._useful(zone.cards)), _cut(zone.cpu, cpu), _cut(zone.memory, memory))
            for zone in room.zones
        )
        return replace(room, zones=tuple(zones), cpu=cpu, memory=memory)

    def _useful(self, cards: Sequence[CardRoom]) -> Iterator[CardRoom]:
        """Yield the cards that any member can use, of equal ones no more than the group could."""
        for card, number in Counter(cards).items():
            if any(offer(member, card) for member in self.members):
                yield from (card,) * min(number, self._most_cards)

    def _key(self, room: NodeRoom) -> object:
        zones = sorted(
            (
                tuple(sorted(self._cards.setdefault(card, len(self._cards)) for card in z.cards)),
                z.cpu or 0,
                z.memory or 0,
            )
            for z in room.zones
        )
        return tuple(zones), room.cpu, room.memory, room.seats, room.barred


def _cut(amount: int | None, most_used: int) -> int:
    return most_used if amount is None else min(amount, most_used)
