"""What is taken already on a random machine, and what its device plugins prefer."""

from random import Random
from typing import Any

from tests.kubelet_judge.machines import cpus_of, listed, often, some

Question = dict[str, Any]


def occupy(random: Random, node: dict[str, Any]) -> None:
    if node["kubelet"]["cpuManagerPolicy"] == "static" and often(random, 0.5):
        reserved = {int(cpu) for cpu in node["kubelet"]["reservedSystemCPUs"].split(",")}
        node["cpuAllocated"] = listed(some(random, sorted(set(cpus_of(node)) - reserved), random.choice([0.2, 0.5])))


def prefer(random: Random, node: dict[str, Any]) -> None:
    way = random.choice(["all", "all", "all", "silent", "short", "off"])
    if way == "off":
        node["pluginPreferredAllocation"] = False
    elif way != "silent":
        node["pluginPrefers"] = {name: _order(random, held, way) for name, held in node["devices"].items()}


def _order(random: Random, devices: list[dict[str, Any]], way: str) -> list[str]:
    ids = [name for device in devices for name in _ids(device)]
    random.shuffle(ids)
    return ids if way == "all" else ids[: len(ids) // 2]


def _ids(device: dict[str, Any]) -> list[str]:
    count = device.get("replicas")
    return [f"{device['id']}-{index}" for index in range(count)] if count else [device["id"]]


def remember(random: Random, drawn: Question) -> None:
    """Let some containers of the pod have what they asked for, or nearly, from before a restart."""
    node, asked = drawn["node"], drawn["pod"]
    free = _free_cpus(node)
    existing = {}
    for container in [*asked.get("initContainers", []), *asked["containers"]]:
        if often(random, 0.7):
            holding = _holding(random, node, container.get("limits", {}), free)
            if holding:
                existing[container["name"]] = holding
    if existing:
        node["existing"] = existing


def _free_cpus(node: dict[str, Any]) -> list[int]:
    texts = (node["kubelet"].get("reservedSystemCPUs", ""), node.get("cpuAllocated", ""))
    taken = {int(cpu) for text in texts for cpu in text.split(",") if cpu}
    return [cpu for cpu in cpus_of(node) if cpu not in taken]


def _holding(random: Random, node: dict[str, Any], limits: dict[str, Any], free: list[int]) -> dict[str, Any]:
    holding: dict[str, Any] = {}
    wanted = limits.get("cpu")
    if isinstance(wanted, int) and node["kubelet"]["cpuManagerPolicy"] == "static":
        count = min(len(free), wanted + random.choice([0, 0, 0, 0, 1]))
        own = random.sample(free, count)
        free[:] = [cpu for cpu in free if cpu not in own]
        if own:
            holding["cpus"] = listed(own)
    kept = {}
    for name, devices in node["devices"].items():
        idle = [device for device in devices if not device.get("in_use")]
        count = min(len(idle), limits.get(name, 0) + random.choice([0, 0, 0, 0, 1]))
        if count and name in limits:
            chosen = random.sample(idle, count)
            kept[name] = [device["id"] for device in chosen]
            for device in chosen:
                device["in_use"] = "own"
    if kept:
        holding["devices"] = kept
    return holding
