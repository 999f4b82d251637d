"""`numafit config`: the settings of the server and where each comes from."""

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from webhook.cli import screen
from webhook.cli.errors import InputError
from webhook.cli.examples import beginning_with
from webhook.cli.screen import Form
from webhook.settings import Settings, described
from webhook.sources import Loaded, SettingsError, load

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help=beginning_with(["numafit config show"], "Show and describe the settings of the server (docs/settings.md)."),
)


def read_settings(file: Path | None, flags: dict[str, object] | None = None) -> Loaded:
    """Put the settings together from a file, the environment and flags.

    Raises:
        InputError: they cannot be used; the text has a line for each mistake.
    """
    try:
        return load(file, os.environ, flags or {})
    except SettingsError as error:
        raise InputError(str(error)) from None


@app.command(
    short_help="Show the settings in force and where each comes from.",
    help=beginning_with(
        ["numafit config show", "numafit config show --config numafit.yaml -o json"],
        "Show every setting as it would be in force, and where it comes from. No setting is a secret: tokens and keys "
        "stay in their files.",
    ),
)
def show(
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="the settings file")] = None,
    output: Annotated[Form, typer.Option("--output", "-o", help="for people or for programs")] = Form.TABLE,
) -> None:
    """Show the settings in force."""
    loaded = read_settings(config)
    values = loaded.settings.model_dump(mode="json")
    rows = [(one.name, _at(values, one.name), loaded.sources[one.name], one.meaning) for one in described()]
    if output is Form.JSON:
        settings = [{"name": name, "value": value, "source": source} for name, value, source, _ in rows]
        screen.document("Settings", {"settings": settings})
        return
    shown = ((name, _written(value), source, meaning) for name, value, source, meaning in rows)
    screen.table(("SETTING", "VALUE", "FROM", "MEANING"), shown)


def _at(values: dict[str, object], name: str) -> object:
    found: object = values
    for step in name.split("."):
        found = found[step] if isinstance(found, dict) else None
    return found


def _written(value: object) -> str:
    """As the environment would hold it."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@app.command(
    short_help="Print the JSON Schema of the settings file.",
    help=beginning_with(["numafit config schema"], "Print the JSON Schema of the settings file."),
)
def schema() -> None:
    """Print the schema."""
    screen.put(json.dumps(Settings.model_json_schema(), indent=2))
