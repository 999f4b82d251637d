"""Answers for the topology vectors: what kubelet says to one pod on one machine."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from policy import quantity
from policy.kubelet.demand import Demand, PodLevel, demand_of
from policy.kubelet.devices import Failure, Plugin
from policy.kubelet.held import ContainerKey, DeviceKey, Held, MemoryNode, used_by_owner
from policy.kubelet.machine import Cpu, Device, Machine, lay_out, mask_of_sets, resource_of
from policy.kubelet.masks import in_kubelet_order, mask_of, members, read_list, write_list
from policy.kubelet.outcome import Answers, ContainerOutcome, DeviceChoice, Hints, Merged, Prediction, Verdict
from policy.kubelet.predict import predict_all
from policy.kubelet.settings import Settings
from policy.kubelet.start import pool_without, start
from policy.kubelet.versions import VERIFIED, Level
from policy.pod import read_pod
from tests.vectors.runner import Answer, Vector

_OTHERS: Final = ContainerKey("others", "c")
_REFUSES: Final = "plugin refuses"
_SETTINGS: Final = {
    "topologyManagerPolicy": "topology_policy",
    "topologyManagerScope": "scope",
    "topologyManagerPolicyOptions": "topology_options",
    "cpuManagerPolicy": "cpu_policy",
    "cpuManagerPolicyOptions": "cpu_options",
    "memoryManagerPolicy": "memory_policy",
}


def answer(asked: Vector) -> dict[str, Any]:
    """Predict one vector's pod and show as much of it as the vector expects."""
    predicted = predictions(asked.input)
    whole = shown(predicted[-1])
    whole["before"] = [{"admit": each.admitted, "reason": each.reason or None} for each in predicted[:-1]]
    narrowed: dict[str, Any] = _like(asked.expect, whole)
    return narrowed


def predictions(vector: Mapping[str, Any]) -> tuple[Prediction, ...]:
    """Predict the pods of a vector, the one that is asked about last."""
    node = vector["node"]
    settings = settings_of(node["kubelet"])
    demands = [
        *(_demand(f"before{place}", pod, settings) for place, pod in enumerate(vector.get("before", ()))),
        _demand("pod", vector["pod"], settings),
    ]
    machine = machine_of(node)
    held = _held(node, settings, machine)
    return predict_all(start(machine, settings, held, _plugin(node)), held, demands)


def settings_of(kubelet: Mapping[str, Any]) -> Settings:
    """Read a vector's kubelet settings; they are those of the version that answered the vectors."""
    options = kubelet.get("cpuManagerPolicyOptions") or {}
    alpha = any(VERIFIED.cpu_options.get(name) is Level.ALPHA for name in options)
    gates = {"CPUManagerPolicyAlphaOptions": alpha, **(kubelet.get("featureGates") or {})}
    gates["PodLevelResourceManagers"] = kubelet.get("PodLevelResourceManagers", False)
    on_device_nodes = kubelet.get("deviceHintDomain", "all") == "device_nodes"
    return Settings(
        rules=replace(VERIFIED, hints_on_device_nodes=on_device_nodes),
        reserved_cpus=read_list(kubelet.get("reservedSystemCPUs") or ""),
        reserved_amount=quantity.parse(kubelet.get("reservedCPUs") or 0) or Fraction(0),
        gates=gates,
        **{name: kubelet[key] for key, name in _SETTINGS.items() if kubelet.get(key)},
    )


def machine_of(node: Mapping[str, Any]) -> Machine:
    """Build a vector's machine."""
    return Machine(
        nodes=tuple(node["numa"]),
        layout=lay_out(_cpus(node)),
        resources={name: resource_of(_devices(listed)) for name, listed in node["devices"].items()},
        distances={int(key): tuple(row) for key, row in (node.get("distances") or {}).items()},
    )


