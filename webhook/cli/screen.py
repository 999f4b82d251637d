"""What commands write: data to stdout, talk to stderr, colour only where a person looks at it."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from shutil import get_terminal_size
from typing import Final, TextIO

from policy.keys import API_VERSION

COLOURS: Final[Mapping[str, str]] = {
    "enforce": "bold red",
    "refused": "bold red",
    "warn": "yellow",
    "audit": "cyan",
    "chosen": "bold green",
    "holds": "bold green",
    "fits": "green",
}
"""Cells that are one of these words are coloured; everything else says by its words alone what it means."""


class Form(StrEnum):
    """In what form a command answers."""

    TABLE = "table"
    JSON = "json"


def say(text: str) -> None:
    """Tell people something that is not the answer."""
    sys.stderr.write(f"{text}\n")


def put(text: str, stream: TextIO | None = None) -> None:
    """Write a line of the answer."""
    (stream or sys.stdout).write(f"{text}\n")


def document(kind: str, content: Mapping[str, object], stream: TextIO | None = None) -> None:
    """Write the answer as a JSON document of ``kind``."""
    put(json.dumps({"apiVersion": API_VERSION, "kind": kind, **content}, indent=2, ensure_ascii=False), stream)


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], stream: TextIO | None = None, *, cut: bool = False
) -> None:
    """Write rows, under heads if there are any: in colour on a terminal, elsewhere one line for each row.

    With `cut` a row is one line on a terminal too: as much is shown of its last cell as there is room for.
    """
    out = stream or sys.stdout
    cells = [tuple(map(printable, row)) for row in rows]
    if out.isatty():
        _draw(heads, cells, out, cut=cut)
    else:
        out.writelines(_aligned([heads, *cells] if heads else cells))


def fits(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> bool:
    """Tell whether stdout has room for a table with one line for each row; what is no terminal always has."""
    if not sys.stdout.isatty():
        return True
    return max(map(len, _aligned([heads, *rows]))) <= get_terminal_size().columns


def _aligned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n"


def _draw(heads: Sequence[str], rows: Iterable[Sequence[str]], out: TextIO, *, cut: bool) -> None:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it, and it takes time to import
    from rich.table import Table  # noqa: PLC0415 - the same
    from rich.text import Text  # noqa: PLC0415 - the same

    shape = Table(box=None, pad_edge=False, padding=(0, 1 if cut else 2, 0, 0), show_header=bool(heads))
    for position, head in enumerate(heads, 1):
        title, last = Text(head, no_wrap=cut or None), position == len(heads)
        shape.add_column(title, overflow="ellipsis" if cut else "fold", no_wrap=cut and not last)
    for row in rows:
        shape.add_row(*(Text(cell, style=COLOURS.get(cell, ""), no_wrap=cut or None) for cell in row))
    Console(file=out, color_system=None if os.environ.get("NO_COLOR") else "auto").print(shape)


def printable(text: str) -> str:
    """Write what a terminal would obey instead of show (a manifest may hold anything) as Python does."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
