"""Which CPUs kubelet picks: whole units first, fullest first (Kubernetes: takeByTopologyNUMAPacked).

kubelet takes a socket or core for free when its free CPUs are as many as the machine's average, and then takes it
whole, also CPUs that are not free. That is copied: with uneven sockets a held CPU is handed out again.
"""

from collections.abc import Callable, Iterable, Iterator

from policy.kubelet.machine import Layout, Unit
from policy.kubelet.masks import mask_of, members
from policy.kubelet.settings import CpuOptions

_Step = Callable[[], None]


def take_packed(layout: Layout, free: int, count: int, options: CpuOptions) -> int | None:
    """Return ``count`` CPUs out of ``free``, None if there are not enough."""
    if count > free.bit_count():
        return None
    picking = _Picking(layout, free, count)
    for step in _steps(picking, options):
        if picking.missing < 1:
            break
        step()
    return picking.taken if picking.missing < 1 else None


def _steps(picking: "_Picking", options: CpuOptions) -> Iterator[_Step]:
    levels = [picking.take_numas, picking.take_sockets]
    yield from levels if picking.layout.numa_first else reversed(levels)
    if options.by_cache:
        yield lambda: picking.take_caches(rounds_up=options.rounds_up_in_caches)
    if options.across_cores:
        yield lambda: picking.take_single(picking.spread())
    else:
        yield picking.take_cores
        yield lambda: picking.take_single(picking.in_cores())


class _Picking:
    """One pick under way: what is free, what has been taken, how many are missing."""

    def __init__(self, layout: Layout, free: int, count: int) -> None:
        self.layout = layout
        self.free = free
        self.taken = 0
        self.missing = count

    def take(self, cpus: int) -> None:
        self.taken |= cpus
        self.free &= ~self.taken
        self.missing -= cpus.bit_count()

    def _ordered(self, units: Iterable[Unit], area: int = -1) -> list[Unit]:
        """Those units that have a free CPU in ``area``, fewest free CPUs first, then by id."""
        free = self.free
        inside = free & area
        return sorted(
            (unit for unit in units if unit[1] & inside), key=lambda unit: ((unit[1] & free).bit_count(), unit)
        )

    def numas(self) -> list[Unit]:
        if self.layout.numa_first:
            return self._ordered(self.layout.numas)
        return [numa for _, area in self.sockets() for numa in self._ordered(self.layout.numas, area)]

    def sockets(self) -> list[Unit]:
        if not self.layout.numa_first:
            return self._ordered(self.layout.sockets)
        return [socket for _, area in self.numas() for socket in self._ordered(self.layout.sockets, area)]

    def cores(self) -> list[Unit]:
        outer = self.sockets() if self.layout.numa_first else self.numas()
        return [core for _, area in outer for core in self._ordered(self.layout.cores_of[area], area)]

    def caches(self) -> list[Unit]:
        return [cache for _, area in self.numas() for cache in self._ordered(self.layout.caches, area)]

    def in_cores(self) -> Iterator[int]:
        free = self.free
        for _, core in self.cores():
            yield from members(core & free)

    def spread(self) -> Iterator[int]:
        free = self.free
        for _, socket in self.sockets():
            yield from members(socket & free)

    def _take_whole(self, units: Iterable[Unit], size: int | None = None) -> None:
        """Take each unit that is free, whole, while as many are missing; ``size`` is what counts as free."""
        free = self.free
        for _, cpus in [unit for unit in units if (unit[1] & free).bit_count() == (size or unit[1].bit_count())]:
            if self.missing >= cpus.bit_count():
                self.take(cpus)

    def take_numas(self) -> None:
        self._take_whole(self.numas())

    def take_sockets(self) -> None:
        self._take_whole(self.sockets(), self.layout.per_socket)

    def take_cores(self) -> None:
        self._take_whole(self.cores(), self.layout.per_core)

    def take_single(self, cpus: Iterable[int]) -> None:
        for cpu in cpus:
            self.take(1 << cpu)
            if self.missing < 1:
                return

    def take_caches(self, *, rounds_up: bool) -> None:
        for _, cache in self.caches():
            if self.missing >= self.layout.per_cache:
                self._take_whole(self.caches())
            if self.missing < 1:
                return
            self._take_part_of(cache, rounds_up=rounds_up)
            if self.missing < 1:
                return

    def _take_part_of(self, cache: int, *, rounds_up: bool) -> None:
        """Take what is missing from one cache if its first cores have exactly as many."""
        per_core = self.layout.per_core
        wanted = (self.missing + (per_core - 1 if rounds_up else 0)) // per_core
        cores = [core for _, core in self.layout.cores if core & cache & self.free][:wanted]
        cpus = [cpu for core in cores for cpu in members(core & self.free)]
        if rounds_up and self.missing % 2 and per_core > 1 and len(cpus) > self.missing:
            cpus = sorted(cpus)[:-1]
        if len(cpus) == self.missing:
            self.take(mask_of(cpus))


def by_free(layout: Layout, free: int) -> list[Unit]:
    """Return the NUMA nodes with free CPUs in the order in which they are filled."""
    return _Picking(layout, free, 0).numas()
