"""What people read: code, what was seen, what is allowed, what to do, in one short line."""

import re
from dataclasses import replace
from typing import Any

import pytest

from policy.admission.case import Operator
from policy.admission.finding import Finding
from policy.admission.judge import find
from policy.admission.spelling import quoted
from policy.facts import Facts, Node, Quota, Use
from policy.hami.request import HamiConfig
from policy.keys import GPU_POLICY, TO_ALLOCATE, USE_TYPE, VGPU_MODE
from tests.policy.admission.build import (
    ALIGN,
    BIND,
    GROWING,
    NOPIN,
    PIN,
    STATIC,
    case,
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


TEXTS = [
    (
        pod(container(limits(2)), annotations={PIN: uuid(0)}),
        (
            'pinned-fewer-than-requested: container "main" asks for 2 GPUs, nvidia.com/use-gpuuuid names 1; '
            "name 2 or ask for 1."
        ),
    ),
    (
        pod(annotations={ALIGN: "strikt"}),
        'alignment-unknown: hami.io/numa-alignment is "strikt"; use "best-effort" or "strict", or remove the key.',
    ),
    (
        pod(annotations={BIND: "yes"}),
        'bind-not-boolean: nvidia.com/numa-bind is "yes", which HAMi reads as false; write "true" or "false".',
    ),
    (
        pod(annotations={PIN: f"{uuid(0)}::3"}),
        f'pin-is-replica: nvidia.com/use-gpuuuid has "{uuid(0)}::3", a replica of a card; write {uuid(0)}.',
    ),
    (
        pod(annotations={PIN: pins(0), NOPIN: pins(0)}),
        (
            'pinned-and-excluded: container "main" asks for 1 GPU, nvidia.com/nouse-gpuuuid leaves 0 of the 1 in '
            "nvidia.com/use-gpuuuid; name each card in one of them."
        ),
    ),
    (
        pod(container(limits(1, cores=101))),
        (
            'cores-out-of-range: container "main" asks for nvidia.com/gpucores "101"; '
            "it is a percentage of one card, 0 to 100."
        ),
    ),
    (
        pod(container(limits(1, memory="16Gi"))),
        (
            'quantity-not-whole: container "main" asks for nvidia.com/gpumem "16Gi"; '
            "write a whole number of MiB, 0 to 2147483647."
        ),
    ),
    (
        pod(container(limits("500m"))),
        'quantity-not-whole: container "main" asks for nvidia.com/gpu "500m"; write a whole number.',
    ),
    (
        pod(container(securityContext={"privileged": True})),
        (
            'privileged-gpu: container "main" is privileged and would see every GPU of its node; '
            "drop that, or ask for no GPU."
        ),
    ),
    (
        pod(nodeName="n1"),
        'node-name-preset: spec.nodeName "n1" skips the scheduler, which reserves the GPUs; use node affinity instead.',
    ),
    (
        pod(annotations={TO_ALLOCATE: "x"}),
        (
            'forged-reservation: "hami.io/vgpu-devices-to-allocate" is written by the scheduler only; remove it, '
            "as from any manifest copied from a running pod."
        ),
    ),
    (
        pod(annotations={GPU_POLICY: "spred"}),
        (
            'policy-unknown: hami.io/gpu-scheduler-policy is "spred"; use a comma list of '
            "binpack, spread, numa, mutex, topology-aware."
        ),
    ),
    (
        pod(annotations={"hami.io/node-scheduler-policy": "numa"}),
        'policy-unknown: hami.io/node-scheduler-policy is "numa"; use binpack or spread.',
    ),
]


@pytest.mark.parametrize(("source", "text"), TEXTS)
def test_a_refusal_names_what_was_seen_what_is_allowed_and_what_to_do(source: dict[str, Any], text: str) -> None:
    assert [finding.text for finding in judged(source).refusals] == [text]


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        (uuid(7).replace("7c1e", "7c1f"), uuid(7)),
        (uuid(7).upper().replace("GPU", "GPU"), uuid(7)),
        (uuid(7)[:-1], uuid(7)),
        (uuid(7).replace("GPU-", "GPU"), uuid(7)),
    ],
)
def test_an_unknown_pin_is_answered_with_the_nearest_card(wrong: str, near: str) -> None:
    (finding,) = judged(pod(annotations={PIN: wrong}), cluster(node(first=7, numas=[0])), STATIC).findings
    assert finding.message == f'no node has "{wrong}" of nvidia.com/use-gpuuuid; the nearest known is {near}.'


