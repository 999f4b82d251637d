"""One server as it is known from all that was collected about it, and what of it is not known."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from policy.facts import Card
from policy.inventory.kubelet import UNKNOWN_SETUP, CpuState, KubeletSetup
from policy.inventory.links import Links
from policy.inventory.lscpu import Processors
from policy.inventory.numactl import NumaHardware
from policy.inventory.zones import Zone


@dataclass(frozen=True, slots=True)
class Collected:
    """All that is known of one server, each part from its own source; a part that nobody collected is None or empty.

    Attributes:
        cards: as HAMi registers them, by index.
        zones: of the node's NodeResourceTopology.
        declared: what cluster objects and the policy file say of its kubelet.
        config: what its kubelet's own configuration says.
        problems: what of its sources could not be read.
    """

    name: str
    cards: tuple[Card, ...] = ()
    zones: tuple[Zone, ...] = ()
    declared: KubeletSetup = UNKNOWN_SETUP
    config: KubeletSetup | None = None
    state: CpuState | None = None
    links: Links | None = None
    hardware: NumaHardware | None = None
    processors: tuple[Processors, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cpus:
    """Some CPUs of a NUMA node.

    Attributes:
        count: how many; None is not known.
        ids: which, as a set; None if only their number is known, or nothing.
    """

    count: int | None = None
    ids: int | None = None


@dataclass(frozen=True, slots=True)
class NumaNode:
    """One NUMA node.

    Attributes:
        socket: the processor that it belongs to; None is not known.
        cpus: all its CPUs.
        reserved: those that no container gets to itself.
        exclusive: those that a container has to itself.
        shared: those that all other containers run on; reserved ones among them unless the kubelet reserves strictly.
        memory: MiB installed; None is not known.
        distances: NUMA node -> distance, 10 to itself; empty if not known.
    """

    id: int
    socket: int | None = None
    cpus: Cpus = Cpus()
    reserved: Cpus = Cpus()
    exclusive: Cpus = Cpus()
    shared: Cpus = Cpus()
    memory: int | None = None
    distances: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GpuCard:
    """One card.

    Attributes:
        name: as `nvidia-smi` calls it.
        numa: None is not known.
        model: empty if not known, as are UUID and memory (MiB, 0).
    """

    index: int
    name: str
    numa: int | None = None
    uuid: str = ""
    model: str = ""
    memory: int = 0
    healthy: bool = True


@dataclass(frozen=True, slots=True)
class Nic:
    """One network card.

    Attributes:
        name: as the system calls it where that is known.
        near: the cards that it reaches without leaving their NUMA node, by index.
        link: how it reaches them at best, empty where there are none.
    """

    name: str
    near: tuple[int, ...] = ()
    link: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that nobody said, and what would say it."""

    what: str
    needs: str


@dataclass(frozen=True, slots=True)
class Server:
    """One server.

    Attributes:
        sockets: how many; None is not known.
        threads_per_core: None is not known.
        links: card index -> card index -> kind of connection, each pair once; None is not known.
        nics: None is not known.
        unknown: what is not known.
        contradictions: what two sources say differently, one sentence each.
        problems: what could not be read.
    """

    name: str
    sockets: int | None
    threads_per_core: int | None
    numas: tuple[NumaNode, ...]
    cards: tuple[GpuCard, ...]
    links: Mapping[int, Mapping[int, str]] | None
    nics: tuple[Nic, ...] | None
    kubelet: KubeletSetup
    unknown: tuple[Unknown, ...] = ()
    contradictions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
