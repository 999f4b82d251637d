"""What people read: code, what was seen, what is allowed, what to do."""

import re
from typing import Any

import pytest

from policy.admission.case import Operator
from policy.admission.finding import Finding
from policy.admission.judge import find
from policy.admission.spelling import quoted
from policy.facts import Quota, Use
from policy.hami.request import HamiConfig
from policy.keys import GPU_POLICY, TO_ALLOCATE
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
    limits,
    node,
    pins,
    pod,
    uuid,
)


def text_of(code: str, findings: tuple[Finding, ...]) -> str:
    (text,) = [finding.text for finding in findings if finding.code == code]
    return text


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
            'forged-reservation: "hami.io/vgpu-devices-to-allocate" is written by the scheduler only; remove that '
            "from manifests copied from a running pod."
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
        ("hami.io/vgpu-node", ""),
        ("hami.io/numa-bind", ""),
        ("", "a=:NoExecute"),
    ]


def test_the_nearest_of_many_cards_is_found_without_comparing_each_of_them() -> None:
    nodes = [node(f"n{place}", [0] * 8, place * 8) for place in range(40)]
    source = pod(annotations={PIN: uuid(0x11).replace("9d3f", "9d3e")})
    findings = find(case(source, cluster(*nodes)), GROWING)
    assert text_of("pin-unknown", findings).endswith(f"the nearest known is {uuid(0x11)}.")
