"""What happens to pods and nodes from outside, and the requests that device plugins send, odd ones too."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from policy import keys
from tests.properties.ledger import Object, PodPage, read_entries
from tests.properties.shapes import NodeShape

Request = Mapping[str, Any]


def pending(pod: PodPage) -> list[int]:
    """The containers whose cards wait to be handed over."""
    entries = read_entries(pod.annotations.get(keys.TO_ALLOCATE, ""))
    return [at for at, entry in enumerate(entries) if entry]


def is_pending(pod: PodPage) -> bool:
    """Tell whether a pod's cards wait to be handed over."""
    return bool(pod.node and pending(pod))


def is_servable(pod: PodPage) -> bool:
    """Tell whether the device plugin can hand over cards; it gives up on a value that it cannot read."""
    return is_pending(pod) and "many" not in pod.annotations[keys.TO_ALLOCATE]


def refit_request(pod: PodPage, number: int, allowed: Sequence[str]) -> Request:
    """What the device plugin of a pod's node asks; each second time the cards of now are not left."""
    position = pending(pod)[number % len(pending(pod))]
    current = {device.uuid for device in pod.entries[position]} if position < len(pod.entries) else set()
    left = [uuid for uuid in allowed if number % 2 or uuid not in current]
    return {
        "podUID": pod.uid,
        "podNamespace": pod.namespace,
        "podName": pod.name,
        "nodeName": pod.node,
        "containerIndex": position,
        "containerName": pod.containers[position] if position < len(pod.containers) and number % 3 else "",
        "deviceType": "NVIDIA",
        "allowedDeviceUUIDs": left,
    }


def _with(**fields: object) -> Callable[[Request, PodPage], Request]:
    return lambda request, _: {**request, **fields}


def _as_replicas(request: Request, _: PodPage) -> Request:
    return {**request, "allowedDeviceUUIDs": [f"{uuid}::1" for uuid in request["allowedDeviceUUIDs"]]}


def _also_the_current_cards(request: Request, pod: PodPage) -> Request:
    current = [device.uuid for entry in pod.entries for device in entry]
    return {**request, "allowedDeviceUUIDs": [*request["allowedDeviceUUIDs"], *current]}


def _each_twice(request: Request, _: PodPage) -> Request:
    return {**request, "allowedDeviceUUIDs": [*request["allowedDeviceUUIDs"]] * 2}


ODDITIES: Final[Mapping[str, Callable[[Request, PodPage], Request]]] = {
    **{f"nothing {time}": _with() for time in range(24)},
    "ids of replicas": _as_replicas,
    "also the current cards": _also_the_current_cards,
    "each card twice": _each_twice,
    "another pod's name": _with(podName="p0"),
    "another namespace": _with(podNamespace="else"),
    "another node": _with(nodeName="gone"),
    "an unknown UID": _with(podUID="uid-p0"),
    "another container's name": _with(containerName="c9"),
    "the first container": _with(containerIndex=0, containerName=""),
    "a container too many": _with(containerIndex=9),
    "a negative container": _with(containerIndex=-1),
}


def _ended(source: Object, pod: PodPage, phase: str, code: int) -> Object:
    """Init containers ended, which takes a pod that runs on its node."""
    if not pod.node:
        return source
    inits = [each["name"] for each in source["spec"]["initContainers"] if "restartPolicy" not in each]
    statuses = [{"name": name, "state": {"terminated": {"exitCode": code}}} for name in inits]
    spec = {**source["spec"], "nodeName": pod.node}
    return {**source, "spec": spec, "status": {"phase": phase, "initContainerStatuses": statuses}}


def _annotated(source: Object, **changes: str) -> Object:
    metadata = source["metadata"]
    return {**source, "metadata": {**metadata, "annotations": {**metadata["annotations"], **changes}}}


def _longer(source: Object, pod: PodPage) -> Object:
    """A `;` more behind the values, as the device plugin leaves them."""
    held = {key: pod.annotations[key] + ";" for key in (keys.TO_ALLOCATE, keys.ALLOCATED) if key in pod.annotations}
    return _annotated(source, **held)


def _noted(source: Object, _: PodPage) -> Object:
    return _annotated(source, note=source["metadata"]["resourceVersion"])


def _swapped(source: Object, pod: PodPage) -> Object:
    """Other cards in both values, whether or not there was room: the annotations are the record."""
    held = {
        key: re.sub(r"(GPU-n[12])-(\d)", lambda found: f"{found[1]}-{(int(found[2]) + 1) % 3}", pod.annotations[key])
        for key in (keys.TO_ALLOCATE, keys.ALLOCATED)
        if key in pod.annotations
    }
    return _annotated(source, **held)


POD_CHANGES: Final[Mapping[str, Callable[[Object, PodPage], Object]]] = {
    "somebody noted something": _noted,
    "somebody noted something else": _noted,
    "its values got longer": _longer,
    "somebody swapped its cards": _swapped,
    "its init containers ended": lambda source, pod: _ended(source, pod, "Running", 0),
    "its init containers failed": lambda source, pod: _ended(source, pod, "Pending", 1),
    "it succeeded": lambda source, pod: _ended(source, pod, "Succeeded", 0),
    "it failed": lambda source, _: {**source, "status": {"phase": "Failed"}},
    "it is being deleted": lambda source, _: {
        **source,
        "metadata": {**source["metadata"], "deletionTimestamp": "2026-11-30T10:00:00Z"},
    },
}


def _toggle(name: str) -> Callable[[NodeShape, int], None]:
    return lambda node, index: getattr(node, name).symmetric_difference_update({index})


def _cut_off(node: NodeShape, _: int) -> None:
    node.unreadable = True


def _recover(node: NodeShape, _: int) -> None:
    node.unreadable = False
    for cards in (node.lost, node.sick, node.cut, node.cordoned):
        cards.clear()


NODE_CHANGES: Final[Mapping[str, Callable[[NodeShape, int], None]]] = {
    **{f"all is well {time}": _recover for time in range(4)},
    "a card is lost or found": _toggle("lost"),
    "a card falls ill or recovers": _toggle("sick"),
    "a card is cut into instances or whole again": _toggle("cut"),
    "a card is cordoned or not": _toggle("cordoned"),
    "its register value is cut off": _cut_off,
}
