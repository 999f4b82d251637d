"""The same question put to OR-Tools' CP-SAT, an optional extra (`numafit[solver]`), where the search gives up.

Members are counted by kind and place, so that equal ones bring no symmetry; cards that nobody shares are counted by
kind too, others are asked one by one. One worker and a fixed seed: the same facts give the same answer.
"""

import importlib.util
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

from policy.capacity.group import Solver
from policy.capacity.mixed import Verdict
from policy.capacity.offers import offer
from policy.capacity.shapes import CardRoom, Cluster, Locality, Member, NodeRoom
from policy.hami.request import WHOLE_CARD
from policy.placement.order import memory_on

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

SECONDS: Final = 5.0
"""How long the solver may think."""


def cp_sat(seconds: float = SECONDS) -> Solver | None:
    """Return the solver with its time limit, None where the extra is not installed."""
    if importlib.util.find_spec("ortools") is None:
        return None
    return lambda members, cluster: _solve(members, cluster, seconds)


def _solve(members: Sequence[Member], cluster: Cluster, seconds: float) -> Verdict:
    from ortools.sat.python import cp_model  # noqa: PLC0415 - an optional extra, and slow to import

    model = cp_model.CpModel()
    total = sum(member.count for member in members)
    placed: list[list[cp_model.IntVar]] = [[] for _ in members]
    for alike in cluster:
        for _ in alike.names[:total]:
            for kind, seats in enumerate(_Node(model, members, alike.room).seats):
                placed[kind] += seats
    for member, seats in zip(members, placed, strict=True):
        model.add(sum(seats) == member.count)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    status = solver.solve(model)
    if status in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return Verdict.YES
    return Verdict.NO if status == cp_model.INFEASIBLE else Verdict.UNKNOWN


class _Node:
    """One node in the model.

    Attributes:
        seats: kind of member -> how many of it are in each place of the node.
    """

    def __init__(self, model: "cp_model.CpModel", members: Sequence[Member], room: NodeRoom) -> None:
        self._model, self._members, self._room = model, members, room
        self._in_zone: list[list[tuple[int, cp_model.IntVar]]] = [[] for _ in room.zones]
        self._anywhere: list[tuple[int, cp_model.IntVar]] = []
        for kind, member in enumerate(members):
            self._seat(kind, member)
        self.seats = [[seat for k, seat in self._everyone if k == kind] for kind in range(len(members))]
        self._share_amounts()
        taken: dict[tuple[int, int], list[cp_model.IntVar]] = {}
        for zone in range(len(room.zones)):
            self._share_cards(zone, taken)
        for position, (kind, seat) in enumerate(self._everyone):
            self._model.add(sum(taken.get((position, kind), [])) == members[kind].gpus * seat)

    @property
    def _everyone(self) -> list[tuple[int, "cp_model.IntVar"]]:
        return [*self._anywhere, *chain.from_iterable(self._in_zone)]

    def _seat(self, kind: int, member: Member) -> None:
        if member.name in self._room.barred or not member.is_aligned:
            return
        if member.place is Locality.NODE:
            self._anywhere.append((kind, self._model.new_int_var(0, member.count, "")))
            return
        for seats in self._in_zone:
            seats.append((kind, self._model.new_int_var(0, member.count, "")))

    def _share_amounts(self) -> None:
        room, members = self._room, self._members
        self._limit(room.seats, ((1, seat) for _, seat in self._everyone))
        self._limit(room.cpu, ((members[kind].cpus, seat) for kind, seat in self._everyone))
        self._limit(room.memory, ((members[kind].memory, seat) for kind, seat in self._everyone))
        for zone, seats in zip(room.zones, self._in_zone, strict=True):
            local = [(members[kind], seat) for kind, seat in seats]
            self._limit(zone.cpu, ((m.cpus, seat) for m, seat in local if m.place.binds_cpu))
            self._limit(zone.memory, ((m.memory, seat) for m, seat in local if m.place.binds_memory))

    def _limit(self, limit: int | None, parts: Iterator[tuple[int, "cp_model.IntVar"]]) -> None:
        amounts = list(parts)
        if limit is not None and amounts:
            self._model.add(sum(amount * seat for amount, seat in amounts) <= limit)

    def _share_cards(self, zone: int, taken: dict[tuple[int, int], list["cp_model.IntVar"]]) -> None:
        """Let the members of a zone, and those that may be anywhere, take its cards."""
        around = len(self._anywhere) + sum(map(len, self._in_zone[:zone]))
        here = [*range(len(self._anywhere)), *range(around, around + len(self._in_zone[zone]))]
        for card, number in Counter(self._room.zones[zone].cards).items():
            users = [each for each in here if self._offer(each, card)]
            whole = all(self._is_whole(each, card) for each in users)
            for many in (number,) if whole else (1,) * number:
                parts = {each: self._part(each, card, many, whole=whole) for each in users}
                self._hold(parts, card, many, whole=whole)
                for each, part in parts.items():
                    taken.setdefault((each, self._everyone[each][0]), []).append(part)

    def _offer(self, position: int, card: CardRoom) -> int:
        member = self._members[self._everyone[position][0]]
        return offer(member, card) if member.gpus else 0

    def _is_whole(self, position: int, card: CardRoom) -> bool:
        member = self._members[self._everyone[position][0]]
        return member.takes_whole_cards and card.card.cores == WHOLE_CARD

    def _part(self, position: int, card: CardRoom, many: int, *, whole: bool) -> "cp_model.IntVar":
        """Return how many members of one place have a share of the card, or how many of equal cards they have."""
        kind, seat = self._everyone[position]
        part = self._model.new_int_var(
            0, many if whole else min(self._offer(position, card), self._members[kind].count), ""
        )
        if not whole:
            self._model.add(part <= seat)
        return part

    def _hold(self, parts: dict[int, "cp_model.IntVar"], card: CardRoom, many: int, *, whole: bool) -> None:
        if whole:
            self._limit(many, ((1, part) for part in parts.values()))
            return
        what, use = card.card, card.use
        asked = [(self._members[self._everyone[each][0]], part) for each, part in parts.items()]
        self._limit(what.slots - use.slots, ((1, part) for _, part in asked))
        self._limit(what.memory - use.memory, ((memory_on(what, m.request), part) for m, part in asked))
        self._limit(what.cores - use.cores, ((m.request.cores, part) for m, part in asked))
        self._limit(1, ((1, part) for m, part in asked if m.alone))
        self._part_ways(asked, card)

    def _part_ways(self, asked: Sequence[tuple[Member, "cp_model.IntVar"]], card: CardRoom) -> None:
        """Keep apart who wants an unused card with all its cores, and who would find all cores given."""
        full = [part for m, part in asked if m.request.cores == WHOLE_CARD == card.card.cores]
        for part in (part for m, part in asked if not m.request.cores):
            for other in full:
                some = self._model.new_bool_var("")
                self._model.add(part == 0).only_enforce_if(some)
                self._model.add(other == 0).only_enforce_if(some.negated())
