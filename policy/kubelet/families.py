"""Families of NUMA node sets: which of them serve a request, and how narrow they can be.

kubelet walks every set of NUMA nodes of a resource. So does this module, by adding up what each node has; machines on
which that is too much are those on which kubelet itself does not answer in time.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from policy.kubelet.masks import mask_of, subsets, sums
from policy.kubelet.outcome import Hints, Stall

MOST_NODES: Final = 16
"""NUMA nodes of one resource up to which its sets are walked; beyond, kubelet walks hundreds of thousands of sets,
each over every CPU or device, for each resource of each container."""


def too_many(nodes: Sequence[int], resource: str) -> Stall | None:
    """Return the stall of walking every set of ``nodes``, None if that can be done."""
    if len(nodes) <= MOST_NODES:
        return None
    return Stall(f"walking every set of {len(nodes)} NUMA nodes for {resource}", 1 << len(nodes))


def count_on(nodes: tuple[int, ...], groups: Mapping[int, int]) -> list[int]:
    """Return how many items each set of ``nodes`` touches, in the order of `subsets`.

    Args:
        nodes: ascending.
        groups: NUMA nodes of an item -> number of such items; an item on several nodes counts for each of them once.
    """
    single, several = _by_span(nodes, groups)
    found = sums(single)
    for touched, count in several.items():
        found = [total + count if mask & touched else total for total, mask in zip(found, subsets(nodes), strict=True)]
    return found


def narrowest_touching(nodes: tuple[int, ...], groups: Mapping[int, int], want: int) -> int:
    """Return the size of the smallest sets of ``nodes`` that touch ``want`` items; all nodes where none does."""
    single, several = _by_span(nodes, groups)
    if not several:
        return narrowest(single, want)
    touched = zip(subsets(nodes), count_on(nodes, groups), strict=True)
    return min((mask.bit_count() for mask, count in touched if count >= want and mask), default=len(nodes))


def narrowest(amounts: Sequence[int], want: int) -> int:
    """Return how many nodes it takes to have ``want``, the richest first; all of them where that is not enough.

    One node is the least: kubelet does not look at the empty set, also where nothing is wanted.
    """
    total = 0
    for taken, amount in enumerate(sorted(amounts, reverse=True), start=1):
        total += amount
        if total >= want:
            return taken
    return len(amounts)


def _by_span(nodes: tuple[int, ...], groups: Mapping[int, int]) -> tuple[list[int], dict[int, int]]:
    """Return how many items are on each node alone, and how many on each set of several nodes."""
    inside = mask_of(nodes)
    single = dict.fromkeys((1 << node for node in nodes), 0)
    several: dict[int, int] = {}
    for mask, count in groups.items():
        here = mask & inside
        if here in single:
            single[here] += count
        elif here:
            several[here] = several.get(here, 0) + count
    return list(single.values()), several


def at_least(nodes: tuple[int, ...], counts: Iterable[int], need: int) -> list[int]:
    """Return the non-empty sets of ``nodes`` whose count, in the order of `subsets`, is ``need`` or more."""
    return [mask for mask, count in zip(subsets(nodes), counts, strict=True) if count >= need and mask]


def hints_of(masks: Iterable[int], width: int) -> Hints:
    """Return hints for ``masks``, ascending; those of size ``width`` are preferred."""
    listed = tuple(masks)
    return Hints(listed, frozenset([mask for mask in listed if mask.bit_count() == width]))
