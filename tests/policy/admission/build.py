"""Pods, nodes and verdicts for the tests of admission: plain objects in, codes out."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import jsonpatch

from policy.admission.case import Case, Operator, open_case
from policy.admission.finding import Level
from policy.admission.judge import Verdict, judge_creation, judge_update
from policy.admission.levels import Levels, resolve
from policy.facts import Card, Facts, Kubelet, Node, Quota, Use, gather
from policy.keys import NOUSE_UUID, NUMA_ALIGNMENT, NUMA_BIND, USE_UUID
from policy.pod import read_pod

COUNT, MEMORY, PERCENT, CORES = (
    "nvidia.com/gpu",
    "nvidia.com/gpumem",
    "nvidia.com/gpumem-percentage",
    "nvidia.com/gpucores",
)
ALIGN, BIND, PIN, NOPIN = NUMA_ALIGNMENT, NUMA_BIND, USE_UUID, NOUSE_UUID
OPERATOR = Operator()
GROWING = resolve({}, static_cluster=False)
STATIC = resolve({}, static_cluster=True)


def uuid(number: int) -> str:
    """The UUID of card ``number``; the first eight digits alone tell cards apart."""
    return f"GPU-{number:08x}-7c1e-4b1a-9d3f-0123456789ab"


def pins(*numbers: int) -> str:
    return ",".join(uuid(number) for number in numbers)


def limits(count: object = None, memory: object = None, percent: object = None, cores: object = None) -> dict[str, Any]:
    """GPU amounts by their resource names; None is not named."""
    named = {COUNT: count, MEMORY: memory, PERCENT: percent, CORES: cores}
    return {name: value for name, value in named.items() if value is not None}


def container(amounts: Mapping[str, Any] | None = None, name: str = "main", **fields: Any) -> dict[str, Any]:
    """A container with exclusive CPUs of its own and the amounts given, one whole GPU if none are."""
    resources = {"cpu": "8", "memory": "8Gi", **({COUNT: 1} if amounts is None else amounts)}
    return {"name": name, "image": "i", "resources": {"limits": resources, "requests": dict(resources)}, **fields}


def pod(
    *containers: dict[str, Any],
    annotations: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A pod of the namespace team, with one GPU container if none are given."""
    meta = {"name": "p", "namespace": "team", "annotations": dict(annotations or {}), **(metadata or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": list(containers) or [container()], **spec},
    }


def node(name: str = "n1", numas: Iterable[int] = (0, 0, 1, 1), first: int = 0, **fields: Any) -> Node:
    """A node with a card of 80,000 MiB on each NUMA node of ``numas``, numbered from ``first``; kubelet unknown."""
    cards = tuple(
        Card(uuid(first + place), place, memory=80000, type="NVIDIA-H100", numa=numa, mode="hami-core")
        for place, numa in enumerate(numas)
    )
    return replace(Node(name, cards=cards), **fields)


def kubelet(policy: str | None, *, advertises: bool | None = True) -> Kubelet:
    return Kubelet(topology_policy=policy, advertises_numa=advertises)


def cluster(*nodes: Node, quotas: Mapping[str, Quota] | None = None, held: Mapping[str, Use] | None = None) -> Facts:
    """A cluster of ``nodes``, of one node of four cards if none are given."""
    return replace(gather(nodes or [node()], [], quotas or {}, {}, 0.0), quota_use=held or {})


def unread(name: str = "n9", **fields: Any) -> Node:
    """A node whose cards could not be read."""
    return Node(name, problem="the register annotation is no JSON", **fields)


def case(source: dict[str, Any], facts: Facts | None = None, operator: Operator = OPERATOR) -> Case:
    return open_case(read_pod(source), operator, facts)


def judged(
    source: dict[str, Any],
    facts: Facts | None = None,
    levels: Levels = GROWING,
    operator: Operator = OPERATOR,
    *,
    fresh: bool = True,
) -> Verdict:
    """The verdict on the creation of ``source``."""
    return judge_creation(read_pod(source), source, operator, levels, facts, fresh=fresh)


def updated(
    old: Mapping[str, str],
    source: dict[str, Any],
    user: str = "alice",
    levels: Levels = GROWING,
    operator: Operator = OPERATOR,
) -> Verdict:
    """The verdict on an update after which ``source`` is stored."""
    return judge_update(read_pod(source), old, user, operator, levels)


def refused(verdict: Verdict) -> set[str]:
    return {finding.code for finding in verdict.refusals}


def warned(verdict: Verdict) -> set[str]:
    return {finding.code for finding in verdict.warnings}


def audited(verdict: Verdict) -> set[str]:
    return {finding.code for finding in verdict.findings if finding.level is Level.AUDIT}


def patched(source: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
    """``source`` as the API server stores it."""
    operations: Any = list(verdict.filled.operations)
    stored: dict[str, Any] = jsonpatch.apply_patch(copy.deepcopy(source), operations)
    return stored


def annotation(source: dict[str, Any], verdict: Verdict, key: str) -> str | None:
    """An annotation as the API server stores it."""
    found: str | None = (patched(source, verdict)["metadata"].get("annotations") or {}).get(key)
    return found
