"""Who holds what, counted from plain objects alone: the books that the properties keep beside the engine's.

Nothing here asks the engine. A pod's containers are looked at moment by moment, and the largest sum counts.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec

from policy import keys
from policy.facts import NOTHING, UNKNOWN_NUMA, Card, Device, Use

Object = dict[str, Any]
Key = tuple[str, str, str]
"""Kind, namespace and name."""

Photo = Mapping[Key, bytes]
"""Every object of a cluster as it was at one moment."""

Entries = tuple[tuple[Device, ...], ...]

_BOUNDLESS: Final = 1 << 40


def photograph(objects: Iterable[Object]) -> Photo:
    """Keep ``objects`` as they are now."""
    return {_key(each): msgspec.json.encode(each) for each in objects}


def _key(source: Object) -> Key:
    metadata = source["metadata"]
    return source["kind"], metadata.get("namespace", ""), metadata["name"]


@dataclass(frozen=True)
class PodPage:
    """One pod.

    Attributes:
        node: where it holds cards, empty if nowhere.
        sidecars: positions of containers that start early and never end.
        ordinary: positions of init containers that end before the others start.
        entries: what is recorded, as written: a blank one behind the last `;`, fewer where a writer left some out.
        released: whether all ordinary init containers have ended.
        held: UUID -> what counts there.
    """

    uid: str
    namespace: str
    name: str
    node: str
    annotations: Mapping[str, str]
    containers: tuple[str, ...]
    sidecars: frozenset[int]
    ordinary: tuple[int, ...]
    entries: Entries
    released: bool
    terminating: bool
    held: Mapping[str, Use]

    def held_with(self, entries: Entries) -> Mapping[str, Use]:
        """What would count on each card with other entries."""
        return held(entries, len(self.containers), self.sidecars, self.ordinary, released=self.released)


@dataclass(frozen=True)
class NodePage:
    """One node: its cards, and those that take nothing new."""

    cards: tuple[Card, ...]
    cordoned: frozenset[str]


class Books:
    """A whole cluster at one moment."""

    def __init__(self, photo: Photo) -> None:
        pods = [pod_page(data) for (kind, _, _), data in photo.items() if kind == "Pod"]
        self.pods = {pod.uid: pod for pod in pods}
        self.nodes = {name: node_page(data) for (kind, _, name), data in photo.items() if kind == "Node"}
        self.limits: dict[str, Use] = {}
        for (kind, namespace, _), data in photo.items():
            if kind == "ResourceQuota":
                self.limits[namespace] = _lower(self.limits.get(namespace), _limit(data))
        self.on_cards: dict[tuple[str, str], Use] = {}
        self.in_namespaces: dict[str, Use] = {}
        for pod in pods:
            for uuid, amount in pod.held.items():
                self._charge(pod, uuid, amount)

    def _charge(self, pod: PodPage, uuid: str, amount: Use) -> None:
        self.on_cards[pod.node, uuid] = self.on_cards.get((pod.node, uuid), NOTHING) + amount
        self.in_namespaces[pod.namespace] = self.in_namespaces.get(pod.namespace, NOTHING) + amount

    def excess(self) -> Mapping[object, Use]:
        """By how much cards, and namespaces with a quota, hold more than there is of them."""
        room = {(name, card.uuid): whole(card) for name, node in self.nodes.items() for card in node.cards}
        over: dict[object, Use] = {place: beyond(used, room.get(place)) for place, used in self.on_cards.items()}
        for namespace, used in self.in_namespaces.items():
            over[namespace] = beyond(used, self.limits.get(namespace, UNLIMITED))
        return {place: amount for place, amount in over.items() if amount != NOTHING}


UNLIMITED: Final = Use(_BOUNDLESS, _BOUNDLESS, _BOUNDLESS)


def whole(card: Card) -> Use:
    """All that there is of a card."""
    return Use(card.slots, card.memory, card.cores)


def beyond(used: Use, room: Use | None) -> Use:
    """What of ``used`` has no room, each dimension by itself; all of it where there is none."""
    return (used - (room or NOTHING)).peak(NOTHING)


@lru_cache(maxsize=4096)
def pod_page(data: bytes) -> PodPage:
    """Read one pod."""
    source = msgspec.json.decode(data)
    metadata, spec, status = source["metadata"], source["spec"], source.get("status", {})
    annotations = metadata.get("annotations", {})
    inits, apps = spec.get("initContainers", []), spec["containers"]
    sidecars = frozenset(at for at, each in enumerate(inits) if each.get("restartPolicy") == "Always")
    ordinary = tuple(at for at in range(len(inits)) if at not in sidecars)
    ended = {each["name"] for each in status.get("initContainerStatuses", []) if _ended_well(each)}
    released = bool(ordinary) and all(inits[at]["name"] in ended for at in ordinary)
    counts = status.get("phase") not in {"Succeeded", "Failed"}
    node = annotations.get(keys.ASSIGNED_NODE, "") if counts else ""
    entries = read_entries(annotations[keys.ALLOCATED]) if node and keys.ALLOCATED in annotations else ()
    containers = tuple(each["name"] for each in (*inits, *apps))
    return PodPage(
        uid=metadata["uid"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        node=node,
        annotations=annotations,
        containers=containers,
        sidecars=sidecars,
        ordinary=ordinary,
        entries=entries,
        released=released,
        terminating="deletionTimestamp" in metadata,
        held=held(entries, len(containers), sidecars, ordinary, released=released),
    )


def _ended_well(status: Mapping[str, Any]) -> bool:
    return bool(status["state"].get("terminated", {}).get("exitCode") == 0)


def read_entries(value: str) -> Entries:
    """Read the devices of an annotation value, entry by entry, leaving out what is none."""
    return tuple(tuple(_devices(text)) for text in value.split(";"))


def _devices(text: str) -> Iterator[Device]:
    for segment in filter(None, text.split(":")):
        uuid, kind, memory, cores, slots, *_ = [*segment.split(","), "", "", "", ""]
        if uuid and kind and memory.isdecimal() and cores.isdecimal():
            yield Device(uuid, int(memory), int(cores), kind, max(1, int(slots) if slots.isdecimal() else 1))


def held(
    entries: Entries, containers: int, sidecars: frozenset[int], ordinary: Sequence[int], *, released: bool
) -> Mapping[str, Use]:
    placed = _in_place(entries, containers)
    lasting = [at for at in range(len(placed)) if at not in ordinary]
    if not released:
        moments = [[*(side for side in sidecars if side < at), at] for at in ordinary]
        return _largest(_sum(placed, moment) for moment in [*moments, lasting])
    held = _sum(placed, lasting)
    if not held and entries and not entries[-1] and len(entries) <= containers:
        held = _sum(_in_place(entries[:-1], containers), lasting)
    return held


def _in_place(entries: Entries, containers: int) -> Entries:
    while len(entries) > containers and not entries[-1]:
        entries = entries[:-1]
    return ((),) * (containers - len(entries)) + entries


def _sum(entries: Entries, positions: Iterable[int]) -> dict[str, Use]:
    total: dict[str, Use] = {}
    for device in (device for at in positions for device in entries[at]):
        amount = Use(device.slots, device.memory, device.cores)
        total[device.uuid] = total.get(device.uuid, NOTHING) + amount
    return total


def _largest(sums: Iterable[Mapping[str, Use]]) -> dict[str, Use]:
    largest: dict[str, Use] = {}
    for total in sums:
        for uuid, amount in total.items():
            largest[uuid] = largest.get(uuid, NOTHING).peak(amount)
    return largest


@lru_cache(maxsize=4096)
def node_page(data: bytes) -> NodePage:
    """Read one node."""
    annotations = msgspec.json.decode(data)["metadata"]["annotations"]
    try:
        found = json.loads(annotations.get(keys.REGISTER, "[]"))
    except json.JSONDecodeError:
        found = []
    cordoned = annotations.get(keys.CORDON, "").split(",")
    return NodePage(tuple(_card(each) for each in found), frozenset(filter(None, cordoned)))


def _card(item: Mapping[str, Any]) -> Card:
    numa = item.get("numa", 0)
    return Card(
        uuid=item["id"],
        index=item.get("index", 0),
        slots=item["count"],
        memory=item["devmem"],
        cores=item["devcore"],
        type=item["type"],
        numa=UNKNOWN_NUMA if numa < 0 else numa,
        mode=item["mode"],
        healthy=item.get("health", False),
    )


def _limit(data: bytes) -> Use:
    hard = msgspec.json.decode(data)["spec"]["hard"]
    memory, cores = (hard.get(f"limits.nvidia.com/{name}") for name in ("gpumem", "gpucores"))
    return Use(_BOUNDLESS, _amount(memory), _amount(cores))


def _amount(text: str | None) -> int:
    return _BOUNDLESS if text is None else int(text.replace("k", "000"))


def _lower(one: Use | None, other: Use) -> Use:
    if one is None:
        return other
    return Use(_BOUNDLESS, min(one.memory, other.memory), min(one.cores, other.cores))
