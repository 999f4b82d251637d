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
from policy.facts import NOTHING, UNKNOWN_NUMA, Card, Facts, Node, Use
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

Whole = Mapping[str, LocalAmounts]
"""Node name -> what is left on it for requests of any kind; its NUMA nodes together may have less."""

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


def view(
    facts: Facts,
    asking: Sequence[Asking],
    local: Local | None = None,
    oldest: float | None = None,
    whole: Whole | None = None,
) -> View:
    """Return what ``facts`` leave for the members that are ``asking``.

    Args:
        facts: the cluster.
        asking: the members, names unique.
        local: what is left by NUMA node, as far as anybody says.
        oldest: seconds since the epoch; facts taken before it are stale. None where they cannot be.
        whole: what is left on nodes as a whole, as far as anybody says.
    """
    builder = Rooms(asking, local or {}, whole or {})
    rooms = [
        (node.name, builder.room(node, state.use))
        for state in facts.nodes.values()
        if (node := state.node) is not None and (node.cards or node.problem or builder.knows(node.name))
    ]
    unknown = builder.unknown
    if oldest is not None and facts.taken_at is not None and facts.taken_at < oldest:
        unknown |= {Unknown.STALE}
    closed = {member: {bar: tuple(nodes) for bar, nodes in why.items()} for member, why in builder.closed.items()}
    return View(group_alike(rooms), closed, unknown)


class Rooms:
    """Makes rooms of nodes; equal cards become one object.

    Attributes:
        local: what is left by NUMA node.
        closed: member name -> why -> the nodes seen so far that are closed to it.
        unknown: what was missing in the rooms made so far.
    """

    def __init__(self, asking: Sequence[Asking], local: Local, whole: Whole) -> None:
        self.local = local
        self._whole = whole
        self.closed: dict[str, dict[Bar, list[str]]] = {each.member.name: {} for each in asking}
        self.unknown: frozenset[Unknown] = frozenset()
        self._asking = asking
        self._named = _named_cards(asking)
        self._binds_cpu = any(each.member.locality.binds_cpu and each.member.cpus for each in asking)
        self._cards: dict[object, tuple[int, CardRoom]] = {}

    def knows(self, name: str) -> bool:
        """Tell whether anybody says what a node has left: such a node counts without any card."""
        return name in self.local or name in self._whole

    def room(self, node: Node, use: Mapping[str, Use]) -> NodeRoom:
        """Return what ``node`` has left, of whose cards so much is taken by UUID."""
        amounts = self.local.get(node.name, {})
        if self._binds_cpu:
            self._note(node, amounts)
        whole = self._whole.get(node.name, _UNKNOWN_AMOUNTS)
        return NodeRoom(
            tuple(self._zones(node, use, amounts)),
            _least(_total([amount.cpu for amount in amounts.values()]), whole.cpu),
            _least(_total([amount.memory for amount in amounts.values()]), whole.memory),
            barred=frozenset(self._bar(node)),
        )

    def _bar(self, node: Node) -> Iterator[str]:
        for each in self._asking:
            bar = _bar(each, node)
            if bar is not None:
                self.closed[each.member.name].setdefault(bar, []).append(node.name)
                yield each.member.name

    def _zones(self, node: Node, use: Mapping[str, Use], amounts: Mapping[int, LocalAmounts]) -> Iterator[ZoneRoom]:
        by_numa: dict[int, list[tuple[int, CardRoom]]] = {numa: [] for numa in amounts}
        for card in node.cards:
            numbered = self._card(card, use.get(card.uuid, NOTHING), cordoned=card.uuid in node.cordoned)
            if card.numa == UNKNOWN_NUMA:
                self.unknown |= {Unknown.NUMA}
                yield ZoneRoom((numbered[1],))
            else:
                by_numa.setdefault(card.numa, []).append(numbered)
        for numa, cards in by_numa.items():
            left = amounts.get(numa, _UNKNOWN_AMOUNTS)
            yield ZoneRoom(tuple([card for _, card in sorted(cards, key=_number)]), left.cpu, left.memory)

    def _card(self, card: Card, use: Use, *, cordoned: bool) -> tuple[int, CardRoom]:
        """Return what is left of a card, with a number by which equal sets of cards come in one order."""
        uuid = card.uuid if card.uuid in self._named else ""
        healthy = card.healthy and not cordoned
        key = uuid, card.slots, card.memory, card.cores, card.type, card.mode, healthy, card.vendor, use
        found = self._cards.get(key)
        if found is None:
            alike = Card(uuid, 0, card.slots, card.memory, card.cores, card.type, 0, card.mode, healthy, card.vendor)
            found = self._cards[key] = len(self._cards), CardRoom(alike, use)
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


def _number(numbered: tuple[int, CardRoom]) -> int:
    return numbered[0]


def _total(amounts: Sequence[int | None]) -> int | None:
    """Return the sum, None where a part is unknown or there is none."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known and len(known) == len(amounts) else None


def _least(one: int | None, other: int | None) -> int | None:
    """Return the smaller of two amounts, that which is known where one is."""
    known = [amount for amount in (one, other) if amount is not None]
    return min(known, default=None)
