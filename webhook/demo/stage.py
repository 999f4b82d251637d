"""Where the demo is told: numbered steps with a sentence of why, and what the running system said, as it said it."""

import os
from collections.abc import Callable
from typing import Final, TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from webhook.cli.screen import printable

WIDTH: Final = 100
INDENT: Final = 3


class Stage:
    """Writes to one stream: in colour on a terminal, in ASCII where its encoding has nothing else.

    Attributes:
        is_ascii: whether nothing but ASCII can be drawn.
        width: columns for what is shown.
    """

    def __init__(self, out: TextIO, before_step: Callable[[int], None]) -> None:
        """Write to ``out``, and call ``before_step`` with the number of each step before it."""
        is_terminal = out.isatty()
        self._out = out
        self._before_step = before_step
        self._steps = 0
        self._console = Console(
            file=out,
            force_terminal=is_terminal,
            color_system="standard" if is_terminal and not os.environ.get("NO_COLOR") else None,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )
        self._console.width = min(self._console.width, WIDTH) if is_terminal else WIDTH
        self.is_ascii = self._console.options.ascii_only
        self.width = self._console.width - INDENT

    def title(self, text: str) -> None:
        """Write a heading that is no step."""
        self._put(Text(text, "bold"))

    def step(self, title: str, why: str) -> None:
        """Begin the next step. ``why`` says in two lines at most why anybody would care."""
        self._steps += 1
        self._before_step(self._steps)
        self.title(f"\n{self._steps}. {title}")
        self.tell(why)
        self.said("")

    def tell(self, text: str) -> None:
        """Write what the narrator says."""
        self.show(Text(text, "italic"))

    def said(self, text: str, style: str = "") -> None:
        """Write what the system said. Long lines are folded, nothing is left out."""
        for line in text.split("\n"):
            self.show(Text(printable(line), style, overflow="fold"))

    def command(self, text: str) -> None:
        """Write a command to copy: however long it is, it stays one line."""
        self.show(Text(f"$ {text}", "bold", no_wrap=True, overflow="ignore"))

    def show(self, what: RenderableType) -> None:
        """Write anything that rich can draw."""
        self._put(Padding(what, (0, 0, 0, INDENT)))

    def _put(self, what: RenderableType) -> None:
        with self._console.capture() as held:
            self._console.print(what, crop=False)
        self._out.writelines(f"{line.rstrip()}\n" for line in held.get().splitlines())
        self._out.flush()