def _cpus(node: Mapping[str, Any]) -> Iterable[Cpu]:
    caches = {cpu: int(key) for key, text in (node.get("uncore") or {}).items() for cpu in members(read_list(text))}
    for key, area in (node.get("cpu") or {}).items():
        cpus = list(members(read_list(area["cpus"])))
        cores = max(1, len(cpus) // (node.get("smt") or 1))
        for place, cpu in enumerate(cpus):
            core = cpus[place % cores]
            yield Cpu(cpu, core, area["socket"], int(key), caches.get(core, area["socket"]))


def _devices(listed: Iterable[Mapping[str, Any]]) -> Iterable[Device]:
    for each in listed:
        nodes = None if each.get("numa") is None else frozenset(each["numa"])
        if each.get("emptyTopology"):
            nodes = frozenset()
        for name in _replicas(each):
            yield Device(name, nodes, each.get("healthy", True), each["id"])


def _replicas(device: Mapping[str, Any]) -> list[str]:
    if "replicas" not in device:
        return [device["id"]]
    return [f"{device['id']}-{place}" for place in range(device["replicas"])]


def _in_use(device: Mapping[str, Any]) -> list[str]:
    used, names = device.get("in_use", False), _replicas(device)
    if isinstance(used, bool):
        return names if used else []
    return [names[place] for place in used]


def _held(node: Mapping[str, Any], settings: Settings, machine: Machine) -> Held:
    others = read_list(node.get("cpuAllocated") or "")
    cpus = {_OTHERS: others} if others else {}
    devices = {
        DeviceKey(*_OTHERS, name): frozenset(used for each in listed for used in _in_use(each))
        for name, listed in node["devices"].items()
    }
    for container, each in (node.get("existing") or {}).items():
        if each.get("cpus"):
            cpus[ContainerKey("pod", container)] = read_list(each["cpus"])
        for name, ids in (each.get("devices") or {}).items():
            devices[DeviceKey("pod", container, name)] = frozenset(ids)
    devices = {key: ids for key, ids in devices.items() if ids}
    shared = pool_without(machine.layout, settings, mask_of_sets(cpus.values()))
    memory = _memory(node) if settings.memory_policy == "Static" else {}
    return Held(shared, cpus, {}, devices, used_by_owner(devices), memory)


def _memory(node: Mapping[str, Any]) -> dict[int, MemoryNode]:
    given = node.get("memory") or {}
    found = {}
    for number in node["numa"]:
        each = given.get(str(number), {"types": {}, "assignments": 0, "cells": [number]})
        types = {"memory": {"allocatable": 0, "free": 0}, **each["types"]}
        found[number] = MemoryNode(
            {kind: amount["allocatable"] for kind, amount in types.items()},
            {kind: amount["free"] for kind, amount in types.items()},
            each["assignments"],
            mask_of(each["cells"]),
        )
    return found


def _plugin(node: Mapping[str, Any]) -> Plugin:
    down = node.get("pluginDown") or ()
    return Plugin(
        has_preference=node.get("pluginPreferredAllocation", True),
        preference={name: tuple(ids) for name, ids in (node.get("pluginPrefers") or {}).items()},
        failures={pod: Failure(call, _REFUSES) for pod, call in (node.get("pluginFails") or {}).items()},
        down=frozenset([down] if isinstance(down, str) else down),
    )


def _demand(name: str, short: Mapping[str, Any], settings: Settings) -> Demand:
    spec = {
        key: [
            {**each, "resources": {side: each[side] for side in ("limits", "requests") if side in each}}
            for each in short.get(key, [])
        ]
        for key in ("initContainers", "containers")
    }
    level = short.get("resources") or {}
    pod = read_pod({"metadata": {"name": name}, "spec": spec})
    return demand_of(pod, settings, PodLevel(level.get("requests", {}), level.get("limits", {})))


def shown(prediction: Prediction) -> dict[str, Any]:
    """Write a prediction in the words of the vectors."""
    return {
        "admit": prediction.admitted,
        "reason": prediction.reason or None,
        "message": prediction.message,
        "qos": prediction.qos,
        "kubelet_starts": prediction.verdict is not Verdict.NO_START,
        "start_error": prediction.message,
        "panic": prediction.message if prediction.verdict is Verdict.PANIC else None,
        "containers": [_container(each) for each in prediction.containers],
        "outcomes": sorted(prediction.outcomes),
        **_hints(prediction.hints, prediction.merged),
    }


def _container(outcome: ContainerOutcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "cpus": None if outcome.cpus is None else write_list(outcome.cpus),
        "devices": {name: _choice(choice) for name, choice in outcome.devices.items()},
        "memory_nodes": list(members(outcome.memory_nodes)),
        **_hints(outcome.hints, outcome.merged),
    }


def _hints(answers: Answers | None, merged: Merged | None) -> dict[str, Any]:
    known = {name: hints for name, hints in (answers or {}).items() if hints is not None}
    written: dict[str, Any] = {
        "hints": {name: None if hints is None else _listed(hints) for name, hints in (answers or {}).items()},
        "hint_count": {name: len(hints.masks) for name, hints in known.items()},
        "preferred_masks": {
            name: [list(members(mask)) for mask in in_kubelet_order(hints.preferred)] for name, hints in known.items()
        },
    }
    if merged is not None:
        mask = None if merged.mask is None else list(members(merged.mask))
        written["merged"] = {"mask": mask, "preferred": merged.preferred}
    return written


def _listed(hints: Hints) -> list[list[Any]]:
    return [[list(members(mask)), preferred] for mask, preferred in hints.listed()]


def _choice(choice: DeviceChoice) -> dict[str, Any]:
    sets = {name: sorted(getattr(choice, name)) for name in ("forced", "allowed", "aligned", "unaligned", "picked")}
    call = choice.call and {
        "available": sorted(choice.call.available),
        "must_include": sorted(choice.call.must_include),
        "size": choice.call.size,
    }
    return {
        **sets,
        "size": choice.size,
        "decided_by": choice.decided_by,
        "call": call,
        "distinct_sets": [sorted(cards) for cards in choice.distinct_sets()],
    }


def _like(expected: Any, whole: Any) -> Any:
    """Keep of an answer what ``expected`` names, on every level; a list keeps its length."""
    if isinstance(expected, Mapping) and isinstance(whole, Mapping):
        return {key: _like(value, whole[key]) for key, value in expected.items() if key in whole}
    if isinstance(expected, list) and isinstance(whole, Sequence) and len(expected) == len(whole):
        return [_like(one, other) for one, other in zip(expected, whole, strict=True)]
    return whole


ANSWERS: Final[dict[str, Answer]] = {"topology": answer}
