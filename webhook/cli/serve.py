"""`numafit serve`: one flag for each setting, made from the model of the settings."""

import inspect
import os
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from webhook.cli.errors import InputError
from webhook.cli.examples import beginning_with
from webhook.cli.version import number
from webhook.settings import LEAVES, variable
from webhook.sources import SettingsError, load

app = typer.Typer(rich_markup_mode=None, add_completion=False)

SHORT = {"cluster_files": "--cluster", "levels_file": "--levels"}
"""Flags that other commands have too, under the name that they have there."""

HELP = beginning_with(
    [
        "numafit serve --help",
        "numafit serve --cluster cluster.json --tls-directory ./certs --refit-token-file token",
        "NUMAFIT_LISTEN__PORT=0 numafit serve --config settings.yaml",
    ],
    "Serve admission (/webhook), refits (/refit) and, if asked, the scheduler's calls (/filter, /bind) over TLS, "
    "health and metrics on a plain port. Every flag is a setting; a settings file and environment variables set the same ones: "
    "`numafit config show` says what is in force and where it comes from.",
)


def flag(name: str) -> str:
    """The flag of a setting: `listen.port` is `--listen-port`."""
    return SHORT.get(name, "--" + name.replace(".", "-").replace("_", "-"))


def serve(*, config: Path | None = None, **given: Any) -> None:
    """Load the settings and serve until a signal ends it."""
    flags = {name: given[_parameter(name)] or None for name in LEAVES}
    try:
        settings = load(config, os.environ, flags).settings
    except SettingsError as error:
        raise InputError(str(error)) from None
    from webhook.server import serve as run  # noqa: PLC0415 - gunicorn and Flask only where they are needed
    from webhook.service import build  # noqa: PLC0415 - the same

    run(settings, partial(build, settings), number())


def _parameter(name: str) -> str:
    return name.replace(".", "__")


def _signature() -> inspect.Signature:
    config = Annotated[Path | None, typer.Option("--config", help="settings file (YAML)")]
    parameters = [inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=config)]
    for name, field in LEAVES.items():
        option = typer.Option(flag(name), help=f"{field.description} [{variable(name)}]", show_default=False)
        many = str(field.annotation).startswith("tuple")
        kind = Annotated[list[str] | None, option] if many else Annotated[str | None, option]
        parameters.append(
            inspect.Parameter(_parameter(name), inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        )
    return inspect.Signature(parameters)


serve.__signature__ = _signature()  # type: ignore[attr-defined]  # one parameter for each setting
serve.__annotations__ = {parameter.name: parameter.annotation for parameter in _signature().parameters.values()}
app.command(help=HELP)(serve)
