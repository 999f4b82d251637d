"""How many identical members fit, counted without a search, and what keeps the other cards from use.

No member touches two NUMA nodes, and members are alike, so each place holds the smallest of its quotients and the
cluster the sum of its places. What is lost is said by cause and adds up to what is free and not used.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from policy.capacity.offers import UNBOUNDED, Offers, most_on_different_cards
from policy.capacity.shapes import NO_LIMITS, CardRoom, Cluster, Limits, Locality, Member, NodeRoom


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
        lost: cause -> shares that no member uses, on each.
    """

    names: tuple[str, ...]
    members: int
    places: tuple[PlaceCount, ...]
    lost: Mapping[Cause, int]


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many of one member a cluster can run now.

    Attributes:
        member: what was counted.
        members: how many fit under the group's limits.
        free_gpus: idle cards that the member may use.
        lost: cause -> shares that are free and not used; of whole cards a share is a card.
        nodes: the count by node.
    """

    member: Member
    members: int
    free_gpus: int
    lost: Mapping[Cause, int]
    nodes: tuple[NodeCount, ...]

    @property
    def runnable_gpus(self) -> int:
        """Cards that members can run on, each by itself."""
        return self.member.gpus * self.members

    def group_runnable_gpus(self, needed: int) -> int:
        """Cards that run if all or nothing starts and ``needed`` members still have to."""
        return self.member.gpus * min(self.members, self.member.count) if self.members >= needed else 0


def measure(member: Member, cluster: Cluster, limits: Limits = NO_LIMITS) -> Capacity:
    """Count ``member`` in ``cluster``, in time proportional to the cards of nodes that differ."""
    offers = Offers(member)
    parts = [tuple(_node(alike.names, alike.room, member, offers) for alike in part) for part in limits.split(cluster)]
    totals = [_total(part) for part in parts]
    counted = max(totals, default=0)
    members = counted if limits.quota is None else min(counted, max(limits.quota, 0))
    every = tuple(node for part in parts for node in part)
    lost: dict[Cause, int] = {}
    for node in every:
        _charge(lost, node.lost, len(node.names))
    _charge(lost, {Cause.DOMAIN: sum(totals) - counted, Cause.QUOTA: counted - members}, member.gpus)
    return Capacity(member, members, sum(map(_idle, every)), lost, every)


def most(member: Member, cluster: Cluster, limits: Limits = NO_LIMITS) -> int:
    """Return only how many fit."""
    return measure(member, cluster, limits).members


def _total(nodes: Iterable[NodeCount]) -> int:
    return min(sum(node.members * len(node.names) for node in nodes), UNBOUNDED)


def _idle(node: NodeCount) -> int:
    return len(node.names) * sum(place.idle for place in node.places)


def _charge(lost: dict[Cause, int], causes: Mapping[Cause, int], times: int) -> None:
    for cause, shares in causes.items():
        if shares * times:
            lost[cause] = lost.get(cause, 0) + shares * times


def _node(names: tuple[str, ...], room: NodeRoom, member: Member, offers: Offers) -> NodeCount:
    counts = tuple(_place(*place, member, offers) for place in places(room, member.place))
    if member.name in room.barred:
        shares = sum(count.shares for count in counts)
        return NodeCount(names, 0, counts, {Cause.BARRED: shares} if shares else {})
    together = min(sum(count.members for count in counts), UNBOUNDED)
    members = min(together, node_cap(room, member))
    lost: dict[Cause, int] = {}
    for count in counts:
        _charge(lost, count.lost, 1)
    _charge(lost, {Cause.NODE_CAP: together - members}, member.gpus)
    return NodeCount(names, members, counts, lost)


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


def _place(
    cards: Sequence[CardRoom], cpu: int | None, memory: int | None, member: Member, offers: Offers
) -> PlaceCount:
    offered, idle = offers.of(cards)
    return PlaceCount(
        gpus=member.gpus,
        shares=sum(offered),
        idle=idle,
        by_gpu=most_on_different_cards(offered, member.gpus),
        by_cpu=_quotient(cpu, member.cpus) if member.is_aligned else 0,
        by_memory=_quotient(memory, member.memory),
    )


def _quotient(left: int | None, need: int) -> int:
    if not need or left is None:
        return UNBOUNDED
    return max(left, 0) // need
