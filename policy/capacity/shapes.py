"""What a group's members ask for, and what nodes have left, reduced to what decides whether they fit.

Amounts are whole numbers: CPUs in thousandths, memory in MiB. None is an amount that nobody knows; it refuses
nothing (docs/decisions.md 1). Nodes that have the same left are one value, so that a question costs what differs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from policy.facts import NOTHING, Card, Use
from policy.hami.annotations import CardFilter
from policy.hami.request import WHOLE_CARD, Request

ANY_CARD: Final = CardFilter.of({})
NO_GPU: Final = Request(0)


class Locality(StrEnum):
    """What of a member must come from one NUMA node; what is not named comes from anywhere on the node."""

    GPU_CPU_MEM = "zone:gpu+cpu+mem"
    GPU_CPU = "zone:gpu+cpu"
    GPU = "zone:gpu"
    NODE = "node"

    @property
    def binds_cpu(self) -> bool:
        """Whether the member's CPUs must be local to its NUMA node."""
        return self in (Locality.GPU_CPU, Locality.GPU_CPU_MEM)

    @property
    def binds_memory(self) -> bool:
        """Whether the member's memory must be local to its NUMA node."""
        return self is Locality.GPU_CPU_MEM

    @property
    def rungs(self) -> tuple["Locality", ...]:
        """This locality and the looser ones, down to the whole node."""
        every = tuple(Locality)
        return every[every.index(self) :]


def whole_cards(nums: int) -> Request:
    """Return a request for ``nums`` cards that nobody else may use."""
    return Request(nums, percent=WHOLE_CARD, cores=WHOLE_CARD)


@dataclass(frozen=True, slots=True)
class Member:
    """One kind of pod in a group.

    Attributes:
        name: of the kind, unique in its group.
        count: how many of it the group needs.
        request: cards, and how much of each.
        cpus: thousandths of a CPU.
        memory: MiB of the host's memory.
        cpu_step: what exclusive CPUs are handed out in multiples of, in thousandths; 1 where it does not matter.
        filter: which cards its annotations leave.
        alone: whether it only takes cards that nobody uses at that moment (HAMi: `mutex`).
    """

    name: str = "member"
    count: int = 1
    request: Request = NO_GPU
    cpus: int = 0
    memory: int = 0
    locality: Locality = Locality.NODE
    cpu_step: int = 1
    filter: CardFilter = ANY_CARD
    alone: bool = False

    @property
    def gpus(self) -> int:
        """How many different cards one member takes."""
        return self.request.nums

    @property
    def place(self) -> Locality:
        """What one of it must find together: a locality that speaks of GPUs alone binds no member without them."""
        return Locality.NODE if self.locality is Locality.GPU and not self.gpus else self.locality

    @property
    def takes_whole_cards(self) -> bool:
        """Whether nobody else fits beside it on a card."""
        return self.request.cores == WHOLE_CARD and self.request.percent == WHOLE_CARD

    @property
    def is_aligned(self) -> bool:
        """Whether its CPUs can be handed out at all (Kubernetes: full-pcpus-only)."""
        return self.cpus % self.cpu_step == 0


@dataclass(frozen=True, slots=True)
class CardRoom:
    """A card and what is taken of it, without what tells it from its like.

    Attributes:
        card: its UUID is kept only where a member names it. A cordoned card is not healthy here.
        use: what is taken.
    """

    card: Card
    use: Use = NOTHING
    _hash: int = field(init=False, repr=False, compare=False)
    # Nodes are grouped by their cards' hashes, and equal cards are mostly one object: each is hashed once.

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.card, self.use)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def is_idle(self) -> bool:
        """Whether it could be handed out whole."""
        return self.card.healthy and self.use == NOTHING


@dataclass(frozen=True, slots=True)
class ZoneRoom:
    """A NUMA node: its cards, and the CPUs and memory that exclusive users may still have there."""

    cards: tuple[CardRoom, ...] = ()
    cpu: int | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class NodeRoom:
    """A node.

    Attributes:
        zones: its NUMA nodes. A card whose NUMA node is unknown is a zone of its own.
        cpu: left on the whole node, no more than its zones have together.
        memory: the same.
        seats: how many members may still come; None for any number.
        barred: names of members that may not come at all.
    """

    zones: tuple[ZoneRoom, ...] = ()
    cpu: int | None = None
    memory: int | None = None
    seats: int | None = None
    barred: frozenset[str] = frozenset()

    @property
    def cards(self) -> tuple[CardRoom, ...]:
        """All cards of the node."""
        return tuple(card for zone in self.zones for card in zone.cards)


@dataclass(frozen=True, slots=True)
class Alike:
    """Nodes that have the same left."""

    room: NodeRoom
    names: tuple[str, ...]


Cluster = tuple[Alike, ...]


def group_alike(nodes: Iterable[tuple[str, NodeRoom]]) -> Cluster:
    """Group named rooms by what is left, in the order of first sight."""
    found: dict[NodeRoom, list[str]] = {}
    for name, room in nodes:
        found.setdefault(room, []).append(name)
    return tuple(Alike(room, tuple(names)) for room, names in found.items())


@dataclass(frozen=True, slots=True)
class Limits:
    """What a group as a whole is held to.

    Attributes:
        quota: how many members the namespace's quota still pays, None for any number.
        per_node: how many may share a node, None for any number.
        domains: node name -> domain, where all members must share one (a node, a rack); None if they need not.
            Nodes that are not named are in no domain.
    """

    quota: int | None = None
    per_node: int | None = None
    domains: Mapping[str, str] | None = field(default=None, hash=False)

    def split(self, cluster: Cluster) -> list[Cluster]:
        """Return the parts of ``cluster`` of which one must hold the group."""
        seated = self._seat(cluster)
        if self.domains is None:
            return [seated]
        parts: dict[str, dict[NodeRoom, list[str]]] = {}
        for alike in seated:
            for name in alike.names:
                if name in self.domains:
                    parts.setdefault(self.domains[name], {}).setdefault(alike.room, []).append(name)
        return [tuple(Alike(room, tuple(names)) for room, names in part.items()) for part in parts.values()]

    def _seat(self, cluster: Cluster) -> Cluster:
        if self.per_node is None:
            return cluster
        return tuple(Alike(_seated(alike.room, self.per_node), alike.names) for alike in cluster)


def _seated(room: NodeRoom, seats: int) -> NodeRoom:
    free = seats if room.seats is None else min(room.seats, seats)
    return NodeRoom(room.zones, room.cpu, room.memory, free, room.barred)


NO_LIMITS: Final = Limits()


def distinct(parts: Iterable[Cluster]) -> list[tuple[Cluster, int]]:
    """Return the parts that differ, each with how many of its kind there are."""
    found: Counter[tuple[tuple[NodeRoom, int], ...]] = Counter()
    sample: dict[tuple[tuple[NodeRoom, int], ...], Cluster] = {}
    for part in parts:
        key = tuple((alike.room, len(alike.names)) for alike in part)
        found[key] += 1
        sample.setdefault(key, part)
    return [(sample[key], many) for key, many in found.items()]
