"""What failed starts cost: how often a group was tried again, how long cleaning up took, what was held for nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to start a group; times in seconds.

    Attributes:
        gpus: what it held.
        begin: when the first of its GPUs was taken.
        failed: when it failed, None if it did not.
        released: when the last of its GPUs was free again, None if they are not.
    """

    gpus: Fraction
    begin: Fraction
    failed: Fraction | None = None
    released: Fraction | None = None

    def clean_up(self, now: Fraction) -> Fraction:
        """Return how long its GPUs stayed taken after it failed; until ``now`` where they still are."""
        if self.failed is None:
            return Fraction(0)
        return max((now if self.released is None else self.released) - self.failed, Fraction(0))

    def wasted(self, now: Fraction) -> Fraction:
        """Return the GPU-seconds that a failed attempt held, 0 for one that did not fail."""
        if self.failed is None:
            return Fraction(0)
        return self.gpus * max((now if self.released is None else self.released) - self.begin, Fraction(0))


@dataclass(frozen=True, slots=True)
class Retries:
    """What all attempts come to; times in seconds."""

    retries: int
    clean_up: Fraction
    longest_clean_up: Fraction
    wasted_gpu_seconds: Fraction


def retries(attempts: Sequence[Attempt], now: Fraction) -> Retries:
    """Sum up the ``attempts`` of one group; what is not released yet counts until ``now``."""
    clean = [attempt.clean_up(now) for attempt in attempts]
    return Retries(
        retries=max(len(attempts) - 1, 0),
        clean_up=sum(clean, Fraction(0)),
        longest_clean_up=max(clean, default=Fraction(0)),
        wasted_gpu_seconds=sum((attempt.wasted(now) for attempt in attempts), Fraction(0)),
    )
