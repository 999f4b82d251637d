"""The NUMA nodes of a server with their CPUs: all, reserved, exclusive, shared."""

from collections.abc import Iterable, Mapping
from typing import Final

from policy.inventory.kubelet import CpuState, KubeletSetup
from policy.inventory.server import Collected, Cpus, NumaNode
from policy.inventory.zones import CPU, Amounts, Zone
from policy.kubelet.versions import STRICT_RESERVATION

_NOTHING: Final = Amounts()
_TRUE: Final = frozenset({"1", "t", "true"})


def numa_nodes(collected: Collected, kubelet: KubeletSetup) -> tuple[NumaNode, ...]:
    """Merge what tools, exporter and kubelet say of NUMA nodes, by id."""
    sets = cpu_sets(collected)
    zones = {zone.node: zone for zone in collected.zones}
    hardware = collected.hardware
    card_numas = {card.numa for card in collected.cards if card.numa >= 0}
    known = {*sets, *zones, *(hardware.nodes if hardware else ())} or card_numas
    return tuple(_node(node, sets.get(node), zones.get(node, Zone(node)), kubelet, collected) for node in sorted(known))


def cpu_sets(collected: Collected) -> Mapping[int, int]:
    """NUMA node -> its CPUs, from the first tool that says so."""
    if collected.hardware and collected.hardware.cpus:
        return collected.hardware.cpus
    return next((found.numas for found in collected.processors if found.numas), {})


def _node(node: int, cpus: int | None, zone: Zone, kubelet: KubeletSetup, collected: Collected) -> NumaNode:
    amounts = zone.resources.get(CPU, _NOTHING)
    state = collected.state
    reserved = _reserved(cpus, kubelet, amounts)
    exclusive = _exclusive(cpus, kubelet, state, amounts)
    hardware = collected.hardware
    return NumaNode(
        id=node,
        socket=_socket(node, collected),
        cpus=Cpus(amounts.capacity) if cpus is None else _of(cpus),
        reserved=reserved,
        exclusive=exclusive,
        shared=_shared(cpus, kubelet, state, reserved, exclusive),
        memory=hardware.memory.get(node) if hardware else None,
        distances=(hardware.distances.get(node) if hardware else None) or zone.distances,
    )


def _of(cpus: int) -> Cpus:
    return Cpus(cpus.bit_count(), cpus)


def _difference(larger: int | None, smaller: int | None) -> Cpus:
    return Cpus() if larger is None or smaller is None else Cpus(max(larger - smaller, 0))


def _reserved(cpus: int | None, kubelet: KubeletSetup, amounts: Amounts) -> Cpus:
    """A list names them. An amount does not: kubelet picks that many, and an exporter counts them."""
    if cpus is not None and kubelet.reserved_cpus:
        return _of(cpus & kubelet.reserved_cpus)
    if cpus is not None and kubelet.reserved_cpus == 0 and kubelet.reserved_amount == 0:
        return _of(0)
    return _difference(amounts.capacity, amounts.allocatable)


def _exclusive(cpus: int | None, kubelet: KubeletSetup, state: CpuState | None, amounts: Amounts) -> Cpus:
    if cpus is not None and state is not None:
        return _of(cpus & _union(state.exclusive.values()))
    if kubelet.cpu_policy == "none":
        return Cpus(0) if cpus is None else _of(0)
    return _difference(amounts.allocatable, amounts.available)


def _shared(cpus: int | None, kubelet: KubeletSetup, state: CpuState | None, reserved: Cpus, exclusive: Cpus) -> Cpus:
    """All that is not exclusive, and under strict reservation not reserved either (Kubernetes: defaultCpuSet)."""
    if cpus is None or exclusive.ids is None:
        return Cpus()
    if state is not None and state.shared is not None:
        return _of(cpus & state.shared)
    strict = (kubelet.cpu_options or {}).get(STRICT_RESERVATION, "").lower() in _TRUE
    if strict and reserved.ids is None:
        return Cpus()
    return _of(cpus & ~exclusive.ids & ~(reserved.ids or 0 if strict else 0))


def _union(sets: Iterable[int]) -> int:
    union = 0
    for each in sets:
        union |= each
    return union


def _socket(node: int, collected: Collected) -> int | None:
    said = next((found.numa_sockets[node] for found in collected.processors if node in found.numa_sockets), None)
    if said is None and sockets(collected) == 1:
        return 0
    return said


def sockets(collected: Collected) -> int | None:
    """How many sockets the server has, None if nobody says."""
    return next((found.sockets for found in collected.processors if found.sockets is not None), None)
