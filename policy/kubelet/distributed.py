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

MOST_TRIES: Final = 200_000
"""Combinations after which kubelet is said to stall; their number grows threefold with each NUMA node."""

_PACKED: Final = CpuOptions()


@dataclass(frozen=True, slots=True)
class _Plan:
    """From which NUMA nodes to take.

    Attributes:
        split: whether they are on several sockets although one would be better.
        balance: standard deviation of the free CPUs that would be left, the lower the better.
        nodes: places of those that give the same number of CPUs each.
        share: that number.
        rest: places of those that give one group more in turn.
    """

    split: bool
    balance: float
    nodes: tuple[int, ...] = ()
    share: int = 0
    rest: tuple[int, ...] = ()

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
        plan = _Search(layout, numas, count, group, in_sockets).best(free, width)
        if isinstance(plan, Stall):
            return plan
        if plan is not None:
            return _take(layout, [cpus & free for _, cpus in numas], count, group, plan)
    return take_packed(layout, free, count, options)


def _parts(amount: int, size: int) -> int:
    """Return how many parts of ``size`` hold ``amount``."""
    return -(-amount // size)


@dataclass(frozen=True, slots=True)
class _Search:
    """What is looked for: ``count`` CPUs of ``numas`` in groups of ``group``, on one socket where that is asked for."""

    layout: Layout
    numas: Sequence[Unit]
    count: int
    group: int
    in_sockets: bool

    def best(self, free: int, width: int) -> _Plan | Stall | None:
        """Return the best plan on ``width`` NUMA nodes, None if there is none."""
        room = [(cpus & free).bit_count() for _, cpus in self.numas]
        best = _Plan(self.in_sockets, inf)
        tries = 0
        for nodes in combinations(range(len(room)), width):
            if best.balance == 0 and not best.split:
                break
            tries += 1
            for plan in self._plans(nodes, room):
                tries += 1
                if isinstance(plan, Stall):
                    return plan
                if plan is not None and plan.beats(best):
                    best = plan
            if tries > MOST_TRIES:
                return Stall("distributing CPUs across NUMA nodes", tries)
        return best if best.nodes else None

    def _plans(self, nodes: tuple[int, ...], room: Sequence[int]) -> Iterator[_Plan | Stall | None]:
        """Yield the ways to take from ``nodes``, None for each that is no better than the one before."""
        whole = [room[node] // self.group * self.group for node in nodes]
        share = self.count // len(nodes) // self.group * self.group
        if self.in_sockets:
            share = min(share, *whole)
        if sum(whole) < self.count or min(whole) < share:
            return
        split = self.in_sockets and self._is_split(nodes)
        left = [each - share if node in nodes else each for node, each in enumerate(room)]
        missing = self.count - share * len(nodes)
        if not missing:
            yield _Plan(split, _deviation(tuple(left)), nodes, share)
            return
        best = inf
        for rest in self._givers(nodes, left, missing):
            after = self._dealt(rest, left, missing)
            if after is None:
                yield Stall("distributing odd CPUs in whole cores never ends", 0)
                return
            balance = _deviation(tuple(after))
            yield _Plan(split, balance, nodes, share, rest) if balance < best else None
            best = min(best, balance)

    def _givers(self, nodes: tuple[int, ...], left: Sequence[int], missing: int) -> Iterator[tuple[int, ...]]:
        """Yield the sets of ``nodes`` that can give what is missing after equal parts, large ones first."""
        giving = [node for node in nodes if left[node] >= self.group]
        for size in range(len(giving), 0, -1):
            for rest in combinations(giving, size):
                if sum([left[node] for node in rest]) >= missing:
                    yield rest

    def _is_split(self, nodes: tuple[int, ...]) -> bool:
        return len(self.layout.sockets_of(mask_of_sets(self.numas[node][1] for node in nodes))) > 1

    def _dealt(self, rest: Sequence[int], left: Sequence[int], missing: int) -> list[int] | None:
        """Deal groups in turn until none is missing; None where kubelet's loop would go on for ever."""
        after = list(left)
        while missing > 0:
            before = missing
            for node in rest:
                if missing > 0 and after[node] >= self.group:
                    after[node] -= self.group
                    missing -= self.group
            if missing == before:
                return None
        return after


@lru_cache(maxsize=4096)
def _deviation(amounts: tuple[int, ...]) -> float:
    """Return the standard deviation, rounded as kubelet rounds it: three digits, the mean too."""
    mean = _rounded(sum(amounts) / len(amounts))
    return _rounded(sqrt(sum((amount - mean) ** 2 for amount in amounts) / len(amounts)))


def _rounded(value: float) -> float:
    return floor(value * 1000 + 0.5) / 1000


def _take(layout: Layout, free: Sequence[int], count: int, group: int, plan: _Plan) -> int:
    """Take the equal parts, then the rest in turn, each packed inside its NUMA node; ``free`` has one set for each."""
    taken = 0
    for node in plan.nodes:
        taken |= take_packed(layout, free[node], plan.share, _PACKED) or 0
    before = -1
    while before < taken.bit_count() < count:
        before = taken.bit_count()
        for node in plan.rest:
            here = free[node] & ~taken
            if taken.bit_count() < count and here.bit_count() >= group:
                taken |= take_packed(layout, here, group, _PACKED) or 0
    return taken
