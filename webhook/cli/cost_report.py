"""What `numafit cost` answers, as people and programs read it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from policy.cost.lives import Run
from policy.cost.money import HOUR, MINUTE, cost, money
from policy.cost.queue import percentile
from webhook.cli import screen
from webhook.cli.spending import Spending
from webhook.cli.words import plain
from webhook.cluster.moments import rfc3339

_NOBODY: Final = "-"
_PERCENTS: Final = (50, 95)


@dataclass(frozen=True, slots=True)
class Bill:
    """What was spent, in which time, at which price per GPU-hour (None for none)."""

    spending: Spending
    begin: Fraction
    until: Fraction
    price: Fraction | None

    def cost(self, gpu_seconds: Fraction) -> str | None:
        """Return the money for GPU time, None where no price is given."""
        return None if self.price is None else money(cost(gpu_seconds, self.price))


def as_json(bill: Bill) -> Mapping[str, Any]:
    """The answer for programs: GPU time in GPU-seconds, times in seconds, money as text with two decimals."""
    spending = bill.spending
    rows = [
        {"cause": str(r.cause), "namespace": r.namespace, "class": r.kind, **_amounts(bill, r.gpu_seconds)}
        for r in spending.rows
    ]
    idle = [{"cause": str(cause), **_amounts(bill, seconds)} for cause, seconds in spending.idle.items()]
    return {
        "from": rfc3339(float(bill.begin)),
        "until": rfc3339(float(bill.until)),
        "pricePerGPUHour": None if bill.price is None else money(bill.price),
        "held": rows,
        "heldInVain": _amounts(bill, spending.in_vain),
        "idle": idle,
        "retries": [_tried(bill, position) for position in range(len(spending.tried))],
        "classes": [{"class": kind, **_runs(runs)} for kind, runs in spending.runs.items()],
    }


def _amounts(bill: Bill, gpu_seconds: Fraction) -> Mapping[str, Any]:
    return {"gpuSeconds": plain(gpu_seconds), "cost": bill.cost(gpu_seconds)}


def _tried(bill: Bill, position: int) -> Mapping[str, Any]:
    one = bill.spending.tried[position]
    return {
        "namespace": one.run.namespace,
        "name": one.run.name,
        "retries": one.retries.retries,
        "cleanUpSeconds": plain(one.retries.clean_up),
        "longestCleanUpSeconds": plain(one.retries.longest_clean_up),
    }


def _runs(runs: Sequence[Run]) -> Mapping[str, Any]:
    return {
        "runs": len(runs),
        "waiting": sum(run.waits for run in runs),
        "percentiles": "nearest rank; what still waits counts with its age",
        "queueSeconds": _percentiles([run.queue for run in runs if run.queue is not None]),
        "executionSeconds": _percentiles([run.execution for run in runs if run.execution is not None]),
        "turnaroundSeconds": _percentiles(_turnarounds(runs)),
        "computedGPUSeconds": plain(sum((run.gpu_seconds for run in runs), Fraction(0))),
    }


def _turnarounds(runs: Sequence[Run]) -> list[Fraction]:
    return [run.queue + run.execution for run in runs if run.queue is not None and run.execution is not None]


def _percentiles(values: Sequence[Fraction]) -> Mapping[str, Any]:
    found = {percent: percentile(values, Fraction(percent)) for percent in _PERCENTS}
    return {f"p{percent}": None if value is None else plain(value) for percent, value in found.items()}


def write_text(bill: Bill) -> None:
    """Write the answer for people."""
    spending = bill.spending
    screen.put(f"From {rfc3339(float(bill.begin))} to {rfc3339(float(bill.until))}")
    priced = ("COST",) if bill.price is not None else ()
    for heads, rows in (
        (("HELD", "NAMESPACE", "CLASS", "GPU-MINUTES", "GPU-HOURS", *priced), _held(bill)),
        (("IDLE", "GPU-SECONDS", "GPU-MINUTES", "GPU-HOURS", *priced), _idle(bill)),
        (("TRIED AGAIN", "RETRIES", "CLEAN-UP", "LONGEST"), _retries(spending)),
        (
            ("CLASS", "RUNS", "WAITING", "QUEUE P50", "P95", "EXECUTION P50", "TURNAROUND P50", "GPU-MINUTES"),
            _classes(spending),
        ),
    ):
        listed = list(rows)
        if listed:
            screen.put("")
            screen.table(heads, listed)


def _held(bill: Bill) -> Iterator[tuple[str, ...]]:
    for row in bill.spending.rows:
        yield str(row.cause), row.namespace, row.kind or _NOBODY, *_written(bill, row.gpu_seconds)
    if bill.spending.rows:
        yield "in vain, together", "", "", *_written(bill, bill.spending.in_vain)


def _idle(bill: Bill) -> Iterator[tuple[str, ...]]:
    for cause, seconds in bill.spending.idle.items():
        yield str(cause), decimal(seconds), *_written(bill, seconds)


def _written(bill: Bill, gpu_seconds: Fraction) -> Iterator[str]:
    yield decimal(gpu_seconds / MINUTE)
    yield decimal(gpu_seconds / HOUR)
    price = bill.cost(gpu_seconds)
    if price is not None:
        yield price


def _retries(spending: Spending) -> Iterator[tuple[str, ...]]:
    for one in spending.tried:
        yield (
            f"{one.run.namespace}/{one.run.name}",
            str(one.retries.retries),
            _minutes(one.retries.clean_up),
            _minutes(one.retries.longest_clean_up),
        )


def _classes(spending: Spending) -> Iterator[tuple[str, ...]]:
    for kind, runs in spending.runs.items():
        queue = [run.queue for run in runs if run.queue is not None]
        computed = sum((run.gpu_seconds for run in runs), Fraction(0))
        if not queue and not computed:
            continue  # nobody says when it was submitted, and it never ran
        yield (
            kind or _NOBODY,
            str(len(runs)),
            str(sum(run.waits for run in runs)),
            *(_minutes(percentile(queue, Fraction(percent))) for percent in _PERCENTS),
            _median([run.execution for run in runs if run.execution is not None]),
            _median(_turnarounds(runs)),
            decimal(computed / MINUTE),
        )


def _median(values: Sequence[Fraction]) -> str:
    return _minutes(percentile(values, Fraction(50)))


def _minutes(seconds: Fraction | None) -> str:
    return _NOBODY if seconds is None else f"{decimal(seconds / MINUTE)} min"


def decimal(value: Fraction) -> str:
    """Write a number with at most three decimals, none that say nothing."""
    return f"{float(round(value, 3)):.3f}".rstrip("0").rstrip(".")
