"""`nvidia-smi topo -m`: how cards and NICs are connected, and which CPUs are next to which card."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from policy.inventory.reading import Problem, cpu_list, number, numbered, unread
from policy.kubelet.masks import members

SELF: Final = "X"
CLOSEST_FIRST: Final = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""Connections over PCIe: one switch, several, one host bridge, one NUMA node, and whatever is farther."""

_CARD: Final = re.compile(r"GPU\d{1,6}", re.ASCII)
_LINK: Final = re.compile(r"NV\d{1,4}", re.ASCII)
_TAIL: Final = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_TAIL_WORDS: Final = frozenset(name.partition(" ")[0] for name in _TAIL)
_NIC_NAME: Final = re.compile(r"\s*(\w{1,64}):\s+(\S+)\s*")
_ABSENT: Final = "N/A"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a card is.

    Attributes:
        cpus: the CPUs next to it as a set; None if the tool does not say.
        numas: the NUMA nodes of those CPUs; None if the tool does not say. A GPU's own memory node is none of them.
    """

    cpus: int | None = None
    numas: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Links:
    """What the tool says of one server.

    Attributes:
        devices: names as the tool gives them, in its order: `GPU0`, `NIC0`, `mlx5_0`.
        places: card -> where it is.
        links: device -> device -> kind of connection: `NV4`, `PIX`, …
        nics: device -> name of the NIC, where a legend tells it.
    """

    devices: tuple[str, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict)
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    nics: Mapping[str, str] = field(default_factory=dict)

    @property
    def cards(self) -> tuple[str, ...]:
        """The devices that are cards."""
        return tuple(name for name in self.devices if _CARD.fullmatch(name))


def distance(link: str) -> tuple[int, int]:
    """Return a key that sorts connections, the closest first: more NVLinks, then fewer bridges."""
    if _LINK.fullmatch(link):
        return (0, -int(link.removeprefix("NV")))
    return (1, CLOSEST_FIRST.index(link) if link in CLOSEST_FIRST else len(CLOSEST_FIRST))


def is_links(text: str) -> bool:
    """Tell whether ``text`` looks like this tool's: a line of its begins with the names of cards."""
    return any(_is_header(line) for _, line in numbered(text))


def read_links(text: str) -> tuple[Links, tuple[Problem, ...]]:
    """Read what `nvidia-smi topo -m` printed."""
    return _Reader().read(text)


def _is_header(line: str) -> bool:
    words = line.split()
    return bool(words) and bool(_CARD.fullmatch(words[0])) and SELF not in words


class _Reader:
    """Goes through the text once."""

    def __init__(self) -> None:
        self._devices: tuple[str, ...] = ()
        self._tail: tuple[str, ...] = ()
        self._places: dict[str, Place] = {}
        self._links: dict[str, dict[str, str]] = {}
        self._lines: dict[str, int] = {}
        self._nics: dict[str, str] = {}
        self._problems: list[Problem] = []

    def read(self, text: str) -> tuple[Links, tuple[Problem, ...]]:
        for line, content in numbered(text):
            self._take(line, content)
        if not self._devices:
            self._problems.append(Problem(0, "no line names cards (GPU0 …); give the output of `nvidia-smi topo -m`"))
        self._check()
        links = Links(self._devices, self._places, self._links, self._nics)
        return links, tuple(sorted(self._problems, key=lambda one: one.line))

    def _take(self, line: int, content: str) -> None:
        words = content.split()
        if not self._devices:
            if _is_header(content):
                self._take_header(line, content)
        elif words and words[0] in self._devices and not content.strip().startswith(f"{words[0]}:"):
            self._take_row(line, words)
        elif (named := _NIC_NAME.fullmatch(content)) and named[1] in self._devices:
            self._nics[named[1]] = named[2]

    def _take_header(self, line: int, content: str) -> None:
        self._devices = tuple(takewhile(lambda word: word not in _TAIL_WORDS, content.split()))
        rest = " ".join(content.split()[len(self._devices) :])
        self._tail = tuple(name for name in _TAIL if name in rest)
        if rest != " ".join(self._tail) or len(set(self._devices)) != len(self._devices):
            self._problems.append(unread(line, content.strip(), "header with each device once"))
            self._tail = ()

    def _take_row(self, line: int, words: Sequence[str]) -> None:
        name, cells = words[0], words[1 : 1 + len(self._devices)]
        if name in self._links:
            self._problems.append(Problem(line, f"{name} has a second row; it is left out"))
            return
        wrong = [cell for cell in cells if not (cell == SELF or cell in CLOSEST_FIRST or _LINK.fullmatch(cell))]
        if wrong or len(cells) < len(self._devices):
            seen = wrong[0] if wrong else " ".join(words)
            self._problems.append(unread(line, seen, f"row of {len(self._devices)} connections (X, NV#, PIX … SYS)"))
            return
        self._lines[name] = line
        self._links[name] = dict(zip(self._devices, cells, strict=True))
        if _CARD.fullmatch(name):
            self._places[name] = self._place(line, name, words[1 + len(self._devices) :])

    def _place(self, line: int, name: str, words: Sequence[str]) -> Place:
        """What stands behind the connections, by position: fewer words than names would be taken for another column."""
        if len(words) != len(self._tail):
            text = f"{name} has {len(words)} entries for {len(self._tail)} columns; which is meant is not known"
            self._problems.append(Problem(line, f"{text}, so where the card is stays unknown"))
            return Place()
        said = dict(zip(self._tail, words, strict=True))
        cpus, numas = (self._set(line, said.get(column, _ABSENT)) for column in _TAIL[:2])
        if len(self._tail) == len(_TAIL) and words[2] != _ABSENT and number(words[2]) is None:
            self._problems.append(unread(line, words[2], "number of a NUMA node"))
        return Place(cpus, None if numas is None else tuple(members(numas)))

    def _set(self, line: int, word: str) -> int | None:
        if word == _ABSENT:
            return None
        found = cpu_list(word)
        if found is None:
            self._problems.append(unread(line, word, "list such as 0-31,64-95"))
        return found

    def _check(self) -> None:
        """Whoever connects to itself is the same device, and a connection is the same from both ends."""
        self._problems += [Problem(0, f"{name} has no row") for name in self._devices if name not in self._links]
        for name, row in self._links.items():
            for other in self._differing(name, row):
                text = f"{name} to {other} is {row[other]}, and back it is {self._links[other][name]}"
                self._problems.append(Problem(self._lines[name], text))
            if row[name] != SELF:
                self._problems.append(Problem(self._lines[name], f"{name} to itself is {row[name]}; it must be {SELF}"))

    def _differing(self, name: str, row: Mapping[str, str]) -> Iterator[str]:
        for other, link in row.items():
            if other > name and other in self._links and self._links[other][name] != link:
                yield other
