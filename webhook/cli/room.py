"""What a cluster has left, as the commands about capacity ask for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from policy.capacity.asked import UnmodelledPodError, member_of
from policy.capacity.shapes import Locality, Member, NodeRoom
from policy.capacity.view import Local, LocalAmounts, Unknown, View
from policy.facts import UNKNOWN_NUMA, Facts, Node
from policy.hami.annotations import AnnotationError
from policy.hami.request import HamiConfig, InvalidRequestError
from policy.inventory.zones import CPU, Amounts, Zone
from policy.kubelet.demand import MEMORY, demand_of
from policy.kubelet.settings import Settings
from policy.pod import Pod
from webhook.cli import screen
from webhook.cli.errors import InputError
from webhook.cli.inputs import read_cluster
from webhook.cli.servers import zones_of
from webhook.cluster.file import FileCluster
from webhook.levels.file import LevelsFile

_MILLI: Final = 1000
_MIB: Final = 1024**2
_STATIC: Final = Settings(cpu_policy="static")
_NOT_SAID: Final = Amounts()

LOCAL_MEMORY: Final = "free memory by NUMA node"
NODE_CPU: Final = "free CPUs of some nodes"
NODE_MEMORY: Final = "free memory of some nodes"
NEEDED: Final[Mapping[str, str]] = {
    Unknown.CPU: "NodeResourceTopology objects whose zones say how much cpu is available",
    Unknown.NUMA: "a device plugin that registers the NUMA node of each card",
    Unknown.TOPOLOGY_POLICY: "NodeResourceTopology objects, or a declaration in the policy file",
    Unknown.STALE: "a newer snapshot",
    NODE_CPU: "Node objects with status.allocatable",
    NODE_MEMORY: "Node objects with status.allocatable",
    LOCAL_MEMORY: "NodeResourceTopology objects whose zones say how much memory is available",
}
"""What is not known -> what would tell it."""


@dataclass(frozen=True, slots=True)
class Known:
    """A cluster and what its NUMA nodes have left, as far as its file says."""

    cluster: FileCluster
    facts: Facts
    local: Local
    config: HamiConfig


def read_known(paths: Sequence[Path], levels: LevelsFile) -> Known:
    """Read a cluster from files, and say what of it cannot be read.

    Raises:
        InputError: a file cannot be used.
    """
    cluster = read_cluster(paths, levels)
    zones, problems = zones_of(cluster)
    for problem in problems:
        screen.say(f"cluster: {problem}")
    local = {name: {zone.node: _left(zone) for zone in found} for name, found in zones.items() if found}
    return Known(cluster, cluster.facts(), local, levels.operator.hami)


def _left(zone: Zone) -> LocalAmounts:
    cpus = zone.resources.get(CPU, _NOT_SAID).available
    memory = zone.resources.get(MEMORY, _NOT_SAID).available
    return LocalAmounts(None if cpus is None else cpus * _MILLI, None if memory is None else memory // _MIB)


def numa_ids(node: Node, amounts: Mapping[int, LocalAmounts]) -> tuple[int, ...]:
    """Return the NUMA node of each zone of the node's room, in the order in which `capacity.view` makes zones."""
    unknown = (card.numa for card in node.cards if card.numa == UNKNOWN_NUMA)
    known = (*amounts, *(card.numa for card in node.cards if card.numa != UNKNOWN_NUMA))
    return (*unknown, *dict.fromkeys(known))


def read_member(pod: Pod, config: HamiConfig, title: str, name: str = "", count: int = 1) -> Member:
    """Read ``pod`` as a member of a group. CPUs that no container has to itself may come from anywhere.

    Raises:
        InputError: it cannot be counted; the text begins with ``title``.
    """
    try:
        member = member_of(pod, config, name, count)
        alone = any(container.cpus for container in demand_of(pod, _STATIC).containers)
    except (AnnotationError, InvalidRequestError, UnmodelledPodError, ValueError) as error:
        raise InputError(f"{title}: {error}") from None
    return member if alone or not member.locality.binds_cpu else _shared(member)


def _shared(member: Member) -> Member:
    """Kubelet aligns the CPUs of Guaranteed containers that ask for whole ones, and of no others."""
    return Member(
        member.name,
        member.count,
        member.request,
        member.cpus,
        member.memory,
        Locality.GPU,
        1,
        member.filter,
        member.alone,
    )


def unknowns(seen: View, member: Member) -> tuple[str, ...]:
    """Return what is not known and therefore refused nothing, of what ``member`` asks for."""
    rooms = [alike.room for alike in seen.cluster if member.name not in alike.room.barred]
    found: list[str] = sorted(seen.unknown)
    if member.memory and member.locality.binds_memory and any(_lacks_memory(room) for room in rooms):
        found.append(LOCAL_MEMORY)
    if member.cpus and Unknown.CPU not in seen.unknown and any(room.cpu is None for room in rooms):
        found.append(NODE_CPU)
    if member.memory and LOCAL_MEMORY not in found and any(room.memory is None for room in rooms):
        found.append(NODE_MEMORY)
    return tuple(found)


def _lacks_memory(room: NodeRoom) -> bool:
    return any(zone.memory is None for zone in room.zones)
