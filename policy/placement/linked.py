"""Cards by how fast they are linked to each other (HAMi: policy `topology-aware`)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final

from policy.facts import Entry

EXACT_PAIRS: Final = 500_000
"""How many pairs are added up to compare every set; sixteen cards never need more."""

GROWN_SETS: Final = 16
"""How many sets are grown where there are too many to compare."""


@dataclass(frozen=True, slots=True)
class LinkedSet:
    """Some of the candidates, in the order in which those were given, and their links' scores added up."""

    devices: Entry
    score: int


def best_linked(
    candidates: Entry,
    wanted: int,
    scores: Mapping[str, Mapping[str, int]],
    allows: Callable[[Entry], bool],
) -> LinkedSet | None:
    """Return the set of ``wanted`` candidates with the best links, the first of equals, None if none is allowed.

    One card alone is taken where it costs the least: the one with the weakest links to the other candidates.
    Where comparing every set takes more than `EXACT_PAIRS`, a set is grown from each of the first `GROWN_SETS`
    candidates, always by the card with the best links to those already in it, and the best of these is taken.

    Args:
        candidates: usable cards, best first by the rest of the pod's policy.
        wanted: how many, at most as many as there are candidates.
        scores: UUID -> UUID -> link score; a pair is read from the card that comes first.
        allows: whether a set is within the quota.
    """
    links = _links(candidates, scores)
    if wanted == 1:
        sets: Iterator[tuple[int, ...]] = iter(_loneliest_first(links))
    elif comb(len(candidates), wanted) * comb(wanted, 2) <= EXACT_PAIRS:
        sets = combinations(range(len(candidates)), wanted)
    else:
        sets = (_grow(start, wanted, links) for start in range(min(len(candidates), GROWN_SETS)))
    best: LinkedSet | None = None
    for chosen in sets:
        total = sum(links[one][other] for one, other in combinations(chosen, 2))
        if best is None or total > best.score:
            devices = tuple(candidates[position] for position in chosen)
            best = LinkedSet(devices, total) if allows(devices) else best
    return best


def _links(candidates: Entry, scores: Mapping[str, Mapping[str, int]]) -> list[list[int]]:
    rows = [scores.get(device.uuid, {}) for device in candidates]
    return [[row.get(device.uuid, 0) for device in candidates] for row in rows]


def _loneliest_first(links: Sequence[Sequence[int]]) -> list[tuple[int]]:
    others = [sum(row) - row[position] for position, row in enumerate(links)]
    return [(position,) for position in sorted(range(len(links)), key=others.__getitem__)]


def _grow(start: int, wanted: int, links: Sequence[Sequence[int]]) -> tuple[int, ...]:
    gain = [_link(start, other, links) for other in range(len(links))]
    chosen = {start}
    while len(chosen) < wanted:
        added = max((card for card in range(len(links)) if card not in chosen), key=gain.__getitem__)
        chosen.add(added)
        gain = [total + _link(added, other, links) for other, total in enumerate(gain)]
    return tuple(sorted(chosen))


def _link(one: int, other: int, links: Sequence[Sequence[int]]) -> int:
    return links[min(one, other)][max(one, other)]
