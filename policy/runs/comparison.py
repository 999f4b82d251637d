"""Two sets of runs, measure by measure: how large each is, whether they differ, and what makes the answer doubtful."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

from policy.runs import run as columns
from policy.runs.bootstrap import Interval, Sample, intervals, pooled, quantile
from policy.runs.run import Run

QUANTILES: Final = {"median": 0.5, "p95": 0.95, "p99": 0.99}
FEWEST_RUNS: Final = 5
"""Below five runs in each set chance alone separates two equal sets too often to say anything."""


class Verdict(StrEnum):
    """What the runs say of a statistic in B."""

    LOWER = "lower"
    HIGHER = "higher"
    SAME = "no difference shown"
    UNKNOWN = "cannot be told"


class Measure(StrEnum):
    """What is compared."""

    STEP = "step time"
    QUEUE = "queue time"
    RUN = "run time"
    TURNAROUND = "submission to completion"
    GPU_MINUTES = "GPU-minutes"


UNITS: Final[Mapping[Measure, str]] = dict.fromkeys(Measure, "s") | {Measure.GPU_MINUTES: "min"}
NEEDED: Final[Mapping[Measure, str]] = {
    Measure.STEP: columns.STEP,
    Measure.QUEUE: columns.QUEUE,
    Measure.RUN: columns.RUN,
    Measure.TURNAROUND: f"{columns.QUEUE} and {columns.RUN}",
    Measure.GPU_MINUTES: f"{columns.RUN} and {columns.GPUS}",
}
"""Which columns each measure is made of."""

_READ: Final[Mapping[Measure, Callable[[Run], Sequence[float | None]]]] = {
    Measure.STEP: lambda run: run.steps,
    Measure.QUEUE: lambda run: [run.queue],
    Measure.RUN: lambda run: [run.run],
    Measure.TURNAROUND: lambda run: [run.turnaround],
    Measure.GPU_MINUTES: lambda run: [run.gpu_minutes],
}


@dataclass(frozen=True, slots=True)
class Statistic:
    """One statistic of one measure in both sets.

    Attributes:
        name: `median`, `p95` or `p99`, linear between neighbours.
        interval: of the difference; None where it cannot be told.
    """

    name: str
    a: float
    b: float
    interval: Interval | None

    @property
    def difference(self) -> float:
        """How much larger it is in B."""
        return self.b - self.a

    @property
    def percent(self) -> float | None:
        """The same in percent of A's, None where that is nothing."""
        return self.difference * 100 / self.a if self.a else None

    @property
    def verdict(self) -> Verdict:
        """What the runs say of it in B."""
        if self.interval is None:
            return Verdict.UNKNOWN
        if not self.interval.excludes_zero:
            return Verdict.SAME
        return Verdict.HIGHER if self.interval.low > 0 else Verdict.LOWER


@dataclass(frozen=True, slots=True)
class Measured:
    """One measure in both sets.

    Attributes:
        runs_a, runs_b: how many runs tell it.
        values_a, values_b: how many values they tell.
    """

    measure: Measure
    runs_a: int
    runs_b: int
    values_a: int
    values_b: int
    statistics: tuple[Statistic, ...]

    @property
    def median(self) -> Statistic:
        """The statistic of the middle."""
        return self.statistics[0]

    @property
    def differing(self) -> Mapping[Verdict, tuple[str, ...]]:
        """How it is shown to differ in B -> the statistics that do."""
        names = {
            verdict: tuple(one.name for one in self.statistics if one.verdict is verdict)
            for verdict in (Verdict.LOWER, Verdict.HIGHER)
        }
        return {verdict: found for verdict, found in names.items() if found}


@dataclass(frozen=True, slots=True)
class Caution:
    """Something that makes the answer doubtful, or that is easily overlooked; the code is stable."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that two sets of runs say beside each other."""

    runs_a: int
    runs_b: int
    measures: tuple[Measured, ...]
    cautions: tuple[Caution, ...]

    @property
    def differing(self) -> tuple[Measured, ...]:
        """The measures that are shown to differ."""
        return tuple(one for one in self.measures if one.differing)


def compare(a: Sequence[Run], b: Sequence[Run]) -> Comparison:
    """Compare two sets of runs. A measure that no run of a set tells is left out."""
    measures = tuple(_measured(measure, a, b) for measure in Measure if _sample(measure, a) and _sample(measure, b))
    cautions = (*_few(a, b), *_order(a, b), *_missing(a, b), *_cards(a, b), *_faster_but_later(measures))
    return Comparison(len(a), len(b), measures, cautions)


