"""What a placed pod holds: which card, on which NUMA node, and whether kubelet has handed it over."""

from collections.abc import Iterator
from dataclasses import dataclass

from policy.facts import Card, Device, Facts, Reservation
from policy.hami.codec import decode_readable
from policy.hami.usage import align
from policy.keys import TO_ALLOCATE


@dataclass(frozen=True, slots=True)
class Holding:
    """A container's part of a card.

    Attributes:
        container: its name, empty for an entry that belongs to no container.
        card: None if the node registers no such card any more.
        pending: whether it still waits to be handed over.
    """

    container: str
    device: Device
    card: Card | None
    pending: bool


def holdings(reservation: Reservation, facts: Facts) -> tuple[Holding, ...]:
    """Everything that a pod holds, by NUMA node."""
    return tuple(sorted(_held(reservation, facts), key=lambda one: one.card.numa if one.card else -1))


def _held(reservation: Reservation, facts: Facts) -> Iterator[Holding]:
    pod = reservation.pod
    node = facts.inventory.nodes.get(reservation.node)
    cards = {card.uuid: card for card in node.cards} if node else {}
    waiting, _ = decode_readable(pod.annotations.get(TO_ALLOCATE, ""))
    pending = align(waiting, len(pod.containers))
    for position, entry in enumerate(reservation.entries):
        name = pod.containers[position].name if position < len(pod.containers) else ""
        for device in entry:
            is_pending = position < len(pending) and bool(pending[position])
            yield Holding(name, device, cards.get(device.uuid), is_pending)
