"""One run of a workload, and reading many from a table or from JSON."""

import csv
import difflib
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from policy.hami.errors import shown

NAME: Final = "run"
SUBMITTED: Final = "submitted_at"
QUEUE: Final = "queue_seconds"
RUN: Final = "run_seconds"
GPUS: Final = "gpus"
STEP: Final = "step_seconds"
COLUMNS: Final = (NAME, SUBMITTED, QUEUE, RUN, GPUS, STEP)
"""The columns of a table, and the fields of a run in JSON, where `step_seconds` is a list."""

_ALIKE: Final = 0.8
"""How alike a name must be to one of the columns to be taken for a slip."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run; None is not known.

    Attributes:
        name: as its file names it, else its place there.
        submitted_at: seconds since the epoch.
        queue: seconds from submission to start.
        run: seconds from start to completion.
        gpus: cards that it holds while it runs.
        steps: seconds of each step, in order.
    """

    name: str
    submitted_at: float | None = None
    queue: float | None = None
    run: float | None = None
    gpus: float | None = None
    steps: tuple[float, ...] = ()

    @property
    def turnaround(self) -> float | None:
        """Seconds from submission to completion."""
        return None if self.queue is None or self.run is None else self.queue + self.run

    @property
    def gpu_minutes(self) -> float | None:
        """What it costs in minutes of one card."""
        return None if self.run is None or self.gpus is None else self.run * self.gpus / 60


def read_csv(text: str) -> tuple[tuple[Run, ...], tuple[str, ...]]:
    """Read a table with a line of column names. Rows of the same run are one: each may tell one more step.

    Returns:
        The runs in the order of their first rows, and what cannot be read, with its line.
    """
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="", strict=True)
    try:
        heads = [head.strip() for head in reader.fieldnames or ()]
        reader.fieldnames = heads
        rows = [(f"line {reader.line_num}", row) for row in reader]
    except csv.Error as error:
        return (), (f"line {reader.reader.line_num}: {error}; a table of comma-separated values was expected",)
    problems = list(_slips(heads, "line 1"))
    runs = _gather(((where, {key: value for key, value in row.items() if value}) for where, row in rows), problems)
    return runs, tuple(problems)


def read_json(document: object) -> tuple[tuple[Run, ...], tuple[str, ...]]:
    """Read a list of runs, or an object that has one under `runs`."""
    found = document.get("runs") if isinstance(document, dict) else document
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        return (), ("a list of runs was expected, each an object, or an object with such a list under runs",)
    rows = [(f"run {position}", one) for position, one in enumerate(found, start=1)]
    names = dict.fromkeys(str(key) for _, one in rows for key in one)
    problems = list(_slips(names, "runs"))
    return _gather(rows, problems), tuple(problems)


def _slips(heads: Iterable[str], where: str) -> Iterator[str]:
    """Other columns are passed over, but not those that look like a slip, nor a table that has none of ours."""
    names = list(heads)
    yield from (f"{where}: {shown(name)} is there twice" for name in COLUMNS if names.count(name) > 1)
    for head in names:
        near = difflib.get_close_matches(head.lower(), COLUMNS, n=1, cutoff=_ALIKE)
        if head not in COLUMNS and near and near[0] not in names:
            yield f"{where}: {shown(head)} is no column that is read; did you mean {near[0]}?"
    if not set(names).intersection((QUEUE, RUN, STEP)):
        yield f"{where}: none of {QUEUE}, {RUN} and {STEP} is there, so there is nothing to compare"


def _gather(rows: Iterable[tuple[str, Mapping[str, Any]]], problems: list[str]) -> tuple[Run, ...]:
    runs: dict[str, Run] = {}
    for where, row in rows:
        read = _row(where, row, problems)
        before = runs.get(read.name)
        runs[read.name] = read if before is None else _joined(before, read, where, problems)
    return tuple(runs.values())


def _row(where: str, row: Mapping[str, Any], problems: list[str]) -> Run:
    name, steps = row.get(NAME), row.get(STEP, [])
    return Run(
        name=where if name is None else str(name),
        submitted_at=_moment(row.get(SUBMITTED), where, problems),
        queue=_number(row.get(QUEUE), QUEUE, where, problems),
        run=_number(row.get(RUN), RUN, where, problems),
        gpus=_number(row.get(GPUS), GPUS, where, problems),
        steps=tuple(
            step
            for value in (steps if isinstance(steps, list) else [steps])
            if (step := _number(value, STEP, where, problems)) is not None
        ),
    )


def _number(value: object, column: str, where: str, problems: list[str]) -> float | None:
    if value is None:
        return None
    number = _float(value)
    if number is None or not math.isfinite(number) or number < 0:
        problems.append(f"{where}: {column} is {shown(value)}; it must be a number from 0 up")
        return None
    return number


def _float(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _moment(value: object, where: str, problems: list[str]) -> float | None:
    """A time is RFC 3339 with its zone, or seconds since the epoch."""
    if value is None:
        return None
    seconds = _float(value)
    if seconds is None and isinstance(value, str):
        try:
            read = datetime.fromisoformat(value)
            seconds = read.timestamp() if read.tzinfo else None
        except (ValueError, OverflowError):
            seconds = None
    if seconds is None or not math.isfinite(seconds):
        wanted = "a time with its zone such as 2026-11-04T10:00:00Z, or seconds since 1970"
        problems.append(f"{where}: {SUBMITTED} is {shown(value)}; it must be {wanted}")
        return None
    return seconds


def _joined(before: Run, more: Run, where: str, problems: list[str]) -> Run:
    """One run from two rows: what both say must be the same, and steps follow each other."""
    names = {"submitted_at": SUBMITTED, "queue": QUEUE, "run": RUN, "gpus": GPUS}
    joined: dict[str, float | None] = {}
    for attribute, column in names.items():
        one, other = getattr(before, attribute), getattr(more, attribute)
        if one is not None and other is not None and one != other:
            problems.append(f"{where}: {column} of run {shown(before.name)} is {other:g}, and above it is {one:g}")
        joined[attribute] = other if one is None else one
    return Run(before.name, **joined, steps=before.steps + more.steps)
