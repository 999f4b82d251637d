"""`numafit levels`: the policy file, checked, shown and described."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from policy.admission.finding import Level
from policy.admission.levels import Levels
from policy.admission.table import BY_CODE
from webhook.cli import screen
from webhook.cli.errors import FINDINGS
from webhook.cli.examples import beginning_with
from webhook.cli.inputs import LEVELS_VARIABLE, read_levels
from webhook.cli.screen import Form

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help=beginning_with(
        ["numafit levels show"],
        "Check a policy file, show the level of every rule as it holds in a namespace, and print the JSON Schema "
        "(docs/levels.md).",
    ),
)


@app.command(
    short_help="Say what is wrong with a policy file.",
    help=beginning_with(
        ["numafit levels check levels.yaml"],
        "Say everything that is wrong with a policy file. Exit codes: 0 nothing, 1 an exemption has expired, 2 the "
        "file cannot be used.",
    ),
)
def check(file: Annotated[Path, typer.Argument(metavar="FILE", help="the policy file")]) -> None:
    """Check a policy file."""
    expired = read_levels(file).expired(time.time())
    for line in expired:
        screen.say(f"{file}: {line}")
    screen.say(f"{file} can be used")
    raise typer.Exit(FINDINGS if expired else 0)


@app.command(
    short_help="Show the level of every rule in a namespace.",
    help=beginning_with(
        ["numafit levels show", "numafit levels show levels.yaml --namespace research"],
        "Show the level of every rule as it holds in a namespace for pods without labels, and the built-in one where "
        "it differs. Without a file: the built-in levels.",
    ),
)
def show(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", envvar=LEVELS_VARIABLE, help="the policy file")] = None,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="the namespace")] = "default",
    output: Annotated[Form, typer.Option("--output", "-o", help="for people or for programs")] = Form.TABLE,
) -> None:
    """Show the levels in force."""
    policy, now = read_levels(file), time.time()
    levels = policy.levels(namespace, {}, {}, now)
    for line in policy.expired(now):
        screen.say(line)
    if output is Form.JSON:
        screen.document("Levels", _as_json(levels, namespace))
        return
    rows = [
        (code, level, _built_in(code) if level != _built_in(code) else "") for code, level in levels.by_code.items()
    ]
    screen.table(("CODE", "LEVEL", "BUILT IN"), rows)
    if levels.opted_out:
        screen.say(f"namespace {namespace} stays out: nothing is filled in")
    if levels.default_alignment:
        screen.say(f"pods that can profit get hami.io/numa-alignment: {levels.default_alignment}")


def _built_in(code: str) -> Level:
    return BY_CODE[code].level or Level.WARN


def _as_json(levels: Levels, namespace: str) -> dict[str, object]:
    return {
        "namespace": namespace,
        "optedOut": levels.opted_out,
        "defaultAlignment": levels.default_alignment,
        "digest": levels.digest,
        "levels": dict(levels.by_code),
    }


@app.command(
    short_help="Print the JSON Schema of the policy file.",
    help=beginning_with(
        ["numafit levels schema"], "Print the JSON Schema (2020-12) of the policy file, for editors and for CI."
    ),
)
def schema() -> None:
    """Print the schema."""
    from webhook.levels.schema import schema as described  # noqa: PLC0415 - nothing else here needs it

    screen.put(json.dumps(described(), indent=2))
