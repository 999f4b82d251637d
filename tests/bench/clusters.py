"""Clusters to measure on: the recorded one, and made ones of any size."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policy import keys

Object = dict[str, Any]

RECORDED = Path(__file__).parents[1] / "data" / "hami-cluster.json"

LEVELS = """\
version: numafit.io/v1
levels: {bind-without-effect: audit}
nodes:
- selector: {matchLabels: {gpu: "on"}}
  topologyPolicy: single-numa-node
  topologyScope: container
  advertisesNuma: true
"""
"""A policy file by which no rule is off and every rule about kubelets has something to look at."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large a made cluster is."""

    nodes: int
    pods: int


CARDS = 8
CARDS_OF_NUMA = 4
NAMESPACE = "team-a"


def write_levels(directory: Path) -> Path:
    """Write the policy file that all measurements go by."""
    path = directory / "levels.yaml"
    path.write_text(LEVELS, encoding="utf-8")
    return path


def write(path: Path, size: Size) -> Path:
    """Write a cluster of nodes with 8 cards each and pods that hold shares of them, as kubectl prints it."""
    items = [*map(_node, range(size.nodes)), *(_pod(number, number % size.nodes) for number in range(size.pods))]
    items.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    return path


def node_name(number: int) -> str:
    """The name of a node."""
    return f"gpu-{number:04}"


def cards_of(number: int) -> tuple[str, ...]:
    """The UUIDs of a node's cards."""
    return tuple(f"GPU-{number:08x}-0000-4000-8000-{index:012x}" for index in range(CARDS))


def _node(number: int) -> Object:
    labels = {
        "gpu": "on",
        "kubernetes.io/hostname": node_name(number),
        "topology.kubernetes.io/zone": f"zone-{number % 3}",
        "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB",
    }
    annotations = {keys.REGISTER: json.dumps(list(_register(number)))}
    metadata = {"name": node_name(number), "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}}


def _register(number: int) -> Iterator[Object]:
    for index, uuid in enumerate(cards_of(number)):
        yield {
            "id": uuid,
            "index": index,
            "count": 10,
            "devmem": 40960,
            "devcore": 100,
            "type": "NVIDIA-A100-SXM4-40GB",
            "numa": index // CARDS_OF_NUMA,
            "mode": "hami-core",
            "health": True,
        }


def _pod(number: int, node: int) -> Object:
    """A pod that holds 4,000 MiB of one card, still to be handed over."""
    held = f"{cards_of(node)[number % CARDS]},{keys.NVIDIA},4000,10:;"
    annotations = {keys.ASSIGNED_NODE: node_name(node), keys.TO_ALLOCATE: held, keys.ALLOCATED: held}
    limits = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "4k", "nvidia.com/gpucores": "10"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": NAMESPACE,
            "name": f"worker-{number}",
            "uid": f"uid-{number}",
            "annotations": annotations,
        },
        "spec": {"nodeName": node_name(node), "containers": [{"name": "main", "resources": {"limits": limits}}]},
        "status": {"phase": "Running"},
    }
