"""What a change of placement is worth to a job: execution saved, queue added, turnaround.

An execution that got shorter is no gain to who waits longer for it.
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Run:
    """How long a job waits and then runs, in any one unit of time."""

    queue: Fraction
    execution: Fraction

    @property
    def turnaround(self) -> Fraction:
        """From submission to completion."""
        return self.queue + self.execution


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two ways to run the same job on ``gpus`` cards."""

    before: Run
    after: Run
    gpus: Fraction

    @property
    def saved(self) -> Fraction:
        """GPU time of the execution that the second way does not need."""
        return (self.before.execution - self.after.execution) * self.gpus

    @property
    def saved_percent(self) -> Fraction | None:
        """The same in percent of the first way's execution, None where that takes no time."""
        return _percent(self.before.execution - self.after.execution, self.before.execution)

    @property
    def longer_percent(self) -> Fraction | None:
        """How much longer the turnaround is, in percent of the first way's; negative where it is shorter."""
        return _percent(self.after.turnaround - self.before.turnaround, self.before.turnaround)

    @property
    def break_even_queue(self) -> Fraction:
        """The longest queue with which the second way is no slower; negative where no queue is short enough."""
        return self.before.turnaround - self.after.execution


def net(hold_saved: Fraction, execution_saved: Fraction, extra_stranded: Fraction) -> Fraction:
    """Return the GPU time that a policy gains: less held and less executed, against more that stands idle."""
    return hold_saved + execution_saved - extra_stranded


def _percent(part: Fraction, whole: Fraction) -> Fraction | None:
    return part * 100 / whole if whole else None
