"""Sets of small numbers as the bits of one integer: NUMA nodes (bit n is node n) and CPUs (bit i is CPU i)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

MOST_NODES: Final = 64
"""kubelet keeps NUMA node ids in 64 bits (Kubernetes: bitmask)."""

_RANGE: Final = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)


def mask_of(numbers: Iterable[int]) -> int:
    """Return the set of ``numbers``."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def members(mask: int) -> Iterator[int]:
    """Yield the members of ``mask``, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def read_list(text: str) -> int:
    """Read a list such as `0-3,8` (Linux: cpuset).

    Raises:
        ValueError: ``text`` is no such list.
    """
    mask = 0
    for part in filter(None, text.replace(" ", "").split(",")):
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise ValueError(f"{part[:40]!r} in a list of CPUs is no number or range such as 0-3; write 0-3,8")
        mask |= (1 << (last + 1)) - (1 << first)
    return mask


def write_list(mask: int) -> str:
    """Return ``mask`` as kubelet writes it: `0-3,8`."""
    parts = []
    while mask:
        first = (mask & -mask).bit_length() - 1
        run = (~(mask >> first) & ((mask >> first) + 1)).bit_length() - 1
        parts.append(str(first) if run == 1 else f"{first}-{first + run - 1}")
        mask &= -1 << (first + run)
    return ",".join(parts)


@lru_cache(maxsize=64)
def subsets(nodes: tuple[int, ...]) -> tuple[int, ...]:
    """Return every subset of ``nodes`` (ascending), in numeric order; the empty one is first."""
    found = [0]
    for node in nodes:
        bit = 1 << node
        found += [mask | bit for mask in found]
    return tuple(found)


@lru_cache(maxsize=64)
def positions(nodes: tuple[int, ...]) -> dict[int, int]:
    """Return the place of every subset in `subsets`."""
    return {mask: place for place, mask in enumerate(subsets(nodes))}


def sums(amounts: Sequence[int]) -> list[int]:
    """Return the sum over every subset, in the order of `subsets`; ``amounts`` has one entry per node."""
    found = [0]
    for amount in amounts:
        found += [total + amount for total in found]
    return found


def in_kubelet_order(masks: Iterable[int]) -> list[int]:
    """Sort masks as kubelet walks them: by size, then by the ids of their members (Kubernetes: IterateBitMasks)."""
    return sorted(masks, key=lambda mask: (mask.bit_count(), tuple(members(mask))))
