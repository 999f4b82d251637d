"""A pod with everything that the rules ask of it, read once (docs/admission.md, "Words")."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from policy import keys
from policy.admission.room import Room
from policy.facts import Facts
from policy.hami.annotations import go_bool, items
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
        need: number of cards.
        whole_card: whether it takes each of its cards whole.
        memory: MiB on each card, 0 where a percentage or a default decides.
        percent: percent of each card's memory, 0 where an amount decides.
        cores: percent of each card's cores.
    """

    container: Container
    need: int
    whole_card: bool
    memory: int
    percent: int
    cores: int


def amount(container: Container, resource: str) -> object:
    """The quantity of ``resource`` as written: from the limits, else from the requests, else None."""
    value = container.limits.get(resource)
    return container.requests.get(resource) if value is None else value


def gpu_container(container: Container, config: HamiConfig) -> GpuContainer | None:
    """Read what ``container`` asks for, None if it is no GPU container (docs/admission.md, "Words")."""
    count = amount(container, config.count)
    memory = amount(container, config.memory)
    percent = amount(container, config.percent)
    cores = amount(container, config.cores)
    if count is None:
        if memory is None and percent is None and cores is None:
            return None
        need = 1
    else:
        number = parse(count) if type(count) is not int else count
        if number is not None and number <= 0:
            return None
        need = 1 if number is None else -(-number // 1)
    in_mib = (whole(memory) or 0) * config.memory_factor
    in_percent = whole(percent) or 0
    in_cores = whole(cores)
    if not in_mib and not in_percent:
        in_mib = config.default_memory
        in_percent = 0 if in_mib else WHOLE_CARD
    whole_memory = in_percent == WHOLE_CARD and (not in_mib or cores is None)
    return GpuContainer(
        container=container,
        need=need,
        whole_card=in_cores == WHOLE_CARD or whole_memory,
        memory=in_mib,
        percent=0 if in_mib else in_percent,
        cores=config.default_cores if in_cores is None else in_cores,
    )


@dataclass(frozen=True)
class Case:
    """One pod to be judged, and what it is judged by.

    Attributes:
        facts: the cluster, None where it is not known or a ° rule must not be judged.
        changed: the keys among the four whose value changed, on an update; none on creation.
        is_stale: whether facts exist and are too old to judge by.
    """

    pod: Pod
    operator: Operator
    gpus: tuple[GpuContainer, ...]
    facts: Facts | None = None
    changed: Sequence[str] = ()
    is_stale: bool = False

    @property
    def most(self) -> int:
        """The largest need of the pod's containers, init containers included."""
        return self._counts[0]

    @property
    def at_once(self) -> int:
        """How many cards the pod takes at once at least, whole cards not being shared."""
        return self._counts[1]

    @cached_property
    def _counts(self) -> tuple[int, int]:
        most = wholes = others = 0
        for gpu in self.gpus:
            most = max(most, gpu.need)
            if gpu.container.phase is Phase.INIT:
                continue
            if gpu.whole_card:
                wholes += gpu.need
            else:
                others = max(others, gpu.need)
        return most, max(most, wholes + others)

    @cached_property
    def alignment(self) -> str:
        """The alignment key's value, trimmed and lower-cased; empty if there is none."""
        return self.pod.annotations.get(keys.NUMA_ALIGNMENT, "").strip().lower()

    @property
    def mode(self) -> str:
        """A valid alignment mode, empty if the pod has none."""
        return self.alignment if self.alignment in MODES else ""

    @cached_property
    def binds(self) -> bool:
        """Whether numa-bind is asked for."""
        text = self.pod.annotations.get(keys.NUMA_BIND)
        return text is not None and go_bool(text) is True

    @cached_property
    def pin_items(self) -> tuple[str, ...]:
        """The items of use-gpuuuid."""
        return items(self.pod.annotations.get(keys.USE_UUID, ""))

    @cached_property
    def pins(self) -> tuple[str, ...]:
        """The distinct items of use-gpuuuid in the order written."""
        return tuple(dict.fromkeys(self.pin_items))

    @cached_property
    def exclusion_items(self) -> tuple[str, ...]:
        """The items of nouse-gpuuuid."""
        return items(self.pod.annotations.get(keys.NOUSE_UUID, ""))

    @cached_property
    def left(self) -> tuple[str, ...]:
        """The pins that are not excluded."""
        excluded = self.exclusion_items
        return tuple(pin for pin in self.pins if pin not in excluded)

    @cached_property
    def is_mig(self) -> bool:
        """Whether the pod asks for MIG instances by its vgpu-mode."""
        return self.pod.annotations.get(keys.VGPU_MODE, "").strip().lower() == "mig"

    @cached_property
    def room(self) -> Room:
        """Where the pod could go. Only for rules that need facts."""
        return Room(self.facts or Facts(), self.pod, self.pins, self.exclusion_items, self.most)

    @property
    def refits(self) -> bool:
        """Whether the pod asks to be aligned and device plugins can have that done."""
        return bool(self.mode) and self.operator.refit_enabled

    @cached_property
    def first_of_most(self) -> GpuContainer:
        """The first container whose need is the largest: the one to name in a message."""
        return next(gpu for gpu in self.gpus if gpu.need == self.most)


def open_case(pod: Pod, operator: Operator, facts: Facts | None = None, *, is_stale: bool = False) -> Case:
    """Read ``pod`` for judging."""
    found = (gpu_container(container, operator.hami) for container in pod.containers)
    return Case(pod, operator, tuple(gpu for gpu in found if gpu is not None), facts, is_stale=is_stale)
