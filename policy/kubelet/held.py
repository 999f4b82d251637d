"""What pods hold of a machine, as kubelet's managers have it in their state files.

Every function returns a new value; the old one stays as it is, so that branches can be walked from it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

Ids = frozenset[str]


class ContainerKey(NamedTuple):
    """A container of a pod."""

    pod: str
    container: str


class DeviceKey(NamedTuple):
    """One resource of a container of a pod."""

    pod: str
    container: str
    resource: str


@dataclass(frozen=True, slots=True)
class MemoryNode:
    """Memory of one NUMA node.

    Attributes:
        allocatable, free: kind (memory, hugepages-…) -> amount.
        assignments: how many allocations touch the node.
        group: the NUMA nodes that it is used together with, itself included.
    """

    allocatable: Mapping[str, int]
    free: Mapping[str, int]
    assignments: int
    group: int


class Block(NamedTuple):
    """Memory of one kind that a container holds."""

    nodes: int
    kind: str
    size: int


@dataclass(frozen=True, slots=True)
class Held:
    """What is held.

    Attributes:
        shared: CPUs of the shared pool.
        cpus: container -> its CPUs.
        pod_cpus: pod -> the CPUs that its containers share out (Kubernetes: PodLevelResourceManagers).
        devices: container and resource -> its devices.
        in_use: resource -> devices that kubelet takes for used; more than `devices` says after a failed call.
        memory: NUMA node -> its memory; every node of the machine if the Static memory manager runs.
        blocks: container -> its memory.
        pod_blocks: the same for pods, as for CPUs.
    """

    shared: int = 0
    cpus: Mapping[ContainerKey, int] = field(default_factory=dict)
    pod_cpus: Mapping[str, int] = field(default_factory=dict)
    devices: Mapping[DeviceKey, Ids] = field(default_factory=dict)
    in_use: Mapping[str, Ids] = field(default_factory=dict)
    memory: Mapping[int, MemoryNode] = field(default_factory=dict)
    blocks: Mapping[ContainerKey, tuple[Block, ...]] = field(default_factory=dict)
    pod_blocks: Mapping[str, tuple[Block, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reuse:
    """What ended init containers of the pod at hand leave for its later containers.

    Attributes:
        memory: NUMA nodes and kind -> amount.
    """

    cpus: int = 0
    devices: Mapping[str, Ids] = field(default_factory=dict)
    memory: Mapping[tuple[int, str], int] = field(default_factory=dict)


NO_REUSE: Final = Reuse()
_NONE: Final[Ids] = frozenset()


def used_by_owner(devices: Mapping[DeviceKey, Ids]) -> dict[str, Ids]:
    """Return resource -> devices that some container holds."""
    found: dict[str, Ids] = {}
    for key, ids in devices.items():
        found[key.resource] = found.get(key.resource, _NONE) | ids
    return found


def release(held: Held, pod: str) -> Held:
    """Take back what ``pod`` holds, as kubelet does once the pod is no longer active.

    Devices that are marked used without an owner come back only if the pod held devices (Kubernetes:
    UpdateAllocatedDevices).
    """
    mine = [key for key in held.cpus if key.pod == pod]
    cpus = held.pod_cpus.get(pod, 0)
    for key in mine:
        cpus |= held.cpus[key]
    devices = {key: ids for key, ids in held.devices.items() if key.pod != pod}
    return replace(
        held,
        shared=held.shared | cpus,
        cpus={key: each for key, each in held.cpus.items() if key.pod != pod},
        pod_cpus={key: each for key, each in held.pod_cpus.items() if key != pod},
        devices=devices,
        in_use=held.in_use if len(devices) == len(held.devices) else used_by_owner(devices),
        memory=_with_memory_back(held, pod),
        blocks={key: each for key, each in held.blocks.items() if key.pod != pod},
        pod_blocks={key: each for key, each in held.pod_blocks.items() if key != pod},
    )


def _with_memory_back(held: Held, pod: str) -> Mapping[int, MemoryNode]:
    blocks: Iterable[Block] = held.pod_blocks.get(pod) or [
        block for key, each in sorted(held.blocks.items()) if key.pod == pod for block in each
    ]
    memory = held.memory
    for block in blocks:
        memory = give_back(memory, block)
    return memory


def give_back(memory: Mapping[int, MemoryNode], block: Block) -> Mapping[int, MemoryNode]:
    """Return ``memory`` after ``block`` has been released, lowest NUMA node first (Kubernetes: releaseMemory)."""
    changed = dict(memory)
    left = block.size
    for number, node in memory.items():
        if not block.nodes >> number & 1:
            continue
        back = min(left, node.allocatable.get(block.kind, 0) - node.free.get(block.kind, 0))
        left -= back
        assignments = node.assignments - 1
        changed[number] = MemoryNode(
            node.allocatable,
            {**node.free, block.kind: node.free.get(block.kind, 0) + back},
            assignments,
            node.group if assignments else 1 << number,
        )
    return changed


def take(memory: Mapping[int, MemoryNode], nodes: int, kind: str, size: int) -> Mapping[int, MemoryNode]:
    """Return ``memory`` after ``size`` of ``kind`` has been taken on ``nodes``, lowest NUMA node first.

    Every node of the set joins one group (Kubernetes: updateMachineState).
    """
    changed = dict(memory)
    left = size
    for number, node in memory.items():
        if not nodes >> number & 1:
            continue
        free = node.free.get(kind, 0)
        taken = min(left, free)
        left -= taken
        changed[number] = MemoryNode(node.allocatable, {**node.free, kind: free - taken}, node.assignments + 1, nodes)
    return changed
