"""Whether a group of unlike members fits: an exact search, bounded by its work, that says so when it gives up.

Members land one by one, the kind that has fewest places first, on every node state that differs. A branch ends where
some kind could not be seated even if it came alone, or some amount is short in all. Members that find a place
whatever the others do are left out beforehand, so that large clusters with room cost nothing.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from policy.capacity.greedy import Choice, big_first, place_in_turn
from policy.capacity.shapes import Cluster, Member
from policy.capacity.states import Goods, States

WORK: Final = 50_000
"""How many partial placements are looked at before the search gives up."""

MOST_SEARCHED: Final = 200
"""Members that one search places; a placement is as deep as it has members."""


class Verdict(StrEnum):
    """Whether a group fits."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


def fits(members: Sequence[Member], cluster: Cluster, work: int = WORK) -> Verdict:
    """Tell whether all of ``members``, each as often as it counts, fit ``cluster`` together, in some order of arrival.

    The order matters to members that want a card nobody uses yet, or a card whose cores are not all given.
    """
    wanted = _merged(members, cluster)
    states = States(wanted)
    nodes = Counter[int]()
    for alike in cluster:
        nodes[states.number(alike.room)] += len(alike.names)
    kinds = _contested(states, nodes)
    if not kinds:
        return Verdict.YES
    if _is_short(kinds, states, nodes):
        return Verdict.NO
    if place_in_turn(_in_order(big_first(wanted)), cluster, Choice.BEST_FIT):
        return Verdict.YES
    return _Search(states, kinds, work).run(nodes)


def _merged(members: Iterable[Member], cluster: Cluster) -> list[Member]:
    """Make one kind of members that ask for the same and are kept off the same nodes, so that none is tried twice."""
    found: dict[tuple[Member, tuple[bool, ...]], Member] = {}
    for member in members:
        kept_off = tuple(member.name in alike.room.barred for alike in cluster)
        key = replace(member, name="", count=0), kept_off
        first = found.get(key)
        found[key] = member if first is None else replace(first, count=first.count + member.count)
    return [member for member in found.values() if member.count > 0]


def _in_order(members: Iterable[Member]) -> list[Member]:
    """Put first who wants an unused card, then who wants cores that are not all given: nobody later harms them."""
    return sorted(members, key=_patience)


def _patience(member: Member) -> tuple[bool, bool]:
    return not member.alone, bool(member.request.cores or not member.gpus)


def _contested(states: States, nodes: Counter[int]) -> list[int]:
    """Return the kinds of members that others could keep from a place.

    Others land on no more nodes than they are. Where the nodes that are left then still seat all of a kind, they are
    seated last, and the rest is a smaller group.
    """
    kinds = list(range(len(states.members)))
    while True:
        total = sum(states.members[kind].count for kind in kinds)
        left = [kind for kind in kinds if not _is_easy(kind, total, states, nodes)]
        if len(left) == len(kinds):
            return kinds
        # One at a time: two kinds may each be easy for the same nodes.
        kinds.remove(next(kind for kind in kinds if kind not in left))


def _is_easy(kind: int, total: int, states: States, nodes: Counter[int]) -> bool:
    """Tell whether the kind finds its places whichever nodes the others land on, the best ones included."""
    count = states.members[kind].count
    taken, found = total - count, 0
    for seats, number in sorted(((states.goods[state][kind], many) for state, many in nodes.items()), reverse=True):
        lost = min(taken, number)
        taken -= lost
        found += seats * (number - lost)
    return found >= count


def _is_short(kinds: Iterable[int], states: States, nodes: Counter[int]) -> bool:
    offered = _sum(*(_times(states.goods[state], number) for state, number in nodes.items()))
    needed = _sum(*(_times(states.need(kind), states.members[kind].count) for kind in kinds))
    return not offered or _lacks(offered, needed)


def _sum(*goods: Goods) -> Goods:
    return tuple(map(sum, zip(*goods, strict=True)))


def _times(goods: Goods, number: int) -> Goods:
    return tuple(each * number for each in goods)


def _lacks(offered: Goods, needed: Goods) -> bool:
    return any(need > have for have, need in zip(offered, needed, strict=True))


class _Search:
    """One search; its nodes are states, sorted, so that what differs in names only is looked at once."""

    def __init__(self, states: States, kinds: Sequence[int], work: int) -> None:
        self._states, self._work = states, work
        self._kinds = kinds
        self._failed: set[tuple[int, int, tuple[int, ...]]] = set()
        self._needs = {kind: states.need(kind) for kind in kinds}

    def run(self, nodes: Counter[int]) -> Verdict:
        members = self._states.members
        total = sum(members[kind].count for kind in self._kinds)
        if total > MOST_SEARCHED:
            return Verdict.UNKNOWN
        useful = [
            state
            for state, number in sorted(nodes.items())
            if any(self._states.goods[state][kind] for kind in self._kinds)
            for _ in range(min(number, total))
        ]
        goods = _sum(*(self._states.goods[state] for state in useful))
        self._kinds = sorted(self._kinds, key=lambda k: (_patience(members[k]), goods[k] / members[k].count))
        demand = _sum(*(_times(self._needs[kind], members[kind].count) for kind in self._kinds))
        if self._place(0, members[self._kinds[0]].count, tuple(useful), goods, demand):
            return Verdict.YES
        return Verdict.NO if self._work > 0 else Verdict.UNKNOWN

    def _place(self, at: int, left: int, nodes: tuple[int, ...], goods: Goods, demand: Goods) -> bool:
        if not left:
            if at + 1 == len(self._kinds):
                return True
            return self._place(at + 1, self._states.members[self._kinds[at + 1]].count, nodes, goods, demand)
        if (at, left, nodes) in self._failed or self._work <= 0:
            return False
        self._work -= 1
        kind = self._kinds[at]
        rest = tuple(have - need for have, need in zip(demand, self._needs[kind], strict=True))
        for state, then, offered in self._ways(kind, nodes, goods):
            if not _lacks(offered, rest) and self._place(at, left - 1, self._moved(nodes, state, then), offered, rest):
                return True
        self._failed.add((at, left, nodes))
        return False

    def _ways(self, kind: int, nodes: tuple[int, ...], goods: Goods) -> list[tuple[int, int, Goods]]:
        """Return the states that the member can change, into which, and what all nodes offer then; most of it first."""
        known = self._states.goods
        ways = []
        for state in dict.fromkeys(nodes):
            before = known[state]
            for then in self._states.after(state, kind):
                offered = tuple(all_ - was + now for all_, was, now in zip(goods, before, known[then], strict=True))
                ways.append((state, then, offered))
        ways.sort(key=lambda way: way[2], reverse=True)
        return ways

    def _moved(self, nodes: tuple[int, ...], state: int, then: int) -> tuple[int, ...]:
        changed = list(nodes)
        changed.remove(state)
        if not self._states.is_full(then):
            changed.append(then)
        return tuple(sorted(changed))
