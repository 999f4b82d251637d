"""`numafit compare`: whether two sets of runs differ, and by how much."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from policy.runs.bootstrap import LEVEL, RESAMPLES, SEED
from policy.runs.comparison import UNITS, Comparison, Measured, Statistic, Verdict, compare
from policy.runs.run import COLUMNS, Run, read_csv, read_json
from webhook.cli import screen
from webhook.cli.errors import InputError
from webhook.cli.examples import beginning_with
from webhook.cli.manifests import STDIN
from webhook.cli.screen import Form
from webhook.cluster.documents import parse
from webhook.cluster.interface import UnreadableFileError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

MOST_PROBLEMS: Final = 10
HEADS: Final = ("MEASURE", "STATISTIC", "A", "B", "B - A", "%", f"{LEVEL:.0%} INTERVAL", "B IS")


@dataclass(frozen=True, slots=True)
class RunFile:
    """A set of runs and where it comes from."""

    name: str
    runs: tuple[Run, ...]


@app.command(
    name="compare",
    help=beginning_with(
        [
            "numafit compare remote.csv local.csv",
            "numafit compare before.json after.json -o json",
        ],
        f"Compare two sets of runs: step, queue and run times, submission to completion, GPU-minutes; median, p95 and "
        f"p99, with the {LEVEL:.0%} interval of the difference (bootstrap over runs, the same each time). CSV columns, "
        f"or fields of a JSON list: {', '.join(COLUMNS)}; rows with the same run are one, each with a step more. "
        "Exit code 0 whatever the answer is, 2: a file cannot be read.",
    ),
)
def command(
    a: Annotated[str, typer.Argument(metavar="A", help="CSV or JSON, - for stdin")],
    b: Annotated[str, typer.Argument(metavar="B", help="the runs to compare with them")],
    output: Annotated[Form, typer.Option("--output", "-o", help="for people or for programs")] = Form.TABLE,
) -> None:
    """Compare runs."""
    if a == b == STDIN:
        raise InputError("A and B are both stdin; give a file for one of them")
    one, other = _read(a), _read(b)
    found = compare(one.runs, other.runs)
    if output is Form.JSON:
        screen.document("Comparison", _as_json(one, other, found))
    else:
        _write(one, other, found)


def _read(name: str) -> RunFile:
    data = _bytes(name)
    if data.lstrip()[:1] in {b"{", b"["}:
        runs, problems = read_json(_json(data, name))
    else:
        runs, problems = read_csv(_text(data, name))
    if problems:
        shown = [f"{name}: {problem}" for problem in problems[:MOST_PROBLEMS]]
        rest = len(problems) - len(shown)
        raise InputError("\n".join([*shown, *([f"{name}: and {rest} more"] if rest else [])]))
    if not runs:
        raise InputError(f"{name}: holds no run; each is a row below {', '.join(COLUMNS)}, or an object with them")
    return RunFile(name, runs)


def _bytes(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}; name a file of runs, or - for stdin") from None


def _json(data: bytes, name: str) -> Any:
    try:
        return parse(data, name)[0]
    except UnreadableFileError as error:
        raise InputError(str(error)) from None


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text ({error.reason} at byte {error.start})") from None


def _write(one: RunFile, other: RunFile, found: Comparison) -> None:
    sets = (("A", one), ("B", other))
    screen.put("; ".join(f"{name}: {screen.printable(file.name)}, {_runs(file)}" for name, file in sets))
    screen.table(HEADS, (row for measured in found.measures for row in _rows(measured)))
    screen.put(f"\n{_summary(found)}")
    if found.cautions:
        screen.table((), ((caution.code, caution.text) for caution in found.cautions))


def _runs(file: RunFile) -> str:
    return "1 run" if len(file.runs) == 1 else f"{len(file.runs)} runs"


def _rows(measured: Measured) -> Iterator[tuple[str, ...]]:
    for statistic in measured.statistics:
        first = statistic is measured.median
        percent = "" if statistic.percent is None else f"{statistic.percent:+.1f}"
        yield (
            f"{measured.measure} ({UNITS[measured.measure]})" if first else "",
            statistic.name,
            _number(statistic.a),
            _number(statistic.b),
            _number(statistic.difference),
            percent,
            _interval(statistic),
            statistic.verdict,
        )


def _interval(statistic: Statistic) -> str:
    interval = statistic.interval
    return "" if interval is None else f"{_number(interval.low)} to {_number(interval.high)}"


def _number(value: float) -> str:
    """Three digits behind the point, where there are any."""
    return f"{value:.3f}".rstrip("0").rstrip(".") if round(value, 3) else "0"


def _summary(found: Comparison) -> str:
    if not found.measures:
        return "Nothing is told by both sets, so nothing can be compared."
    if all(one.median.verdict is Verdict.UNKNOWN for one in found.measures):
        return "Whether the sets differ cannot be told: one run does not say how much runs vary."
    told = [
        f"{measured.measure} {verdict} ({', '.join(names)})"
        for measured in found.differing
        for verdict, names in measured.differing.items()
    ]
    return (
        f"B differs: {'; '.join(told)}."
        if told
        else "The runs do not differ as far as they show: all intervals hold 0."
    )


def _as_json(one: RunFile, other: RunFile, found: Comparison) -> dict[str, object]:
    return {
        "a": {"file": one.name, "runs": found.runs_a},
        "b": {"file": other.name, "runs": found.runs_b},
        "method": {"percentiles": "linear", "interval": "bootstrap over runs", "level": LEVEL}
        | {"mostResamples": RESAMPLES, "seed": SEED},
        "summary": _summary(found),
        "differs": bool(found.differing),
        "measures": [_measured(measured) for measured in found.measures],
        "warnings": [{"code": caution.code, "message": caution.text} for caution in found.cautions],
    }


def _measured(measured: Measured) -> dict[str, object]:
    return {
        "measure": measured.measure,
        "unit": UNITS[measured.measure],
        "a": {"runs": measured.runs_a, "values": measured.values_a},
        "b": {"runs": measured.runs_b, "values": measured.values_b},
        "statistics": [_statistic(statistic) for statistic in measured.statistics],
    }


def _statistic(statistic: Statistic) -> dict[str, object]:
    interval = statistic.interval
    return {
        "statistic": statistic.name,
        "a": statistic.a,
        "b": statistic.b,
        "difference": statistic.difference,
        "percent": statistic.percent,
        "interval": None if interval is None else [interval.low, interval.high],
        "verdict": statistic.verdict,
    }
