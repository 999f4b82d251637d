"""The machine that a kubelet runs on: NUMA nodes, CPUs, devices and memory, as kubelet sees them.

Frozen values; what pods hold of the machine is in `held`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from policy.kubelet.masks import MOST_NODES, mask_of

Unit = tuple[int, int]
"""A core, cache, socket or NUMA node: its id and the set of its CPUs."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """One logical CPU.

    Attributes:
        core: the lowest CPU of its core.
        cache: id of its uncore cache, the socket's where the machine tells none.
    """

    id: int
    core: int
    socket: int
    numa: int
    cache: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The CPUs of a machine by every unit that they belong to, each list by id (Kubernetes: CPUTopology).

    Attributes:
        all: every CPU.
        numas, sockets, cores, caches: the units.
        numa_first: whether a NUMA node holds one or more sockets, rather than the other way around.
        per_core, per_socket, per_cache: averages over the machine, rounded down.
    """

    all: int
    numas: tuple[Unit, ...]
    sockets: tuple[Unit, ...]
    cores: tuple[Unit, ...]
    caches: tuple[Unit, ...]
    numa_first: bool
    per_core: int
    per_socket: int
    per_cache: int
    cores_of: Mapping[int, tuple[Unit, ...]]
    """The set of CPUs of a socket or NUMA node -> the cores that have CPUs in it."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """NUMA nodes that have CPUs."""
        return tuple(node for node, _ in self.numas)

    def on(self, nodes: int) -> int:
        """Return the CPUs of a set of NUMA nodes."""
        return mask_of_sets(cpus for node, cpus in self.numas if nodes >> node & 1)

    def sockets_of(self, cpus: int) -> tuple[Unit, ...]:
        """Return the sockets that have CPUs in a set."""
        return tuple(unit for unit in self.sockets if unit[1] & cpus)

    def siblings(self, cpus: int) -> int:
        """Return ``cpus`` and every CPU that shares a core with one of them."""
        return mask_of_sets(core for _, core in self.cores if core & cpus)


def mask_of_sets(sets: Iterable[int]) -> int:
    """Return the union of ``sets``."""
    union = 0
    for each in sets:
        union |= each
    return union


def lay_out(cpus: Iterable[Cpu]) -> Layout:
    """Arrange ``cpus`` by their units."""
    listed = tuple(cpus)
    numas, sockets, cores, caches = (
        _units((getattr(cpu, kind), cpu.id) for cpu in listed) for kind in ("numa", "socket", "core", "cache")
    )
    count = len(listed)
    return Layout(
        all=mask_of(cpu.id for cpu in listed),
        numas=numas,
        sockets=sockets,
        cores=cores,
        caches=caches,
        numa_first=len(sockets) >= len(numas),
        per_core=count // len(cores) if cores else 0,
        per_socket=count // len(sockets) if sockets else 0,
        per_cache=count // len(caches) if caches else 0,
        cores_of={area: tuple(core for core in cores if core[1] & area) for _, area in (*numas, *sockets)},
    )


def _units(pairs: Iterable[tuple[int, int]]) -> tuple[Unit, ...]:
    found: dict[int, int] = {}
    for unit, cpu in pairs:
        found[unit] = found.get(unit, 0) | 1 << cpu
    return tuple(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class Device:
    """One device id that a plugin registers; of a replicated card there are several.

    Attributes:
        nodes: NUMA nodes that the plugin reports; None if it reports no topology, empty if it reports an empty one.
        card: the physical card behind the id.
    """

    id: str
    nodes: frozenset[int] | None = None
    healthy: bool = True
    card: str = ""

    @property
    def mask(self) -> int:
        """Its NUMA nodes that fit into kubelet's sets; ids outside of 0 to 63 never match."""
        return mask_of(node for node in self.nodes or () if 0 <= node < MOST_NODES)


@dataclass(frozen=True, slots=True)
class Resource:
    """The devices of one resource name.

    Attributes:
        devices: by id.
        aligned: whether any device has a NUMA node, so that kubelet aligns the resource.
        healthy: ids of healthy devices.
        masks: id -> NUMA nodes.
        installed: NUMA nodes -> number of devices there, healthy or not.
        cards: id -> physical card.
    """

    devices: Mapping[str, Device]
    aligned: bool
    healthy: frozenset[str]
    masks: Mapping[str, int]
    installed: Mapping[int, int]
    cards: Mapping[str, str]


def resource_of(devices: Iterable[Device]) -> Resource:
    """Gather the devices of one resource name."""
    by_id = {device.id: device for device in devices}
    masks = {device.id: device.mask for device in by_id.values()}
    return Resource(
        devices=by_id,
        aligned=any(device.nodes for device in by_id.values()),
        healthy=frozenset(device.id for device in by_id.values() if device.healthy),
        masks=masks,
        installed=Counter(masks.values()),
        cards={device.id: device.card or device.id for device in by_id.values()},
    )


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine.

    Attributes:
        nodes: ids of all NUMA nodes, ascending, also of those without CPUs or memory.
        layout: its CPUs.
        resources: resource name -> devices that a plugin has registered.
        distances: NUMA node -> its row of distances as the kernel lists it, one entry per NUMA node; empty if
            the kernel tells none.
    """

    nodes: tuple[int, ...]
    layout: Layout
    resources: Mapping[str, Resource] = field(default_factory=dict)
    distances: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wrong = [node for node in self.nodes if not 0 <= node < MOST_NODES]
        if wrong or tuple(sorted(set(self.nodes))) != self.nodes:
            raise ValueError(f"NUMA nodes {self.nodes} must be different ids from 0 to {MOST_NODES - 1}, lowest first")
        strange = set(self.layout.nodes) - set(self.nodes)
        if strange:
            raise ValueError(f"CPUs are on NUMA nodes {sorted(strange)}, which the machine does not list: {self.nodes}")

    @property
    def everywhere(self) -> int:
        """Every NUMA node."""
        return mask_of(self.nodes)
