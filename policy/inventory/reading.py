"""What all readers of collected texts share: a reader never fails, it says which lines it could not read."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from policy.hami.errors import shown
from policy.kubelet.masks import read_list

_NUMBER: Final = re.compile(r"\d{1,9}", re.ASCII)
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read.

    Attributes:
        line: counted from 1; 0 where it is about the whole text.
        text: what was wrong and what follows from it.
    """

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of ``text`` with their numbers, colours taken out."""
    for number, line in enumerate(text.split("\n"), start=1):
        yield number, _COLOUR.sub("", line).rstrip("\r")


def number(text: str) -> int | None:
    """Read a whole number, None if ``text`` is none or is longer than any that tools print."""
    return int(text) if _NUMBER.fullmatch(text) else None


def cpu_list(text: str) -> int | None:
    """Read a list such as `0-31,64` as a set, None if ``text`` is none. Nothing at all is the empty set."""
    if text.split() not in ([], [text]):
        return None
    try:
        return read_list(text)
    except ValueError:
        return None


def unread(line: int, seen: str, wanted: str) -> Problem:
    """A line, or a word of one, that is not what the tool prints there."""
    return Problem(line, f"{shown(seen)} is no {wanted}; it is left out")
