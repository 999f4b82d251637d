"""Small plain objects for the tests of the cluster."""

import json
import random
from typing import Any

from policy import keys

Object = dict[str, Any]

SECRET = "s3cr3t"


def node(name: str = "gpu-1", cards: int = 2, **metadata: Any) -> Object:
    """A node whose cards are `GPU-<name>-<index>`, two to a NUMA node, 40,000 MiB each."""
    register = [
        {
            "id": f"GPU-{name}-{index}",
            "index": index,
            "count": 10,
            "devmem": 40000,
            "devcore": 100,
            "type": "NVIDIA A100",
            "numa": index // 2,
            "mode": "hami-core",
            "health": True,
        }
        for index in range(cards)
    ]
    annotations = {keys.REGISTER: json.dumps(register)} | metadata.pop("annotations", {})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": annotations, **metadata},
        "spec": {},
    }


def pod(name: str = "p", **metadata: Any) -> Object:
    """A pod with one container."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": "default", "name": name, "uid": f"uid-{name}", **metadata},
        "spec": {"containers": [{"name": "main"}]},
        "status": {"phase": "Pending"},
    }


def placed(name: str = "p", card: str = "GPU-gpu-1-0", node: str = "gpu-1", memory: int = 20000) -> Object:
    """The same after it was given a share of ``card``."""
    return pod(name, annotations=reservation(card, node, memory), resourceVersion="7")


def reservation(card: str, node: str = "gpu-1", memory: int = 20000) -> dict[str, str]:
    """The annotations of a pod that holds a share of ``card``."""
    value = f"{card},NVIDIA,{memory},30:;"
    return {keys.ASSIGNED_NODE: node, keys.TO_ALLOCATE: value, keys.ALLOCATED: value}


def quota(namespace: str = "default", **hard: str) -> Object:
    """A quota on memory and cores, e.g. `gpumem="30k"`."""
    limits = {f"limits.nvidia.com/{name}": amount for name, amount in hard.items()}
    metadata = {"namespace": namespace, "name": "q"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": limits}}


def listed(*objects: Object, taken_at: str = "") -> Object:
    """A list as kubectl prints it."""
    annotations = {"annotations": {"numafit.io/taken-at": taken_at}} if taken_at else {}
    return {"apiVersion": "v1", "kind": "List", "metadata": annotations, "items": list(objects)}


class Planter:
    """Plants secrets, of the wrong shape for their place, in an object: beside everything in it, and instead of much.

    Node selectors stay as they are: redaction keeps them.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._planted = 0

    def plant(self, value: Any) -> Any:
        if isinstance(value, dict):
            kept = {key: inner if key == "nodeSelector" else self.plant(inner) for key, inner in value.items()}
            return {**dict.fromkeys(self._some(), self._secret()), **kept}
        if isinstance(value, list):
            return [*map(self.plant, value), *({name: self._secret()} for name in self._some())]
        return self._wrong_shape() if value == SECRET or self._random.random() < 0.05 else value

    def _some(self) -> list[str]:
        return [self._secret()] if self._random.random() < 0.5 else []

    def _secret(self) -> str:
        self._planted += 1
        return f"planted-{self._planted}"

    def _wrong_shape(self) -> Any:
        shapes: list[Any] = [
            [self._secret(), {"name": self._secret(), "value": self._secret()}],
            {self._secret(): self._secret(), "name": [self._secret()]},
            [[{"key": {"key": self._secret()}}]],
        ]
        return self._random.choice(shapes)
