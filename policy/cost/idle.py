"""Where idle GPU time went: each GPU under one cause at a time, so that the causes add up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


class Idle(StrEnum):
    """Why a GPU did nothing.

    `held`: a waiting member has it. `stranded`: it is free, and no member that waits fits on it. `blocked`: a member
    would fit, its group does not. `startable`: what waits could start on it. `no-demand`: nothing waits.
    """

    HELD = "held"
    STRANDED = "stranded"
    BLOCKED = "blocked"
    STARTABLE = "startable"
    NO_DEMAND = "no-demand"


@dataclass(frozen=True, slots=True)
class Period:
    """A time in which nothing changed.

    Attributes:
        seconds: how long.
        free: GPUs that nobody has.
        runnable: of those, GPUs on which members of the waiting work could run, each by itself.
        group_runnable: of those, GPUs on which whole groups could start.
        held: GPUs of members that wait for others.
        demand: whether any work waits.
    """

    seconds: Fraction
    free: int
    runnable: int = 0
    group_runnable: int = 0
    held: Fraction = Fraction(0)
    demand: bool = True

    @property
    def by_cause(self) -> Mapping[Idle, Fraction]:
        """GPU-seconds by cause."""
        free = {Idle.NO_DEMAND: self.free} if not self.demand else self._waiting()
        return {cause: gpus * self.seconds for cause, gpus in (free | {Idle.HELD: self.held}).items()}

    def _waiting(self) -> dict[Idle, int | Fraction]:
        """A group that cannot start runs nowhere, and what runs is no more than what is free."""
        runnable = min(self.runnable, self.free)
        started = min(self.group_runnable, runnable)
        return {
            Idle.STRANDED: self.free - runnable,
            Idle.BLOCKED: runnable - started,
            Idle.STARTABLE: started,
        }


def ledger(periods: Iterable[Period]) -> Mapping[Idle, Fraction]:
    """Return GPU-seconds by cause over all ``periods``, every cause named."""
    total = dict.fromkeys(Idle, Fraction(0))
    for period in periods:
        for cause, seconds in period.by_cause.items():
            total[cause] += seconds
    return total
