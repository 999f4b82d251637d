"""Hints of every manager against a walk over every set of NUMA nodes, as kubelet does it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations
from random import Random

import pytest

from policy.kubelet.cpus import CpuManager
from policy.kubelet.devices import DeviceManager, Plugin
from policy.kubelet.held import NO_REUSE, DeviceKey, Held, MemoryNode, Reuse
from policy.kubelet.machine import Device, Machine
from policy.kubelet.masks import mask_of, members
from policy.kubelet.memory_hints import offer
from policy.kubelet.outcome import IMPOSSIBLE, Hints, Panic, Stall
from policy.kubelet.settings import CpuOptions
from tests.policy.kubelet import build

CASES = 400


def _every(nodes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(nodes, size) for size in range(1, len(nodes) + 1))


def _flagged(masks: Iterable[tuple[int, ...]], width: int) -> Hints:
    listed = sorted(map(mask_of, masks))
    return Hints(tuple(listed), frozenset(mask for mask in listed if mask.bit_count() == width))


def test_device_hints_count_what_touches_each_set_of_nodes() -> None:
    random = Random(5)
    for _ in range(CASES):
        machine, held = build.random_machine(random)
        everywhere = random.random() < 0.5
        manager = DeviceManager(machine.nodes, machine.resources, Plugin(), on_device_nodes=not everywhere)
        devices = list(machine.resources[build.GPU].devices.values())
        reusable = frozenset(each.id for each in devices if random.random() < 0.2)
        want = random.randint(0, 4)
        settings = build.static("restricted")
        demand = build.demand(build.pod({build.GPU: want}), settings)
        reuse = Reuse(devices={build.GPU: reusable})
        answers = manager.hints(held, reuse, demand, demand.containers[0])
        assert answers == {build.GPU: _walked_devices(machine, held, devices, reusable, want, everywhere=everywhere)}


def _walked_devices(
    machine: Machine, held: Held, devices: Sequence[Device], reusable: frozenset[str], want: int, *, everywhere: bool
) -> Hints | None:
    if not any(each.nodes for each in devices):
        return None
    free = {each.id for each in devices if each.healthy} - held.in_use.get(build.GPU, frozenset())
    if len(free | reusable) < want:
        return IMPOSSIBLE
    hosting = sorted({node for each in devices for node in each.nodes or ()})
    nodes = machine.nodes if everywhere else hosting
    width, found = len(nodes), []
    for mask in _every(nodes):
        touching = [each for each in devices if not (each.nodes or frozenset()).isdisjoint(mask)]
        if len(touching) >= want:
            width = min(width, len(mask))
        pinned = [each for each in devices if each.id in reusable and each.nodes is not None]
        if all(each in touching for each in pinned):
            count = len(pinned) + sum(each.id in free for each in touching)
            found += [mask] if count >= want else []
    return _flagged(found, width)


@pytest.mark.parametrize("by_socket", [False, True])
def test_cpu_hints_count_the_cpus_of_each_set_of_nodes(by_socket: bool) -> None:
    random = Random(6)
    for _ in range(CASES):
        machine, held = build.random_machine(random)
        manager = CpuManager(machine.layout, CpuOptions(by_socket=by_socket), 1)
        reusable = mask_of(cpu for cpu in members(machine.layout.all) if random.random() < 0.05) & ~held.shared
        want = random.randint(1, 12)
        settings = build.static("restricted")
        demand = build.demand(build.pod({"cpu": want, "memory": 1}), settings)
        got = manager.hints(held, Reuse(cpus=reusable), demand, demand.containers[0])
        assert got == _walked_cpus(machine, held.shared & ~1, reusable, want, by_socket=by_socket)


def _walked_cpus(machine: Machine, free: int, reusable: int, want: int, *, by_socket: bool) -> Hints:
    layout, nodes = machine.layout, machine.nodes
    width, found = len(nodes), []
    for mask in _every(nodes):
        area = layout.on(mask_of(mask))
        if area.bit_count() >= want:
            width = min(width, len(mask))
        if not reusable & ~area and (area & free).bit_count() + reusable.bit_count() >= want:
            found.append(mask)
    hints = _flagged(found, width)
    if not by_socket:
        return hints
    per_socket = len(nodes) // len(layout.sockets)
    sockets = {mask_of(mask): sum(1 for _, cpus in layout.sockets if cpus & layout.on(mask_of(mask))) for mask in found}
    aligned = {mask for mask, touched in sockets.items() if touched == (width + per_socket - 1) // per_socket}
    return Hints(hints.masks, hints.preferred | aligned)


def test_memory_hints_keep_groups_of_nodes_apart() -> None:
    random = Random(7)
    for _ in range(CASES):
        memory = _random_memory(random, random.randint(1, 4))
        want = {"memory": random.randint(1, 150), "hugepages-2Mi": random.randint(0, 20)}
        reuse = Reuse(memory={(mask_of(mask), "memory"): 30 for mask in _every(tuple(memory)) if random.random() < 0.2})
        assert offer(memory, reuse, want) == _walked_memory(memory, reuse, want)


def _random_memory(random: Random, count: int) -> dict[int, MemoryNode]:
    groups: dict[int, tuple[int, ...]] = {node: (node,) for node in range(count)}
    if count > 1 and random.random() < 0.6:
        joined = tuple(sorted(random.sample(range(count), random.randint(2, count))))
        groups.update(dict.fromkeys(joined, joined))
    return {
        node: MemoryNode(
            {"memory": 64, "hugepages-2Mi": 10},
            {"memory": random.randint(0, 64), "hugepages-2Mi": random.randint(0, 10)},
            1 if len(group) > 1 else random.choice((0, 0, 2)),
            mask_of(group),
        )
        for node, group in groups.items()
    }


def _walked_memory(memory: dict[int, MemoryNode], reuse: Reuse, want: dict[str, int]) -> Hints:
    width, found = len(memory), []
    for mask in _every(tuple(memory)):
        nodes = [memory[node] for node in mask]
        if any(sum(node.allocatable[kind] for node in nodes) < size for kind, size in want.items()):
            continue
        width = min(width, len(mask))
        alone = len(mask) == 1
        if alone and nodes[0].group.bit_count() > 1:
            continue
        if not alone and any(node.assignments and node.group != mask_of(mask) for node in nodes):
            continue
        spare = {kind: reuse.memory.get((mask_of(mask), kind), 0) for kind in want}
        if all(sum(node.free[kind] for node in nodes) + spare[kind] >= size for kind, size in want.items()):
            found.append(mask)
    return _flagged(found, width)


def test_a_kind_of_memory_that_a_node_lacks_is_a_crash() -> None:
    memory = {0: build.memory_node(0, 64), 1: build.memory_node(1, 64)}
    crash = Panic("runtime error: invalid memory address or nil pointer dereference")
    assert offer(memory, NO_REUSE, {"memory": 1, "hugepages-1Gi": 1}) == crash


def test_a_recorded_device_that_is_gone_is_a_crash() -> None:
    machine = build.machine()
    manager = DeviceManager(machine.nodes, machine.resources, Plugin())
    settings = build.static("restricted")
    demand = build.demand(build.pod({build.GPU: 1}), settings)
    held = Held(devices={DeviceKey("pod", "c0", build.GPU): frozenset({"gone"})})
    crash = Panic("runtime error: invalid memory address or nil pointer dereference")
    assert manager.hints(held, NO_REUSE, demand, demand.containers[0]) == crash


def test_too_many_nodes_of_one_resource_stall() -> None:
    areas = {node: str(node) for node in range(17)}
    machine = build.machine(areas, {})
    demand = build.demand(build.pod({"cpu": 1, "memory": 1}), build.static("restricted"))
    manager = CpuManager(machine.layout, CpuOptions(), 1)
    got = manager.hints(build.held(machine), NO_REUSE, demand, demand.containers[0])
    assert got == Stall("walking every set of 17 NUMA nodes for cpu", 1 << 17)
