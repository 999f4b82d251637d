"""Clusters and manifests for the tests of capacity, groups and cost, written short."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from policy import keys
from tests.cli.conftest import ROOT, Numafit
from tests.cluster.build import listed, node, pod

ARTICLE = ROOT / "tests" / "data" / "article"
TAKEN_AT = "2026-11-02T12:00:00Z"

Object = dict[str, Any]


def topology(name: str, *zones: tuple[int | None, str | None], policy: str = "single-numa-node") -> Object:
    """A NodeResourceTopology: of each NUMA node the CPUs and the memory that are available, None where not said."""
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        "attributes": [{"name": "topologyManagerPolicy", "value": policy}],
        "zones": [
            {
                "name": f"node-{numa}",
                "type": "Node",
                "resources": [
                    *([] if cpus is None else [{"name": "cpu", "available": str(cpus)}]),
                    *([] if memory is None else [{"name": "memory", "available": memory}]),
                ],
            }
            for numa, (cpus, memory) in enumerate(zones)
        ],
    }


def holder(name: str, node_name: str, *cards: int, at: str = "1793613600", **metadata: Any) -> Object:
    """A pod that holds whole cards of a node."""
    value = "".join(f"GPU-{node_name}-{card},NVIDIA,40000,100:" for card in cards) + ";"
    annotations = {
        keys.ASSIGNED_NODE: node_name,
        keys.ASSIGNED_TIME: at,
        keys.TO_ALLOCATE: value,
        keys.ALLOCATED: value,
    }
    made = pod(name, annotations=annotations | metadata.pop("annotations", {}), **metadata)
    limits = {"nvidia.com/gpu": len(cards)}
    return made | {"spec": {"nodeName": node_name, "containers": [{"name": "main", "resources": {"limits": limits}}]}}


def worker(gpus: int = 2, cpus: int = 0, annotations: Mapping[str, str] | None = None, **labels: str) -> Object:
    """A pod template that asks for whole cards, and CPUs of its own where they are given."""
    limits: Object = {"nvidia.com/gpu": gpus} | ({"cpu": cpus, "memory": "1Gi"} if cpus else {})
    metadata = {"annotations": dict(annotations or {}), "labels": labels}
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "resources": {"limits": limits}}]}}


def written(path: Path, *objects: Object, name: str = "cluster.json") -> Path:
    """A file with objects."""
    file = path / name
    file.write_text(json.dumps(listed(*objects, taken_at=TAKEN_AT)))
    return file


def article(**metadata: Any) -> list[Object]:
    """Two nodes of four cards, two to a NUMA node."""
    return [node("a", cards=4, **metadata), node("b", cards=4, **metadata)]


def asked(numafit: Numafit, *arguments: object, code: int = 0, stdin: str = "") -> dict[str, Any]:
    """The JSON answer of a command."""
    answer = numafit(*arguments, "-o", "json", stdin=stdin)
    assert answer.code == code, answer.err
    document: dict[str, Any] = json.loads(answer.out)
    return document
