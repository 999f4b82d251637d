"""`numafit demo`: a real server, a recorded cluster, and what happens to a GPU pod on it."""

import signal
import sys
import time
from typing import Annotated

import typer

from webhook.cli import screen
from webhook.cli.errors import InputError
from webhook.cli.examples import beginning_with

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    help=beginning_with(
        ["numafit demo", "numafit demo --step", "NO_COLOR=1 numafit demo | less"],
        "Start a server on free ports with a recorded cluster, and see over HTTPS how a GPU pod is judged, filled in, "
        "placed on a card, handed another card by kubelet, and refitted. Takes a few seconds, needs no cluster, and "
        "leaves nothing behind.",
    )
)
def demo(step: Annotated[bool, typer.Option("--step", help="wait for Enter before each step")] = False) -> None:
    """Run the demo."""
    if step and not sys.stdin.isatty():
        raise InputError("--step waits for Enter, and stdin is no terminal; leave it out")
    from webhook.demo.stage import Stage  # noqa: PLC0415 - rich, HTTP and TLS only where they are needed
    from webhook.demo.story import tell  # noqa: PLC0415 - the same

    started = time.monotonic()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        tell(Stage(sys.stdout, _wait if step else lambda _: None))
    except KeyboardInterrupt:
        screen.say("interrupted: the server is stopped, its files are removed")
        raise
    screen.say(f"\ndone in {time.monotonic() - started:.1f} s: the server is stopped, its files are removed")


def _wait(number: int) -> None:
    sys.stderr.write(f"\n   press Enter for step {number} ")
    sys.stderr.flush()
    sys.stdin.readline()
