"""How many identical members fit, counted without a search, and what keeps the other cards from use.

No member touches two NUMA nodes, and members are alike, so each place holds the smallest of its quotients and the
cluster the sum of its places. What is lost is said by cause and adds up to what is free and not used.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from policy.capacity.offers import UNBOUNDED, Offers, most_on_different_cards
from policy.capacity.shapes import NO_LIMITS, Alike, CardRoom, Cluster, Limits, Locality, Member, NodeRoom


class Cause(StrEnum):
    """Why a share of a card that is free cannot be used."""

    GRANULARITY = "granularity"
    CPU = "cpu"
    MEMORY = "mem"
    SEVERAL = "several"
    NODE_CAP = "node_cap"
    BARRED = "barred"
    QUOTA = "quota"
    DOMAIN = "domain"


@dataclass(frozen=True, slots=True)
class PlaceCount:
    """What one NUMA node, or the whole node, holds of a member, by each of its resources.

    Attributes:
        gpus: cards of one member.
        shares: how many shares of cards there are for them; of whole cards a share is a card.
        idle: cards that nobody uses and the member may.
        by_gpu: how many members the cards hold.
        by_cpu: how many the CPUs do.
        by_memory: how many the memory does.
    """

    gpus: int
    shares: int
    idle: int
    by_gpu: int
    by_cpu: int
    by_memory: int

    @property
    def members(self) -> int:
        """How many it holds."""
        return min(self.by_gpu, self.by_cpu, self.by_memory)

    @property
    def binding(self) -> frozenset[str]:
        """The resources that hold no more: `gpu`, `cpu`, `mem`. More of one of several helps nothing."""
        members = self.members
        much = {"gpu": self.by_gpu, "cpu": self.by_cpu, "mem": self.by_memory}
        return frozenset(name for name, holds in much.items() if holds == members < UNBOUNDED)

    @property
    def lost(self) -> Mapping[Cause, int]:
        """Cause -> shares that no member uses."""
        members = self.members
        if self.gpus * members == self.shares:
            return {}
        granularity, blocked = self.shares - self.gpus * self.by_gpu, self.gpus * (self.by_gpu - members)
        found = {Cause.GRANULARITY: granularity, self._blocked_by(members): blocked}
        return {cause: shares for cause, shares in found.items() if shares}

    def _blocked_by(self, members: int) -> Cause:
        if self.by_cpu == self.by_memory == members:
            return Cause.SEVERAL
        return Cause.CPU if self.by_cpu == members else Cause.MEMORY


@dataclass(frozen=True, slots=True)
class NodeCount:
    """What each of some equal nodes holds.

    Attributes:
        names: the nodes.
        members: how many on each.
        places: by NUMA node, one for the whole node where members may span them.
        barred: whether the member may not come at all.
    """

    names: tuple[str, ...]
    members: int
    places: tuple[PlaceCount, ...]
    barred: bool = False

    @property
    def lost(self) -> Mapping[Cause, int]:
        """Cause -> shares that no member uses, on each."""
        if self.barred:
            return _summed([{Cause.BARRED: place.shares} for place in self.places])
        capped = [{Cause.NODE_CAP: place.gpus * place.members} for place in self.places]
        used = {Cause.NODE_CAP: -self.places[0].gpus * self.members} if self.places else {}
        return _summed([*(place.lost for place in self.places), *capped, used])


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many of one member a cluster can run now.

    Attributes:
        member: what was counted.
        members: how many fit under the group's limits.
        beyond: cause -> members that fit their places and not those limits.
        nodes: the count by node.
    """

    member: Member
    members: int
    beyond: Mapping[Cause, int]
    nodes: tuple[NodeCount, ...]

    @property
    def free_gpus(self) -> int:
        """Idle cards that the member may use."""
        return sum(len(node.names) * sum(place.idle for place in node.places) for node in self.nodes)

    @property
    def lost(self) -> Mapping[Cause, int]:
        """Cause -> shares that are free and not used; of whole cards a share is a card."""
        on_nodes = ({c: shares * len(node.names) for c, shares in node.lost.items()} for node in self.nodes)
        return _summed([*on_nodes, {cause: self.member.gpus * count for cause, count in self.beyond.items()}])

    @property
    def runnable_gpus(self) -> int:
        """Cards that members can run on, each by itself."""
        return self.member.gpus * self.members

    def group_runnable_gpus(self, needed: int) -> int:
        """Cards that run if all or nothing starts and ``needed`` members still have to."""
        return self.member.gpus * min(self.members, self.member.count) if self.members >= needed else 0


