"""What a refit does to a reservation: other cards, the same amounts, everything else where it was."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from policy.facts import NOTHING, Card, Device, Entry, Facts, Node, Reservation, Use
from policy.hami import reasons as words
from policy.hami.annotations import AnnotationError
from policy.hami.codec import encode_entry, splice
from policy.hami.request import HamiConfig, Request
from policy.hami.usage import align
from policy.keys import ALLOCATED, TO_ALLOCATE
from policy.placement.fit import MIG_MODE, Fit, fit_node
from policy.placement.order import Order
from policy.placement.refit_request import Refused
from policy.placement.rules import Budget, Layout, Rules

_SHORTFALLS_NAMED: Final = 4


@dataclass(frozen=True, slots=True)
class Moved:
    """The container's cards are to become others.

    Attributes:
        container_devices: the container's new entry, as the device plugin reads it.
        annotations: the pod's two device annotations as they are to be, to be written in one change.
        reservation: what the pod holds then.
        old: UUIDs before.
        new: UUIDs after, as many.
        message: for the event.
    """

    container_devices: str
    annotations: Mapping[str, str]
    reservation: Reservation
    old: tuple[str, ...]
    new: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class Move:
    """What is to be moved: the entry ``current`` at ``position`` of what ``reservation`` records."""

    position: int
    reservation: Reservation
    layout: Layout
    current: Entry
    allowed: frozenset[str]

    def onto(self, uuid: str) -> Device:
        """Return the container's share of one card, laid on another."""
        share = self.current[0]
        return Device(uuid, share.memory, share.cores, share.type, share.slots)


def carry_out(move: Move, facts: Facts, config: HamiConfig, order: Order) -> Moved | Refused:
    """Find the allowed cards that can take ``move``, and say what becomes of the reservation on them."""
    if len({replace(device, uuid="") for device in move.current}) > 1:
        reason = f"container {move.position} reserves different amounts on each card; such cards are not moved"
        return Refused("refit-uneven-reservation", reason, event=True)
    name, node = move.reservation.node, facts.nodes[move.reservation.node].node
    if node is None or node.problem:
        reason = f"the cards of node {name} are not known: {node.problem if node else words.NODE_UNREGISTERED}"
        return Refused("refit-node-unavailable", reason, event=True)
    cards = [card for card in node.cards if card.uuid in move.allowed]
    mig = next((card for card in cards if card.mode == MIG_MODE), None)
    if mig is not None:
        reason = f"allowed card {mig.uuid} is in MIG mode; MIG cards are not refitted"
        return Refused("refit-mig-card", reason, event=True)
    try:
        rules = _rules(move, node, facts, config)
    except AnnotationError as error:
        return Refused("refit-weights-invalid", str(error), event=True)
    return _fitted(move, cards, _use_without(move, cards, facts), rules, order)


def _rules(move: Move, node: Node, facts: Facts, config: HamiConfig) -> Rules:
    pod = move.reservation.pod
    budget = Budget(
        quota=facts.quotas.get(pod.namespace),
        used=facts.quota_use.get(pod.namespace, NOTHING) - move.reservation.total,
        memory_factor=config.memory_factor,
        layout=move.layout,
        position=move.position,
    )
    return Rules.of(pod.annotations, config.default_gpu_policy).on(node, move.allowed).within(budget)


def _use_without(move: Move, cards: Sequence[Card], facts: Facts) -> Mapping[str, Use]:
    """Return what is taken of each card besides the container, so that its share fits where the pod would fit.

    Phases overlap, so a container's amount is not what its pod would hold less: on each card it is what the
    pod would hold with the container there, less the amount (docs/decisions.md 8).
    """
    held = facts.nodes[move.reservation.node].use
    own = move.reservation.devices
    use: dict[str, Use] = {}
    for card in cards:
        others = held.get(card.uuid, NOTHING) - own.get(card.uuid, NOTHING)
        share = move.onto(card.uuid)
        moved = move.layout.with_entry(move.position, (share,)).use().get(card.uuid, NOTHING)
        use[card.uuid] = (others + moved - Use(share.slots, share.memory, share.cores)).peak(others)
    return use


def _fitted(move: Move, cards: Sequence[Card], use: Mapping[str, Use], rules: Rules, order: Order) -> Moved | Refused:
    share = move.current[0]
    request = Request(len(move.current), memory=share.memory, cores=share.cores)
    # One share is what the fit takes of a card; those beyond it are not there to be had, yet nobody uses them.
    smaller = [replace(card, slots=card.slots - (share.slots - 1)) for card in cards]
    found = fit_node(request, smaller, use, rules, order)
    if found.picks is None:
        return _no_fit(found, request, cards, use)
    new = tuple(move.onto(device.uuid) for device in found.picks)
    return _moved(move, new)


def _no_fit(found: Fit, request: Request, cards: Sequence[Card], use: Mapping[str, Use]) -> Refused:
    if found.token == words.ALLOWED_DEVICE_SET_UNMATCHED:
        reason = f"none of the allowed ids is a card of the node (UUIDs, not replica ids): {found.text}"
        return Refused("refit-allowed-unmatched", reason, event=True)
    code = "refit-quota" if words.RESOURCE_QUOTA_NOT_FIT in found.counts else "refit-no-fit"
    named = _shortfalls(found, request, cards, use)
    return Refused(
        code, f"the allowed cards cannot take the reservation: {found.text}{f' ({named})' if named else ''}", event=True
    )


def _shortfalls(found: Fit, request: Request, cards: Sequence[Card], use: Mapping[str, Use]) -> str:
    texts = []
    for card in cards:
        reason, held = found.reasons.get(card.uuid), use[card.uuid]
        if reason == words.CARD_INSUFFICIENT_MEMORY:
            texts.append(f"{card.uuid}: {request.memory} MiB needed, {card.memory - held.memory} free")
        if reason == words.CARD_INSUFFICIENT_CORE:
            texts.append(f"{card.uuid}: {request.cores} % of cores needed, {card.cores - held.cores} free")
    more = len(texts) - _SHORTFALLS_NAMED
    return "; ".join(texts[:_SHORTFALLS_NAMED] + ([f"and {more} more"] if more > 0 else []))


def _moved(move: Move, new: Entry) -> Moved:
    text = encode_entry(new)
    layout = move.layout.with_entry(move.position, new)
    old_ids = tuple(device.uuid for device in move.current)
    new_ids = tuple(device.uuid for device in new)
    annotations = {
        key: splice(move.reservation.pod.annotations[key], move.position, text) for key in (TO_ALLOCATE, ALLOCATED)
    }
    return Moved(
        container_devices=text,
        annotations=annotations,
        reservation=_reservation(move.reservation, layout, annotations),
        old=old_ids,
        new=new_ids,
        message=f"Refit: container {move.position} went from [{' '.join(old_ids)}] to [{' '.join(new_ids)}]",
    )


def _reservation(before: Reservation, layout: Layout, annotations: Mapping[str, str]) -> Reservation:
    pod = replace(before.pod, annotations={**before.pod.annotations, **annotations})
    entries = align(layout.entries, len(pod.containers))
    return replace(before, pod=pod, entries=entries, devices=layout.use())
