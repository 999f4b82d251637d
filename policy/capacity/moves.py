"""The cheapest single move of another pod that would let a group start: onto other cards, of its node or another.

Pods are tried from the one that holds least. Where a move is found it was carried out on a copy of the facts and the
group judged again; the CPUs that the moved pod frees or needs are not counted, for nobody says which they are.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from policy.capacity.count import most
from policy.capacity.group import Feasibility, Group
from policy.capacity.mixed import Verdict
from policy.capacity.shapes import Alike, Cluster, NodeRoom, group_alike
from policy.capacity.view import Asking, Local, Rooms
from policy.facts import Facts, Reservation
from policy.hami.request import HamiConfig
from policy.keys import NOUSE_UUID
from policy.placement.order import Order
from policy.placement.place import place


@dataclass(frozen=True, slots=True)
class Move:
    """One pod leaves its cards for others.

    Attributes:
        pod: what it holds now.
        onto: the node that takes it, which may be its own.
        cards: how much it holds, in cards, a share counted by its larger part.
    """

    pod: Reservation
    onto: str
    cards: Fraction


@dataclass(frozen=True, slots=True)
class Search:
    """What a search for a move came to.

    Attributes:
        move: the cheapest move found, None for none.
        complete: whether every pod was tried on every node; if not, a None says nothing.
    """

    move: Move | None
    complete: bool


@dataclass(frozen=True, slots=True)
class Mover:
    """Looks for moves.

    Attributes:
        facts: the cluster.
        asking: the members and a pod of each.
        config: how HAMi reads requests.
        local: what is left by NUMA node.
        feasibility: how the group is judged.
        most_tried: judgements of the whole group before the search ends.
    """

    facts: Facts
    asking: Sequence[Asking]
    config: HamiConfig
    local: Local
    feasibility: Feasibility = field(default_factory=Feasibility)
    most_tried: int = 200

    def cheapest(self, group: Group) -> Search:
        """Return the cheapest move with which ``group`` can start."""
        builder = Rooms(self.asking, self.local)
        rooms = {name: builder.room(state) for name, state in self.facts.nodes.items() if state.node is not None}
        tried = 0
        for held in self._movable():
            freed = self.facts.without_pod(held.pod.uid)
            here = builder.room(freed.nodes[held.node])
            if not self._gains(group, rooms[held.node], here):
                continue
            tried += 1
            if not self._starts(group, rooms | {held.node: here}):
                continue
            for onto in self._targets(held, rooms):
                tried += 1
                if tried > self.most_tried:
                    return Search(None, complete=False)
                moved = self._moved(held, freed, onto)
                if moved is not None and self._starts(group, rooms | _rooms(builder, moved, {held.node, onto})):
                    return Search(Move(held, onto, _cards(held, self.facts)), complete=True)
        return Search(None, complete=True)

    def _movable(self) -> list[Reservation]:
        every = (held for state in self.facts.nodes.values() if state.node for held in state.reservations.values())
        return sorted(
            (held for held in every if held.devices and not held.problem and not held.pod.terminating),
            key=lambda held: (_cards(held, self.facts), held.pod.title, held.pod.uid),
        )

    def _gains(self, group: Group, before: NodeRoom, after: NodeRoom) -> bool:
        """Tell whether any member finds more on the node that the pod leaves."""
        return before != after and any(
            most(member, _only(after)) > most(member, _only(before)) or len(group.members) > 1
            for member in group.members
        )

    def _starts(self, group: Group, rooms: dict[str, NodeRoom]) -> bool:
        return self.feasibility.judge(group, group_alike(rooms.items())) is Verdict.YES

    def _targets(self, held: Reservation, rooms: Iterable[str]) -> Iterator[str]:
        """Yield the pod's own node first: what stays there keeps its volumes and images."""
        yield held.node
        yield from sorted(name for name in rooms if name != held.node)

    def _moved(self, held: Reservation, freed: Facts, onto: str) -> Facts | None:
        """Return the facts after the move, None where the node does not take the pod on other cards."""
        pod = held.pod
        avoided = ",".join(filter(None, (pod.annotations.get(NOUSE_UUID, ""), *held.devices)))
        elsewhere = replace(pod, annotations={**pod.annotations, NOUSE_UUID: avoided})
        placed = place(elsewhere, freed, [onto], self.config, Order.NUMAFIT, now=0).reservation
        return None if placed is None else freed.with_reservation(placed)


def _rooms(builder: Rooms, facts: Facts, names: Iterable[str]) -> dict[str, NodeRoom]:
    return {name: builder.room(facts.nodes[name]) for name in names}


def _only(room: NodeRoom) -> Cluster:
    return (Alike(room, ("",)),)


def _cards(held: Reservation, facts: Facts) -> Fraction:
    node = facts.nodes[held.node].node
    cards = {card.uuid: card for card in node.cards} if node else {}
    parts = [
        max(Fraction(use.memory, card.memory or 1), Fraction(use.cores, card.cores or 1))
        for uuid, use in held.devices.items()
        if (card := cards.get(uuid)) is not None
    ]
    return sum(parts, Fraction(0))
