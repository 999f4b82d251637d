"""What `numafit cost` adds up: GPU time by cause, namespace and class; retries; how long work waited and ran."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from policy.cost.attempts import Retries, retries
from policy.cost.idle import Idle, Period, ledger
from policy.cost.lives import Cause, Life, Run, by_group, run_of, spent


@dataclass(frozen=True, slots=True)
class Row:
    """GPU-seconds of pods under one cause."""

    cause: Cause
    namespace: str
    kind: str
    gpu_seconds: Fraction


@dataclass(frozen=True, slots=True)
class Tried:
    """A group that was started more than once, or that left something to clean up."""

    run: Run
    retries: Retries


@dataclass(frozen=True, slots=True)
class Spending:
    """Everything.

    Attributes:
        idle: cause -> GPU-seconds that nobody had; empty where nobody took samples.
        runs: class -> groups and single pods of it, in the order of first sight.
    """

    rows: tuple[Row, ...]
    idle: Mapping[Idle, Fraction]
    tried: tuple[Tried, ...]
    runs: Mapping[str, tuple[Run, ...]]

    @property
    def in_vain(self) -> Fraction:
        """GPU-seconds that somebody had and that computed nothing."""
        return sum((row.gpu_seconds for row in self.rows if row.cause is not Cause.COMPUTING), Fraction(0))


def add_up(lives: Iterable[Life], periods: Iterable[Period], now: Fraction) -> Spending:
    """Add up lives until ``now`` and the periods of idle cards."""
    rows: dict[tuple[Cause, str, str], Fraction] = {}
    runs: dict[str, list[Run]] = {}
    for group in by_group(lives):
        for each in spent(group, now):
            key = each.cause, each.namespace, each.kind
            rows[key] = rows.get(key, Fraction(0)) + each.gpu_seconds
        run = run_of(group, now)
        runs.setdefault(run.kind, []).append(run)
    tried = (Tried(run, retries(run.attempts, now)) for each in runs.values() for run in each)
    idle = {cause: seconds for cause, seconds in ledger(periods).items() if seconds}
    return Spending(
        rows=tuple(Row(*key, seconds) for key, seconds in sorted(rows.items(), key=_largest_first)),
        idle=idle,
        tried=tuple(each for each in tried if each.retries.retries or each.retries.clean_up),
        runs={kind: tuple(found) for kind, found in runs.items()},
    )


def _largest_first(row: tuple[tuple[Cause, str, str], Fraction]) -> tuple[bool, Fraction, tuple[str, ...]]:
    """Put what did nothing first."""
    key, seconds = row
    return key[0] is Cause.COMPUTING, -seconds, key
