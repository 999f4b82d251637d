"""Whether a group can start now, all or nothing, and which of its members cannot.

Identical members are counted; unlike ones are searched for, and a solver that the caller has may be asked where the
search gives up.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from policy.capacity.count import most
from policy.capacity.mixed import WORK, Verdict, fits
from policy.capacity.shapes import (
    NO_LIMITS,
    Alike,
    CardRoom,
    Cluster,
    Limits,
    Locality,
    Member,
    NodeRoom,
    ZoneRoom,
    distinct,
)

Solver = Callable[[Sequence[Member], Cluster], Verdict]
"""Answers like `policy.capacity.mixed.fits`, by other means."""

_MOST_CHOICES: Final = 200
"""Ways to choose the members that must start, of those that may."""


@dataclass(frozen=True, slots=True)
class Group:
    """Pods that start together.

    Attributes:
        members: the kinds, each with how many of it there are.
        minimum: how many must start, whichever they are; None for all.
        running: how many of them run already.
        limits: what they are held to together.
    """

    members: tuple[Member, ...]
    minimum: int | None = None
    running: int = 0
    limits: Limits = NO_LIMITS

    @property
    def needed(self) -> int:
        """How many must still find a place."""
        total = sum(member.count for member in self.members)
        wanted = total if self.minimum is None else self.minimum
        return max(wanted - self.running, 0)


@dataclass(frozen=True, slots=True)
class Feasibility:
    """How a group is judged: how long the search may take, and whom to ask after it."""

    work: int = WORK
    solver: Solver | None = None

    def judge(self, group: Group, cluster: Cluster) -> Verdict:
        """Tell whether ``group`` can start on ``cluster``."""
        there = sum(member.count for member in group.members)
        if group.needed > (there if group.limits.quota is None else min(there, group.limits.quota)):
            return Verdict.NO
        if len(group.members) == 1:
            return _said(most(group.members[0], cluster, group.limits) >= group.needed)
        parts = [part for part, _ in distinct(group.limits.split(cluster))]
        choices = list(islice(_choices(group.members, group.needed), _MOST_CHOICES + 1))
        if len(choices) > _MOST_CHOICES:
            return Verdict.UNKNOWN
        return any_of(self._ask(members, part) for members in choices for part in parts)

    def _ask(self, members: Sequence[Member], cluster: Cluster) -> Verdict:
        verdict = fits(members, cluster, self.work)
        if verdict is not Verdict.UNKNOWN or self.solver is None:
            return verdict
        return self.solver(members, cluster)

    def failing(self, group: Group, cluster: Cluster) -> tuple[str, ...]:
        """Return a smallest choice of members that cannot start together, by name; none where they can.

        No member of the choice can be left out of it: what is left would fit.
        """
        if self.judge(group, cluster) is not Verdict.NO:
            return ()
        kept = group.members
        for member in group.members:
            rest = tuple(each for each in kept if each.name != member.name)
            if rest and self.judge(replace(group, members=rest, minimum=None, running=0), cluster) is Verdict.NO:
                kept = rest
        return tuple(member.name for member in kept)

    def ladder(self, group: Group, cluster: Cluster) -> dict[Locality, Verdict]:
        """Return the verdict if no member were bound more than each locality says."""
        return {rung: self.judge(at_most(group, rung), cluster) for rung in Locality}


def any_of(verdicts: Iterator[Verdict]) -> Verdict:
    """Return yes if one says so, unknown if one does not know, else no."""
    unknown = False
    for verdict in verdicts:
        if verdict is Verdict.YES:
            return verdict
        unknown |= verdict is Verdict.UNKNOWN
    return Verdict.UNKNOWN if unknown else Verdict.NO


def at_most(group: Group, rung: Locality) -> Group:
    """Return the same group, no member bound more than ``rung`` says."""
    members = tuple(
        replace(member, locality=rung) if rung in member.locality.rungs else member for member in group.members
    )
    return replace(group, members=members)


def emptied(cluster: Cluster) -> Cluster:
    """Return the cluster as if nobody held anything: who does not fit there never will on these nodes.

    What CPUs and memory would then be free is not known here and refuses nothing.
    """
    return tuple(Alike(_empty(alike.room), alike.names) for alike in cluster)


def _empty(room: NodeRoom) -> NodeRoom:
    zones = tuple(ZoneRoom(tuple(CardRoom(card.card) for card in zone.cards)) for zone in room.zones)
    return NodeRoom(zones, barred=room.barred)


def _said(fitting: bool) -> Verdict:
    return Verdict.YES if fitting else Verdict.NO


def _choices(members: Sequence[Member], needed: int) -> Iterator[tuple[Member, ...]]:
    """Yield the ways to choose ``needed`` of the members, who are as many at least."""
    if not members:
        yield ()
        return
    first, rest = members[0], members[1:]
    others = sum(member.count for member in rest)
    for count in range(min(first.count, needed), max(needed - others, 0) - 1, -1):
        for chosen in _choices(rest, needed - count):
            yield (replace(first, count=count), *chosen) if count else chosen
