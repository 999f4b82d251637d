"""The namespace's alignment: filled in where the pod can profit from it."""

from typing import Any

import pytest

from policy.admission.case import Operator
from policy.admission.levels import resolve
from policy.keys import VGPU_MODE
from tests.policy.admission.build import (
    ALIGN,
    OPERATOR,
    PIN,
    annotation,
    cluster,
    container,
    judged,
    kubelet,
    limits,
    node,
    pod,
    refused,
    uuid,
    warned,
)


def bare(amounts: dict[str, Any], name: str = "main", **fields: Any) -> dict[str, Any]:
    """A container that names GPU amounts only."""
    return {"name": name, "resources": {"limits": amounts}, **fields}


def aligned(
    source: dict[str, Any], mode: str = "best-effort", operator: Operator = OPERATOR, **facts: Any
) -> str | None:
    levels = resolve({}, static_cluster=False, default_alignment=mode)
    verdict = judged(source, cluster(node(**facts)), levels, operator)
    assert not (refused(verdict) | warned(verdict)) - {"pin-blank", "foreign-scheduler"}
    return annotation(source, verdict, ALIGN)


@pytest.mark.parametrize("mode", ["best-effort", "strict"])
def test_the_namespaces_alignment_is_filled_in_where_the_pod_can_profit(mode: str) -> None:
    assert aligned(pod(), mode) == mode
    verdict = judged(pod(), cluster(), resolve({}, static_cluster=False, default_alignment=mode))
    assert verdict.filled.names[-1] == ALIGN


def test_no_alignment_is_filled_in_where_the_namespace_has_none() -> None:
    assert aligned(pod(), "") is None


@pytest.mark.parametrize(
    ("source", "mode"),
    [
        (pod(bare(limits(count=1))), "best-effort"),
        (pod(annotations={VGPU_MODE: "mig"}), "best-effort"),
        (pod(annotations={PIN: uuid(0)}), "best-effort"),
        (pod(metadata={"labels": {"scheduling.x-k8s.io/pod-group": "g"}}), "strict"),
        (pod(metadata={"ownerReferences": [{"kind": "ReplicaSet", "controller": True}]}), "strict"),
        (pod(initContainers=[container(name="init")]), "best-effort"),
        (pod(schedulerName="volcano"), "best-effort"),
    ],
)
def test_no_alignment_is_filled_in_where_a_finding_would_follow_from_it(source: dict[str, Any], mode: str) -> None:
    assert aligned(source, mode) is None


@pytest.mark.parametrize(
    "known",
    [{"kubelet": kubelet("none")}, {"kubelet": kubelet(None, advertises=False)}],
)
def test_no_alignment_is_filled_in_where_the_nodes_are_known_not_to_align(known: dict[str, Any]) -> None:
    assert aligned(pod(), **known) is None


def test_strict_is_not_filled_in_where_the_refit_is_off() -> None:
    off = Operator(refit_enabled=False)
    assert aligned(pod(), "strict", off) is None
    assert aligned(pod(), "best-effort", off) == "best-effort"


@pytest.mark.parametrize("value", ["strict", "best-effort"])
def test_an_explicit_alignment_wins(value: str) -> None:
    other = {"strict": "best-effort", "best-effort": "strict"}[value]
    assert aligned(pod(annotations={ALIGN: value}), other) == value


def test_a_finding_that_the_pod_has_anyway_does_not_keep_the_alignment_from_it() -> None:
    assert aligned(pod(annotations={PIN: " "})) == "best-effort"
