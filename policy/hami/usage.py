"""What a pod holds on each card, by the phases in which its containers run (docs/decisions.md 8)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat

from policy.facts import NOTHING, Entry, Reservation, Use
from policy.hami.codec import decode_readable
from policy.keys import ALLOCATED, ASSIGNED_NODE
from policy.pod import Phase, Pod


def align(entries: Sequence[Entry], containers: int) -> tuple[Entry, ...]:
    """Give each of ``containers`` its entry.

    Readers count the text behind the last `;` as a blank entry, so trailing blanks that belong to nobody are
    dropped; older writers left out blank entries in front, so what is missing is filled in there. Entries with
    devices beyond the last container stay (HAMi: alignment of the allocated value).
    """
    kept = list(entries)
    while len(kept) > containers and not kept[-1]:
        kept.pop()
    return ((),) * (containers - len(kept)) + tuple(kept)


def effective(entries: Sequence[Entry], phases: Sequence[Phase]) -> Mapping[str, Use]:
    """Return card UUID -> the most that a pod ever holds there at one time, from start to end.

    Shares, memory and cores are each taken at their own peak. Devices of no container count as an app's.

    Args:
        entries: of an allocated value, as decoded.
        phases: of the pod's containers, init containers (sidecars among them) first.
    """
    running: dict[str, Use] = {}
    peak: dict[str, Use] = {}
    for entry, phase in _phased(align(entries, len(phases)), phases):
        if phase is Phase.INIT:
            _raise(peak, _plus(running, entry))
        else:
            running = _plus(running, entry)
    _raise(peak, running)
    return dict(sorted(peak.items()))


def steady(entries: Sequence[Entry], phases: Sequence[Phase]) -> Mapping[str, Use]:
    """Return card UUID -> what a pod holds there once its ordinary init containers have ended.

    Older writers left out the blank entries of containers without a GPU. Where the entries, taken as they are,
    leave nothing to the containers that still run, and the last one is blank, it is taken for the text behind
    the last `;` and the others move up to the last containers (HAMi: steady state). A value with one entry more
    than there are containers is complete and moves nowhere: an init container's card is free again.
    """
    use = _still_running(entries, phases)
    if use or not entries or entries[-1] or len(entries) > len(phases):
        return use
    return _still_running(entries[:-1], phases)


def reserve(pod: Pod) -> Reservation | None:
    """Return what ``pod`` holds, None if it holds nothing.

    Counted are pods that the scheduler gave a node and that are not over; one that is being deleted holds its
    cards until it is gone (HAMi: pod cache). What of the value cannot be read is reported in the reservation,
    the rest is counted (docs/decisions.md 7).
    """
    node = pod.annotations.get(ASSIGNED_NODE)
    if not node or pod.is_over:
        return None
    value = pod.annotations.get(ALLOCATED)
    entries, problem = ((), "") if value is None else decode_readable(value)
    phases = [container.phase for container in pod.containers]
    released = _init_ended(pod)
    return Reservation(
        pod=pod,
        node=node,
        entries=align(entries, len(phases)),
        devices=steady(entries, phases) if released else effective(entries, phases),
        init_released=released,
        problem=problem,
    )


def _init_ended(pod: Pod) -> bool:
    ordinary = [container.ended for container in pod.containers if container.phase is Phase.INIT]
    return bool(ordinary) and all(ordinary)


def _still_running(entries: Sequence[Entry], phases: Sequence[Phase]) -> dict[str, Use]:
    use: dict[str, Use] = {}
    for entry, phase in _phased(align(entries, len(phases)), phases):
        if phase is not Phase.INIT:
            use = _plus(use, entry)
    return dict(sorted(use.items()))


def _phased(entries: Sequence[Entry], phases: Sequence[Phase]) -> Iterator[tuple[Entry, Phase]]:
    return zip(entries, chain(phases, repeat(Phase.APP)), strict=False)


def _plus(use: Mapping[str, Use], entry: Entry) -> dict[str, Use]:
    added = dict(use)
    for device in entry:
        amount = Use(device.slots, device.memory, device.cores)
        added[device.uuid] = added.get(device.uuid, NOTHING) + amount
    return added


def _raise(peak: dict[str, Use], use: Mapping[str, Use]) -> None:
    for uuid, amount in use.items():
        peak[uuid] = peak.get(uuid, NOTHING).peak(amount)
