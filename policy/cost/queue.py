"""Percentiles of how long jobs wait, by a method that is named.

Jobs that still wait have waited at least as long as they have: leaving them out flatters, so their ages may be
counted as lower bounds. A percentile of nothing is None, not 0.
"""

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction


class Method(StrEnum):
    """How a percentile is read off a list: the nearest rank that is in it, or linear between two neighbours."""

    NEAREST = "nearest"
    LINEAR = "linear"


def percentile(values: Sequence[Fraction], percent: Fraction, method: Method = Method.NEAREST) -> Fraction | None:
    """Return the ``percent``-th percentile of ``values``, None for none.

    Raises:
        ValueError: ``percent`` is not from 0 to 100.
    """
    if not 0 <= percent <= 100:  # noqa: PLR2004 - of a hundred
        raise ValueError(f"percentile {percent} is not from 0 to 100; ask for one that is")
    ordered = sorted(values)
    if not ordered:
        return None
    if method is Method.NEAREST:
        return ordered[max(-(-len(ordered) * percent // 100), 1) - 1]
    position = (len(ordered) - 1) * percent / 100
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
