"""The merge against a walk over every combination, and the answers that only a table tells."""

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product
from random import Random

import pytest

from policy.kubelet.masks import in_kubelet_order, mask_of, members
from policy.kubelet.meets import meets
from policy.kubelet.merge import Merger
from policy.kubelet.outcome import IMPOSSIBLE, Hints, Merged, Panic, Stall

Entry = tuple[int | None, bool]
CASES = 3000


class _NoDistanceError(Exception):
    """kubelet would index a row of distances beyond its end."""


class _Walk:
    """kubelet's merge, written as it is: every combination, one comparison after the other."""

    def __init__(self, merger: Merger, answers: Sequence[Hints | None]) -> None:
        self.merger = merger
        self.lists = [self._entries(hints) for hints in answers]
        sizes = [[mask.bit_count() for mask, _ in each if mask is not None] for each in self.lists]
        self.need = max((min(each) for each in sizes if each), default=0)

    def _entries(self, hints: Hints | None) -> list[Entry]:
        if hints is None:
            return [(None, True)]
        entries: list[Entry] = [(mask, mask in hints.preferred) for mask in in_kubelet_order(hints.masks)]
        entries = entries or [(None, False)]
        if not self.merger.single:
            return entries
        return [(mask, good) for mask, good in entries if good and (mask is None or mask.bit_count() == 1)]

    def run(self) -> Merged:
        found = [each for each in map(self._combined, product(*self.lists)) if each.mask]
        best = reduce(self._better, found) if found else Merged(self.merger.everywhere, preferred=False)
        if self.merger.single and best.mask == self.merger.everywhere:
            return Merged(None, best.preferred)
        return best

    def _combined(self, chosen: Sequence[Entry]) -> Merged:
        masks = [mask for mask, _ in chosen if mask is not None]
        meet = reduce(int.__and__, masks, self.merger.everywhere)
        return Merged(meet, preferred=all(good for _, good in chosen) and len(set(masks)) <= 1)

    def _better(self, best: Merged, other: Merged) -> Merged:
        if best.preferred != other.preferred:
            return best if best.preferred else other
        one, two = (best.mask or 0).bit_count(), (other.mask or 0).bit_count()
        if best.preferred or one > self.need or one == two:
            return self._tighter(best, other)
        if one == self.need:
            return best
        return other if one < two <= self.need else best

    def _tighter(self, best: Merged, other: Merged) -> Merged:
        one, two = best.mask or 0, other.mask or 0
        if one == two:
            return best
        if one.bit_count() != two.bit_count():
            return best if one.bit_count() < two.bit_count() else other
        if self.merger.distances:
            near, far = self._distance(one), self._distance(two)
            if near != far:
                return best if near < far else other
        return best if one < two else other

    def _distance(self, mask: int) -> float:
        total = 0.0
        for one, two in product(members(mask), repeat=2):
            row = self.merger.distances[one]
            if two >= len(row):
                raise _NoDistanceError(f"runtime error: index out of range [{two}] with length {len(row)}")
            total += row[two]
        return total / mask.bit_count() ** 2


def _cases() -> Iterator[tuple[Merger, list[Hints | None]]]:
    random = Random(20)
    for _ in range(CASES):
        nodes = random.choice(((0,), (0, 1), (0, 8), (0, 1, 2), (1, 3, 4), (0, 1, 2, 3)))
        rows = len(nodes) if random.random() < 0.6 else max(nodes) + 1
        distances = {node: tuple(random.choice((10, 12, 21)) for _ in range(rows)) for node in nodes}
        kind = random.choice(("plain", "closest", "single"))
        merger = Merger(mask_of(nodes), kind == "single", distances if kind == "closest" else {})
        yield merger, [_hints(random, nodes) for _ in range(random.randint(0, 3))]


def _hints(random: Random, nodes: Sequence[int]) -> Hints | None:
    if random.random() < 0.1:
        return random.choice((None, IMPOSSIBLE))
    domain = random.sample(nodes, random.randint(1, len(nodes)))
    masks = {mask_of(random.sample(domain, random.randint(1, len(domain)))) for _ in range(random.randint(1, 6))}
    width = random.choice(sorted(mask.bit_count() for mask in masks))
    return Hints(tuple(sorted(masks)), frozenset(mask for mask in masks if mask.bit_count() == width))


def test_finds_what_a_walk_over_every_combination_finds() -> None:
    panics = 0
    for merger, answers in _cases():
        got = merger.merge(answers)
        try:
            expected: Merged | Panic = _Walk(merger, answers).run()
        except _NoDistanceError as missing:
            expected = Panic(str(missing))
            panics += 1
        assert got == expected, (merger, answers)
    assert panics > 10


def test_meets_are_the_intersections_of_one_mask_of_each_family() -> None:
    random = Random(3)
    for _ in range(300):
        nodes = random.choice(((0, 1, 2), (2, 5, 9, 40)))
        families = [[random.randrange(1, 1 << 10) | 1 << 40 for _ in range(random.randint(1, 5))] for _ in range(3)]
        within = mask_of(nodes)
        expected = {one & two & three & within for one, two, three in product(*families)} - {0}
        assert meets(families, within) == sorted(expected)


@pytest.mark.parametrize(
    ("masks", "single", "expected"),
    [
        pytest.param([{0, 3}, {1, 2}], False, {1, 2}, id="of two equally large masks the lower number wins"),
        pytest.param([{0}, {1}], True, {0}, id="the lowest node wins under single-numa-node"),
        pytest.param([{0, 1}], True, None, id="two nodes are none under single-numa-node"),
    ],
)
def test_the_tightest_preferred_mask_is_stored(masks: list[set[int]], single: bool, expected: set[int] | None) -> None:
    listed = tuple(sorted(map(mask_of, masks)))
    merged = Merger(0b1111, single).merge([Hints(listed, frozenset(listed))])
    assert isinstance(merged, Merged)
    assert merged.mask == (None if expected is None else mask_of(expected))
    assert merged.preferred is (expected is not None)


def test_stalls_where_kubelet_would_walk_a_thousand_million_combinations() -> None:
    all_masks = tuple(range(1, 256))
    hints = Hints(all_masks, frozenset({1, 2}))
    assert Merger(255).merge([hints] * 4) == Stall("merging the hints of all resources", 255**4)
    assert Merger(255).merge([hints] * 3) == Merged(1, preferred=True)
    assert Merger(255, single=True).merge([hints] * 4) == Merged(1, preferred=True)


def test_does_not_walk_without_bound_for_a_missing_distance() -> None:
    hints = Hints(tuple(range(1, 256)), frozenset({1}))
    merger = Merger(255, distances=dict.fromkeys(range(8), (10,)))
    assert merger.merge([hints] * 3) == Stall("looking for a missing distance", 255**3)
