"""Which CPUs kubelet picks with distribute-cpus-across-numa: as few NUMA nodes as can give equal parts.

Kubernetes: takeByTopologyNUMADistributed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import floor, inf, sqrt
from typing import Final

from policy.kubelet.machine import Layout, Unit, mask_of_sets
from policy.kubelet.outcome import Stall
from policy.kubelet.packed import by_free, take_packed
from policy.kubelet.settings import CpuOptions

MOST_TRIES: Final = 2_000_000
"""Combinations after which kubelet would not answer in time."""

_PACKED: Final = CpuOptions()


@dataclass(frozen=True, slots=True)
class _Plan:
    """From which NUMA nodes to take.

    Attributes:
        split: whether they are on several sockets although one would be better.
        balance: standard deviation of the free CPUs that would be left, the lower the better.
        nodes: each gives the same number of CPUs.
        share: that number.
        rest: those that give one group more in turn.
    """

    split: bool
    balance: float
    nodes: tuple[Unit, ...] = ()
    share: int = 0
    rest: tuple[Unit, ...] = ()

    def beats(self, other: "_Plan") -> bool:
        return (self.split, self.balance) < (other.split, other.balance)


def take_distributed(layout: Layout, free: int, count: int, options: CpuOptions) -> int | Stall | None:
    """Return ``count`` CPUs out of ``free`` in equal parts, None if there are not enough."""
    group = layout.per_core if options.full_cores else 1
    if count % group:
        return take_packed(layout, free, count, options)
    if count > free.bit_count():
        return None
    numas = by_free(layout, free)
    in_sockets = options.by_socket and options.distributes_in_sockets
    groups = count // group
    per_node = _parts(_parts(layout.all.bit_count(), group), len(layout.numas))
    for width in range(_parts(groups, per_node), min(groups, len(numas)) + 1):
        plan = _Search(layout, free, count, group, in_sockets).best(numas, width)
        if isinstance(plan, Stall):
            return plan
        if plan is not None:
            return _take(layout, free, count, group, plan)
    return take_packed(layout, free, count, options)


def _parts(amount: int, size: int) -> int:
    """Return how many parts of ``size`` hold ``amount``."""
    return -(-amount // size)


@dataclass(frozen=True, slots=True)
class _Search:
    """What is looked for: ``count`` CPUs of ``free`` in groups of ``group``, on one socket where that is asked for."""

    layout: Layout
    free: int
    count: int
    group: int
    in_sockets: bool

    def best(self, numas: Sequence[Unit], width: int) -> _Plan | Stall | None:
        """Return the best plan on ``width`` of ``numas``, None if there is none."""
        room = {unit: (unit[1] & self.free).bit_count() for unit in numas}
        best = _Plan(self.in_sockets, inf)
        tries = 0
        for nodes in combinations(numas, width):
            if best.balance == 0 and not best.split:
                break
            for plan in self._plans(nodes, room):
                tries += 1
                if isinstance(plan, Stall) or tries > MOST_TRIES:
                    return plan if isinstance(plan, Stall) else Stall("distributing CPUs across NUMA nodes", tries)
                if plan.beats(best):
                    best = plan
        return best if best.nodes else None

    def _plans(self, nodes: tuple[Unit, ...], room: dict[Unit, int]) -> Iterator[_Plan | Stall]:
        """Yield the best ways to take from ``nodes``, better and better ones."""
        whole = [room[node] // self.group * self.group for node in nodes]
        share = self.count // len(nodes) // self.group * self.group
        if self.in_sockets:
            share = min(share, *whole)
        if sum(whole) < self.count or min(room[node] for node in nodes) < share:
            return
        split = self.in_sockets and len(self.layout.sockets_of(mask_of_sets(cpus for _, cpus in nodes))) > 1
        left = {unit: each - share if unit in nodes else each for unit, each in room.items()}
        missing = self.count - share * len(nodes)
        if not missing:
            yield _Plan(split, _deviation(tuple(left.values())), nodes, share)
            return
        best = inf
        for rest in self._givers(nodes, left, missing):
            after = _dealt(rest, left, missing, self.group)
            if after is None:
                yield Stall("distributing odd CPUs in whole cores never ends", 0)
                return
            balance = _deviation(tuple(after.values()))
            if balance < best:
                best = balance
                yield _Plan(split, balance, nodes, share, rest)

    def _givers(self, nodes: tuple[Unit, ...], left: dict[Unit, int], missing: int) -> Iterator[tuple[Unit, ...]]:
        """Yield the sets of ``nodes`` that can give what is missing after equal parts, large ones first."""
        giving = [node for node in nodes if left[node] >= self.group]
        for size in range(len(giving), 0, -1):
            yield from (rest for rest in combinations(giving, size) if sum(left[node] for node in rest) >= missing)


def _dealt(rest: Sequence[Unit], left: dict[Unit, int], missing: int, group: int) -> dict[Unit, int] | None:
    """Deal groups in turn until none is missing; None where kubelet's loop would go on for ever."""
    after = dict(left)
    while missing > 0:
        before = missing
        for node in rest:
            if missing > 0 and after[node] >= group:
                after[node] -= group
                missing -= group
        if missing == before:
            return None
    return after


@lru_cache(maxsize=1024)
def _deviation(amounts: tuple[int, ...]) -> float:
    """Return the standard deviation, rounded as kubelet rounds it: three digits, the mean too."""
    mean = _rounded(sum(amounts) / len(amounts))
    return _rounded(sqrt(sum((amount - mean) ** 2 for amount in amounts) / len(amounts)))


def _rounded(value: float) -> float:
    return floor(value * 1000 + 0.5) / 1000


def _take(layout: Layout, free: int, count: int, group: int, plan: _Plan) -> int:
    """Take the equal parts, then the rest in turn, each packed inside its NUMA node."""
    taken = 0
    for _, cpus in plan.nodes:
        taken |= take_packed(layout, cpus & free, plan.share, _PACKED) or 0
    before = -1
    while before < taken.bit_count() < count:
        before = taken.bit_count()
        for _, cpus in plan.rest:
            here = cpus & free & ~taken
            if taken.bit_count() < count and here.bit_count() >= group:
                taken |= take_packed(layout, here, group, _PACKED) or 0
    return taken
