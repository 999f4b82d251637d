"""The lives of the pods that hold cards in a cluster, as far as its objects tell when what happened."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from policy.cost.holds import share
from policy.cost.lives import Life
from policy.cost.money import amount
from policy.facts import Reservation
from policy.keys import ASSIGNED_TIME
from policy.membership import gangs
from webhook.cli.quorums import Key, MalformedGroupError, quorums
from webhook.cli.room import Known
from webhook.cluster.moments import moment
from webhook.cluster.objects import kind_of
from webhook.cluster.shapes import mapping, mappings, title

_RUNNING: Final = "Running"


@dataclass(frozen=True, slots=True)
class HeldNow:
    """What a cluster says.

    Attributes:
        lives: UID -> pod.
        problems: what it does not say or says wrongly, one sentence each.
    """

    lives: Mapping[str, Life]
    problems: tuple[str, ...]


def held_now(known: Known) -> HeldNow:
    """Read what pods hold, since when, and whether they have started."""
    problems: list[str] = []
    minima = dict(_minima(known, problems))
    sources = {
        str(mapping(source.get("metadata")).get("uid")): source
        for source in known.cluster.objects()
        if kind_of(source) == "Pod"
    }
    lives = {
        uid: _life(reservation, known, sources.get(uid, {}), minima, problems)
        for state in known.facts.nodes.values()
        for uid, reservation in state.reservations.items()
        if reservation.devices
    }
    return HeldNow(lives, tuple(problems))


def _minima(known: Known, problems: list[str]) -> Iterator[tuple[Key, int | None]]:
    for source in known.cluster.objects():
        try:
            for quorum in quorums(source, "default"):
                yield quorum.key, quorum.minimum
        except MalformedGroupError as error:
            problems.append(f"{title(source)}: {error}; it is left out")


def _life(
    held: Reservation, known: Known, source: Mapping[str, Any], minima: Mapping[Key, int | None], problems: list[str]
) -> Life:
    pod = held.pod
    gang = next(iter(gangs(pod.memberships)), None)
    reserved = _seconds(pod.annotations.get(ASSIGNED_TIME))
    started = _started(mapping(source.get("status")))
    if reserved is None:
        problems.append(f"Pod {pod.title}: {ASSIGNED_TIME} does not say when it was placed; its time is not counted")
    elif started is None and pod.status_phase == _RUNNING:
        problems.append(f"Pod {pod.title}: runs and does not say since when; it counts as started when it was placed")
        started = reserved
    return Life(
        namespace=pod.namespace,
        name=pod.name,
        gpus=_gpus(held, known),
        group=gang.name if gang else "",
        members=minima.get((pod.namespace, gang.system, gang.name)) if gang else None,
        kind=str(mapping(source.get("spec")).get("priorityClassName") or ""),
        created=_exact(moment(mapping(source.get("metadata")).get("creationTimestamp"))),
        reserved=reserved,
        started=started,
    )


def _gpus(held: Reservation, known: Known) -> Fraction:
    """Return how much of cards a pod holds: of each the larger part of its memory and its cores."""
    node = known.facts.inventory.nodes.get(held.node)
    cards = {card.uuid: card for card in node.cards} if node else {}
    return sum((share(use, cards[uuid]).dominant for uuid, use in held.devices.items() if uuid in cards), Fraction(0))


def _seconds(text: str | None) -> Fraction | None:
    """Read HAMi's time of placement, in seconds since the epoch."""
    return Fraction(int(text)) if text and text.isascii() and text.isdigit() and len(text) < _LONG else None


_LONG: Final = 12


def _started(status: Mapping[str, Any]) -> Fraction | None:
    """Return when a pod became ready, else when the last of its containers that run was started."""
    for condition in mappings(status.get("conditions")):
        if condition.get("type") == "Ready" and condition.get("status") == "True":
            at = moment(condition.get("lastTransitionTime"))
            if at is not None:
                return amount(at)
    states = (mapping(each.get("state")) for each in mappings(status.get("containerStatuses")))
    begun = [moment(mapping(state.get("running")).get("startedAt")) for state in states]
    return None if not begun or None in begun else _exact(max(at for at in begun if at is not None))


def _exact(at: float | None) -> Fraction | None:
    return None if at is None else amount(at)
