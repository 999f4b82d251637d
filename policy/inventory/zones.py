"""NodeResourceTopology objects: NUMA nodes, their CPUs, devices and distances, as an exporter on the node counts them.

CPUs are counted, not named. Capacity holds reserved CPUs too, allocatable does not, and available also leaves out
those that containers have to themselves (NFD's topology updater).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from policy.hami.errors import shown
from policy.inventory.reading import Problem
from policy.quantity import parse

CPU: Final = "cpu"
NUMA_ZONE: Final = "Node"

_NAME: Final = re.compile(r"node-(\d{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much of a resource a NUMA node has: in all, without what is reserved, and without what is given out.

    None is not said. Fractions are cut: no container gets a part of a CPU to itself.
    """

    capacity: int | None = None
    allocatable: int | None = None
    available: int | None = None


@dataclass(frozen=True, slots=True)
class Zone:
    """One NUMA node.

    Attributes:
        resources: resource name -> amounts.
        distances: NUMA node -> distance.
    """

    node: int
    resources: Mapping[str, Amounts] = field(default_factory=dict)
    distances: Mapping[int, int] = field(default_factory=dict)


def read_zones(source: Mapping[str, Any]) -> tuple[tuple[Zone, ...], tuple[Problem, ...]]:
    """Read the zones of a NodeResourceTopology object, by NUMA node; zones of other types are passed over."""
    problems: list[Problem] = []
    found: dict[int, Zone] = {}
    for zone in _objects(source.get("zones")):
        if zone.get("type") != NUMA_ZONE:
            continue
        node = _node(zone.get("name"))
        if node is None:
            text = f"a zone is named {shown(zone.get('name'))}; NUMA nodes are named node-0, node-1, …; it is left out"
            problems.append(Problem(0, text))
            continue
        found[node] = Zone(node, dict(_resources(zone, node, problems)), dict(_distances(zone)))
    return tuple(found[node] for node in sorted(found)), tuple(problems)


def _node(name: object) -> int | None:
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    return int(match[1]) if match else None


def _resources(zone: Mapping[str, Any], node: int, problems: list[Problem]) -> Iterator[tuple[str, Amounts]]:
    for resource in _objects(zone.get("resources")):
        name = resource.get("name")
        if not isinstance(name, str):
            problems.append(Problem(0, f"a resource of node-{node} is named {shown(name)}; it is left out"))
            continue
        read = {key: parse(resource.get(key)) for key in ("capacity", "allocatable", "available")}
        unread = [key for key, amount in read.items() if amount is None and resource.get(key) is not None]
        for key in unread:
            text = f"{key} of {name} on node-{node} is {shown(resource.get(key))}, which is no quantity"
            problems.append(Problem(0, f"{text}; it stays unknown"))
        yield name, Amounts(**{key: None if amount is None else int(amount) for key, amount in read.items()})


def _distances(zone: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    for cost in _objects(zone.get("costs")):
        node, value = _node(cost.get("name")), parse(cost.get("value"))
        if node is not None and value is not None:
            yield node, int(value)


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
