"""`numafit serve`: one flag for each setting, made from the model of the settings."""

import inspect
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from webhook.cli.errors import InputError
from webhook.cli.examples import beginning_with
from webhook.cli.version import number
from webhook.settings import LEAVES, variable
from webhook.sources import SettingsError, load

app = typer.Typer(rich_markup_mode=None, add_completion=False)

SHORT = {"cluster_files": "--cluster", "levels_file": "--levels"}
"""Flags that other commands have too, under the name that they have there."""

_WRITTEN: Final[Mapping[object, str]] = {
    bool: "true|false",
    int: "INTEGER",
    float: "NUMBER",
    Path: "PATH",
    Path | None: "PATH",
    tuple[Path, ...]: "PATH",
}
"""Type of a setting -> what its flag takes; all others take any text."""

_BOUNDS: Final = (("ge", "from"), ("gt", "above"), ("le", "to"))
_UNSET: Final = (None, "", ())

HELP = beginning_with(
    [
        "numafit serve --help",
        "numafit serve --cluster cluster.json --tls-directory ./certs --refit-token-file token",
        "NUMAFIT_LISTEN__PORT=0 numafit serve --config settings.yaml",
    ],
    "Serve admission (/webhook), refits (/refit) and, if asked, the scheduler's calls (/filter, /bind) over TLS, "
    "health and metrics on a plain port. Every flag is a setting; a settings file and environment variables set the "
    "same ones: `numafit config show` says what is in force and where it comes from.",
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


def _allowed(field: FieldInfo) -> str:
    """What may be written for a setting, for its flag."""
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    if choices:
        return "|".join(map(str, choices))
    return _WRITTEN.get(field.annotation, "TEXT")


def _meaning(name: str, field: FieldInfo) -> str:
    """What a setting is for, its variable, what is allowed and what holds without it."""
    said = [field.description or "", f"[{variable(name)}"]
    bounds = [
        f"{words} {getattr(limit, sign)}" for limit in field.metadata for sign, words in _BOUNDS if hasattr(limit, sign)
    ]
    if bounds:
        said.append(" ".join(bounds))
    if field.default not in _UNSET:
        said.append(f"default {str(field.default).lower() if isinstance(field.default, bool) else field.default}")
    return f"{said[0]} {'; '.join(said[1:])}]"


def _signature() -> inspect.Signature:
    config = Annotated[Path | None, typer.Option("--config", help="settings file (YAML)")]
    parameters = [inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=config)]
    for name, field in LEAVES.items():
        option = typer.Option(flag(name), metavar=_allowed(field), help=_meaning(name, field), show_default=False)
        many = str(field.annotation).startswith("tuple")
        kind = Annotated[list[str] | None, option] if many else Annotated[str | None, option]
        parameters.append(
            inspect.Parameter(_parameter(name), inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        )
    return inspect.Signature(parameters)


serve.__signature__ = _signature()  # type: ignore[attr-defined]  # one parameter for each setting
serve.__annotations__ = {parameter.name: parameter.annotation for parameter in _signature().parameters.values()}
app.command(help=HELP)(serve)
