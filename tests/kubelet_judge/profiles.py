"""Random questions by profile: each profile bends what a plain machine and a plain pod do not reach."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

from tests.kubelet_judge.holdings import occupy, prefer, remember
from tests.kubelet_judge.machines import (
    GPU,
    HUGEPAGES,
    NIC,
    cpus_of,
    distances,
    listed,
    machine,
    memory,
    often,
    some,
)
from tests.kubelet_judge.pods import pod, reusing

Question = dict[str, Any]

POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")
SCOPES: Final = ("container", "pod")

_CPU_OPTIONS: Final = (
    "full-pcpus-only",
    "distribute-cpus-across-numa",
    "align-by-socket",
    "distribute-cpus-across-cores",
    "strict-cpu-reservation",
    "prefer-align-cpus-by-uncorecache",
)


def question(random: Random, profile: str, nodes: int | None = None) -> Question:
    """Draw a question of ``profile``."""
    node = machine(random, nodes)
    node["kubelet"] = _kubelet(random, node)
    occupy(random, node)
    prefer(random, node)
    drawn: Question = {"node": node, "pod": pod(random, list(node["devices"]))}
    PROFILES[profile](random, drawn)
    return drawn


def _kubelet(random: Random, node: dict[str, Any]) -> dict[str, Any]:
    settings = {
        "topologyManagerPolicy": random.choice(POLICIES),
        "topologyManagerScope": random.choice(SCOPES),
        "cpuManagerPolicy": "static" if often(random, 0.85) else "none",
        "memoryManagerPolicy": "None",
        "deviceHintDomain": "device_nodes",
    }
    if settings["cpuManagerPolicy"] == "static":
        cpus = cpus_of(node)
        settings["reservedSystemCPUs"] = listed(random.sample(cpus, random.choice([1, 1, min(2, len(cpus))])))
    return settings


def _plain(_: Random, __: Question) -> None:
    """Leave it as it was drawn."""


def _eight_nodes(random: Random, drawn: Question) -> None:
    drawn.update(question(random, "plain", nodes=8))
    drawn["node"]["devices"].pop(NIC, None)
    for container in [*drawn["pod"].get("initContainers", []), *drawn["pod"]["containers"]]:
        container.get("limits", {}).pop(NIC, None)


def _replicas(random: Random, drawn: Question) -> None:
    node = drawn["node"]
    for device in node["devices"][GPU]:
        count = device["replicas"] = random.randint(1, 4)
        device["in_use"] = some(random, range(count), 0.3)
    prefer(random, node)


def _health(random: Random, drawn: Question) -> None:
    sick = random.choice([0.3, 1.0])
    for devices in drawn["node"]["devices"].values():
        for device in devices:
            device["healthy"] = not often(random, sick)
            if device["numa"] is None and often(random, 0.3):
                device["emptyTopology"] = True
            elif often(random, 0.05):
                device["numa"] = [15]  # a node that the machine does not have
    if often(random, 0.3):
        drawn["pod"]["containers"][0].setdefault("limits", {})[GPU] = 0


def _plugin(random: Random, drawn: Question) -> None:
    node = drawn["node"]
    if often(random, 0.4):
        node["pluginFails"] = {"pod": random.choice(["GetPreferredAllocation", "Allocate"])}
    elif often(random, 0.5):
        node["pluginDown"] = random.choice(list(node["devices"]))
    else:
        drawn["pod"]["containers"][0].setdefault("limits", {})["example.com/unknown"] = 1


def _memory(random: Random, drawn: Question) -> None:
    node = drawn["node"]
    pages = often(random, 0.3)
    node["kubelet"]["memoryManagerPolicy"] = "Static"
    ids = node["numa"] if pages or often(random, 0.9) else some(random, node["numa"], 0.7)
    node["memory"] = memory(random, ids, ["memory", HUGEPAGES] if pages else ["memory"])
    if pages or often(random, 0.05):
        for container in [*drawn["pod"].get("initContainers", []), *drawn["pod"]["containers"]]:
            if "memory" in container.get("limits", {}) and often(random, 0.6):
                container["limits"][HUGEPAGES] = random.choice([2, 8, 20])


def _options(random: Random, drawn: Question) -> None:
    node = drawn["node"]
    kubelet = node["kubelet"]
    kubelet["cpuManagerPolicy"] = "static"
    kubelet.setdefault("reservedSystemCPUs", listed(cpus_of(node)[:1]))
    named = random.sample(_CPU_OPTIONS, random.choice([1, 1, 1, 2, 3]))
    kubelet["cpuManagerPolicyOptions"] = {name: random.choice(["true", "true", "true", "false"]) for name in named}
    if often(random, 0.4):
        node["uncore"] = _caches(random, node)


def _caches(random: Random, node: dict[str, Any]) -> dict[str, str]:
    """Share out the cores of each NUMA node to last-level caches."""
    caches: dict[str, str] = {}
    for area in node["cpu"].values():
        cpus = [int(cpu) for cpu in area["cpus"].split(",")]
        cores = len(cpus) // node["smt"]
        size = random.choice([1, 2, 2, 4])
        for first in range(0, cores, size):
            group = {place + thread * cores for thread in range(node["smt"]) for place in range(first, first + size)}
            inside = [cpu for place, cpu in enumerate(cpus) if place in group and place % cores < first + size]
            caches[str(len(caches))] = listed(inside)
    return caches


def _reservation(random: Random, drawn: Question) -> None:
    node = drawn["node"]
    kubelet = node["kubelet"]
    kubelet["cpuManagerPolicy"] = "static"
    kubelet["reservedSystemCPUs"] = ""
    kubelet["reservedCPUs"] = random.choice(["500m", "1", "2", "2500m", "3", "0"])
    node.pop("cpuAllocated", None)
    if often(random, 0.4):
        kubelet["cpuManagerPolicyOptions"] = {random.choice(_CPU_OPTIONS): "true"}


def _closest(random: Random, drawn: Question) -> None:
    node = drawn["node"]
    ids = node["numa"]
    rows = distances(random, len(ids))
    if often(random, 0.95):
        node["distances"] = {str(number): row for number, row in zip(ids, rows, strict=True)}
    node["kubelet"]["topologyManagerPolicyOptions"] = {"prefer-closest-numa-nodes": random.choice(["true", "1", "f"])}
    if often(random, 0.2):
        node["kubelet"]["topologyManagerPolicyOptions"]["max-allowable-numa-nodes"] = random.choice(["8", "16"])


def _start(random: Random, drawn: Question) -> None:
    kubelet = drawn["node"]["kubelet"]
    kubelet["cpuManagerPolicyOptions"] = {
        name: random.choice(["true", "true", "1", "yes"]) for name in some(random, _CPU_OPTIONS, 0.3)
    }
    kubelet["topologyManagerPolicyOptions"] = random.choice(
        [{}, {}, {"max-allowable-numa-nodes": random.choice(["7", "8", "9", "x"])}, {"no-such-option": "true"}]
    )
    gates = ("CPUManagerPolicyAlphaOptions", "CPUManagerPolicyBetaOptions", "TopologyManagerPolicyBetaOptions")
    if often(random, 0.4):
        kubelet["featureGates"] = {random.choice(gates): often(random, 0.5)}


def _restarted(random: Random, drawn: Question) -> None:
    remember(random, drawn)
    for devices in drawn["node"]["devices"].values():
        for device in devices:
            if device.get("in_use") == "own":
                del device["in_use"]
            if often(random, 0.03):
                device["healthy"] = False


def _order_of_pods(random: Random, drawn: Question) -> None:
    names = list(drawn["node"]["devices"])
    drawn["before"] = [pod(random, names) for _ in range(random.choice([1, 1, 2]))]
    if "pluginFails" not in drawn["node"] and often(random, 0.1):
        drawn["node"]["pluginFails"] = {"before0": random.choice(["GetPreferredAllocation", "Allocate"])}


def _pod_level(random: Random, drawn: Question) -> None:
    asked = drawn["pod"]
    cpu, amount = _sums(asked)
    spare = random.choice([0, 0, 1, 2])
    limits = {"cpu": cpu + spare, "memory": amount + random.choice([0, 4])}
    asked["resources"] = {"limits": {key: value for key, value in limits.items() if value}}
    if often(random, 0.6):
        asked["resources"]["requests"] = dict(asked["resources"]["limits"])
    drawn["node"]["kubelet"]["PodLevelResourceManagers"] = often(random, 0.6)


def _sums(asked: dict[str, Any]) -> tuple[int, int]:
    """Add up CPUs (whole ones, rounded up) and memory over all containers, which no valid pod's own limits undercut."""
    cpu = amount = 0
    for container in [*asked.get("initContainers", []), *asked["containers"]]:
        for side in (container.get("limits", {}),):
            cpu += side["cpu"] if isinstance(side.get("cpu"), int) else 2 if "cpu" in side else 0
            amount += side.get("memory", 0)
    return cpu, amount


