"""What a pod asks of kubelet's managers: its QoS class, exclusive CPUs, devices and memory.

Kubernetes: ComputePodQOS, guaranteedCPUs, getContainerDeviceRequest, getContainerRequestedResources.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from types import MappingProxyType
from typing import Final, Literal

from policy import quantity
from policy.kubelet.settings import Settings
from policy.pod import Container, Phase, Pod

Qos = Literal["Guaranteed", "Burstable", "BestEffort"]
Amounts = Mapping[str, Fraction]

CPU: Final = "cpu"
MEMORY: Final = "memory"
_HUGEPAGES: Final = "hugepages-"
_COMPUTE: Final = (CPU, MEMORY)
_NOTHING: Final[Amounts] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PodLevel:
    """What `spec.resources` asks for, as written."""

    requests: Mapping[str, object] = field(default_factory=dict)
    limits: Mapping[str, object] = field(default_factory=dict)


NO_POD_LEVEL: Final = PodLevel()


@dataclass(frozen=True, slots=True)
class ContainerDemand:
    """What one container asks for.

    Attributes:
        cpus: how many exclusive CPUs, 0 for the shared pool.
        limits: every limit; the devices among them depend on what plugins have registered.
        memory: memory and huge pages that the memory manager keeps, None if an amount is not whole.
    """

    name: str
    phase: Phase
    cpus: int
    limits: Amounts
    memory: Mapping[str, int] | None


@dataclass(frozen=True, slots=True)
class Demand:
    """What one pod asks for.

    Attributes:
        name: of the pod, by which what it holds is kept.
        uid: as kubelet's texts name it.
        qos: its class.
        containers: init containers and sidecars in spec order, then app containers.
        cpus: exclusive CPUs of the whole pod at its peak.
        memory: the same for the memory manager.
        devices: every limit of the whole pod at its peak.
        by_pod: whether its CPUs and memory are those of `spec.resources`, divided among the containers.
        silent: whether CPU and memory manager leave it alone because it sets `spec.resources`.
    """

    name: str
    uid: str
    qos: Qos
    containers: tuple[ContainerDemand, ...]
    cpus: int
    memory: Mapping[str, int] | None
    devices: Amounts
    by_pod: bool = False
    silent: bool = False

    @property
    def guaranteed(self) -> bool:
        """Whether CPU and memory manager have to do with it."""
        return self.qos == "Guaranteed"


def demand_of(pod: Pod, settings: Settings, level: PodLevel = NO_POD_LEVEL) -> Demand:
    """Read what ``pod`` asks for; requests that it does not state are set as the API server sets them.

    Raises:
        ValueError: an amount is no quantity.
    """
    asked = [_Asked(each, *_defaulted(each.requests, each.limits)) for each in pod.containers]
    level_set = settings.pod_level_resources and any(map(_at_pod_level, (*level.requests, *level.limits)))
    requests, limits = _pod_amounts(level, asked) if level_set else (_NOTHING, _NOTHING)
    qos = _qos([(requests, limits)] if level_set else [(each.requests, each.limits) for each in asked])
    by_pod = level_set and settings.pod_level_managers
    containers = tuple(_container(each, qos, by_pod=by_pod) for each in asked)
    return Demand(
        name=pod.name,
        uid=pod.uid or "uid",
        qos=qos,
        containers=containers,
        cpus=_pod_cpus(requests, qos) if by_pod else peak(containers, lambda each: each.cpus),
        memory=_memory(requests, positive=True) if by_pod else _peak_memory(containers),
        devices=_peak_limits(containers),
        by_pod=by_pod,
        silent=level_set and not by_pod and settings.rules.silent_on_pod_level,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    container: Container
    requests: Amounts
    limits: Amounts


def _defaulted(requests: Mapping[str, object], limits: Mapping[str, object]) -> tuple[Amounts, Amounts]:
    bound = _amounts(limits)
    return {**bound, **_amounts(requests)}, bound


def _amounts(written: Mapping[str, object]) -> Amounts:
    return {name: _amount(name, text) for name, text in written.items()}


def _amount(name: str, text: object) -> Fraction:
    amount = quantity.parse(text)
    if amount is None:
        raise ValueError(f"{name}: {str(text)[:80]!r} is no quantity such as 2, 500m or 16Gi; correct the pod")
    return amount


def _at_pod_level(name: str) -> bool:
    return name in _COMPUTE or name.startswith(_HUGEPAGES)


def _pod_amounts(level: PodLevel, asked: Iterable[_Asked]) -> tuple[Amounts, Amounts]:
    """Return requests and limits of the pod; what is missing among the requests is what the containers add up to."""
    requests, limits = dict(_amounts(level.requests)), _amounts(level.limits)
    if limits:
        listed = tuple(asked)
        for name in _COMPUTE:
            if name not in requests and any(name in each.requests for each in listed):
                requests[name] = _peak_of(name, listed)
    return {**{name: amount for name, amount in limits.items() if _at_pod_level(name)}, **requests}, limits


def _peak_of(name: str, asked: Iterable[_Asked]) -> Fraction:
    return _peak((each.container.phase, each.requests.get(name, Fraction(0))) for each in asked)


def _qos(sets: Iterable[tuple[Amounts, Amounts]]) -> Qos:
    """Return the QoS class of the requests and limits that count (Kubernetes: ComputePodQOS)."""
    listed = tuple(sets)
    requests, limits = ({name: sum(each[side].get(name, 0) for each in listed) for name in _COMPUTE} for side in (0, 1))
    if not any(requests.values()) and not any(limits.values()):
        return "BestEffort"
    bounded = all(each[1].get(name, 0) > 0 for each in listed for name in _COMPUTE)
    return "Guaranteed" if bounded and requests == limits else "Burstable"


def _container(asked: _Asked, qos: Qos, *, by_pod: bool) -> ContainerDemand:
    counted = qos == "Guaranteed" and (not by_pod or _is_equal(asked))
    memory = _memory(asked.requests) if not by_pod or _is_equal(asked) else {}
    return ContainerDemand(
        name=asked.container.name,
        phase=asked.container.phase,
        cpus=_whole_cpus(asked.requests.get(CPU, Fraction(0))) if counted else 0,
        limits=asked.limits,
        memory=memory,
    )


def _is_equal(asked: _Asked) -> bool:
    return all(asked.requests.get(name, 0) > 0 and asked.requests[name] == asked.limits.get(name) for name in _COMPUTE)


def _whole_cpus(amount: Fraction) -> int:
    """Return a whole number of CPUs, 0 for a fraction; kubelet compares thousandths, rounded up."""
    return ceil(amount) if ceil(amount) * 1000 == ceil(amount * 1000) else 0


def _pod_cpus(requests: Amounts, qos: Qos) -> int:
    return _whole_cpus(requests.get(CPU, Fraction(0))) if qos == "Guaranteed" else 0


def _memory(requests: Amounts, *, positive: bool = False) -> Mapping[str, int] | None:
    kept = {name: amount for name, amount in requests.items() if name == MEMORY or name.startswith(_HUGEPAGES)}
    if any(amount.denominator != 1 for amount in kept.values()):
        return None
    return {name: int(amount) for name, amount in sorted(kept.items()) if amount > 0 or not positive}


def _peak_memory(containers: tuple[ContainerDemand, ...]) -> Mapping[str, int] | None:
    """Return the pod's memory; a kind that only init containers ask for is left out (Kubernetes)."""
    memories = {each.name: each.memory for each in containers}
    if None in memories.values():
        return None
    kinds = {name for each in containers if each.phase is Phase.APP for name in each.memory or ()}

    def of_kind(kind: str) -> Callable[[ContainerDemand], int]:
        return lambda each: (each.memory or {}).get(kind, 0)

    return {kind: peak(containers, of_kind(kind)) for kind in sorted(kinds)}


def _peak_limits(containers: tuple[ContainerDemand, ...]) -> Amounts:
    names = sorted({name for each in containers for name in each.limits})
    return {name: _peak((each.phase, each.limits.get(name, Fraction(0))) for each in containers) for name in names}


def peak(containers: Iterable[ContainerDemand], amount: Callable[[ContainerDemand], int]) -> int:
    """Return the most that is in use at one time.

    That is all apps with all sidecars, or one init container with the sidecars before it.
    """
    return int(_peak((each.phase, Fraction(amount(each))) for each in containers))


def _peak(phases: Iterable[tuple[Phase, Fraction]]) -> Fraction:
    sidecars = apps = init = Fraction(0)
    for phase, amount in phases:
        if phase is Phase.SIDECAR:
            sidecars += amount
        elif phase is Phase.APP:
            apps += amount
        else:
            init = max(init, sidecars + amount)
    return max(apps + sidecars, init)