def _sample(measure: Measure, runs: Iterable[Run]) -> Sample:
    told = (sorted(value for value in _READ[measure](run) if value is not None) for run in runs)
    return [values for values in told if values]


def _measured(measure: Measure, a: Sequence[Run], b: Sequence[Run]) -> Measured:
    one, other = _sample(measure, a), _sample(measure, b)
    all_one, all_other = pooled(one), pooled(other)
    found = zip(QUANTILES.items(), intervals(one, other, tuple(QUANTILES.values())), strict=True)
    statistics = tuple(
        Statistic(name, quantile(all_one, part), quantile(all_other, part), interval)
        for (name, part), interval in found
    )
    return Measured(measure, len(one), len(other), len(all_one), len(all_other), statistics)


def _few(a: Sequence[Run], b: Sequence[Run]) -> Iterator[Caution]:
    if min(len(a), len(b)) < FEWEST_RUNS:
        text = f"A has {len(a)} and B {len(b)} runs; with fewer than {FEWEST_RUNS} each, intervals are too narrow"
        yield Caution("too-few-runs", f"{text} and chance is taken for a difference; make more")


def _order(a: Sequence[Run], b: Sequence[Run]) -> Iterator[Caution]:
    """Caches warm up, cards heat up, neighbours come and go: what ran later differs for that alone."""
    moments = [(run.submitted_at, name) for name, runs in (("A", a), ("B", b)) for run in runs]
    if any(at is None for at, _ in moments):
        text = f"{columns.SUBMITTED} is missing, so nobody knows whether the runs of A and B alternated"
        yield Caution("order-unknown", f"{text}; note it, and alternate")
        return
    order = [name for _, name in sorted((at, name) for at, name in moments if at is not None)]
    changes = sum(one != other for one, other in pairwise(order))
    if changes < min(len(a), len(b)):
        shown = "".join(order) if len(order) <= 2 * len("ABABABABAB") else f"{changes} changes in {len(order)} runs"
        text = f"the runs were made in the order {shown}, so what changed meanwhile counts as a difference"
        yield Caution("order-not-alternated", f"{text}; alternate: ABAB… or ABBA…")


def _missing(a: Sequence[Run], b: Sequence[Run]) -> Iterator[Caution]:
    """Runs that still wait have no times yet, and they are the slow ones."""
    for measure in (Measure.STEP, Measure.QUEUE, Measure.RUN):
        counts = {name: (len(_sample(measure, runs)), len(runs)) for name, runs in (("A", a), ("B", b))}
        told = [f"{some} of {most} runs of {name}" for name, (some, most) in counts.items() if some < most]
        both = all(some for some, _ in counts.values())
        if told and both:
            text = f"{NEEDED[measure]} is told by {' and '.join(told)} alone"
            yield Caution("values-missing", f"{text}; if the others never started or ended, the set looks too good")
        elif not both and any(some for some, _ in counts.values()):
            lacking = next(name for name, (some, _) in counts.items() if not some)
            text = f"{measure} is not compared: no run of {lacking} tells {NEEDED[measure]}"
            yield Caution("not-compared", f"{text}; record it in both")


def _cards(a: Sequence[Run], b: Sequence[Run]) -> Iterator[Caution]:
    one, other = (sorted({run.gpus for run in runs if run.gpus is not None}) for runs in (a, b))
    if one and other and one != other:
        text = f"A ran on {_listed(one)} and B on {_listed(other)} GPUs"
        yield Caution("different-gpus", f"{text}; times on other numbers of cards say nothing of placement")


def _listed(counts: Iterable[float]) -> str:
    return ", ".join(f"{count:g}" for count in counts)


def _faster_but_later(measures: Sequence[Measured]) -> Iterator[Caution]:
    """The trap of every placement policy: execution gains what the queue loses twice."""
    by = {one.measure: one for one in measures}
    run, whole = by.get(Measure.RUN), by.get(Measure.TURNAROUND)
    if not run or not whole or not run.median.difference < 0 < whole.median.difference:
        return
    even = whole.median.a - run.median.b
    text = f"in B runs take {-run.median.difference:g} s less and are completed {whole.median.difference:g} s later"
    yield Caution("faster-but-later", f"{text}; with a queue of at most {even:g} s they would not be later")
