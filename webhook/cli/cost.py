"""`numafit cost`: where GPU time went, by cause, namespace and class."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from policy.cost.money import amount
from webhook.cli import screen
from webhook.cli.cost_report import Bill, as_json, write_text
from webhook.cli.errors import USAGE, InputError
from webhook.cli.examples import beginning_with
from webhook.cli.held_now import held_now
from webhook.cli.history import History, read_history
from webhook.cli.inputs import Levels, read_levels
from webhook.cli.room import read_known
from webhook.cli.screen import Form
from webhook.cli.spending import add_up
from webhook.levels.file import LevelsFile

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    name="cost",
    help=beginning_with(
        [
            "numafit cost --cluster cluster.json",
            "numafit cost --history history.jsonl --price 3.00",
            "numafit cost --history history.jsonl --cluster cluster.json -o json",
        ],
        "GPU time that somebody had: computing, starting, waiting for members of a group, cleaning up after a failure; "
        "and GPU time that nobody had, where the history holds samples: stranded, blocked, startable, without demand. "
        "By namespace and class, with retries, queue times and, given a price per GPU-hour, money. A cluster tells "
        "what is held at its moment, a history (a JSON object in each line, docs/cost.md) what happened. Exit code 2: "
        "something of it cannot be read (the rest is counted).",
    ),
)
def command(
    history: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="what happened")] = None,
    cluster: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="the cluster")] = None,
    price: Annotated[str, typer.Option(help="of one GPU-hour")] = "",
    levels: Levels = None,
    output: Annotated[Form, typer.Option("--output", "-o", help="for people or for programs")] = Form.TABLE,
) -> None:
    """Add up GPU time."""
    if not history and not cluster:
        raise InputError("nothing says what happened; give --history FILE, --cluster FILE or both")
    paid = _price(price)
    found = read_history(history or [])
    for problem in found.problems:
        screen.say(problem)
    if cluster:
        _add_cluster(cluster, read_levels(levels), found)
    if found.begin is None or found.until is None:
        raise InputError("nothing that happened has a time; give a history with events, or a snapshot")
    bill = Bill(add_up(found.lives.values(), found.periods(), found.until), found.begin, found.until, paid)
    if output is Form.JSON:
        screen.document("Cost", as_json(bill))
    else:
        write_text(bill)
    raise typer.Exit(USAGE if found.problems else 0)


def _price(text: str) -> Fraction | None:
    try:
        found = amount(text) if text else None
    except (ValueError, ZeroDivisionError):
        raise InputError(f"--price is {text!r}; write a decimal number such as 2.99") from None
    if found is not None and found < 0:
        raise InputError(f"--price is {text!r}; write a number from 0")
    return found


def _add_cluster(paths: Sequence[Path], levels: LevelsFile, found: History) -> None:
    """Add what pods of the cluster hold to a history, which knows better of those that it names."""
    known = read_known(paths, levels)
    taken_at = known.facts.taken_at
    if taken_at is None:
        raise InputError("nothing says when the cluster was read, so no time can be counted; take a snapshot of it")
    held = held_now(known)
    for problem in held.problems:
        screen.say(f"cluster: {problem}")
    found.lives = {**held.lives, **found.lives}
    found.reach(amount(taken_at))
    for life in held.lives.values():
        if life.reserved is not None:
            found.reach(min(life.reserved, amount(taken_at)))
