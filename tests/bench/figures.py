"""Figures: what was measured, in which unit, how often, and what it is held to."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """What a figure's goal says of it."""

    PASS = "PASS"
    MISSED = "MISSED"
    NONE = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the report.

    Attributes:
        group: the heading that it stands under.
        values: one per repetition; their median counts.
        goal: the most that it may be, None where it is only printed.
        note: what else there is to say, e.g. a ratio.
    """

    group: str
    name: str
    unit: str
    values: Sequence[float]
    goal: float | None = None
    note: str = ""

    @property
    def median(self) -> float:
        """The figure."""
        return statistics.median(self.values)

    @property
    def state(self) -> State:
        """Whether the goal is met."""
        if self.goal is None:
            return State.NONE
        return State.PASS if self.median <= self.goal else State.MISSED

    def plain(self) -> dict[str, Any]:
        """As it is kept in JSON."""
        return {**asdict(self), "values": [round(each, 4) for each in self.values], "state": self.state.value}


def read(plain: Iterable[dict[str, Any]]) -> list[Figure]:
    """Figures as they were kept in JSON."""
    return [Figure(**{key: value for key, value in each.items() if key != "state"}) for each in plain]


def ratio(over: Sequence[float], under: Sequence[float]) -> str:
    """How many times as much, for a note."""
    return f"{statistics.median(over) / statistics.median(under):.2f}"
