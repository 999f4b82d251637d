"""What commands write: data to stdout, talk to stderr, colour only where a person looks at it."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
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


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], stream: TextIO | None = None) -> None:
    """Write rows, under heads if there are any: in colour on a terminal, elsewhere one line for each row."""
    out = stream or sys.stdout
    cells = [tuple(map(printable, row)) for row in rows]
    if out.isatty():
        _draw(heads, cells, out)
    else:
        out.writelines(_aligned([heads, *cells] if heads else cells))


def _aligned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n"


def _draw(heads: Sequence[str], rows: Iterable[Sequence[str]], out: TextIO) -> None:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it, and it takes time to import
    from rich.table import Table  # noqa: PLC0415 - the same
    from rich.text import Text  # noqa: PLC0415 - the same

    shape = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(heads))
    for head in heads:
        shape.add_column(head, overflow="fold")
    for row in rows:
        shape.add_row(*(Text(cell, style=COLOURS.get(cell, "")) for cell in row))
    Console(file=out, color_system=None if os.environ.get("NO_COLOR") else "auto").print(shape)


def printable(text: str) -> str:
    """Write what a terminal would obey instead of show (a manifest may hold anything) as Python does."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
