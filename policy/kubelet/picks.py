"""From which devices a container's are drawn, and what can come of it.

kubelet draws from Go sets, in no order. Devices on the same NUMA nodes and of the same health are alike to it, so
results are listed once for each way to divide them among such kinds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from policy.kubelet.held import Ids
from policy.kubelet.machine import Resource
from policy.kubelet.outcome import DeviceChoice

MOST_RESULTS: Final = 64
"""Results of one draw that are told apart."""


@dataclass(frozen=True, slots=True)
class Picks:
    """One draw.

    Attributes:
        choice: its bounds.
        fixed: what is taken in any case.
        pools: from which the rest is drawn, the next pool once the one before is empty.
        answered: what the plugin prefers; None if nobody knows, so that it may be anything.
    """

    resource: Resource
    choice: DeviceChoice
    fixed: Ids
    pools: tuple[Ids, ...]
    answered: tuple[str, ...] | None = ()

    @classmethod
    def of_reused(cls, resource: Resource, reusable: Ids, want: int) -> "Picks":
        """Return the draw where ended init containers leave enough: neither health nor hint nor plugin matter."""
        exact = len(reusable) == want
        forced = reusable if exact else frozenset()
        choice = DeviceChoice(want, forced, reusable, "forced" if exact else "arbitrary", cards=resource.cards)
        return cls(resource, choice, forced, (reusable,))

    def results(self) -> Iterator[Ids]:
        """Yield the results, lowest ids first; all of them if there are at most `MOST_RESULTS` kinds."""
        return islice(self._results(), MOST_RESULTS)

    def _results(self) -> Iterator[Ids]:
        everything = frozenset[str]().union(*self.pools)
        if self.answered is None:
            yield from self._drawn(self.fixed, (everything,))
            return
        taken = self.fixed
        for each in self.answered:
            if each in everything and len(taken) < self.choice.size:
                taken |= {each}
        yield from self._drawn(taken, self.pools)

    def _drawn(self, taken: Ids, pools: Sequence[Ids]) -> Iterator[Ids]:
        missing = self.choice.size - len(taken)
        if missing <= 0 or not pools:
            yield taken
            return
        pool = pools[0] - taken
        if len(pool) <= missing:
            yield from self._drawn(taken | pool, pools[1:])
            return
        lowest = frozenset(sorted(pool)[:missing])
        yield taken | lowest
        kinds = self._kinds(pool)
        division = [len(lowest.intersection(kind)) for kind in kinds]
        for part in _parts(kinds, missing):
            if [len(part.intersection(kind)) for kind in kinds] != division:
                yield taken | part

    def _kinds(self, pool: Ids) -> list[list[str]]:
        kinds: dict[tuple[Ids | frozenset[int] | None, bool], list[str]] = {}
        for each in sorted(pool):
            device = self.resource.devices[each]
            kinds.setdefault((device.nodes, device.healthy), []).append(each)
        return list(kinds.values())


def _parts(kinds: Sequence[Sequence[str]], count: int) -> Iterator[Ids]:
    """Yield one set for every way to divide ``count`` among ``kinds``."""
    if not count:
        yield frozenset()
        return
    behind = sum(map(len, kinds[1:]))
    for first in range(min(count, len(kinds[0])), max(0, count - behind) - 1, -1):
        for rest in _parts(kinds[1:], count - first):
            yield rest.union(kinds[0][:first])
