"""Families of NUMA node sets: which of them serve a request, and how narrow they can be.

kubelet walks every set of NUMA nodes of a resource. So does this module, by adding up what each node has; machines on
which that is too much are those on which kubelet itself does not answer in time.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from policy.kubelet.masks import subsets, sums
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
    inside = sum(1 << node for node in nodes)
    single = dict.fromkeys(nodes, 0)
    several: dict[int, int] = {}
    for mask, count in groups.items():
        here = mask & inside
        if here.bit_count() == 1:
            single[here.bit_length() - 1] += count
        elif here:
            several[here] = several.get(here, 0) + count
    found = sums([single[node] for node in nodes])
    for touched, count in several.items():
        found = [total + count if mask & touched else total for total, mask in zip(found, subsets(nodes), strict=True)]
    return found


def narrowest(nodes: tuple[int, ...], totals: Sequence[int], want: int) -> int:
    """Return the size of the smallest sets that have ``want`` installed; all nodes where none has."""
    masks = subsets(nodes)[1:]
    enough = (mask.bit_count() for mask, total in zip(masks, totals[1:], strict=True) if total >= want)
    return min(enough, default=len(nodes))


def hints_of(masks: Iterable[int], width: int) -> Hints:
    """Return hints for ``masks``, ascending; those of size ``width`` are preferred."""
    listed = tuple(masks)
    return Hints(listed, frozenset(mask for mask in listed if mask.bit_count() == width))
