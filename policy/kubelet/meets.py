"""Which sets of NUMA nodes arise as the intersection of one set from each of several families.

The number of choices is the product of the families' sizes, which kubelet walks. Here they are counted instead: a set
lies inside one member of each family as often as the product says, and what lies inside larger sets is taken off
again (a Möbius inversion over supersets). All sets are held in one large integer, one slot of 64 bits for each.
"""

import sys
from array import array
from collections.abc import Iterable
from functools import lru_cache
from operator import mul
from typing import Final

from policy.kubelet.masks import members, positions, subsets

_SLOT: Final = 64


def meets(families: Iterable[Iterable[int]], within: int) -> list[int]:
    """Return every non-empty intersection of ``within`` and one mask of each family, in numeric order."""
    nodes = tuple(members(within))
    count = len(nodes)
    place = positions(nodes)
    reached = array("Q", bytes(8 << count))
    reached[-1] = 1
    for family in families:
        chosen = array("Q", bytes(8 << count))
        for mask in family:
            chosen[place[mask & within]] = 1
        pairs = array("Q", map(mul, _supersets(reached, count), _supersets(chosen, count)))
        reached = array("Q", [1 if each else 0 for each in _exactly(pairs, count)])
    return [mask for mask, each in zip(subsets(nodes), reached, strict=True) if each and mask]


def _supersets(slots: "array[int]", count: int) -> "array[int]":
    """Return for each set the sum over its supersets."""
    packed = _pack(slots)
    for node, without in enumerate(_without(count)):
        packed += packed >> (_SLOT << node) & without
    return _unpack(packed, count)


def _exactly(slots: "array[int]", count: int) -> "array[int]":
    """Undo `_supersets`."""
    packed = _pack(slots)
    for node, without in enumerate(_without(count)):
        packed -= packed >> (_SLOT << node) & without
    return _unpack(packed, count)


def _pack(slots: "array[int]") -> int:
    return int.from_bytes(slots.tobytes(), sys.byteorder)


def _unpack(packed: int, count: int) -> "array[int]":
    return array("Q", packed.to_bytes(8 << count, sys.byteorder))


@lru_cache(maxsize=32)
def _without(count: int) -> tuple[int, ...]:
    """Return for each of ``count`` nodes the slots of all sets that lack it, filled."""
    found = []
    for node in range(count):
        pattern = (1 << (_SLOT << node)) - 1
        for width in range(node + 1, count):
            pattern |= pattern << (_SLOT << width)
        found.append(pattern)
    return tuple(found)
