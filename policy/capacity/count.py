"""How many identical members fit, counted without a search, and what keeps the other cards from use.

No member touches two NUMA nodes, and members are alike, so each place holds the smallest of its quotients and the
cluster the sum of its places. What is lost is said by cause and adds up to what is free and not used.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from policy.capacity.offers import UNBOUNDED, accepts, most_on_different_cards, offer
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
    """What one NUMA node, or the whole node, holds of a member.

    Attributes:
        members: how many.
        shares: how many shares of cards there are for them; of whole cards a share is a card.
        lost: cause -> shares that no member uses.
        binding: resources at the smallest quotient, `gpu`, `cpu` and `mem`; more of one of several helps nothing.
    """

    members: int
    shares: int
    lost: Mapping[Cause, int]
    binding: frozenset[str]


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
    parts = [tuple(_node(alike.names, alike.room, member) for alike in part) for part in limits.split(cluster)]
    best = max(parts, key=_total, default=())
    counted = _total(best)
    members = counted if limits.quota is None else min(counted, max(limits.quota, 0))
    every = [node for part in parts for node in part]
    lost = _lost(every)
    _charge(lost, Cause.DOMAIN, member.gpus * (sum(map(_total, parts)) - counted))
    _charge(lost, Cause.QUOTA, member.gpus * (counted - members))
    return Capacity(member, members, _idle(member, cluster), dict(lost), tuple(every))


def most(member: Member, cluster: Cluster, limits: Limits = NO_LIMITS) -> int:
    """Return only how many fit."""
    return measure(member, cluster, limits).members


def _total(nodes: Iterable[NodeCount]) -> int:
    return min(sum(node.members * len(node.names) for node in nodes), UNBOUNDED)


def _lost(nodes: Iterable[NodeCount]) -> Counter[Cause]:
    lost: Counter[Cause] = Counter()
    for node in nodes:
        for cause, shares in node.lost.items():
            lost[cause] += shares * len(node.names)
    return lost


def _charge(lost: Counter[Cause], cause: Cause, shares: int) -> None:
    if shares:
        lost[cause] += shares


def _idle(member: Member, cluster: Cluster) -> int:
    return sum(
        len(alike.names) * sum(card.is_idle and accepts(member, card) for card in alike.room.cards) for alike in cluster
    )


def _node(names: tuple[str, ...], room: NodeRoom, member: Member) -> NodeCount:
    counts = tuple(_place(*place, member) for place in places(room, member.place))
    lost: Counter[Cause] = Counter()
    if member.name in room.barred:
        _charge(lost, Cause.BARRED, sum(place.shares for place in counts))
        return NodeCount(names, 0, counts, lost)
    together = min(sum(place.members for place in counts), UNBOUNDED)
    members = min(together, node_cap(room, member))
    for place in counts:
        for cause, shares in place.lost.items():
            lost[cause] += shares
    _charge(lost, Cause.NODE_CAP, member.gpus * (together - members))
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


_NOTHING_LOST: Final[Mapping[Cause, int]] = {}


def _place(cards: Sequence[CardRoom], cpu: int | None, memory: int | None, member: Member) -> PlaceCount:
    gpus = member.gpus
    offers = [offer(member, card) for card in cards] if gpus else []
    by_gpu = most_on_different_cards(offers, gpus)
    by_cpu = _quotient(cpu, member.cpus) if member.is_aligned else 0
    by_memory = _quotient(memory, member.memory)
    members, shares = min(by_gpu, by_cpu, by_memory), sum(offers)
    binding = frozenset(
        name for name, much in (("gpu", by_gpu), ("cpu", by_cpu), ("mem", by_memory)) if much == members < UNBOUNDED
    )
    if gpus * members == shares:
        return PlaceCount(members, shares, _NOTHING_LOST, binding)
    lost: Counter[Cause] = Counter()
    _charge(lost, Cause.GRANULARITY, shares - gpus * by_gpu if gpus else 0)
    _charge(lost, _blocked_by(binding), gpus * (by_gpu - members))
    return PlaceCount(members, shares, lost, binding)


def _blocked_by(binding: frozenset[str]) -> Cause:
    if {"cpu", "mem"} <= binding:
        return Cause.SEVERAL
    return Cause.CPU if "cpu" in binding else Cause.MEMORY


def _quotient(left: int | None, need: int) -> int:
    if not need or left is None:
        return UNBOUNDED
    return max(left, 0) // need
