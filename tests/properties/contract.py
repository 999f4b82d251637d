"""What an operation may do to a cluster, judged from photographs before and after and from the books alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from policy import keys
from policy.facts import Card, Device
from tests.properties.claims import Choices, Claim, is_bound, is_usable
from tests.properties.ledger import Books, Entries, Photo, PodPage, read_entries
from tests.properties.shapes import Wanted

_DEVICES: Final = (keys.TO_ALLOCATE, keys.ALLOCATED)


@dataclass(frozen=True)
class Due:
    """What a refit must answer: `kept`, `refused`, or `moved` to one of the sets of cards."""

    verdict: str
    onto: Choices = frozenset()


REFUSED: Final = Due("refused")


def due(books: Books, request: Mapping[str, Any]) -> Due:
    """Say what a well-formed refit request must be answered."""
    pod, position, allowed = books.pods.get(request["podUID"]), request["containerIndex"], request["allowedDeviceUUIDs"]
    if pod is None or not pod.node or pod.terminating or not allowed:
        return REFUSED
    meant = pod.namespace, pod.name, pod.node
    if meant != (request["podNamespace"], request["podName"], request["nodeName"]):
        return REFUSED
    if not 0 <= position < len(pod.containers):
        return REFUSED
    if request.get("containerName", "") not in {"", pod.containers[position]}:
        return REFUSED
    pending = pod.annotations.get(keys.TO_ALLOCATE, "")
    if not (_is_whole(pending) and _is_whole(pod.annotations.get(keys.ALLOCATED, ""))):
        return REFUSED
    current = _at(pod.entries, position)
    if not current or not _at(read_entries(pending), position):
        return REFUSED
    if all(device.uuid in allowed for device in current):
        return Due("kept")
    onto = _moves(books, pod, position, allowed) if _is_movable(books, pod, current, allowed) else None
    return Due("moved", onto) if onto else REFUSED


def _is_whole(value: str) -> bool:
    """Tell whether everything in a value can be read."""
    segments = sum(bool(segment) for text in value.split(";") for segment in text.split(":"))
    return segments == sum(len(entry) for entry in read_entries(value))


def _at(entries: Entries, position: int) -> tuple[Device, ...]:
    return entries[position] if position < len(entries) else ()


def _is_movable(books: Books, pod: PodPage, current: Sequence[Device], allowed: Sequence[str]) -> bool:
    node = books.nodes.get(pod.node)
    is_even = len({replace(device, uuid="") for device in current}) == 1
    is_mig = any(card.mode == "mig" for card in (node.cards if node else ()) if card.uuid in allowed)
    return is_even and node is not None and not is_mig and _has_good_weights(pod.annotations)


def _has_good_weights(annotations: Mapping[str, str]) -> bool:
    return annotations.get(keys.SCORING_WEIGHTS, "slot,core,memory").count(",") == 2


def _moves(books: Books, pod: PodPage, position: int, allowed: Sequence[str]) -> Choices:
    current = pod.entries[position]

    def share(card: Card) -> Device:
        return replace(current[0], uuid=card.uuid)

    claim = Claim(books, pod, pod.node, pod.entries, position, share)
    return claim.choices(len(current), [card for card in books.nodes[pod.node].cards if card.uuid in allowed])


def places(books: Books, pod: PodPage, wanted: Sequence[Wanted], name: str) -> Choices | None:
    """Say which sets of a node's cards could serve a pod in which one container asks; None if several do."""
    asking = [at for at, each in enumerate(wanted) if each.cards]
    if len(asking) != 1:
        return None
    node, each = books.nodes.get(name), wanted[asking[0]]
    if node is None or not _has_good_weights(pod.annotations):
        return frozenset()

    def share(card: Card) -> Device:
        return Device(card.uuid, each.memory(card.memory), each.cores)

    return Claim(books, pod, name, ((),) * len(wanted), asking[0], share).choices(each.cards, node.cards)


def check_only(before: Photo, after: Photo, pod: PodPage, allowed: set[str]) -> None:
    """Check that of the whole cluster nothing changed but these fields of one pod, as JSON pointers without `/`."""
    key = "Pod", pod.namespace, pod.name
    assert {**after, key: b""} == {**before, key: b""}, "other objects changed"
    old, new = (_fields(msgspec.json.decode(photo[key])) for photo in (before, after))
    changed = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    assert changed <= {*allowed, "metadata resourceVersion"}, changed


def _fields(source: Mapping[str, Any]) -> Mapping[str, object]:
    fields: dict[str, object] = {}
    for name, value in source.items():
        for inner, part in value.items() if name in {"metadata", "spec"} else [("", value)]:
            deep = part.items() if inner in {"annotations", "labels"} else [("", part)]
            fields |= {" ".join(filter(None, (name, inner, key))): leaf for key, leaf in deep}
    return fields


def check_moved(before: Photo, after: Photo, request: Mapping[str, Any], answer: str, onto: Choices | None) -> None:
    """Check that a move changed one entry of both values into the answer, and nothing else at all."""
    old = Books(before).pods[request["podUID"]]
    new, position = Books(after).pods[old.uid], request["containerIndex"]
    check_only(before, after, old, {f"metadata annotations {key}" for key in _DEVICES})
    for key in _DEVICES:
        texts = old.annotations[key].split(";")
        texts[position] = answer
        assert new.annotations[key] == ";".join(texts)
    taken = [device.uuid for device in new.entries[position]]
    assert len(set(taken)) == len(taken) == len(old.entries[position])
    assert set(taken) <= set(request["allowedDeviceUUIDs"])
    assert [replace(device, uuid="") for device in new.entries[position]] == [
        replace(device, uuid="") for device in old.entries[position]
    ]
    assert onto is None or frozenset(taken) in onto


def check_placed(books: Books, pod: PodPage, wanted: Sequence[Wanted]) -> None:
    """Check that each container got what it asks for, on different cards that it may have."""
    node = books.nodes[pod.node]
    by_uuid = {card.uuid: card for card in node.cards}
    assert pod.annotations[keys.TO_ALLOCATE] == pod.annotations[keys.ALLOCATED]
    assert len(pod.entries) == len(wanted) + 1
    for each, entry in zip(wanted, pod.entries, strict=False):
        cards = [by_uuid[device.uuid] for device in entry]
        assert len({card.uuid for card in cards}) == len(cards) == each.cards
        assert all(is_usable(card, node, pod.annotations) for card in cards)
        assert entry == tuple(Device(card.uuid, each.memory(card.memory), each.cores) for card in cards)
        if is_bound(pod.annotations) and len(cards) > 1:
            (numa,) = {card.numa for card in cards}
            assert numa >= 0
