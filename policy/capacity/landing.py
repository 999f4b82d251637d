"""All ways in which one member can land on a node, as the node is afterwards."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from policy.capacity.offers import offer
from policy.capacity.shapes import CardRoom, Locality, Member, NodeRoom, ZoneRoom
from policy.facts import Use
from policy.placement.order import memory_on

_Position = tuple[int, int]
"""A card by its zone and its place there."""


@dataclass(frozen=True, slots=True)
class Landing:
    """One way.

    Attributes:
        room: the node with the member on it.
        left: what the place still has: shares for members like it, CPUs, memory. Best fit leaves least.
    """

    room: NodeRoom
    left: tuple[int, int, int]


def landings(room: NodeRoom, member: Member) -> Iterator[Landing]:
    """Yield the ways that differ, NUMA nodes and cards in the order in which the node lists them."""
    full = room.seats is not None and room.seats <= 0
    if full or member.name in room.barred or not member.is_aligned:
        return
    if _short(room.cpu, member.cpus) or _short(room.memory, member.memory):
        return
    seen: set[ZoneRoom] = set()
    for zones in _spans(room, member.place):
        if len(zones) == 1:
            zone = room.zones[zones[0]]
            if zone in seen or _lacks(zone, member):
                continue
            seen.add(zone)
        for cards in _choices(_classes(room, zones, member), member.gpus):
            yield _landed(room, zones, cards, member)


def _short(left: int | None, need: int) -> bool:
    return left is not None and left < need


def _lacks(zone: ZoneRoom, member: Member) -> bool:
    where = member.place
    cpu, memory = where.binds_cpu and _short(zone.cpu, member.cpus), _short(zone.memory, member.memory)
    return cpu or (where.binds_memory and memory)


def _spans(room: NodeRoom, place: Locality) -> Iterator[tuple[int, ...]]:
    every = range(len(room.zones))
    if place is Locality.NODE:
        yield tuple(every)
    else:
        yield from ((zone,) for zone in every)


def _classes(room: NodeRoom, zones: Sequence[int], member: Member) -> list[list[_Position]]:
    """Group the cards that can take the member: which of equal cards it takes makes no difference."""
    if not member.gpus:
        return []
    found: dict[tuple[int, CardRoom], list[_Position]] = {}
    for zone in zones:
        for place, card in enumerate(room.zones[zone].cards):
            if offer(member, card):
                found.setdefault((zone, card), []).append((zone, place))
    return list(found.values())


def _choices(classes: Sequence[Sequence[_Position]], wanted: int) -> Iterator[tuple[_Position, ...]]:
    if not wanted:
        yield ()
        return
    if sum(map(len, classes)) < wanted:
        return
    first, rest = classes[0], classes[1:]
    for taken in range(min(len(first), wanted), -1, -1):
        for others in _choices(rest, wanted - taken):
            yield (*first[:taken], *others)


def _landed(room: NodeRoom, zones: Sequence[int], cards: Sequence[_Position], member: Member) -> Landing:
    where, touched = member.place, set(cards)
    changed = list(room.zones)
    for index in zones:
        zone = room.zones[index]
        changed[index] = ZoneRoom(
            tuple(_taken(card, member) if (index, at) in touched else card for at, card in enumerate(zone.cards)),
            _less(zone.cpu, member.cpus if where.binds_cpu else 0),
            _less(zone.memory, member.memory if where.binds_memory else 0),
        )
    after = NodeRoom(
        tuple(changed),
        _less(room.cpu, member.cpus),
        _less(room.memory, member.memory),
        _less(room.seats, 1),
        room.barred,
    )
    return Landing(after, _left(after, zones, member))


def _taken(card: CardRoom, member: Member) -> CardRoom:
    request = member.request
    return CardRoom(card.card, card.use + Use(1, memory_on(card.card, request), request.cores))


def _less(left: int | None, taken: int) -> int | None:
    return None if left is None else left - taken


def _left(room: NodeRoom, zones: Sequence[int], member: Member) -> tuple[int, int, int]:
    shares = sum(offer(member, card) for index in zones for card in room.zones[index].cards) if member.gpus else 0
    if member.place is Locality.NODE:
        return shares, room.cpu or 0, room.memory or 0
    (zone,) = (room.zones[index] for index in zones)
    return shares, zone.cpu or 0, zone.memory or 0
