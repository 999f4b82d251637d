"""Who holds cards now without computing, read from facts: placed pods that do not run yet.

HAMi reserves when it filters and writes the time; a pod that is rejected later keeps its cards in HAMi's book until
it is filtered again or gone, so the hold begins there and not with the binding (HAMi: filter, `hami.io/vgpu-time`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from policy.cost.holds import Hold, Share, share
from policy.facts import Facts, Node, Reservation
from policy.hami.golang import MAX_INT64, go_int
from policy.keys import ASSIGNED_TIME

_RUNNING = "Running"


class Charge(StrEnum):
    """Which part of a card a share of it counts as."""

    MEMORY = "memory"
    CORES = "cores"
    DOMINANT = "dominant"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pod that holds cards and does not run.

    Attributes:
        reservation: the pod and what it holds.
        cards: how much that is, in cards.
        since: seconds since the epoch; None where its annotation does not say.
        bound: whether it has a node to run on, or is only in HAMi's book.
    """

    reservation: Reservation
    cards: Fraction
    since: int | None
    bound: bool

    def hold(self, now: Fraction) -> Hold | None:
        """Return what it has held until ``now``, None where nobody knows since when."""
        return None if self.since is None else Hold(1, self.cards, Fraction(self.since), now)


def waiting(facts: Facts, charge: Charge = Charge.DOMINANT) -> tuple[Waiting, ...]:
    """Return who holds cards without running, the longest first; those of unknown age at the end."""
    found = (each for state in facts.nodes.values() for each in _on_node(state.node, state.reservations, charge))
    return tuple(sorted(found, key=_age))


def _age(one: Waiting) -> tuple[bool, int, str]:
    return one.since is None, one.since or 0, one.reservation.pod.title


def _on_node(node: Node | None, reservations: Mapping[str, Reservation], charge: Charge) -> Iterator[Waiting]:
    for held in reservations.values():
        pod = held.pod
        if node is not None and pod.status_phase != _RUNNING and held.devices:
            since = go_int(pod.annotations.get(ASSIGNED_TIME, ""), MAX_INT64)
            yield Waiting(held, _cards(held, node, charge), since, bool(pod.node_name))


def _cards(held: Reservation, node: Node, charge: Charge) -> Fraction:
    cards = {card.uuid: card for card in node.cards}
    parts = (share(use, cards[uuid]) for uuid, use in held.devices.items() if uuid in cards)
    return sum((_part(part, charge) for part in parts), Fraction(0))


def _part(part: Share, charge: Charge) -> Fraction:
    return {Charge.MEMORY: part.memory, Charge.CORES: part.cores, Charge.DOMINANT: part.dominant}[charge]
