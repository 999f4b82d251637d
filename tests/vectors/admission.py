"""Answers for the admission vectors: whole sets of the combination table's codes at their default levels."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from policy.admission.case import Operator
from policy.admission.finding import Level
from policy.admission.judge import judge_creation
from policy.admission.levels import resolve
from policy.admission.table import BY_CODE
from policy.facts import UNKNOWN_NUMA, Card, Facts, Kubelet, Node, gather
from policy.hami.request import HamiConfig
from policy.pod import read_pod
from tests.vectors.runner import Answer, Vector

SECTION_4: Final = frozenset(
    {
        "forged-reservation",
        "privileged-gpu",
        "node-name-preset",
        "no-containers",
        "key-changed-late",
        "cores-out-of-range",
        "percent-out-of-range",
        "quantity-not-whole",
        "memory-given-twice",
        "count-zero",
        "percent-zero",
        "memory-zero",
        "memory-exceeds-every-card",
        "quota-never-fits",
        "quota-full",
        "policy-unknown",
        "weights-malformed",
        "type-list-empty",
        "type-matches-no-card",
        "mode-matches-no-card",
        "pinned-unfit",
        "bind-with-filter-policy",
        "taint-not-tolerated",
        "alignment-on-mig-cards",
        "pinned-whole-card-replicated",
        "near-miss-key",
        "amount-as-annotation",
        "annotation-on-owner",
    }
)
"""Rules outside the combination table: the vectors do not list them."""


def answer(asked: Vector) -> dict[str, object]:
    """Judge one vector's pod and name the codes of the combination table that hold."""
    vector = asked.input
    config = vector["config"]
    operator = Operator(
        hami=HamiConfig(scheduler_name=config.get("schedulerName", "hami-scheduler")),
        static_cluster=config.get("staticCluster", False),
        refit_enabled=config.get("refitEnabled", True),
    )
    source = pod_object(vector["pod"])
    verdict = judge_creation(
        read_pod(source),
        source,
        operator,
        resolve({}, static_cluster=operator.static_cluster),
        _facts(vector["nodes"]),
        fresh=config.get("factsFresh", True),
    )
    found = {
        level: [f.code for f in verdict.findings if f.level is level and f.code not in SECTION_4] for level in Level
    }
    enforce, warn = set(found[Level.ENFORCE]), set(found[Level.WARN])
    return {"allowed": not enforce, "enforce": enforce, "warn": warn}


def pod_object(short: Mapping[str, Any]) -> dict[str, Any]:
    """Write a vector's pod as a plain Kubernetes object."""
    spec: dict[str, Any] = {
        key: [_container(item) for item in short.get(key, [])] for key in ("initContainers", "containers")
    }
    spec |= {key: short[key] for key in ("schedulerName", "nodeName", "nodeSelector", "affinity") if key in short}
    if short.get("podResources"):
        spec["resources"] = short["podResources"] if isinstance(short["podResources"], dict) else {"limits": {"cpu": 1}}
    metadata: dict[str, Any] = {
        "name": "p",
        "namespace": "default",
        "annotations": dict(short.get("annotations") or {}),
    }
    metadata["labels"] = dict(short.get("labels") or {})
    if short.get("ownerKind"):
        metadata["ownerReferences"] = [{"kind": short["ownerKind"], "name": "o", "controller": True}]
    if short.get("group"):
        metadata["labels"]["scheduling.x-k8s.io/pod-group"] = "g"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _container(short: Mapping[str, Any]) -> dict[str, Any]:
    resources = {key: dict(short[key]) for key in ("limits", "requests") if key in short}
    rest = {key: value for key, value in short.items() if key not in {"limits", "requests", "privileged"}}
    return rest | {"resources": resources, "securityContext": {"privileged": short.get("privileged", False)}}


def _facts(nodes: Sequence[Mapping[str, Any]]) -> Facts | None:
    return gather([_node(node) for node in nodes], [], {}, {}, 0.0) if nodes else None


def _node(short: Mapping[str, Any]) -> Node:
    return Node(
        name=short["name"],
        labels=short["labels"],
        cards=tuple(_card(index, gpu) for index, gpu in enumerate(short["gpus"])),
        kubelet=Kubelet(topology_policy=short["topologyPolicy"], advertises_numa=short["numaAdvertised"]),
    )


def _card(index: int, short: Mapping[str, Any]) -> Card:
    numa = short["numa"]
    return Card(
        uuid=short["uuid"],
        index=index,
        memory=short["memMiB"],
        type=short["type"],
        numa=UNKNOWN_NUMA if numa is None or numa < 0 else numa,
        mode=short.get("mode", "hami-core"),
        healthy=short.get("health", True),
    )


assert BY_CODE.keys() >= SECTION_4  # a code that was renamed would be compared again without anybody noticing

ANSWERS: Final[dict[str, Answer]] = {"admission": answer}
