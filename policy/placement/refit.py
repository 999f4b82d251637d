"""Moving one container's reservation to cards that kubelet left it.

The checks and their order are HAMi's (HAMi: NUMA refit); what is released, charged and kept in its position
follows docs/decisions.md 3, 8 and 9. The decision is a value: whoever calls commits it.
"""

from dataclasses import dataclass

from policy.facts import Entry, Facts, Reservation
from policy.hami.codec import CodecError, decode, encode_entry
from policy.hami.errors import shown
from policy.hami.request import HamiConfig
from policy.keys import ALLOCATED, TO_ALLOCATE
from policy.placement.move import Move, Moved, carry_out
from policy.placement.order import Order
from policy.placement.refit_request import (
    MAX_ALLOWED,
    REFIT_CODES,
    RefitRequest,
    Refused,
    check_request,
)
from policy.placement.rules import Layout

__all__ = [
    "MAX_ALLOWED",
    "REFIT_CODES",
    "Kept",
    "Moved",
    "RefitRequest",
    "Refused",
    "check_request",
    "decide",
]


@dataclass(frozen=True, slots=True)
class Kept:
    """The container's cards are allowed already: nothing is written (docs/decisions.md 9)."""

    container_devices: str


def decide(request: RefitRequest, facts: Facts, config: HamiConfig, order: Order) -> Kept | Moved | Refused:
    """Decide ``request`` on ``facts``, in time that does not depend on the cluster's other nodes."""
    refused = check_request(request)
    if refused is not None:
        return refused
    reservation = facts.reservation(request.pod_uid)
    if reservation is None or reservation.pod.terminating or reservation.pod.is_over:
        reason = f"pod {shown(request.pod_uid)} holds no reservation; only a pod that is placed can be refitted"
        return Refused("refit-pod-unknown", reason, event=False)
    refused = _misaddressed(request, reservation)
    if refused is not None:
        return refused
    found = _recorded(request.container_index, reservation)
    if isinstance(found, Refused):
        return found
    current = found.entries[request.container_index]
    allowed = frozenset(request.allowed)
    if all(device.uuid in allowed for device in current):
        return Kept(encode_entry(current))
    return carry_out(Move(request.container_index, reservation, found, current, allowed), facts, config, order)


def _misaddressed(request: RefitRequest, reservation: Reservation) -> Refused | None:
    pod, position = reservation.pod, request.container_index
    if (pod.namespace, pod.name) != (request.pod_namespace, request.pod_name):
        reason = (
            f"pod {shown(request.pod_uid)} is {pod.title}, not {shown(f'{request.pod_namespace}/{request.pod_name}')}"
        )
        return Refused("refit-identity-mismatch", reason, event=False)
    if reservation.node != request.node_name:
        reason = f"{pod.title} is placed on node {reservation.node}, not on {shown(request.node_name)}"
        return Refused("refit-node-mismatch", reason, event=True)
    if not 0 <= position < len(pod.containers):
        reason = f"container index is {position}; {pod.title} has 0 to {len(pod.containers) - 1}"
        return Refused("refit-container-index", reason, event=True)
    name = pod.containers[position].name
    if request.container_name not in {"", name}:
        reason = f'container {position} of {pod.title} is "{name}", not {shown(request.container_name)}'
        return Refused("refit-container-name", reason, event=True)
    return None


def _recorded(position: int, reservation: Reservation) -> Layout | Refused:
    pod = reservation.pod
    entries: dict[str, tuple[Entry, ...]] = {}
    for key in (TO_ALLOCATE, ALLOCATED):
        try:
            entries[key] = decode(pod.annotations.get(key, ""))
        except CodecError as error:
            return Refused("refit-annotation-unreadable", f"{key} cannot be read: {error}", event=True)
    if not _entry(entries[TO_ALLOCATE], position):
        reason = f"container {position} has no cards pending in {TO_ALLOCATE}; there is nothing to refit"
        return Refused("refit-nothing-pending", reason, event=True)
    if not _entry(entries[ALLOCATED], position):
        reason = f"container {position} has no cards recorded in {ALLOCATED}; there is nothing to move"
        return Refused("refit-nothing-recorded", reason, event=True)
    phases = [container.phase for container in pod.containers]
    return Layout(entries[ALLOCATED], phases, reservation.init_released)


def _entry(entries: tuple[Entry, ...], position: int) -> Entry:
    return entries[position] if position < len(entries) else ()
