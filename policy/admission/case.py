"""A pod with everything that the rules ask of it, read once (docs/admission.md, "Words")."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from math import ceil
from typing import Final, NamedTuple

from policy import keys
from policy.admission.room import Room, survey
from policy.facts import Facts
from policy.hami.annotations import go_bool, items
from policy.hami.golang import trim
from policy.hami.request import HamiConfig
from policy.pod import Container, Phase, Pod
from policy.quantity import parse, whole

WHOLE_CARD: Final = 100
MODES: Final = ("best-effort", "strict")
SIBLING_MAKERS: Final = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet"})
"""Controllers that replace a failed pod at once and make several alike."""


@dataclass(frozen=True, slots=True)
class Operator:
    """What the operator of the cluster declared, as far as rules ask for it.

    Attributes:
        hami: how HAMi is configured.
        static_cluster: whether the cluster gets no new nodes.
        refit_enabled: whether device plugins call the refit.
        authority: who owns reservations, `self` or `hami`.
        writers: user names that may write scheduler-owned annotations.
    """

    hami: HamiConfig = field(default_factory=HamiConfig)
    static_cluster: bool = False
    refit_enabled: bool = True
    authority: str = "self"
    writers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GpuContainer:
    """A container that asks for GPUs.

    Attributes:
        need: number of cards; the configured default where only amounts are named.
        whole_card: whether it takes each of its cards whole.
        memory: MiB on each card, 0 where a percentage or a default decides.
        percent: percent of each card's memory, 0 where an amount decides.
        cores: percent of each card's cores, those that are filled in where none are named.
    """

    container: Container
    need: int
    whole_card: bool
    memory: int
    percent: int
    cores: int


class Ask(NamedTuple):
    """A quantity of a GPU resource as a container writes it, among its limits or its requests."""

    container: Container
    resource: str
    value: object


def _asks(container: Container, resources: Collection[str]) -> Iterator[Ask]:
    """What ``container`` names of ``resources``: its limits, and its requests where they differ."""
    for resource in resources:
        limit, request = container.limits.get(resource), container.requests.get(resource)
        if limit is not None:
            yield Ask(container, resource, limit)
        if request is not None and request != limit:
            yield Ask(container, resource, request)


def amount(container: Container, resource: str) -> object:
    """The quantity of ``resource`` as written: from the limits, else from the requests, else None."""
    value = container.limits.get(resource)
    return container.requests.get(resource) if value is None else value


def _cards(count: object) -> int:
    """The number of cards that ``count`` comes to; what is no number counts as one, and is refused by another rule."""
    number = whole(count)
    if number is not None:
        return number
    part = parse(count)
    return 1 if part is None else ceil(part)


def gpu_container(container: Container, config: HamiConfig) -> GpuContainer | None:
    """Read what ``container`` asks for, None if it is no GPU container (docs/admission.md, "Words")."""
    count = amount(container, config.count)
    memory = amount(container, config.memory)
    percent = amount(container, config.percent)
    cores = amount(container, config.cores)
    if count is None:
        if not config.default_count or (memory is None and percent is None and cores is None):
            return None
        need = config.default_count
    else:
        need = _cards(count)
        if need <= 0:
            return None
    in_mib = (whole(memory) or 0) * max(config.memory_factor, 1)
    in_percent = whole(percent) or 0
    unnamed = memory is None and percent is None and not config.default_memory
    in_cores = whole(cores)
    if in_cores is None:
        # HAMi gives a container that takes its cards whole, and does not speak of cores, all of them.
        in_cores = WHOLE_CARD if cores is None and (unnamed or in_percent == WHOLE_CARD) else config.default_cores
    if not in_mib and not in_percent:
        in_mib = config.default_memory
        in_percent = 0 if in_mib else WHOLE_CARD
    return GpuContainer(
        container=container,
        need=need,
        whole_card=in_cores == WHOLE_CARD or (in_percent == WHOLE_CARD and not in_mib),
        memory=in_mib,
        percent=0 if in_mib else in_percent,
        cores=in_cores,
    )


@dataclass(frozen=True, slots=True)
class Case:
    """One pod to be judged, and what it is judged by. Made by `open_case`.

    Attributes:
        resources: the names of all resources in it, GPU resources or not.
        asks: every quantity of a GPU resource in it, container by container.
        gpus: its GPU containers in the order of the annotation values.
        facts: the cluster, None where it is not known or too old to judge by.
        room: where the pod could go, as far as the facts tell.
        is_stale: whether facts exist and are too old to judge by.
        changed: the keys among the four whose value changed, on an update; none on creation.
        most: the largest need of the containers, init containers included.
        at_once: how many cards the pod takes at once at least, whole cards not being shared.
        alignment: the alignment key's value, trimmed and lower-cased; empty if there is none.
        mode: the same where it is valid, else empty.
        binds: whether numa-bind is asked for.
        pin_items: the items of use-gpuuuid.
        pins: the distinct ones in the order written.
        exclusion_items: the items of nouse-gpuuuid.
        left: the pins that are not excluded.
        is_mig: whether the pod asks for MIG instances by its vgpu-mode.
    """

    pod: Pod
    operator: Operator
    resources: frozenset[str]
    asks: tuple[Ask, ...]
    gpus: tuple[GpuContainer, ...]
    facts: Facts | None
    room: Room
    is_stale: bool
    changed: tuple[str, ...]
    most: int
    at_once: int
    alignment: str
    mode: str
    binds: bool
    pin_items: tuple[str, ...]
    pins: tuple[str, ...]
    exclusion_items: tuple[str, ...]
    left: tuple[str, ...]
    is_mig: bool

    @property
    def refits(self) -> bool:
        """Whether the pod asks to be aligned and device plugins can have that done."""
        return bool(self.mode) and self.operator.refit_enabled

    @property
    def first_of_most(self) -> GpuContainer:
        """The first container whose need is the largest: the one to name in a message."""
        return next(gpu for gpu in self.gpus if gpu.need == self.most)


def open_case(
    pod: Pod,
    operator: Operator,
    facts: Facts | None = None,
    *,
    is_stale: bool = False,
    changed: tuple[str, ...] = (),
) -> Case:
    """Read ``pod`` for judging."""
    annotations = pod.annotations
    hami = operator.hami
    resources = frozenset().union(*(c.limits for c in pod.containers), *(c.requests for c in pod.containers))
    named = [resource for resource in hami.resources if resource in resources]
    asks = tuple(ask for container in pod.containers for ask in _asks(container, named))
    asking = {ask.container.path for ask in asks}
    found = [gpu_container(container, hami) for container in pod.containers if container.path in asking]
    gpus = tuple(gpu for gpu in found if gpu is not None)
    pin_items = items(annotations.get(keys.USE_UUID, ""))
    exclusion_items = items(annotations.get(keys.NOUSE_UUID, ""))
    pins, excluded = tuple(dict.fromkeys(pin_items)), frozenset(exclusion_items)
    most = max((gpu.need for gpu in gpus), default=0)
    alignment = trim(annotations.get(keys.NUMA_ALIGNMENT, "")).lower()
    return Case(
        pod=pod,
        operator=operator,
        resources=resources,
        asks=asks,
        gpus=gpus,
        facts=facts,
        room=survey(facts.inventory, pod, pins, exclusion_items, most) if facts and gpus else Room(),
        is_stale=is_stale,
        changed=changed,
        most=most,
        at_once=max(most, _taken_at_once(gpus)),
        alignment=alignment,
        mode=alignment if alignment in MODES else "",
        binds=go_bool(annotations.get(keys.NUMA_BIND, "")) is True,
        pin_items=pin_items,
        pins=pins,
        exclusion_items=exclusion_items,
        left=tuple(pin for pin in pins if pin not in excluded),
        is_mig=trim(annotations.get(keys.VGPU_MODE, "")).lower() == "mig",
    )


def _taken_at_once(gpus: tuple[GpuContainer, ...]) -> int:
    """The whole cards of the containers that run together, and the most cards that one of the others needs."""
    together = [gpu for gpu in gpus if gpu.container.phase is not Phase.INIT]
    wholes = sum(gpu.need for gpu in together if gpu.whole_card)
    return wholes + max((gpu.need for gpu in together if not gpu.whole_card), default=0)
