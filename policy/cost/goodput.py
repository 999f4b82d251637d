"""How much of the GPU time that there was, or that was given out, did useful work."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Goodput:
    """One period, in GPU-hours or any other one unit.

    Attributes:
        capacity: what there was.
        allocated: what somebody had.
        lost: cause -> what of that did nothing useful: held in vain, restarts, lost work, warm-up.
    """

    capacity: Fraction
    allocated: Fraction
    lost: Mapping[str, Fraction]

    @property
    def productive(self) -> Fraction:
        """What did useful work; losses beyond what was allocated leave nothing."""
        return max(self.allocated - sum(self.lost.values(), Fraction(0)), Fraction(0))

    @property
    def allocation(self) -> Fraction | None:
        """What somebody had, as part of what there was; None where there was nothing."""
        return self.allocated / self.capacity if self.capacity else None

    @property
    def of_capacity(self) -> Fraction | None:
        """Useful work as part of what there was."""
        return self.productive / self.capacity if self.capacity else None

    @property
    def of_allocated(self) -> Fraction | None:
        """Useful work as part of what somebody had."""
        return self.productive / self.allocated if self.allocated else None