def _summed(parts: Iterable[Mapping[Cause, int]]) -> Mapping[Cause, int]:
    total: dict[Cause, int] = {}
    for part in parts:
        for cause, shares in part.items():
            total[cause] = total.get(cause, 0) + shares
    return {cause: shares for cause, shares in total.items() if shares}


def measure(member: Member, cluster: Cluster, limits: Limits = NO_LIMITS) -> Capacity:
    """Count ``member`` in ``cluster``, in time proportional to the cards of nodes that differ."""
    counter = _Counter(member)
    parts = [tuple(counter.node(alike) for alike in part) for part in limits.split(cluster)]
    totals = [min(sum(node.members * len(node.names) for node in part), UNBOUNDED) for part in parts]
    counted = max(totals, default=0)
    members = counted if limits.quota is None else min(counted, max(limits.quota, 0))
    beyond = {Cause.DOMAIN: sum(totals) - counted, Cause.QUOTA: counted - members}
    return Capacity(member, members, beyond, tuple(node for part in parts for node in part))


def most(member: Member, cluster: Cluster, limits: Limits = NO_LIMITS) -> int:
    """Return only how many fit."""
    return measure(member, cluster, limits).members


Place = tuple[Sequence[CardRoom], int | None, int | None]
"""Cards, CPUs and memory that are counted against each other."""


def places(room: NodeRoom, locality: Locality) -> Iterator[Place]:
    """Yield the NUMA nodes of ``room``, or the whole of it, each with the amounts that must come from there."""
    if locality is Locality.NODE:
        yield room.cards, room.cpu, room.memory
        return
    for zone in room.zones:
        cpu = zone.cpu if locality.binds_cpu else None
        yield zone.cards, cpu, zone.memory if locality.binds_memory else None


def node_cap(room: NodeRoom, member: Member) -> int:
    """Return how many members the node as a whole allows: its CPUs, its memory, and the seats left on it."""
    if not member.is_aligned:
        return 0
    seats = UNBOUNDED if room.seats is None else room.seats
    return min(seats, _quotient(room.cpu, member.cpus), _quotient(room.memory, member.memory))


class _Counter:
    """Counts one member, whose cards are looked at once each."""

    def __init__(self, member: Member) -> None:
        self._member, self._place, self._gpus = member, member.place, member.gpus
        self._offers = Offers(member)

    def node(self, alike: Alike) -> NodeCount:
        room = alike.room
        counts = tuple(self._count(*place) for place in places(room, self._place))
        if self._member.name in room.barred:
            return NodeCount(alike.names, 0, counts, barred=True)
        together = sum(count.members for count in counts)
        return NodeCount(alike.names, min(together, node_cap(room, self._member)), counts)

    def _count(self, cards: Sequence[CardRoom], cpu: int | None, memory: int | None) -> PlaceCount:
        offered, idle = self._offers.of(cards)
        return PlaceCount(
            self._gpus,
            sum(offered),
            idle,
            most_on_different_cards(offered, self._gpus),
            _quotient(cpu, self._member.cpus) if self._member.is_aligned else 0,
            _quotient(memory, self._member.memory),
        )


def _quotient(left: int | None, need: int) -> int:
    if not need or left is None:
        return UNBOUNDED
    return max(left, 0) // need
