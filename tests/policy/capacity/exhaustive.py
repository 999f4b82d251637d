"""The slow judge: every member tried on every node, NUMA node and set of cards, in every order of arrival.

It shares nothing with the counting and the search but the shapes, and asks HAMi's own card checks.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from policy.capacity.shapes import CardRoom, Locality, Member, NodeRoom
from policy.facts import Device, Use
from policy.placement.fit import refusal
from policy.placement.order import memory_on
from policy.placement.rules import Rules

Held = tuple[tuple[Use, ...], tuple[int, ...], tuple[int, ...], int, int, int]
"""Of one node: what is taken of each card; CPUs and memory taken locally by zone, and in all; members there."""


class Judge:
    """Answers about one cluster and one list of members."""

    def __init__(self, rooms: Sequence[NodeRoom], members: Sequence[Member]) -> None:
        self._rooms, self._members = rooms, members
        self._start: tuple[Held, ...] = tuple(
            (tuple(card.use for card in room.cards), (0,) * len(room.zones), (0,) * len(room.zones), 0, 0, 0)
            for room in rooms
        )
        self._seen: dict[tuple[tuple[int, ...], tuple[Held, ...]], int] = {}

    def fits(self) -> bool:
        """Tell whether all members fit together in some order."""
        counts = tuple(member.count for member in self._members)
        return self._most(counts, self._start) == sum(counts)

    def most(self) -> int:
        """Return how many of the members, taken as so many at most, can be there at once."""
        return self._most(tuple(member.count for member in self._members), self._start)

    def _most(self, left: tuple[int, ...], held: tuple[Held, ...]) -> int:
        key = left, held
        if key not in self._seen:
            best = 0
            for kind, count in enumerate(left):
                if not count or best == sum(left):
                    continue
                rest = (*left[:kind], count - 1, *left[kind + 1 :])
                for after in self._ways(self._members[kind], held):
                    best = max(best, 1 + self._most(rest, after))
                    if best == sum(left):
                        break
            self._seen[key] = best
        return self._seen[key]

    def _ways(self, member: Member, held: tuple[Held, ...]) -> Iterator[tuple[Held, ...]]:
        for at, room in enumerate(self._rooms):
            for after in _on_node(member, room, held[at]):
                yield (*held[:at], after, *held[at + 1 :])


def _on_node(member: Member, room: NodeRoom, held: Held) -> Iterator[Held]:
    uses, cpus, memories, cpu, memory, seats = held
    if member.name in room.barred or member.cpus % member.cpu_step or (room.seats is not None and seats >= room.seats):
        return
    if _over(room.cpu, cpu + member.cpus) or _over(room.memory, memory + member.memory):
        return
    zone_of = [index for index, zone in enumerate(room.zones) for _ in zone.cards]
    for zone in range(len(room.zones)) if member.locality is not Locality.NODE else [None]:
        own = [place for place in range(len(uses)) if zone is None or zone_of[place] == zone]
        local_cpu = member.cpus if member.locality in {Locality.GPU_CPU, Locality.GPU_CPU_MEM} else 0
        local_memory = member.memory if member.locality is Locality.GPU_CPU_MEM else 0
        after_cpus, after_memories = list(cpus), list(memories)
        if zone is not None:
            after_cpus[zone] += local_cpu
            after_memories[zone] += local_memory
            if _over(room.zones[zone].cpu, after_cpus[zone]) or _over(room.zones[zone].memory, after_memories[zone]):
                continue
        for cards in combinations(own, member.gpus):
            after = _with(member, room.cards, uses, cards)
            if after is not None:
                yield (
                    after,
                    tuple(after_cpus),
                    tuple(after_memories),
                    cpu + member.cpus,
                    memory + member.memory,
                    seats + 1,
                )


def _with(
    member: Member, cards: Sequence[CardRoom], uses: tuple[Use, ...], taken: Sequence[int]
) -> tuple[Use, ...] | None:
    rules = Rules.of({"hami.io/gpu-scheduler-policy": "mutex"} if member.alone else {}, "spread")
    after = list(uses)
    for place in taken:
        card = cards[place].card
        device = Device(card.uuid, memory_on(card, member.request), member.request.cores)
        if refusal(card, device, uses[place], rules) or not member.filter.allows_type(card.type):
            return None
        after[place] += Use(1, device.memory, device.cores)
    return tuple(after)


def _over(limit: int | None, amount: int) -> bool:
    return limit is not None and amount > limit