def _reuse(random: Random, drawn: Question) -> None:
    """Let init containers leave behind what later containers need, on nodes that have hardly more than that."""
    node = drawn["node"]
    node.pop("cpuAllocated", None)
    node["kubelet"]["memoryManagerPolicy"] = "Static"
    rooms = {"memory": {"allocatable": 16, "free": 16}}
    node["memory"] = {str(number): {"types": rooms, "assignments": 0, "cells": [number]} for number in node["numa"]}
    drawn["pod"] = reusing(random)


def _mixed(random: Random, drawn: Question) -> None:
    bends = (_health, _plugin, _memory, _options, _closest, _restarted, _order_of_pods, _pod_level)
    for bend in random.sample(bends, random.choice([2, 3])):
        bend(random, drawn)


PROFILES: Final[dict[str, Callable[[Random, Question], None]]] = {
    "plain": _plain,
    "eight-nodes": _eight_nodes,
    "replicas": _replicas,
    "health": _health,
    "plugin": _plugin,
    "memory": _memory,
    "cpu-options": _options,
    "reservation": _reservation,
    "closest": _closest,
    "start-errors": _start,
    "restart": _restarted,
    "several-pods": _order_of_pods,
    "pod-level": _pod_level,
    "reuse": _reuse,
    "mixed": _mixed,
}
