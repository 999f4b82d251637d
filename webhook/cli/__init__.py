"""The command line. A command's module is imported only when the command is called."""

import errno
import importlib
import sys
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from webhook.cli import streams
from webhook.cli.errors import CLUSTER, CommandError
from webhook.cli.examples import beginning_with

PROGRAM: Final = "numafit"
INTERNAL: Final = 3
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
"""As the shell says of a program that wrote to a pipe which nobody reads any more."""

COMMANDS: Final = {
    "serve": "Serve admission, refits and the scheduler's calls over TLS.",
    "demo": "See it at work: a real server, a recorded cluster, a refit.",
    "review": "Judge manifests before they are applied.",
    "explain": "Say of a pod what every node and card makes of it.",
    "topology": "Draw servers: NUMA nodes, CPUs, cards, links, kubelet settings.",
    "probe": "Say inside a container whether its CPUs are beside its cards.",
    "capacity": "Say how many pods of a kind can run now, what binds, what would help.",
    "group": "Say whether a group can start now, which member cannot, what would help.",
    "cost": "Say where GPU time went: waiting members, starts, clean-up, idle cards.",
    "compare": "Say whether two sets of runs differ, and by how much.",
    "codes": "List the codes that numafit gives, with meaning and remedy.",
    "snapshot": "Write a cluster to a file that all commands read.",
    "levels": "Check a policy file, show each rule's level, print the schema.",
    "config": "Show the settings in force and where each comes from.",
    "certs": "Make, renew, show and verify certificates, on disk and served.",
    "version": "Say which numafit this is.",
}


class _Commands(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, known, rest = super().resolve_command(ctx, args)
        return (name, known, rest) if name is None else (name, load(name), rest)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CommandError as error:
            sys.stderr.write(f"{PROGRAM}: {error}\n")
            raise typer.Exit(error.exit_code) from None
        except BrokenPipeError:  # or the library would end with 1
            raise typer.Exit(PIPE_CLOSED) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


def load(name: str) -> Any:
    """Import the command ``name``: the `app` of the module of that name."""
    return typer.main.get_command(importlib.import_module(f"{__name__}.{name}").app)


def _say_version(asked: bool) -> None:
    if asked:
        from webhook.cli.version import version  # noqa: PLC0415 - only when it is asked for

        version()
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which numafit this is.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def _program() -> Any:
    app = typer.Typer(
        cls=_Commands,
        rich_markup_mode=None,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        help=beginning_with(
            ["numafit codes", "numafit review pod.yaml", "numafit demo"],
            "GPU pods on clusters that share cards with HAMi: judged, filled in, and moved to the cards that kubelet "
            "left. Exit codes: 0 clean, 1 findings at enforce, 2 usage or unreadable input, 3 cluster or internal.",
        ),
    )
    app.callback()(_options)
    for name, text in COMMANDS.items():
        app.command(name, help=text)(lambda: None)
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line on the arguments of the process, and exit."""
    streams.complete()
    streams.escape(sys.stdout, sys.stderr)
    try:
        try:
            _program()(prog_name=PROGRAM)
        finally:
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told in a sentence
        sys.exit(_told(error))


def _told(error: Exception) -> int:
    """Say what ended the program; return its exit code."""
    unwritten = streams.unwritten(error)
    if isinstance(unwritten, BrokenPipeError):
        return PIPE_CLOSED
    if unwritten is not None:
        reason = "it is closed" if unwritten.errno == errno.EBADF else unwritten.strerror
        sys.stderr.write(f"{PROGRAM}: stdout does not take the answer: {reason}; write it to a place that does\n")
        return CLUSTER
    if sys.flags.dev_mode:
        raise error
    sys.stderr.write(
        f"{PROGRAM}: this is a fault of numafit's own ({type(error).__name__}: {error}); "
        "please report it with what PYTHONDEVMODE=1 shows\n"
    )
    return INTERNAL
