"""What is shown and kept of a run: text, JSON, and the table in docs/performance.md."""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from tests.bench.figures import Figure, State

RESULTS = Path(__file__).with_name("results")
PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def show(figure: Figure) -> None:
    """Print one figure."""
    goal = "" if figure.goal is None else f"goal {_number(figure.goal)}"
    line = f"  {figure.name:46} {_number(figure.median):>8} {figure.unit:14} {goal:10} {figure.state:7} {figure.note}"
    print(line.rstrip(), flush=True)


def keep(run: Mapping[str, Any]) -> Path:
    """Write a run down, in a file named after its time."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{run['taken_at'].replace(':', '').replace('-', '')}.json"
    path.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    return path


def write_page(run: Mapping[str, Any], figures: Sequence[Figure]) -> None:
    """Put the run between the markers of docs/performance.md.

    Raises:
        ValueError: the markers are not there.
    """
    text = PAGE.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} must hold the lines {BEGIN} and {END}")
    PAGE.write_text(f"{before}{BEGIN}\n{page(run, figures)}{END}{after}", encoding="utf-8")


def page(run: Mapping[str, Any], figures: Sequence[Figure]) -> str:
    """The part of the page that a run writes."""
    machine = run["machine"]
    versions = ", ".join(f"{name} {value}" for name, value in machine.items() if name not in {"cpu", "cores", "kernel"})
    head = (
        f"Taken {run['taken_at']} on {machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}; "
        f"{versions}. {run['repetitions']} repetitions; {run['load'][0]:.1f} processes wanted a core before the run, "
        f"{run['load'][1]:.1f} at its end (the run itself wants up to two).\n"
    )
    return "\n".join([head, *(_table(group, list(found)) for group, found in groupby(figures, attrgetter("group")))])


def _table(group: str, figures: Sequence[Figure]) -> str:
    head = [f"### {group}\n", "| | median | least to most | goal | |", "|---|---|---|---|---|"]
    return "\n".join([*head, *map(_row, figures), ""])


def _row(figure: Figure) -> str:
    median = f"{_number(figure.median)} {figure.unit}"
    return f"| {figure.name} | {median} | {_spread(figure)} | {_goal(figure)} | {figure.note} |"


def _spread(figure: Figure) -> str:
    return f"{_number(min(figure.values))} to {_number(max(figure.values))}"


def _goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    word = "met" if figure.state is State.PASS else "**missed**"
    return f"{_number(figure.goal)}, {word}"


def _number(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
