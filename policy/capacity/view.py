"""What a cluster has left for given members: the bridge from facts to rooms.

Cards come from HAMi's registers and reservations. Free CPUs and memory by NUMA node stand in no object that HAMi
reads; whoever has them (NodeResourceTopology) hands them in, and where nobody does they are unknown and refuse
nothing. Placed pods that do not run yet hold their cards, as in HAMi's book.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from policy.capacity.shapes import CardRoom, Cluster, Member, NodeRoom, ZoneRoom, group_alike
from policy.facts import NOTHING, UNKNOWN_NUMA, Card, Facts, Node, NodeState, Use
from policy.pod import Pod
from policy.scheduling import allows, untolerated_taint


class Bar(StrEnum):
    """Why a node is closed to a member, whatever is free there."""

    UNREAD = "unread"
    UNSCHEDULABLE = "unschedulable"
    SELECTOR = "selector"
    TAINT = "taint"
    TOPOLOGY_POLICY = "topology-policy"


class Unknown(StrEnum):
    """What nobody knows, and what therefore refused nothing."""

    CPU = "free CPUs by NUMA node"
    NUMA = "NUMA nodes of some cards"
    TOPOLOGY_POLICY = "topology policy of some kubelets"
    STALE = "what changed since the facts were taken"


@dataclass(frozen=True, slots=True)
class LocalAmounts:
    """What one NUMA node has left for exclusive use: CPUs in thousandths, memory in MiB, None where nobody knows."""

    cpu: int | None = None
    memory: int | None = None


Local = Mapping[str, Mapping[int, LocalAmounts]]
"""Node name -> NUMA node -> what is left there."""

_ALIGNS: Final = ("restricted", "single-numa-node")
_UNKNOWN_AMOUNTS: Final = LocalAmounts()


@dataclass(frozen=True, slots=True)
class Asking:
    """A member and a pod of its kind, whose selector, affinity and tolerations decide where it may go."""

    member: Member
    pod: Pod


@dataclass(frozen=True, slots=True)
class View:
    """A cluster as some members see it.

    Attributes:
        cluster: nodes with cards, or with known amounts; closed ones are barred to the member by its name.
        closed: member name -> why -> nodes.
        unknown: what was not known.
    """

    cluster: Cluster
    closed: Mapping[str, Mapping[Bar, tuple[str, ...]]] = field(default_factory=dict)
    unknown: frozenset[Unknown] = frozenset()


def view(facts: Facts, asking: Sequence[Asking], local: Local | None = None, oldest: float | None = None) -> View:
    """Return what ``facts`` leave for the members that are ``asking``.

    Args:
        facts: the cluster.
        asking: the members, names unique.
        local: what is left by NUMA node, as far as anybody says.
        oldest: seconds since the epoch; facts taken before it are stale. None where they cannot be.
    """
    builder = Rooms(asking, local or {})
    closed: dict[str, dict[Bar, list[str]]] = {each.member.name: {} for each in asking}
    rooms = []
    for name, state in facts.nodes.items():
        node = state.node
        if node is None or not (node.cards or node.problem or name in builder.local):
            continue
        for member, bar in builder.bars(node):
            closed[member].setdefault(bar, []).append(name)
        rooms.append((name, builder.room(state)))
    unknown = builder.unknown
    if oldest is not None and facts.taken_at is not None and facts.taken_at < oldest:
        unknown |= {Unknown.STALE}
    named = {member: {bar: tuple(nodes) for bar, nodes in why.items()} for member, why in closed.items()}
    return View(group_alike(rooms), named, unknown)


class Rooms:
    """Makes rooms of nodes; equal cards become one object.

    Attributes:
        local: what is left by NUMA node.
        unknown: what was missing in the rooms made so far.
    """

    def __init__(self, asking: Sequence[Asking], local: Local) -> None:
        self.local = local
        self.unknown: frozenset[Unknown] = frozenset()
        self._asking = asking
        self._named = _named_cards(asking)
        self._binds_cpu = any(each.member.locality.binds_cpu and each.member.cpus for each in asking)
        self._cards: dict[object, CardRoom] = {}

    def bars(self, node: Node) -> Iterator[tuple[str, Bar]]:
        """Yield the members that ``node`` is closed to, each with the first reason."""
        for each in self._asking:
            bar = _bar(each, node)
            if bar is not None:
                yield each.member.name, bar

    def room(self, state: NodeState) -> NodeRoom:
        """Return what a node has left; the value must have a node."""
        node = state.node
        if node is None:
            return NodeRoom()
        amounts = self.local.get(node.name, {})
        zones = tuple(self._zones(node, state.use, amounts))
        if self._binds_cpu:
            self._note(node, amounts)
        return NodeRoom(
            zones,
            _total(amount.cpu for amount in amounts.values()),
            _total(amount.memory for amount in amounts.values()),
            barred=frozenset(member for member, _ in self.bars(node)),
        )

    def _zones(self, node: Node, use: Mapping[str, Use], amounts: Mapping[int, LocalAmounts]) -> Iterator[ZoneRoom]:
        by_numa: dict[int, list[CardRoom]] = {numa: [] for numa in amounts}
        for card in node.cards:
            room = self._card(card, use.get(card.uuid, NOTHING), cordoned=card.uuid in node.cordoned)
            if card.numa == UNKNOWN_NUMA:
                self.unknown |= {Unknown.NUMA}
                yield ZoneRoom((room,))
            else:
                by_numa.setdefault(card.numa, []).append(room)
        for numa, cards in by_numa.items():
            left = amounts.get(numa, _UNKNOWN_AMOUNTS)
            yield ZoneRoom(tuple(sorted(cards, key=_fullness)), left.cpu, left.memory)

    def _card(self, card: Card, use: Use, *, cordoned: bool) -> CardRoom:
        uuid = card.uuid if card.uuid in self._named else ""
        healthy = card.healthy and not cordoned
        key = uuid, card.slots, card.memory, card.cores, card.type, card.mode, healthy, card.vendor, use
        found = self._cards.get(key)
        if found is None:
            alike = Card(uuid, 0, card.slots, card.memory, card.cores, card.type, 0, card.mode, healthy, card.vendor)
            found = self._cards[key] = CardRoom(alike, use)
        return found

    def _note(self, node: Node, amounts: Mapping[int, LocalAmounts]) -> None:
        if not amounts or any(amount.cpu is None for amount in amounts.values()):
            self.unknown |= {Unknown.CPU}
        if node.kubelet.topology_policy is None:
            self.unknown |= {Unknown.TOPOLOGY_POLICY}


def _bar(asking: Asking, node: Node) -> Bar | None:
    if node.problem:
        return Bar.UNREAD
    if node.unschedulable:
        return Bar.UNSCHEDULABLE
    if not allows(asking.pod, node):
        return Bar.SELECTOR
    if untolerated_taint(asking.pod, node) is not None:
        return Bar.TAINT
    policy = node.kubelet.topology_policy
    needs = asking.member.locality.binds_cpu and asking.member.cpus
    return Bar.TOPOLOGY_POLICY if needs and policy is not None and policy not in _ALIGNS else None


def _named_cards(asking: Iterable[Asking]) -> frozenset[str]:
    filters = [each.member.filter for each in asking]
    return frozenset(uuid for one in filters for uuid in (*(one.use_uuids or ()), *one.nouse_uuids))


def _fullness(room: CardRoom) -> tuple[object, ...]:
    card, use = room.card, room.use
    return card.type, card.memory, card.healthy, use.slots, use.memory, use.cores, card.uuid, card.mode


def _total(amounts: Iterable[int | None]) -> int | None:
    """Return the sum, None where a part is unknown or there is none."""
    known = list(amounts)
    return None if not known or None in known else sum(each for each in known if each is not None)
