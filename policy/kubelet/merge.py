"""How the topology manager merges hints (Kubernetes: topologymanager policy), without walking their product.

A preferred result exists if and only if one set of NUMA nodes is a preferred hint of every resource that cares. Only
where there is none does it matter what intersections can be reached (`meets`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Final

from policy.kubelet.masks import in_kubelet_order, members
from policy.kubelet.meets import meets
from policy.kubelet.outcome import Hints, Merged, Panic, Stall

MOST_CHOICES: Final = 10**9
"""Combinations of hints that kubelet walks in about three minutes; users report 21 minutes for four times as many."""

MOST_WALKED: Final = 10**5
"""Combinations that are walked one by one where only that tells whether kubelet crashes."""


@dataclass(frozen=True, slots=True)
class Merger:
    """What the merge knows of the machine and of the settings.

    Attributes:
        everywhere: every NUMA node of the machine.
        single: whether the policy is single-numa-node.
        distances: NUMA node -> row of distances; empty unless prefer-closest-numa-nodes is set.
    """

    everywhere: int
    single: bool = False
    distances: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def merge(self, answers: Iterable[Hints | None]) -> Merged | Panic | Stall:
        """Return the hint that is stored.

        Args:
            answers: for each resource, in the order of kubelet's providers; None means no preference.
        """
        caring = [hints for hints in answers if hints is not None]
        possible = all(hints.masks for hints in caring)
        if self.single:
            return self._on_one_node(caring, possible=possible)
        if not caring:
            return Merged(self.everywhere, preferred=True)
        choices = prod(len(hints.masks) or 1 for hints in caring)
        if choices > MOST_CHOICES:
            return Stall("merging the hints of all resources", choices)
        if self.distances and self._lacks_distances():
            return self._walk(caring, choices)
        shared = frozenset[int].intersection(*(hints.preferred for hints in caring))
        if shared and possible:
            return Merged(min(shared, key=self._tightness), preferred=True)
        return self._not_preferred([hints.masks for hints in caring if hints.masks])

    def _on_one_node(self, caring: Sequence[Hints], *, possible: bool) -> Merged:
        if not caring:
            return Merged(None, preferred=True)
        shared = frozenset[int].intersection(*(hints.preferred for hints in caring))
        nodes = [mask for mask in shared if mask.bit_count() == 1]
        if not possible or not nodes:
            return Merged(None, preferred=False)
        lowest = min(nodes)
        return Merged(None if lowest == self.everywhere else lowest, preferred=True)

    def _not_preferred(self, families: Sequence[Sequence[int]]) -> Merged:
        """Return the best intersection: as wide as the widest need, else narrower but as wide as can be, else wider."""
        if not families:
            return Merged(self.everywhere, preferred=False)
        need = max(min(map(int.bit_count, masks)) for masks in families)
        within = self.everywhere
        for masks in families:
            within &= _union(masks)
        reached = list(families[0]) if len(families) == 1 else meets(families, within)
        if not reached:
            return Merged(self.everywhere, preferred=False)
        sizes = set(map(int.bit_count, reached))
        below = [size for size in sizes if size <= need]
        size = max(below) if below else min(sizes)
        best = min((mask for mask in reached if mask.bit_count() == size), key=self._tightness)
        return Merged(best, preferred=False)

    def _tightness(self, mask: int) -> tuple[int, float, int]:
        """Order masks: fewer nodes, then the shorter mean distance if that is asked for, then the lower value."""
        return mask.bit_count(), self._mean_distance(mask) if self.distances else 0.0, mask

    def _mean_distance(self, mask: int) -> float:
        nodes = tuple(members(mask))
        return sum(float(self.distances[one][other]) for one in nodes for other in nodes) / len(nodes) ** 2

    def _lacks_distances(self) -> bool:
        """Tell whether a NUMA node's id exceeds the rows, which kubelet indexes by id (gaps in the ids)."""
        return any(len(row) <= self.everywhere.bit_length() - 1 for row in self.distances.values())

    def _walk(self, caring: Sequence[Hints], choices: int) -> Merged | Panic | Stall:
        """Walk the combinations as kubelet does, to see whether it looks up a distance that is not there."""
        if choices > MOST_WALKED:
            return Stall("looking for a missing distance", choices)
        need = max((min(map(int.bit_count, hints.masks)) for hints in caring if hints.masks), default=0)
        best: Merged | None = None
        for chosen in product(*(_entries(hints) for hints in caring)):
            candidate = self._combined(chosen)
            if not candidate.mask:
                continue
            panic = None if best is None else self._missing_distance(best, candidate)
            if panic:
                return panic
            if best is None or self._rank(candidate, need) < self._rank(best, need):
                best = candidate
        return best or Merged(self.everywhere, preferred=False)

    def _combined(self, chosen: Iterable[tuple[int | None, bool]]) -> Merged:
        listed = tuple(chosen)
        masks = [mask for mask, _ in listed if mask is not None]
        mask = self.everywhere
        for each in masks:
            mask &= each
        return Merged(mask, preferred=all(preferred for _, preferred in listed) and len(set(masks)) <= 1)

    def _rank(self, merged: Merged, need: int) -> tuple[object, ...]:
        mask = merged.mask or 0
        size = mask.bit_count()
        if merged.preferred:
            order: tuple[int, int] = (0, 0)
        elif size <= need:
            order = (1, -size)
        else:
            order = (2, size)
        return (*order, *self._safe_tightness(mask))

    def _safe_tightness(self, mask: int) -> tuple[int, float, int]:
        known = self._first_missing(mask) is None
        return self._tightness(mask) if known else (mask.bit_count(), 0.0, mask)

    def _missing_distance(self, best: Merged, candidate: Merged) -> Panic | None:
        """Return the crash of comparing both by distance, None if they are not compared so or all rows suffice."""
        one, other = best.mask or 0, candidate.mask or 0
        same_size = one.bit_count() == other.bit_count()
        if best.preferred != candidate.preferred or one == other or not same_size:
            return None
        return self._first_missing(one) or self._first_missing(other)

    def _first_missing(self, mask: int) -> Panic | None:
        for one in members(mask):
            row = self.distances.get(one, ())
            for other in members(mask):
                if other >= len(row):
                    return Panic(f"runtime error: index out of range [{other}] with length {len(row)}")
        return None


def _entries(hints: Hints) -> list[tuple[int | None, bool]]:
    if not hints.masks:
        return [(None, False)]
    return [(mask, mask in hints.preferred) for mask in in_kubelet_order(hints.masks)]


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
