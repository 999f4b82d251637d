"""Where a pod could go: eligible and reachable nodes with its candidate cards (docs/admission.md, "Words")."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from policy.facts import UNKNOWN_NUMA, Card, Inventory, Node
from policy.pod import Pod
from policy.scheduling import allows

_COMPARED: Final = 64
_MOST_COMPARISONS: Final = 200_000
"""Of a pod's affinity with nodes: what asks for more is as good as unknown, so that no pod holds up the others."""


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


@dataclass(frozen=True, slots=True)
class Room:
    """The nodes of a cluster as one pod sees them. Made by `survey`; empty for a pod that needs no room.

    Attributes:
        holders: the nodes that hold a card which the pod names, eligible or not.
        eligible: the spots on nodes that the pod's node selector and required affinity allow.
        reachable: the eligible spots with enough candidates.
        has_unread_nodes: whether some node that the pod may go to has cards that could not be read: nobody knows
            what fits there.
        knows_every_card: whether the cards of all nodes could be read, so that a card which is not known is nowhere.
        card_nodes: card UUID -> node name.
    """

    holders: tuple[Spot, ...] = ()
    eligible: tuple[Spot, ...] = ()
    reachable: tuple[Spot, ...] = ()
    has_unread_nodes: bool = False
    knows_every_card: bool = True
    card_nodes: Mapping[str, str] = field(default_factory=dict)

    def node_of(self, uuid: str) -> str | None:
        """The name of the node that holds the card ``uuid``, None if no node does."""
        return self.card_nodes.get(uuid)

    def nearest(self, uuid: str) -> str:
        """The card most like ``uuid`` among those that share half of it, empty if none is like it.

        A slip of the pen leaves one half as it was; comparing every letter with every card of a large cluster would
        hold up other pods.
        """
        wanted, half = uuid.lower(), len(uuid) // 2
        like = {known.lower(): known for known in self.card_nodes}
        near = sorted(known for known in like if known[:half] == wanted[:half] or known[-half:] == wanted[-half:])
        found = get_close_matches(wanted, near[:_COMPARED], n=1, cutoff=0.9)
        return like[found[0]] if found else ""


def survey(inventory: Inventory, pod: Pod, pins: Collection[str], excluded: Collection[str], most: int) -> Room:
    """Look where ``pod`` could go.

    Nodes of one kind look alike to a pod that names none of their cards, so one of them stands for all: the cost
    does not grow with the size of the cluster, but for affinity terms that match nothing.

    Args:
        inventory: the nodes and cards of the cluster.
        pod: asks for GPUs.
        pins: the cards that it names, none for any.
        excluded: the cards that it excludes.
        most: how many candidates a reachable node has at least.
    """
    if _requirements(pod) * len(inventory.nodes) > _MOST_COMPARISONS:
        return Room(has_unread_nodes=True, knows_every_card=False, card_nodes=inventory.card_nodes)
    holders = tuple(Spot.of(node, _candidates(node, pins, excluded)) for node in _holding(inventory, pins, excluded))
    eligible = tuple(spot for spot in holders if allows(pod, spot.node))
    if not pins:
        eligible += tuple(_samples(inventory, pod, {spot.node.name for spot in holders}))
    unread = [kind for kind in inventory.kinds if kind.sample.problem]
    return Room(
        holders=holders,
        eligible=eligible,
        reachable=tuple(spot for spot in eligible if len(spot.candidates) >= most),
        has_unread_nodes=any(allows(pod, inventory.nodes[name]) for kind in unread for name in kind.names),
        knows_every_card=not unread,
        card_nodes=inventory.card_nodes,
    )


def _requirements(pod: Pod) -> int:
    """How many comparisons the pod's node affinity asks for on each node, at most."""
    terms = pod.affinity.get("nodeSelectorTerms")
    if not isinstance(terms, list):
        return 0
    return len(terms) + sum(len(found) for term in terms if isinstance(term, dict) for found in _lists(term))


def _lists(term: Mapping[str, object]) -> Iterator[list[object]]:
    return (found for found in (term.get("matchExpressions"), term.get("matchFields")) if isinstance(found, list))


def _holding(inventory: Inventory, pins: Collection[str], excluded: Collection[str]) -> list[Node]:
    """The nodes that hold a card which the pod names, by name."""
    found = {inventory.card_nodes.get(uuid) for uuid in (*pins, *excluded)}
    return [inventory.nodes[name] for name in sorted(filter(None, found))]


def _candidates(node: Node, pins: Collection[str], excluded: Collection[str]) -> tuple[Card, ...]:
    pinned, refused = frozenset(pins), frozenset(excluded)
    return tuple(card for card in node.cards if (not pins or card.uuid in pinned) and card.uuid not in refused)


def _samples(inventory: Inventory, pod: Pod, named: Collection[str]) -> Iterator[Spot]:
    """One eligible node of each kind, but for those that hold a named card; all its cards are candidates."""
    for kind in inventory.kinds:
        for name in kind.selected(pod.node_selector):
            node = inventory.nodes[name]
            if name not in named and allows(pod, node):
                if node.cards:
                    yield Spot(node, node.cards, kind.numa_sizes)
                break
