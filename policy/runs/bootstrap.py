"""Percentiles of measurements, and how sure a difference between two sets of them is.

Measurements of one run resemble each other (the same cards, the same neighbours), so whole runs are drawn, never
single steps: drawing steps would promise far more than a few runs can tell.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

LEVEL: Final = 0.95
RESAMPLES: Final = 2000
SEED: Final = 20261104
"""The same runs give the same interval, today and tomorrow."""

_FEWEST_RESAMPLES: Final = 200
_MOST_DRAWN: Final = 20_000_000
"""Measurements drawn in all: beyond them fewer resamples are made."""

Sample = Sequence[Sequence[float]]
"""Measurements by run, those of each run in ascending order."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Between these values the difference lies, as far as the runs tell; both are in the unit of the measure."""

    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the runs show a difference at all."""
        return self.low > 0 or self.high < 0


def pooled(sample: Sample) -> list[float]:
    """Return all measurements in ascending order."""
    return sorted(chain.from_iterable(sample))


def quantile(ordered: Sequence[float], part: float) -> float:
    """Return the value below which ``part`` of ``ordered`` lies, linear between two neighbours."""
    position = (len(ordered) - 1) * part
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def intervals(one: Sample, other: Sample, parts: Sequence[float]) -> tuple[Interval | None, ...]:
    """Return for each of ``parts`` the interval of how much larger that quantile is in ``other``.

    None for all where a set has fewer than two runs: one run does not tell how much runs vary.
    """
    if min(len(one), len(other)) < 2:  # noqa: PLR2004 - what varies are at least two
        return (None,) * len(parts)
    draws = random.Random(SEED)  # noqa: S311 - drawing must be repeatable, not secret
    differences: list[list[float]] = [[] for _ in parts]
    for _ in range(resamples(one, other)):
        first, second = (pooled(draws.choices(sample, k=len(sample))) for sample in (one, other))
        for part, found in zip(parts, differences, strict=True):
            found.append(quantile(second, part) - quantile(first, part))
    edge = (1 - LEVEL) / 2
    return tuple(Interval(quantile(found, edge), quantile(found, 1 - edge)) for found in map(sorted, differences))


def resamples(one: Sample, other: Sample) -> int:
    """Return how many resamples are drawn from these sets."""
    drawn = sum(map(len, one)) + sum(map(len, other))
    return max(_FEWEST_RESAMPLES, min(RESAMPLES, _MOST_DRAWN // max(drawn, 1)))