def test_a_pin_like_no_card_is_answered_with_where_to_look() -> None:
    (finding,) = judged(pod(annotations={PIN: "GPU-x"}), cluster(), STATIC).findings
    assert (
        finding.message == 'no node has "GPU-x" of nvidia.com/use-gpuuuid; nvidia-smi -L on the node lists its UUIDs.'
    )


def test_a_zero_says_what_it_is_read_as() -> None:
    def read(amounts: dict[str, Any], operator: Operator) -> str:
        return judged(pod(container(amounts)), operator=operator).warnings[0].message.partition(", ")[2]

    assert read(limits(1, percent=0), Operator()) == "read as the whole card; say how much."
    assert read(limits(1, memory=0, percent=50), Operator()) == "read as nvidia.com/gpumem-percentage; say how much."
    usual = Operator(hami=HamiConfig(default_memory=4000))
    assert read(limits(1, memory=0), usual) == "read as the default of 4000 MiB; say how much."


def test_nothing_of_other_namespaces_is_named() -> None:
    facts = cluster(
        node(),
        quotas={"team": Quota(10000, 100), "secret": Quota(77777, 55)},
        held={"team": Use(1, 9000, 10), "secret": Use(3, 66666, 44)},
    )
    (finding,) = judged(pod(container(limits(1, memory=3000))), facts).refusals
    assert finding.message == (
        "the pod asks for 3000 of nvidia.com/gpumem, namespace team holds 9000 of 10000; wait, or ask for less."
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", '"plain"'),
        ('with "quotes"', '"with "quotes""'),
        ("two\nlines", '"two\\nlines"'),
        ("bell\x07", '"bell\\x07"'),
        ("é", '"é"'),
        ("x" * 80, '"' + "x" * 80 + '"'),
        ("x" * 81, '"' + "x" * 79 + '…"'),
    ],
)
def test_a_value_is_shown_on_one_line_and_cut_where_it_is_long(value: str, shown: str) -> None:
    assert quoted(value) == shown


def test_what_a_message_names_does_not_depend_on_the_order_in_which_keys_were_written() -> None:
    notes = {"hami.io/vgpu-node": "n", "hami.io/bind-time": "1", "hami.io/numa-bind": "1", "hami.io/use-gpuuuid": "x"}
    taints = ({"key": "b", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"})
    nodes = [node(f"n{place}", [0], place, taints=(taint,)) for place, taint in enumerate(taints)]
    one = pod(annotations=notes)
    other = pod(annotations=dict(reversed(notes.items())))
    found = [judged(source, cluster(*order)) for source, order in ((one, nodes), (other, nodes[::-1]))]
    assert found[0].findings == found[1].findings
    texts = " ".join(finding.message for finding in found[0].findings)
    assert re.findall(r'"([^"]+)"|such as (\S+);', texts) == [
        ("hami.io/bind-time", ""),
        ("hami.io/numa-bind", ""),
        ("", "a=:NoExecute"),
    ]


def test_the_nearest_of_many_cards_is_found_without_comparing_each_of_them() -> None:
    nodes = [node(f"n{place}", [0] * 8, place * 8) for place in range(40)]
    source = pod(annotations={PIN: uuid(0x11).replace("9d3f", "9d3e")})
    findings = find(case(source, cluster(*nodes)), GROWING)
    assert text_of("pin-unknown", findings).endswith(f"the nearest known is {uuid(0x11)}.")
