"""`numactl --hardware`: NUMA nodes with their CPUs, memory and distances. Ids may have gaps."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from policy.inventory.reading import Problem, cpu_list, number, numbered, unread
from policy.kubelet.masks import mask_of, members

_AVAILABLE: Final = re.compile(r"available: (\d{1,6}) nodes? \(([\d,-]*)\)\s*", re.ASCII)
_FIELD: Final = re.compile(r"node (\d{1,6}) (cpus|size|free):(.*)", re.ASCII)
_HEAD: Final = re.compile(r"node((?:\s+\d{1,6})+)\s*", re.ASCII)
_ROW: Final = re.compile(r"\s*(\d{1,6}):((?:\s+\d{1,6})+)\s*", re.ASCII)
_NO_NUMA: Final = "No NUMA"
_MEGABYTES: Final = 2
"""A size is two words: the number and its unit."""


@dataclass(frozen=True, slots=True)
class NumaHardware:
    """What the tool says of one server.

    Attributes:
        nodes: ids, lowest first.
        cpus: node -> its CPUs as a set, empty for memory alone.
        memory: node -> MiB installed. How much is free depends on page caches, so it is not kept.
        distances: node -> node -> distance, 10 to itself.
    """

    nodes: tuple[int, ...] = ()
    cpus: Mapping[int, int] = field(default_factory=dict)
    memory: Mapping[int, int] = field(default_factory=dict)
    distances: Mapping[int, Mapping[int, int]] = field(default_factory=dict)


def is_numactl(text: str) -> bool:
    """Tell whether ``text`` looks like this tool's."""
    return any(line.startswith(("available:", _NO_NUMA)) for _, line in numbered(text))


def read_numactl(text: str) -> tuple[NumaHardware, tuple[Problem, ...]]:
    """Read what `numactl --hardware` printed."""
    return _Reader().read(text)


class _Reader:
    """Goes through the text once."""

    def __init__(self) -> None:
        self._nodes: tuple[int, ...] = ()
        self._cpus: dict[int, int] = {}
        self._memory: dict[int, int] = {}
        self._columns: tuple[int, ...] = ()
        self._distances: dict[int, Mapping[int, int]] = {}
        self._problems: list[Problem] = []

    def read(self, text: str) -> tuple[NumaHardware, tuple[Problem, ...]]:
        for line, content in numbered(text):
            self._take(line, content)
        if not self._nodes and not self._problems:
            self._problems.append(Problem(0, "no line lists NUMA nodes; give the output of `numactl --hardware`"))
        self._problems += [
            Problem(0, f"node {node} has no {word} that can be read")
            for word, found in (("list of CPUs", self._cpus), ("size", self._memory))
            for node in self._nodes
            if node not in found
        ]
        return NumaHardware(self._nodes, self._cpus, self._memory, self._distances), tuple(self._problems)

    def _take(self, line: int, content: str) -> None:
        if content.startswith(_NO_NUMA):
            self._problems.append(Problem(line, "the tool found no NUMA support, so NUMA nodes stay unknown"))
        elif available := _AVAILABLE.fullmatch(content):
            self._take_nodes(line, available)
        elif told := _FIELD.fullmatch(content):
            self._take_field(line, int(told[1]), told[2], told[3].split())
        elif head := _HEAD.fullmatch(content):
            self._columns = tuple(map(int, head[1].split()))
        elif row := _ROW.fullmatch(content):
            self._take_distances(line, int(row[1]), list(map(int, row[2].split())))
        elif content.strip() not in {"", "node distances:"}:
            self._problems.append(unread(line, content.strip(), "line of `numactl --hardware`"))

    def _take_nodes(self, line: int, available: re.Match[str]) -> None:
        listed = cpu_list(available[2])
        self._nodes = () if listed is None else tuple(members(listed))
        if len(self._nodes) != int(available[1]):
            self._problems.append(Problem(line, f"{available[1]} nodes are said, and {available[2]!r} lists others"))

    def _take_field(self, line: int, node: int, name: str, words: Sequence[str]) -> None:
        if name == "cpus":
            cpus = [number(word) for word in words]
            if None in cpus:
                self._problems.append(unread(line, words[cpus.index(None)], f"CPU of node {node}"))
                return
            self._cpus[node] = mask_of(cpu for cpu in cpus if cpu is not None)
        elif name == "size":
            size = number(words[0]) if len(words) == _MEGABYTES and words[1] == "MB" else None
            if size is None:
                self._problems.append(unread(line, " ".join(words), "size in MB"))
                return
            self._memory[node] = size

    def _take_distances(self, line: int, node: int, row: Sequence[int]) -> None:
        if len(row) != len(self._columns):
            text = f"node {node} has {len(row)} distances for {len(self._columns)} nodes; they are left out"
            self._problems.append(Problem(line, text))
            return
        self._distances[node] = dict(zip(self._columns, row, strict=True))
