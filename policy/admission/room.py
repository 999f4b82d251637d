"""Where a pod could go: eligible and reachable nodes with its candidate cards (docs/admission.md, "Words")."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Final

from policy.facts import UNKNOWN_NUMA, Card, Facts, Kind, Node
from policy.pod import Pod
from policy.scheduling import allows

_COMPARED: Final = 64


@dataclass(frozen=True, slots=True)
class Spot:
    """A node that stands for itself and others like it, with the cards there that the pod may use."""

    node: Node
    candidates: tuple[Card, ...]
    numa_sizes: Mapping[int, int]

    @classmethod
    def of(cls, node: Node, candidates: tuple[Card, ...]) -> "Spot":
        """Count the candidates of each NUMA node."""
        return cls(node, candidates, Counter(card.numa for card in candidates))

    @property
    def largest_numa_group(self) -> int | None:
        """The most candidates that one NUMA node holds, None where a candidate's NUMA node is not known."""
        return None if UNKNOWN_NUMA in self.numa_sizes else max(self.numa_sizes.values(), default=0)

    @property
    def narrows(self) -> bool:
        """Whether the node has a card that is no candidate."""
        return len(self.candidates) < len(self.node.cards)


class Room:
    """The nodes of a cluster as one pod sees them.

    Nodes of one kind look alike to a pod that names none of their cards, so one of them stands for all: the cost
    does not grow with the size of the cluster, but for node selectors that match nothing.
    """

    def __init__(self, facts: Facts, pod: Pod, pins: Sequence[str], excluded: Sequence[str], most: int) -> None:
        self._inventory = facts.inventory
        self._pod = pod
        self._pins = frozenset(pins)
        self._excluded = frozenset(excluded)
        self._most = most

    def node_of(self, uuid: str) -> str | None:
        """The name of the node that holds the card ``uuid``, None if no node does."""
        return self._inventory.card_nodes.get(uuid)

    def nearest(self, uuid: str) -> str:
        """The card most like ``uuid`` among those that share half of it, empty if none is like it.

        A slip of the pen leaves one half as it was; comparing every letter with every card of a large cluster would
        hold up other pods.
        """
        wanted, half = uuid.lower(), len(uuid) // 2
        like = {known.lower(): known for known in self._inventory.card_nodes}
        near = sorted(known for known in like if known[:half] == wanted[:half] or known[-half:] == wanted[-half:])
        found = get_close_matches(wanted, near[:_COMPARED], n=1, cutoff=0.9)
        return like[found[0]] if found else ""

    @cached_property
    def holders(self) -> tuple[Spot, ...]:
        """The nodes that hold a card which the pod names, eligible or not."""
        return tuple(Spot.of(node, self._candidates(node)) for node in self._named)

    @cached_property
    def eligible(self) -> tuple[Spot, ...]:
        """The spots on nodes that the pod's node selector and required affinity allow."""
        named = tuple(spot for spot in self.holders if allows(self._pod, spot.node))
        return named if self._pins else (*named, *self._samples())

    @cached_property
    def reachable(self) -> tuple[Spot, ...]:
        """The eligible spots with enough candidates."""
        return tuple(spot for spot in self.eligible if len(spot.candidates) >= self._most)

    @cached_property
    def has_unread_nodes(self) -> bool:
        """Whether some node that the pod may go to has cards that could not be read: nobody knows what fits there."""
        return any(allows(self._pod, self._inventory.nodes[name]) for kind in self._unread for name in kind.names)

    @property
    def knows_every_card(self) -> bool:
        """Whether the cards of all nodes could be read, so that a card which is not known is nowhere."""
        return not self._unread

    @cached_property
    def _unread(self) -> tuple[Kind, ...]:
        return tuple(kind for kind in self._inventory.kinds if kind.sample.problem)

    @cached_property
    def _named(self) -> tuple[Node, ...]:
        inventory = self._inventory
        names = {inventory.card_nodes[uuid] for uuid in self._pins | self._excluded if uuid in inventory.card_nodes}
        return tuple(inventory.nodes[name] for name in sorted(names))

    def _samples(self) -> tuple[Spot, ...]:
        """One eligible node of each kind, but for those that hold a named card; all its cards are candidates."""
        named = {node.name for node in self._named}
        found = []
        for kind in self._inventory.kinds:
            nodes = (self._inventory.nodes[name] for name in kind.names if name not in named)
            node = next((node for node in nodes if allows(self._pod, node)), None)
            if node is not None and node.cards:
                found.append(Spot(node, node.cards, kind.numa_sizes))
        return tuple(found)

    def _candidates(self, node: Node) -> tuple[Card, ...]:
        return tuple(
            card
            for card in node.cards
            if (not self._pins or card.uuid in self._pins) and card.uuid not in self._excluded
        )
