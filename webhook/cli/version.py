"""`numafit version`."""

import platform
from importlib import metadata
from typing import Annotated

import typer

from webhook.cli import screen
from webhook.cli.examples import beginning_with
from webhook.cli.screen import Form

app = typer.Typer(rich_markup_mode=None, add_completion=False)


def number() -> str:
    """The version of numafit that runs."""
    try:
        return metadata.version("numafit")
    except metadata.PackageNotFoundError:
        return "from a source tree that is not installed"


@app.command(
    help=beginning_with(["numafit version", "numafit version -o json"], "Say which numafit this is, on which Python.")
)
def version(
    output: Annotated[Form, typer.Option("--output", "-o", help="for people or for programs")] = Form.TABLE,
) -> None:
    """Say which numafit this is."""
    if output is Form.JSON:
        screen.document("Version", {"numafit": number(), "python": platform.python_version()})
    else:
        screen.put(f"numafit {number()} on Python {platform.python_version()}")
