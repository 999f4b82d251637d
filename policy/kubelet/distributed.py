"""Which CPUs kubelet picks with distribute-cpus-across-numa: as few NUMA nodes as can give equal parts.

Kubernetes: takeByTopologyNUMADistributed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import floor, inf, sqrt
from typing import Final

from policy.kubelet.machine import Layout, Unit
from policy.kubelet.outcome import Stall
from policy.kubelet.packed import by_free, take_packed
from policy.kubelet.settings import CpuOptions

MOST_TRIES: Final = 2_000_000
"""Combinations after which kubelet would not answer in time."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """From which NUMA nodes to take.

    Attributes:
        balance: standard deviation of the free CPUs that would be left, the lower the better.
        nodes: each gives the same number of CPUs.
        rest: those that give one group more in turn.
    """

    balance: float
    nodes: tuple[Unit, ...]
    rest: tuple[Unit, ...] = ()


def take_distributed(layout: Layout, free: int, count: int, options: CpuOptions) -> int | Stall | None:
    """Return ``count`` CPUs out of ``free`` in equal parts, None if there are not enough."""
    group = layout.per_core if options.full_cores else 1
    if count % group:
        return take_packed(layout, free, count, options)
    if count > free.bit_count():
        return None
    if count < 1:
        return 0
    numas = by_free(layout, free)
    groups = count // group
    per_node = _parts(_parts(layout.all.bit_count(), group), len(layout.numas))
    for width in range(_parts(groups, per_node), min(groups, len(numas)) + 1):
        plan = _best_plan(numas, width, free, count, group)
        if isinstance(plan, Stall):
            return plan
        if plan is not None:
            return _take(layout, free, count, group, plan, options)
    return take_packed(layout, free, count, options)


def _parts(amount: int, size: int) -> int:
    """Return how many parts of ``size`` hold ``amount``."""
    return -(-amount // size)


def _best_plan(numas: Sequence[Unit], width: int, free: int, count: int, group: int) -> _Plan | Stall | None:
    room = {unit: (unit[1] & free).bit_count() for unit in numas}
    share = count // width // group * group
    best = _Plan(inf, ())
    tries = 0
    for nodes in combinations(numas, width):
        if best.balance == 0:
            break
        if sum(room[node] // group for node in nodes) * group < count or min(room[node] for node in nodes) < share:
            continue
        left = {unit: each - share if unit in nodes else each for unit, each in room.items()}
        for plan in _plans(nodes, left, count - share * width, group):
            tries += 1
            if isinstance(plan, Stall) or tries > MOST_TRIES:
                return plan if isinstance(plan, Stall) else Stall("distributing CPUs across NUMA nodes", tries)
            if plan.balance < best.balance:
                best = plan
    return best if best.nodes else None


def _plans(nodes: tuple[Unit, ...], left: dict[Unit, int], missing: int, group: int) -> Iterator[_Plan | Stall]:
    """Yield the best ways to deal out what is ``missing`` after equal parts, better and better ones."""
    if not missing:
        yield _Plan(_deviation(tuple(left.values())), nodes)
        return
    giving = [node for node in nodes if left[node] >= group]
    best = inf
    for size in range(len(giving), 0, -1):
        for rest in combinations(giving, size):
            if sum(left[node] for node in rest) < missing:
                continue
            after = _dealt(rest, left, missing, group)
            if after is None:
                yield Stall("distributing odd CPUs in whole cores never ends", 0)
                return
            balance = _deviation(tuple(after.values()))
            if balance < best:
                best = balance
                yield _Plan(balance, nodes, rest)


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


def _take(layout: Layout, free: int, count: int, group: int, plan: _Plan, options: CpuOptions) -> int | None:
    """Take the equal parts, then the rest in turn, each packed inside its NUMA node."""
    plain = CpuOptions(across_cores=options.across_cores)
    share = count // len(plan.nodes) // group * group
    taken = 0
    for _, cpus in plan.nodes:
        taken |= take_packed(layout, cpus & free & ~taken, share, plain) or 0
    while count - taken.bit_count() > 0:
        before = taken
        for _, cpus in plan.rest:
            open_here = cpus & free & ~taken
            if taken.bit_count() < count and open_here.bit_count() >= group:
                taken |= take_packed(layout, open_here, group, plain) or 0
        if taken == before:
            return None
    return taken
