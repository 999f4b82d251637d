"""Answers for the admission vectors: whole sets of codes at their default levels."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from policy.admission.case import Operator
from policy.admission.finding import Level
from policy.admission.judge import Verdict, judge_creation, judge_update
from policy.admission.levels import resolve
from policy.admission.table import BY_CODE
from policy.facts import UNKNOWN_NUMA, Card, Facts, Kubelet, Node, Quota, Use, gather
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
        "near-miss-resource",
        "amount-as-annotation",
        "annotation-on-owner",
        "kubelet-never-admits",
    }
)
"""Rules outside the combination table: files list their codes only where `codes` says so."""


def answer(asked: Vector) -> dict[str, object]:
    """Judge one vector's pod and name the codes that hold."""
    vector = asked.input
    unlisted = frozenset() if vector["codes"] == "all" else SECTION_4
    found = {
        level: {finding.code for finding in _judged(vector).findings if finding.level is level} - unlisted
        for level in (Level.ENFORCE, Level.WARN)
    }
    return {"allowed": not found[Level.ENFORCE], "enforce": found[Level.ENFORCE], "warn": found[Level.WARN]}


def _judged(vector: Mapping[str, Any]) -> Verdict:
    config, source = vector["config"], pod_object(vector["pod"])
    pod, operator = read_pod(source), _operator(config)
    levels = resolve({}, static_cluster=operator.static_cluster)
    if "old" in vector:
        return judge_update(pod, vector["old"], vector["user"], operator, levels)
    return judge_creation(pod, source, operator, levels, _facts(vector), fresh=config.get("factsFresh", True))


def _operator(config: Mapping[str, Any]) -> Operator:
    return Operator(
        hami=HamiConfig(
            scheduler_name=config.get("schedulerName", "hami-scheduler"),
            default_memory=config.get("defaultMemory", 0),
            memory_factor=config.get("memoryFactor", 1),
            default_gpu_policy=config.get("defaultGPUPolicy", "spread"),
        ),
        static_cluster=config.get("staticCluster", False),
        refit_enabled=config.get("refitEnabled", True),
        authority=config.get("authority", "self"),
        writers=frozenset(config.get("writers", ())),
    )


def pod_object(short: Mapping[str, Any]) -> dict[str, Any]:
    """Write a vector's pod as a plain Kubernetes object."""
    spec: dict[str, Any] = {
        key: [_container(item) for item in short.get(key, [])] for key in ("initContainers", "containers")
    }
    spec |= {
        key: short[key]
        for key in ("schedulerName", "nodeName", "nodeSelector", "affinity", "tolerations")
        if key in short
    }
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


def _facts(vector: Mapping[str, Any]) -> Facts | None:
    if not vector["nodes"]:
        return None
    quotas = {name: Quota(quota["memMiB"], quota["cores"]) for name, quota in vector.get("quotas", {}).items()}
    held = {name: Use(0, use["memMiB"] or 0, use["cores"] or 0) for name, use in vector.get("held", {}).items()}
    return replace(gather(map(_node, vector["nodes"]), [], quotas, {}, 0.0), quota_use=held)


def _node(short: Mapping[str, Any]) -> Node:
    return Node(
        name=short["name"],
        labels=short.get("labels", {}),
        cards=tuple(_card(index, gpu) for index, gpu in enumerate(short["gpus"])),
        taints=tuple(short.get("taints", ())),
        kubelet=Kubelet(short.get("topologyPolicy"), short.get("topologyScope"), short.get("numaAdvertised")),
        problem=short.get("problem", ""),
    )


def _card(index: int, short: Mapping[str, Any]) -> Card:
    numa = short["numa"]
    return Card(
        uuid=short["uuid"],
        index=index,
        slots=short.get("slots", 10),
        memory=short["memMiB"],
        cores=short.get("cores", 100),
        type=short["type"],
        numa=UNKNOWN_NUMA if numa is None or numa < 0 else numa,
        mode=short.get("mode", "hami-core"),
        healthy=short.get("health", True),
    )


assert BY_CODE.keys() >= SECTION_4  # a code that was renamed would be compared again without anybody noticing

ANSWERS: Final[dict[str, Answer]] = {"admission": answer}
