"""Where the GPU time of pods went: computing, starting, waiting for other members, cleaning up.

A pod has its GPUs from its reservation to its release. It computes while as many members of its group have started as
the group needs; before that it waits, for members that have no place yet or for those that have one to start. GPUs of
a pod that failed are being cleaned up until they are free.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Final

from policy.cost.attempts import Attempt


class Cause(StrEnum):
    """What GPUs that somebody has are doing."""

    COMPUTING = "computing"
    STARTING = "starting"
    WAITING = "waiting-for-members"
    CLEAN_UP = "clean-up"


@dataclass(frozen=True, slots=True)
class Life:
    """One pod; times in seconds since the epoch, None for what did not happen.

    Attributes:
        group: the group that it starts with, empty for none.
        members: how many pods of the group must run together, None where nobody says.
        kind: the class of its workload, empty where nobody says.
        gpus: what it holds; a share of a card is a fraction.
        created: when it was submitted.
        reserved: when its GPUs were set aside (HAMi: filter).
        started: when its containers ran.
        failed: when it failed.
        released: when its GPUs were free again.
    """

    namespace: str
    name: str
    gpus: Fraction
    group: str = ""
    members: int | None = None
    kind: str = ""
    created: Fraction | None = None
    reserved: Fraction | None = None
    started: Fraction | None = None
    failed: Fraction | None = None
    released: Fraction | None = None

    @property
    def is_done(self) -> bool:
        """Whether it ran to its end: its place counts as filled for the members that still compute."""
        return self.started is not None and self.failed is None and self.released is not None

    def left(self, now: Fraction) -> Fraction:
        """Return when its GPUs were free again, ``now`` where they are not yet."""
        return now if self.released is None else self.released

    def lost(self, now: Fraction) -> Fraction:
        """Return when it stopped to count for its group: failed, or left before its end; ``now`` if neither."""
        return self.failed if self.failed is not None else now if self.is_done else self.left(now)


@dataclass(frozen=True, slots=True)
class Spent:
    """GPU-seconds under one cause."""

    cause: Cause
    namespace: str
    kind: str
    gpu_seconds: Fraction


@dataclass(frozen=True, slots=True)
class Run:
    """One group, or a pod without one, from submission to completion; times in seconds.

    Attributes:
        queue: until enough members had started; where they have not, how long it has waited by now, or did until it
            was given up.
        waits: whether it has not started yet and still may.
        execution: from then to the last release; None where it has not started or not ended.
        gpu_seconds: what its GPUs computed.
        attempts: one for each time that it held GPUs without a break.
    """

    namespace: str
    name: str
    kind: str
    queue: Fraction | None
    waits: bool
    execution: Fraction | None
    gpu_seconds: Fraction
    attempts: tuple[Attempt, ...]


def spent(run: Sequence[Life], now: Fraction) -> list[Spent]:
    """Return what the pods of one group held, by cause; nothing is counted twice."""
    course = _Course(run, now)
    found = []
    for life in run:
        if life.reserved is None:
            continue
        end, lost = life.left(now), min(life.left(now), life.failed if life.failed is not None else now)
        seconds = {cause: course.between(cause, life.reserved, lost) for cause in course.causes}
        seconds[Cause.CLEAN_UP] = max(end - max(lost, life.reserved), Fraction(0))
        found += [Spent(cause, life.namespace, life.kind, life.gpus * time) for cause, time in seconds.items() if time]
    return found


def by_group(lives: Iterable[Life]) -> list[tuple[Life, ...]]:
    """Gather the pods that start together, in the order of first sight."""
    found: dict[tuple[str, bool, str], list[Life]] = {}
    for life in lives:
        found.setdefault((life.namespace, bool(life.group), life.group or life.name), []).append(life)
    return [tuple(group) for group in found.values()]


def run_of(group: Sequence[Life], now: Fraction) -> Run:
    """Sum up one group."""
    first, course = group[0], _Course(group, now)
    created = min((life.created for life in group if life.created is not None), default=None)
    begun, over = course.begun, _over(group)
    queued_until = next(at for at in (begun, over, now) if at is not None)
    return Run(
        namespace=first.namespace,
        name=first.group or first.name,
        kind=first.kind,
        queue=None if created is None else queued_until - created,
        waits=begun is None and over is None,
        execution=None if over is None or begun is None else over - begun,
        gpu_seconds=sum((each.gpu_seconds for each in spent(group, now) if each.cause is Cause.COMPUTING), Fraction(0)),
        attempts=tuple(_attempts(group, now)),
    )


def _over(lives: Iterable[Life]) -> Fraction | None:
    """Return when the last of their GPUs were free again, None if some are not."""
    released = [life.released for life in lives]
    return None if None in released else max(at for at in released if at is not None)


def _attempts(group: Iterable[Life], now: Fraction) -> list[Attempt]:
    """Return one attempt for each time in which the group held GPUs without a break."""
    held = sorted(((life.reserved, life) for life in group if life.reserved is not None), key=lambda each: each[0])
    spans: list[list[Life]] = []
    until: Fraction | None = None
    for reserved, life in held:
        if until is None or reserved >= until:
            spans.append([])
        spans[-1].append(life)
        until = max(life.left(now), reserved if until is None else until)
    return [_attempt(span) for span in spans]


def _attempt(span: Sequence[Life]) -> Attempt:
    return Attempt(
        gpus=sum((life.gpus for life in span), Fraction(0)),
        begin=min(life.reserved for life in span if life.reserved is not None),
        failed=min((life.failed for life in span if life.failed is not None), default=None),
        released=_over(span),
    )


class _Course:
    """What a group as a whole was doing at each moment.

    Attributes:
        causes: what it can be doing.
        begun: when enough members had started for the first time, None if they never had.
    """

    causes: Final = (Cause.COMPUTING, Cause.STARTING, Cause.WAITING)

    def __init__(self, group: Sequence[Life], now: Fraction) -> None:
        placed = [(life.reserved, life.lost(now)) for life in group if life.reserved is not None]
        running = [(life.started, life.lost(now)) for life in group if life.started is not None]
        ends = {now, *(life.left(now) for life in group)}
        self._moments = sorted(ends.union(*placed, *running))
        seated, started = self._counts(placed), self._counts(running)
        needed = _needed(group, max(seated, default=0))
        states = [_state(has, runs, needed) for has, runs in zip(seated, started, strict=True)]
        at = next((at for at, state in enumerate(states) if state is Cause.COMPUTING), None)
        self.begun = None if at is None else self._moments[at]
        self._totals = {cause: self._total(states, cause) for cause in self.causes}

    def between(self, cause: Cause, begin: Fraction, end: Fraction) -> Fraction:
        """Return for how long of a time the group did ``cause``."""
        return max(self._until(cause, end) - self._until(cause, begin), Fraction(0))

    def _counts(self, spans: Sequence[tuple[Fraction, Fraction]]) -> list[int]:
        """Return how many spans hold each moment; one that ends where it begins holds none."""
        begins, ends = sorted(begin for begin, _ in spans), sorted(max(span) for span in spans)
        return [bisect_right(begins, moment) - bisect_right(ends, moment) for moment in self._moments]

    def _total(self, states: Sequence[Cause], cause: Cause) -> list[Fraction]:
        steps = (
            after - before if state is cause else Fraction(0)
            for (before, after), state in zip(pairwise(self._moments), states, strict=False)
        )
        return list(accumulate(steps, initial=Fraction(0)))

    def _until(self, cause: Cause, moment: Fraction) -> Fraction:
        """Return for how long it did ``cause`` up to a moment at which something happened."""
        return self._totals[cause][bisect_right(self._moments, moment) - 1]


def _needed(group: Sequence[Life], most_seated: int) -> int:
    """Return how many must run together; where nobody says, as many as ever had a place at one time."""
    if not group[0].group:
        return 1
    said = [life.members for life in group if life.members is not None]
    return max(1, max(said) if said else most_seated)


def _state(seated: int, started: int, needed: int) -> Cause:
    if started >= needed:
        return Cause.COMPUTING
    return Cause.STARTING if seated >= needed else Cause.WAITING
