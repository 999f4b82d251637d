"""`lscpu` and `lscpu -p`: sockets, threads, and which CPU is on which NUMA node."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from policy.inventory.reading import Problem, cpu_list, number, numbered, unread
from policy.kubelet.masks import mask_of

_NODE: Final = re.compile(r"NUMA node(\d{1,6}) CPU\(s\)", re.ASCII)
_COUNTS: Final = frozenset({"CPU(s)", "Thread(s) per core", "Core(s) per socket", "Socket(s)"})
_NEEDED: Final = "cpu"
_KEPT: Final = ("cpu", "core", "socket", "node")


@dataclass(frozen=True, slots=True)
class Processors:
    """What the tool says of one server; None is not said.

    Attributes:
        cpus: how many there are, those that are offline too.
        online: those that are online, as a set.
        model: as the processor calls itself, empty if that is not said.
        numas: NUMA node -> its CPUs as a set, empty for memory alone.
        numa_sockets: NUMA node -> the socket that its CPUs are on.
    """

    cpus: int | None = None
    online: int | None = None
    sockets: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    model: str = ""
    numas: Mapping[int, int] = field(default_factory=dict)
    numa_sockets: Mapping[int, int] = field(default_factory=dict)


def is_lscpu(text: str) -> bool:
    """Tell whether ``text`` looks like `lscpu`."""
    return any(line.split(":")[0].strip() == "Socket(s)" for _, line in numbered(text))


def is_lscpu_table(text: str) -> bool:
    """Tell whether ``text`` looks like `lscpu -p`."""
    return any(_columns(line) for _, line in numbered(text))


def read_lscpu(text: str) -> tuple[Processors, tuple[Problem, ...]]:
    """Read what `lscpu` printed in English. Fields that are not needed are passed over."""
    counts: dict[str, int] = {}
    numas: dict[int, int] = {}
    online, model = None, ""
    problems: list[Problem] = []
    for line, content in numbered(text):
        key, colon, value = (part.strip() for part in content.partition(":"))
        if not colon or value == "-":
            continue
        if key == "Model name":
            model = value
        elif key in _COUNTS:
            if (count := number(value)) is None:
                problems.append(unread(line, value, f"number for {key}"))
                continue
            counts[key] = count
        elif (node := _NODE.fullmatch(key)) or key == "On-line CPU(s) list":
            if (cpus := cpu_list(value)) is None:
                problems.append(unread(line, value, "list of CPUs such as 0-31,64-95"))
            elif node:
                numas[int(node[1])] = cpus
            else:
                online = cpus
    if not counts:
        problems.append(Problem(0, "no line tells of sockets or CPUs; give the output of `LC_ALL=C lscpu`"))
    processors = Processors(
        cpus=counts.get("CPU(s)"),
        online=online,
        sockets=counts.get("Socket(s)"),
        cores_per_socket=counts.get("Core(s) per socket"),
        threads_per_core=counts.get("Thread(s) per core"),
        model=model,
        numas=numas,
    )
    return processors, tuple(problems)


@dataclass(frozen=True, slots=True)
class _Row:
    """One CPU of the table; None for a column that is absent or blank."""

    cpu: int
    core: int | None
    socket: int | None
    node: int | None


def read_lscpu_table(text: str) -> tuple[Processors, tuple[Problem, ...]]:
    """Read what `lscpu -p` printed, with any columns; the last comment names them."""
    columns: tuple[str, ...] = ()
    rows: list[_Row] = []
    problems: list[Problem] = []
    for line, content in numbered(text):
        if content.startswith("#") or not content.strip():
            columns = _columns(content) or columns
        elif (row := _row(columns, content.strip().split(","))) is None:
            problems.append(unread(line, content.strip(), "row of `lscpu -p` below a line that names its columns"))
        else:
            rows.append(row)
    if not rows:
        problems.append(Problem(0, "no row tells of a CPU; give the output of `lscpu -p`"))
    return _processors(rows), tuple(problems)


def _columns(content: str) -> tuple[str, ...]:
    names = tuple(name.strip().lower() for name in content.lstrip("# ").split(","))
    return names if content.startswith("#") and _NEEDED in names else ()


def _row(columns: Sequence[str], cells: Sequence[str]) -> _Row | None:
    if not columns or len(cells) != len(columns):
        return None
    said = {name: cell for name, cell in zip(columns, cells, strict=True) if name in _KEPT and cell not in {"", "-"}}
    read = {name: number(cell) for name, cell in said.items()}
    cpu = read.get(_NEEDED)
    if cpu is None or None in read.values():
        return None
    return _Row(cpu, read.get("core"), read.get("socket"), read.get("node"))


def _processors(rows: Sequence[_Row]) -> Processors:
    sockets = {row.socket for row in rows if row.socket is not None}
    cores = {(row.socket, row.core) for row in rows if row.core is not None}
    on: dict[int, list[_Row]] = {}
    for row in rows:
        if row.node is not None:
            on.setdefault(row.node, []).append(row)
    return Processors(
        online=mask_of(row.cpu for row in rows) if rows else None,
        sockets=len(sockets) or None,
        cores_per_socket=_even(len(cores), len(sockets)),
        threads_per_core=_even(len(rows), len(cores)),
        numas={node: mask_of(row.cpu for row in found) for node, found in sorted(on.items())},
        numa_sockets={node: socket for node, found in sorted(on.items()) if (socket := _one_socket(found)) is not None},
    )


def _even(many: int, few: int) -> int | None:
    return many // few if few and many % few == 0 else None


def _one_socket(rows: Iterable[_Row]) -> int | None:
    sockets = {row.socket for row in rows}
    return sockets.pop() if len(sockets) == 1 else None
