"""What cards of a node could serve a container, worked out from the books alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from policy import keys
from policy.facts import NOTHING, Card, Device, Use
from tests.properties.exhaustive import choices, has_room, within
from tests.properties.ledger import UNLIMITED, Books, Entries, NodePage, PodPage

Choices = frozenset[frozenset[str]]

_TRUE: Final = frozenset({"1", "t", "true"})


@dataclass(frozen=True)
class Claim:
    """One container's claim on cards of a node.

    Attributes:
        pod: it, with whatever it holds now, which is free for it to have.
        node: where the cards are.
        entries: what the pod's other containers have there.
        position: the container.
        share: says what the container takes of a card.
    """

    books: Books
    pod: PodPage
    node: str
    entries: Entries
    position: int
    share: Callable[[Card], Device]

    def choices(self, nums: int, offered: Sequence[Card]) -> Choices:
        """Each set of ``nums`` of the cards offered that would do."""
        bind = is_bound(self.pod.annotations)
        return frozenset(choices(offered, nums, bind=bind, takes=self._takes, affords=self._affords))

    def _held_on(self, cards: Sequence[Card]) -> Mapping[str, Use]:
        entry = tuple(map(self.share, cards))
        return self.pod.held_with((*self.entries[: self.position], entry, *self.entries[self.position + 1 :]))

    def _takes(self, card: Card) -> bool:
        own = self.pod.held.get(card.uuid, NOTHING) if self.pod.node == self.node else NOTHING
        others = self.books.on_cards.get((self.node, card.uuid), NOTHING) - own
        device = self.share(card)
        share = Use(device.slots, device.memory, device.cores)
        beside = (others + self._held_on([card]).get(card.uuid, NOTHING) - share).peak(others)
        mutex = "mutex" in self.pod.annotations.get(keys.GPU_POLICY, "")
        is_open = is_usable(card, self.books.nodes[self.node], self.pod.annotations)
        return is_open and has_room(card, beside, share, mutex=mutex)

    def _affords(self, cards: Sequence[Card]) -> bool:
        namespace = self.pod.namespace
        others = self.books.in_namespaces.get(namespace, NOTHING) - sum(self.pod.held.values(), NOTHING)
        need = sum(self._held_on(cards).values(), NOTHING)
        return within(self.books.limits.get(namespace, UNLIMITED), others, need)


def is_usable(card: Card, node: NodePage, annotations: Mapping[str, str]) -> bool:
    """Tell whether a pod may have a new share of a card, whatever is left of it."""
    pins, barred = (_listed(annotations, key) for key in (keys.USE_UUID, keys.NOUSE_UUID))
    is_meant = (not pins or card.uuid in pins) and card.uuid not in barred
    return is_meant and card.healthy and card.mode != "mig" and card.uuid not in node.cordoned


def _listed(annotations: Mapping[str, str], key: str) -> set[str]:
    return {item.strip() for item in annotations.get(key, "").split(",")} - {""}


def is_bound(annotations: Mapping[str, str]) -> bool:
    """Tell whether a pod wants a container's cards from one NUMA node."""
    return annotations.get(keys.NUMA_BIND) in _TRUE
