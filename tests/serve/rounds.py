"""Clusters in which recorded exchanges can be repeated.

What was recorded of the cluster is one pod's two annotations. The rest of it is built here so that only they decide:
the cards have room for everybody, and what the name of a case or its note says of pod, node and quota is so.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from policy.keys import ASSIGNED_NODE, CORDON, GPU_POLICY, NOUSE_UUID, NUMA_BIND, REGISTER, USE_UUID
from tests.serve.exchanges import MIB, Exchange, identities

NODES: Final = {
    "gpu-1": (
        ("GPU-0a5c1f3e-7d42-4b8e-9c10-3f6e2d815b47", 0),
        ("GPU-1b6d2a4f-8e53-4c9f-8d21-406f3e926c58", 0),
        ("GPU-2c7e3b50-9f64-4da0-9e32-51704fa37d69", 1),
        ("GPU-3d8f4c61-a075-4eb1-8f43-628150b48e7a", 1),
    ),
    "gpu-2": (("GPU-4e905d72-b186-4fc2-9054-739261c59f8b", 0),),
    "gpu-3": (
        ("GPU-60b27f94-d3a8-41e4-9276-95b483e7b1ad", 0),
        ("GPU-71c380a5-e4b9-42f5-8387-a6c594f8c2be", 0),
        ("GPU-82d491b6-f5ca-4306-9498-b7d6a509d3cf", 1),
        ("GPU-93e5a2c7-06db-4417-85a9-c8e7b61ae4d0", 1),
    ),
}
"""Node -> its cards and their NUMA nodes."""

SELECTED: Final = {"none": "none"}
"""The label by which the pods of recorded admission reviews select nodes."""

UNHEALTHY: Final = "GPU-60b27f94-d3a8-41e4-9276-95b483e7b1ad"
CORDONED: Final = "GPU-71c380a5-e4b9-42f5-8387-a6c594f8c2be"
IN_MIG_MODE: Final = "GPU-93e5a2c7-06db-4417-85a9-c8e7b61ae4d0"

_GPU_1: Final = [uuid for uuid, _ in NODES["gpu-1"]]
_PINS: Final = {
    "two-0": {NUMA_BIND: "true"},
    "binpack-0": {GPU_POLICY: "binpack"},
    "pin-one-0": {USE_UUID: _GPU_1[0]},
    "pin-spare-1": {USE_UUID: ",".join((_GPU_1[0], _GPU_1[2]))},
    "pin-spare-2": {USE_UUID: ",".join(_GPU_1[:3])},
    "nouse-0": {NOUSE_UUID: _GPU_1[3]},
}
"""Pod -> what its cases say that its owner wrote."""

_CONTAINERS: Final = {
    "two-0": (("worker", "app"),),
    "two-ctr-0": (("a", "app"), ("b", "app")),
    "init-0": (("warm", "init"), ("main", "app")),
    "sidecar-0": (("cache", "sidecar"), ("main", "app"), ("logger", "app")),
    "plain-0": (("c", "app"),),
}
"""Pod -> names and phases of its containers, where it is not one app container `main`."""


@dataclass(slots=True)
class Round:
    """Exchanges that one cluster can answer: each pod is in one state, and one quota is in force."""

    removes_node: bool = False
    quota: tuple[int | None, int | None] | None = None
    exchanges: list[Exchange] = field(default_factory=list)
    pods: dict[str, Mapping[str, str | None]] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)

    def takes(self, exchange: Exchange) -> bool:
        """Add ``exchange`` if its pod and quota are as this round has them, or can have them."""
        uid = exchange.asked.get("podUID", "")
        known = self.pods.get(uid, exchange.before)
        fits = (
            exchange.removes_node == self.removes_node
            and (exchange.quota is None or self.quota in (None, exchange.quota))
            and (known == exchange.before and uid not in self.moved)
        )
        if fits:
            self.exchanges.append(exchange)
            self.quota = exchange.quota or self.quota
            if exchange.before is not None and uid in identities():
                self.pods[uid] = exchange.before
            self.moved |= {uid} if exchange.may_move else set()
        return fits

    def objects(self) -> Iterator[Mapping[str, Any]]:
        """The cluster, as plain objects."""
        gone = {"gpu-3"} if self.removes_node else set()
        yield from (_node(name) for name in NODES if name not in gone)
        yield from (_pod(uid, annotations) for uid, annotations in self.pods.items())
        memory, cores = self.quota or (None, None)
        hard = {"limits.nvidia.com/gpumem": memory, "limits.nvidia.com/gpucores": cores}
        limits = {key: str(value) for key, value in hard.items() if value is not None}
        yield _object("ResourceQuota", {"namespace": "team-quota", "name": "gpus"}, hard=limits)


def annotations_of(uid: str) -> Mapping[str, str]:
    """What the owner of the pod ``uid`` wrote on it."""
    return _PINS.get(identities()[uid][1], {}) if uid in identities() else {}


def rounds(exchanges: Iterable[Exchange]) -> list[Round]:
    """Share ``exchanges`` out to as few rounds as their order allows."""
    found: list[Round] = []
    for exchange in exchanges:
        if not any(one.takes(exchange) for one in found):
            found.append(Round(removes_node=exchange.removes_node))
            assert found[-1].takes(exchange)
    return found


def _object(kind: str, metadata: Mapping[str, Any], **spec: Any) -> Mapping[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}


def _node(name: str) -> Mapping[str, Any]:
    card = {"count": 100, "devmem": MIB, "devcore": 1000, "type": "NVIDIA A100"}
    register = [
        {
            **card,
            "id": uuid,
            "index": index,
            "numa": numa,
            "mode": "mig" if uuid == IN_MIG_MODE else "hami-core",
            "health": uuid != UNHEALTHY,
        }
        for index, (uuid, numa) in enumerate(NODES[name])
    ]
    annotations = {REGISTER: json.dumps(register), CORDON: CORDONED}
    return _object("Node", {"name": name, "labels": SELECTED, "annotations": annotations})


def _pod(uid: str, annotations: Mapping[str, str | None]) -> Mapping[str, Any]:
    namespace, name, node = identities()[uid]
    given = {key: value for key, value in annotations.items() if value is not None}
    placed = {ASSIGNED_NODE: node} if given else {}
    containers = _CONTAINERS.get(name, (("main", "app"),))
    spec = {
        "schedulerName": "other" if name == "foreign-0" else "hami-scheduler",
        "containers": [{"name": one} for one, phase in containers if phase == "app"],
        "initContainers": [
            {"name": one, **({"restartPolicy": "Always"} if phase == "sidecar" else {})}
            for one, phase in containers
            if phase != "app"
        ],
    }
    metadata = {"namespace": namespace, "name": name, "uid": uid}
    return _object("Pod", {**metadata, "annotations": {**placed, **annotations_of(uid), **given}}, **spec)
