"""Small plain objects and requests for servers of the tests."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from policy.keys import ALLOCATED, ASSIGNED_NODE, REGISTER, TO_ALLOCATE
from tests.serve.running import Object


def card(node: str, index: int) -> str:
    """The UUID of a node's card."""
    return f"GPU-{node}-{index}"


def node(name: str, cards: int = 2, slots: int = 10) -> Object:
    """A node whose cards of 40,000 MiB can be cut into ``slots`` shares; two cards to a NUMA node."""
    register = [
        {
            "id": card(name, index),
            "index": index,
            "count": slots,
            "devmem": 40000,
            "devcore": 100,
            "type": "NVIDIA A100",
            "numa": index // 2,
            "mode": "hami-core",
            "health": True,
        }
        for index in range(cards)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {REGISTER: json.dumps(register)}},
    }


def asking(name: str, memory: int = 1000, annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A pod that asks for a share of one card."""
    limits = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": str(memory), "nvidia.com/gpucores": "1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": "default",
            "name": name,
            "uid": f"uid-{name}",
            "annotations": dict(annotations or {}),
        },
        "spec": {"containers": [{"name": "main", "resources": {"limits": limits}}]},
        "status": {"phase": "Pending"},
    }


def placed(name: str, node: str, index: int, memory: int = 1000) -> dict[str, Any]:
    """The same once it has its share of a card, and nothing was handed over yet."""
    value = f"{card(node, index)},NVIDIA,{memory},1:;"
    source = asking(name, memory)
    source["metadata"]["annotations"] = {ASSIGNED_NODE: node, TO_ALLOCATE: value, ALLOCATED: value}
    return source


def refit(name: str, node: str, allowed: Sequence[int]) -> dict[str, Any]:
    """What the device plugin of ``node`` asks for that pod."""
    return {
        "podUID": f"uid-{name}",
        "podNamespace": "default",
        "podName": name,
        "nodeName": node,
        "containerIndex": 0,
        "containerName": "main",
        "deviceType": "NVIDIA",
        "allowedDeviceUUIDs": [card(node, index) for index in allowed],
    }


def review(pod: Object, **request: Any) -> dict[str, Any]:
    """An AdmissionReview of the creation of ``pod``."""
    given = {"uid": "r-1", "operation": "CREATE", "kind": {"group": "", "version": "v1", "kind": "Pod"}}
    namespace = pod["metadata"].get("namespace", "default")
    asked = {**given, "namespace": namespace, "name": pod["metadata"].get("name", ""), "object": pod, **request}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
