"""What people collect about servers: a directory for each, with files of any name that are known by their content."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from policy.inventory.kubelet import is_cpu_state, is_kubelet_config, read_cpu_state, read_kubelet_config
from policy.inventory.links import is_links, read_links
from policy.inventory.lscpu import is_lscpu, is_lscpu_table, read_lscpu, read_lscpu_table
from policy.inventory.numactl import is_numactl, read_numactl
from policy.inventory.reading import Problem
from policy.inventory.server import Collected
from webhook.cli.errors import InputError
from webhook.cluster.documents import parse
from webhook.cluster.interface import UnreadableFileError

LARGEST: Final = 4 * 1024 * 1024
"""Bytes; nothing that is read here is as long."""

_KNOWN: Final = (
    "nvidia-smi topo -m, numactl --hardware, lscpu, lscpu -p, a kubelet's configuration or configz, cpu_manager_state"
)
_Take = Callable[[Collected, Any], tuple[Collected, tuple[Problem, ...]]]


def _links(into: Collected, text: str) -> tuple[Collected, tuple[Problem, ...]]:
    links, problems = read_links(text)
    return replace(into, links=links), problems


def _hardware(into: Collected, text: str) -> tuple[Collected, tuple[Problem, ...]]:
    hardware, problems = read_numactl(text)
    return replace(into, hardware=hardware), problems


def _processors(into: Collected, text: str) -> tuple[Collected, tuple[Problem, ...]]:
    processors, problems = read_lscpu(text)
    return replace(into, processors=(*into.processors, processors)), problems


def _processor_table(into: Collected, text: str) -> tuple[Collected, tuple[Problem, ...]]:
    processors, problems = read_lscpu_table(text)
    return replace(into, processors=(processors, *into.processors)), problems


def _config(into: Collected, document: Mapping[str, Any]) -> tuple[Collected, tuple[Problem, ...]]:
    config, problems = read_kubelet_config(document)
    return replace(into, config=config), problems


def _state(into: Collected, document: Mapping[str, Any]) -> tuple[Collected, tuple[Problem, ...]]:
    state, problems = read_cpu_state(document)
    return replace(into, state=state), problems


_TEXTS: Final[tuple[tuple[Callable[[str], bool], _Take], ...]] = (
    (is_links, _links),
    (is_numactl, _hardware),
    (is_lscpu_table, _processor_table),
    (is_lscpu, _processors),
)
_DOCUMENTS: Final[tuple[tuple[Callable[[object], bool], _Take], ...]] = (
    (is_kubelet_config, _config),
    (is_cpu_state, _state),
)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a directory holds.

    Attributes:
        servers: node name -> what was collected about it.
        problems: what could not be read or belongs to no server, one sentence each.
    """

    servers: Mapping[str, Collected]
    problems: tuple[str, ...]


def gather(directory: Path) -> Gathered:
    """Read the directories in ``directory``, each named as a node.

    Raises:
        InputError: it is no directory that can be read.
    """
    servers: dict[str, Collected] = {}
    problems: list[str] = []
    for path in _listed(directory):
        if not path.is_dir():
            problems.append(f"{path} belongs to no node; put it into a directory that is named as the node")
            continue
        collected = Collected(path.name)
        for file in _listed(path):
            collected, said = _read(collected, file)
            problems += said
        servers[path.name] = collected
    return Gathered(servers, tuple(problems))


def _listed(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise InputError(f"{directory} cannot be read: {error.strerror}; name a directory of directories") from None


def _read(into: Collected, file: Path) -> tuple[Collected, list[str]]:
    try:
        if file.stat().st_size > LARGEST:
            return into, [f"{file} has more than {LARGEST} bytes; no tool prints as much"]
        data = file.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        return into, [f"{file} cannot be read: {error.strerror}"]
    except UnicodeDecodeError:
        return into, [f"{file} is no UTF-8 text; known are {_KNOWN}"]
    known = [(take, content) for take, content in _recognised(data, text, file.name)]
    said = [] if known else [f"{file} is none of what is known here: {_KNOWN}"]
    for take, content in known:
        into, problems = take(into, content)
        said += [f"{file}: {problem}" for problem in problems]
    return into, said


def _recognised(data: bytes, text: str, name: str) -> Iterator[tuple[_Take, Any]]:
    for recognises, take in _TEXTS:
        if recognises(text):
            yield take, text
            return
    try:
        documents = parse(data, name)
    except UnreadableFileError:
        return
    for document in documents:
        yield from ((take, document) for recognises, take in _DOCUMENTS if recognises(document))
