"""The cheapest single move of another pod that would let a group start: onto other cards, of its node or another.

Pods are tried from the one that holds least. Where a move is found it was carried out on a copy of the facts and the
group judged again; the CPUs that the moved pod frees or needs are not counted, for nobody says which they are.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import ne

from policy.capacity.count import most
from policy.capacity.group import Feasibility, Group
from policy.capacity.mixed import Verdict
from policy.capacity.shapes import Alike, Cluster, NodeRoom, group_alike
from policy.capacity.view import Asking, Local, Rooms, Whole
from policy.facts import Facts, NodeState, Reservation
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
        whole: what is left on nodes as a whole.
        feasibility: how the group is judged.
        most_tried: judgements of the whole group before the search ends.
    """

    facts: Facts
    asking: Sequence[Asking]
    config: HamiConfig
    local: Local
    whole: Whole = field(default_factory=dict)
    feasibility: Feasibility = field(default_factory=Feasibility)
    most_tried: int = 200

    def cheapest(self, group: Group) -> Search:
        """Return the cheapest move with which ``group`` can start."""
        builder = Rooms(self.asking, self.local, self.whole)
        rooms = _rooms(builder, self.facts, self.facts.nodes)
        left = self.most_tried
        for held, freed in self._promising(_gain(group, rooms), builder, rooms):
            for onto, after in self._ways(held, freed, builder, rooms):
                if not left:
                    return Search(None, complete=False)
                left -= 1
                starts = self._starts(group, rooms | after)
                if starts and onto:
                    return Search(Move(held, onto, _cards(held, self.facts)), complete=True)
                if not starts and not onto:
                    break
        return Search(None, complete=True)

    def _promising(
        self, gains: Callable[[NodeRoom, NodeRoom], bool], builder: Rooms, rooms: Mapping[str, NodeRoom]
    ) -> Iterator[tuple[Reservation, NodeRoom]]:
        """Yield the pods without which the group might start, each with its node without it."""
        for held in self._movable():
            changed = self.facts.nodes[held.node].without(held.pod.uid)
            (freed,) = _rooms_of(builder, [(held.node, changed)]).values()
            if gains(rooms[held.node], freed):
                yield held, freed

    def _ways(
        self, held: Reservation, freed: NodeRoom, builder: Rooms, rooms: Iterable[str]
    ) -> Iterator[tuple[str, dict[str, NodeRoom]]]:
        """Yield the nodes that take the pod and what changes then; first, without a name, the pod gone altogether.

        Its own node comes before others: what stays there keeps its volumes and images.
        """
        yield "", {held.node: freed}
        rest = self.facts.without_pod(held.pod.uid)
        for onto in (held.node, *sorted(name for name in rooms if name != held.node)):
            moved = self._moved(held, rest, onto)
            if moved is not None:
                yield onto, _rooms(builder, moved, {held.node, onto})

    def _movable(self) -> list[Reservation]:
        every = (held for state in self.facts.nodes.values() if state.node for held in state.reservations.values())
        return sorted(
            (held for held in every if held.devices and not held.problem and not held.pod.terminating),
            key=lambda held: (_cards(held, self.facts), held.pod.title, held.pod.uid),
        )

    def _starts(self, group: Group, rooms: dict[str, NodeRoom]) -> bool:
        return self.feasibility.judge(group, group_alike(rooms.items())) is Verdict.YES

    def _moved(self, held: Reservation, freed: Facts, onto: str) -> Facts | None:
        """Return the facts after the move, None where the node does not take the pod on other cards."""
        pod = held.pod
        avoided = ",".join(filter(None, (pod.annotations.get(NOUSE_UUID, ""), *held.devices)))
        elsewhere = replace(pod, annotations={**pod.annotations, NOUSE_UUID: avoided})
        placed = place(elsewhere, freed, [onto], self.config, Order.NUMAFIT, now=0).reservation
        return None if placed is None else freed.with_reservation(placed)


def _rooms(builder: Rooms, facts: Facts, names: Iterable[str]) -> dict[str, NodeRoom]:
    return _rooms_of(builder, ((name, facts.nodes[name]) for name in names))


def _rooms_of(builder: Rooms, states: Iterable[tuple[str, NodeState]]) -> dict[str, NodeRoom]:
    return {name: builder.room(state.node, state.use) for name, state in states if state.node is not None}


def _gain(group: Group, rooms: Mapping[str, NodeRoom]) -> Callable[[NodeRoom, NodeRoom], bool]:
    """Return what tells whether a node that changes from one room into the other could make up for what is missing.

    Of unlike members each alone may find no more than before, and all together may.
    """
    if len(group.members) > 1:
        return ne
    (member,) = group.members
    missing = group.needed - most(member, group_alike(rooms.items()), group.limits)
    least = missing if group.limits.domains is None else 1
    return lambda before, after: most(member, _only(after)) - most(member, _only(before)) >= least


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
