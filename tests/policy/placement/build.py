"""Small clusters for the tests of placement: one node, cards named by their last letter, pods by hand."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from policy.facts import Card, Device, Facts, Node, Quota, Reservation, gather
from policy.hami.codec import encode
from policy.hami.request import HamiConfig
from policy.hami.usage import reserve
from policy.keys import ALLOCATED, ASSIGNED_NODE, TO_ALLOCATE
from policy.placement.order import Order
from policy.placement.refit import Kept, Moved, RefitRequest, Refused, decide
from policy.placement.rules import Rules
from policy.pod import Container, Phase, Pod

CONFIG = HamiConfig()
APP, INIT, SIDECAR = Phase.APP, Phase.INIT, Phase.SIDECAR


def card(letter: str, numa: int = 0, **fields: Any) -> Card:
    """A healthy card of 40,000 MiB in 10 shares; its index is the letter's place in the alphabet."""
    made = Card(f"GPU-{letter}", ord(letter) - ord("a"), 10, 40000, 100, "NVIDIA-A100", numa, "hami-core", healthy=True)
    return replace(made, **fields)


def device(letter: str, memory: int = 20000, cores: int = 30, slots: int = 1) -> Device:
    return Device(f"GPU-{letter}", memory, cores, slots=slots)


def rules(annotations: Mapping[str, str] | None = None) -> Rules:
    return Rules.of(annotations or {}, CONFIG.default_gpu_policy)


def pod(
    entries: Sequence[tuple[Device, ...]],
    phases: Sequence[Phase] = (),
    annotations: Mapping[str, str] | None = None,
    **fields: Any,
) -> Pod:
    """A pod on node-1 whose containers c0, c1 … hold ``entries``, all of them still to be handed over."""
    value = encode(entries)
    held = {ASSIGNED_NODE: "node-1", TO_ALLOCATE: value, ALLOCATED: value, **(annotations or {})}
    containers = tuple(
        Container(f"c{place}", phase, path="", limits={}, requests={})
        for place, phase in enumerate(phases or [APP] * len(entries))
    )
    made = Pod(namespace="team", name="p", uid="u", annotations=held, containers=containers)
    return replace(made, **fields)


def other(*devices: Device, uid: str = "other", namespace: str = "elsewhere") -> Pod:
    """A pod of another namespace that holds ``devices`` in its one container."""
    return pod([devices], uid=uid, name=uid, namespace=namespace)


def cluster(cards: Iterable[Card], *pods: Pod, quota: Quota | None = None, cordoned: Iterable[str] = ()) -> Facts:
    """A cluster of node-1 with ``cards``; ``quota`` is the namespace team's."""
    node = Node("node-1", cards=tuple(cards), cordoned=frozenset(cordoned))
    return gather([node], held(*pods), {"team": quota} if quota else {}, {}, None)


def held(*pods: Pod) -> list[Reservation]:
    return [found for found in map(reserve, pods) if found is not None]


def ask(*letters: str, container: int = 0, **fields: Any) -> RefitRequest:
    """A request to move a container of the pod u to the cards named."""
    allowed = tuple(f"GPU-{letter}" for letter in letters)
    made = RefitRequest("u", "team", "p", "node-1", container_index=container, allowed=allowed)
    return replace(made, **fields)


def refit(request: RefitRequest, facts: Facts, order: Order = Order.NUMAFIT) -> Kept | Moved | Refused:
    return decide(request, facts, CONFIG, order)


def moved(found: object) -> Moved:
    assert isinstance(found, Moved), found
    return found


def refused(found: object) -> Refused:
    assert isinstance(found, Refused), found
    return found
