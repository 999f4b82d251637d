"""Machines, settings and pods for the tests of the kubelet model, written short."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from policy.kubelet.demand import Demand, PodLevel, demand_of
from policy.kubelet.devices import Plugin
from policy.kubelet.held import ContainerKey, DeviceKey, Held, MemoryNode, used_by_owner
from policy.kubelet.machine import Cpu, Device, Machine, lay_out, resource_of
from policy.kubelet.masks import mask_of, members, read_list
from policy.kubelet.outcome import Prediction
from policy.kubelet.predict import predict
from policy.kubelet.settings import Settings
from policy.kubelet.start import start
from policy.pod import read_pod

GPU = "nvidia.com/gpu"
NIC = "example.com/nic"
OTHERS = ContainerKey("others", "c")


def cpus(areas: Mapping[int, str], threads: int = 1, sockets: Mapping[int, int] | None = None) -> list[Cpu]:
    """CPUs by NUMA node; with two threads, the first half of a node's list are the first threads."""
    found = []
    for node, text in areas.items():
        listed = list(members(read_list(text)))
        cores = len(listed) // threads
        socket = (sockets or {}).get(node, node)
        found += [Cpu(cpu, listed[place % cores], socket, node, socket) for place, cpu in enumerate(listed)]
    return found


def machine(
    areas: Mapping[int, str] | None = None,
    devices: Mapping[str, list[Device]] | None = None,
    **more: Any,
) -> Machine:
    """A machine of two sockets with eight CPUs and two GPUs each, or what is said instead."""
    areas = {0: "0-7", 1: "8-15"} if areas is None else areas
    laid = lay_out(cpus(areas, more.pop("threads", 1), more.pop("sockets", None)))
    nodes = more.pop("nodes", tuple(sorted(areas)))
    listed = {GPU: gpus(0, 0, 1, 1)} if devices is None else devices
    return Machine(nodes, laid, {name: resource_of(each) for name, each in listed.items()}, **more)


def gpus(*nodes: int | None, prefix: str = "g") -> list[Device]:
    """One device for each NUMA node named, `g0` first; None reports no topology."""
    return [Device(f"{prefix}{place}", None if node is None else frozenset({node})) for place, node in enumerate(nodes)]


def static(policy: str, reserved: str = "0", **more: Any) -> Settings:
    """Settings with the static CPU manager."""
    return replace(
        Settings(topology_policy=policy, cpu_policy="static", reserved_cpus=read_list(reserved)),  # type: ignore[arg-type] # any text
        **more,
    )


def held(of: Machine, taken: str = "", memory: Mapping[int, MemoryNode] | None = None, **used: str) -> Held:
    """What others hold: a list of CPUs, GPUs and NICs as words."""
    mine = read_list(taken)
    devices = {
        DeviceKey(*OTHERS, {"gpus": GPU, "nics": NIC}[kind]): frozenset(ids.split()) for kind, ids in used.items()
    }
    assigned = {OTHERS: mine} if mine else {}
    return Held(of.layout.all & ~mine, assigned, {}, devices, used_by_owner(devices), memory or {})


def memory_node(
    node: int, size: int, free: int | None = None, group: tuple[int, ...] = (), held_by: int = 0
) -> MemoryNode:
    """Memory of one NUMA node."""
    return MemoryNode({"memory": size}, {"memory": size if free is None else free}, held_by, mask_of(group or (node,)))


def pod(*containers: Mapping[str, Any], init: tuple[Mapping[str, Any], ...] = (), name: str = "pod") -> dict[str, Any]:
    """A plain pod; a container is its limits, with `requests`, `name` and `restartPolicy` beside them."""
    spec = {"initContainers": [_container(*each) for each in enumerate(init)]}
    spec["containers"] = [_container(*each) for each in enumerate(containers)]
    for each, letter in ((spec["initContainers"], "i"), (spec["containers"], "c")):
        for place, container in enumerate(each):
            container.setdefault("name", f"{letter}{place}")
    return {"metadata": {"name": name}, "spec": spec}


def _container(_: int, short: Mapping[str, Any]) -> dict[str, Any]:
    beside = {key: short[key] for key in ("name", "restartPolicy") if key in short}
    limits = {key: value for key, value in short.items() if key not in {"name", "restartPolicy", "requests"}}
    return {**beside, "resources": {"limits": limits, "requests": short.get("requests", {})}}


def demand(source: Mapping[str, Any], settings: Settings, level: PodLevel | None = None) -> Demand:
    """Read a plain pod."""
    return demand_of(read_pod(source), settings, level or PodLevel())


def ask(
    of: Machine, settings: Settings, source: Mapping[str, Any], before: Held | None = None, plugin: Plugin | None = None
) -> Prediction:
    """Predict what a kubelet that has just started answers to one pod."""
    state = held(of) if before is None else before
    booted = start(of, settings, state, plugin or Plugin(preference={}))
    return predict(booted, state, demand(source, settings))


def nodes_of(mask: int | None) -> tuple[int, ...] | None:
    """A mask for people."""
    return None if mask is None else tuple(members(mask))


def random_machine(random: Random) -> tuple[Machine, Held]:
    """A machine of up to four NUMA nodes and what others hold of it."""
    count = random.randint(1, 4)
    areas = {node: f"{8 * node}-{8 * node + 7}" for node in range(count)}
    devices = {GPU: _random_devices(random, count, "g"), NIC: _random_devices(random, count, "n")}
    sockets = {node: node // 2 for node in range(count)} if random.random() < 0.5 else None
    of = machine(areas, devices, threads=random.choice((1, 2)), sockets=sockets)
    memory = {node: memory_node(node, 64, random.randint(0, 64)) for node in range(count)}
    taken = mask_of(cpu for cpu in range(1, 8 * count) if random.random() < 0.3)
    used = {name: frozenset(each.id for each in devices[name] if random.random() < 0.3) for name in (GPU, NIC)}
    owned = {DeviceKey(*OTHERS, name): ids for name, ids in used.items() if ids}
    assigned = {OTHERS: taken} if taken else {}
    return of, Held(of.layout.all & ~taken, assigned, {}, owned, used_by_owner(owned), memory)


def _random_devices(random: Random, count: int, prefix: str) -> list[Device]:
    found = []
    for place in range(random.randint(1, 5)):
        span = random.choices((0, 1, 2), (1, 8, 2))[0]
        nodes = frozenset(random.sample(range(count), min(span, count))) if span else None
        found.append(Device(f"{prefix}{place}", nodes, healthy=random.random() < 0.9))
    return found


def random_pod(random: Random, name: str = "pod") -> dict[str, Any]:
    """A pod of one to three containers, sometimes with init containers and sidecars."""
    return pod(
        *(_random_container(random) for _ in range(random.randint(1, 2))),
        init=tuple(_random_init(random) for _ in range(random.choice((0, 0, 1)))),
        name=name,
    )


def _random_init(random: Random) -> dict[str, Any]:
    container = _random_container(random)
    return {**container, "restartPolicy": "Always"} if random.random() < 0.3 else container


def _random_container(random: Random) -> dict[str, Any]:
    limits: dict[str, Any] = {"cpu": random.choice((1, 2, 3, 8, 10, "500m")), "memory": random.choice((8, 60, 100))}
    if random.random() < 0.2:
        limits = {}
    for name in (GPU, NIC):
        if random.random() < 0.6:
            limits[name] = random.randint(0, 3)
    return limits
