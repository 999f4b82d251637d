"""Warnings: one line, short enough for clients not to cut it."""

from dataclasses import replace
from typing import Any

import pytest

from policy.admission.case import Operator
from policy.admission.finding import Finding
from policy.facts import Facts, Node
from policy.keys import GPU_POLICY, USE_TYPE, VGPU_MODE
from tests.policy.admission.build import (
    ALIGN,
    BIND,
    NOPIN,
    PIN,
    cluster,
    container,
    judged,
    kubelet,
    limits,
    node,
    pins,
    pod,
    updated,
    uuid,
)


def in_mig_mode() -> Node:
    return node(cards=tuple(replace(card, mode="mig") for card in node().cards))


TAINT = {"key": "pool", "value": "gpu", "effect": "NoSchedule"}
OWNER = {"ownerReferences": [{"kind": "ReplicationController", "controller": True}]}
WARNINGS: list[tuple[str, dict[str, Any], Facts | None]] = [
    ("pin-blank", pod(annotations={PIN: " "}), None),
    ("pin-duplicate", pod(annotations={PIN: f"{uuid(1)},{uuid(1)}"}), None),
    ("pin-also-excluded", pod(annotations={PIN: pins(1, 2), NOPIN: uuid(2)}), None),
    ("pinned-no-room-to-refit", pod(annotations={PIN: uuid(1), ALIGN: "strict"}), None),
    ("pinned-no-room-to-refit", pod(annotations={PIN: uuid(1), ALIGN: "best-effort"}), None),
    ("pin-not-honoured", pod(annotations={PIN: uuid(1)}), cluster(node(kubelet=kubelet("restricted")))),
    ("alignment-on-mig", pod(annotations={ALIGN: "best-effort", VGPU_MODE: "mig"}), None),
    (
        "alignment-on-mig",
        pod(container(limits(1) | {"nvidia.com/mig-1g.10gb": 1}), annotations={ALIGN: "strict"}),
        None,
    ),
    (
        "alignment-without-exclusive-cpus",
        pod(container(limits(1) | {"cpu": "500m"}), annotations={ALIGN: "strict"}),
        None,
    ),
    ("alignment-without-exclusive-cpus", pod(container(), {"name": "side"}, annotations={ALIGN: "strict"}), None),
    ("alignment-without-exclusive-cpus", pod(annotations={ALIGN: "strict"}, resources={"limits": {"cpu": 1}}), None),
    ("alignment-with-gpu-init", pod(initContainers=[container(name="init")], annotations={ALIGN: "strict"}), None),
    ("strict-restarts-forever", pod(annotations={ALIGN: "strict"}, metadata=OWNER), None),
    ("strict-in-group", pod(annotations={ALIGN: "strict", "pod-group-name": "train-large-7"}), None),
    ("visible-devices-env", pod(container(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])), None),
    ("foreign-scheduler", pod(schedulerName="kai-scheduler"), None),
    ("request-exceeds-every-node", pod(container(limits(16))), cluster()),
    ("request-exceeds-every-node", pod(nodeSelector={"pool": "b"}), cluster()),
    (
        "whole-cards-exceed-every-node",
        pod(container(limits(4)), container(limits(8), name="b")),
        cluster(node(numas=[0] * 8)),
    ),
    ("bind-larger-than-numa", pod(container(limits(4)), annotations={BIND: "true"}), cluster()),
    (
        "strict-larger-than-numa",
        pod(container(limits(4)), annotations={ALIGN: "strict"}),
        cluster(node(kubelet=kubelet("single-numa-node"))),
    ),
    ("pinned-across-numa", pod(container(limits(2)), annotations={BIND: "true", PIN: pins(0, 2)}), cluster()),
    (
        "pinned-across-numa",
        pod(container(limits(2)), annotations={ALIGN: "strict", PIN: pins(0, 2)}),
        cluster(node(kubelet=kubelet("single-numa-node"))),
    ),
    (
        "pinned-on-no-one-node",
        pod(container(limits(2)), annotations={PIN: pins(0, 9)}),
        cluster(node(), node("n2", first=9)),
    ),
    ("pinned-node-excluded", pod(annotations={PIN: pins(0)}, nodeSelector={"pool": "b"}), cluster()),
    (
        "alignment-without-topology-manager",
        pod(annotations={ALIGN: "best-effort"}),
        cluster(node(kubelet=kubelet("none"))),
    ),
    (
        "alignment-without-numa-hints",
        pod(annotations={ALIGN: "best-effort"}),
        cluster(node(kubelet=kubelet(None, advertises=False))),
    ),
    ("alignment-on-mig-cards", pod(annotations={ALIGN: "strict"}), cluster(in_mig_mode())),
    ("not-a-gpu-pod", pod(container({}), annotations={PIN: uuid(1)}), None),
    ("memory-given-twice", pod(container(limits(1, memory=8000, percent=50))), None),
    ("count-zero", pod(container(limits(0))), None),
    ("percent-zero", pod(container(limits(1, percent=0))), None),
    ("memory-zero", pod(container(limits(1, memory=0))), None),
    ("memory-exceeds-every-card", pod(container(limits(1, memory=90000))), cluster()),
    ("type-matches-no-card", pod(annotations={USE_TYPE: "A100"}), cluster()),
    ("mode-matches-no-card", pod(annotations={VGPU_MODE: "mps"}), cluster()),
    ("taint-not-tolerated", pod(), cluster(node(taints=(TAINT,)))),
    ("pinned-whole-card-replicated", pod(annotations={PIN: pins(0)}, metadata=OWNER), None),
    ("near-miss-key", pod(annotations={"nvidia.com/numa-alignment": "strict"}), None),
    ("amount-as-annotation", pod(annotations={"nvidia.com/gpumem-percentage": "50"}), None),
]


def text_of(code: str, findings: tuple[Finding, ...]) -> str:
    (text,) = [finding.text for finding in findings if finding.code == code]
    return text


@pytest.mark.parametrize(("code", "source", "facts"), WARNINGS)
def test_a_usual_warning_is_a_line_of_at_most_120_characters(
    code: str, source: dict[str, Any], facts: Facts | None
) -> None:
    text = text_of(code, judged(source, facts).warnings)
    assert text.startswith(f"{code}: ")
    assert text.isprintable()
    assert len(text) <= 120


def test_warnings_without_a_pod_of_their_own_are_short_too() -> None:
    stale = judged(pod(), cluster(), fresh=False).warnings[0].text
    late = updated({}, pod(annotations={ALIGN: "strict"})).warnings[0].text
    bind = Operator(authority="hami")
    walk = judged(pod(container(limits(2)), annotations={BIND: "1", GPU_POLICY: "topology-aware"}), operator=bind)
    off = judged(pod(annotations={ALIGN: "strict"}), operator=Operator(refit_enabled=False))
    mixed = node(cards=tuple(replace(card, memory=80000 - card.index) for card in node().cards))
    uneven = judged(pod(container(limits(2)), annotations={ALIGN: "best-effort"}), cluster(mixed))
    unfit = judged(pod(container(limits(2, memory=79999)), annotations={PIN: pins(0, 3)}), cluster(mixed))
    texts = [stale, late, *(found.warnings[0].text for found in (walk, off, uneven, unfit))]
    assert [text.partition(":")[0] for text in texts] == [
        "facts-stale",
        "key-changed-late",
        "bind-with-filter-policy",
        "strict-not-enforced",
        "alignment-uneven-cards",
        "pinned-unfit",
    ]
    assert max(map(len, texts)) <= 120
