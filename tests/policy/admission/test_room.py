"""Rules about room: at most one is reported, and what nobody knows is held against nobody."""

from typing import Any

import pytest

from policy.admission.finding import Level
from policy.admission.levels import resolve
from policy.admission.table import HOPELESS
from policy.facts import Quota
from policy.keys import VGPU_MODE
from tests.policy.admission.build import (
    ALIGN,
    BIND,
    PIN,
    STATIC,
    cluster,
    container,
    judged,
    kubelet,
    limits,
    node,
    pins,
    pod,
    refused,
    unread,
)

UNKNOWN = pod(annotations={PIN: pins(99)})


def leveled(code: str, level: str, *, static: bool = False) -> Any:
    return resolve({code: Level(level)}, static_cluster=static)


def test_of_the_rules_about_room_the_first_that_holds_and_is_not_off_is_reported() -> None:
    facts = cluster(node("n1", [0]), node("n2", [0], 1))
    source = pod(container(limits(count=2)), annotations={PIN: pins(98, 99)})
    assert refused(judged(source, facts, STATIC)) == {"pin-unknown"}
    levels = leveled("pin-unknown", "off", static=True)
    assert refused(judged(source, facts, levels)) == {"pinned-on-no-one-node"}


def test_pins_that_no_node_has_are_not_blamed_on_the_selector_where_the_rules_before_are_off() -> None:
    facts = cluster(node("n1", [0], labels={"pool": "a"}), node("n2", [0], 1))
    off = dict.fromkeys(("pin-unknown", "pinned-on-no-one-node"), Level.OFF)
    levels = resolve(off, static_cluster=True)
    scattered = pod(container(limits(count=2)), annotations={PIN: pins(0, 1)}, nodeSelector={"pool": "a"})
    assert refused(judged(scattered, facts, levels)) == {"whole-cards-exceed-every-node"}
    excluded = pod(annotations={PIN: pins(1)}, nodeSelector={"pool": "a"})
    assert refused(judged(excluded, facts, levels)) == {"pinned-node-excluded"}


def test_an_audited_rule_about_room_is_the_one_that_is_reported() -> None:
    found = judged(UNKNOWN, cluster(), leveled("pin-unknown", "audit"))
    assert [(finding.code, finding.level) for finding in found.findings] == [("pin-unknown", "audit")]


def test_after_a_hopeless_finding_only_unknown_pins_are_still_reported() -> None:
    facts = cluster(node("n1", [0]), node("n2", [0], 1), quotas={"team": Quota(0, 0)})
    source = pod(container(limits(count=2)), annotations={PIN: pins(0, 1, 99), "nvidia.com/use-gputype": "A100"})
    assert {finding.code for finding in judged(source, facts, STATIC).findings} == {
        "pinned-on-no-one-node",
        "pin-partly-unknown",
    }
    assert {
        "pin-unknown",
        "pinned-on-no-one-node",
        "pinned-node-excluded",
        "request-exceeds-every-node",
        "whole-cards-exceed-every-node",
    } == HOPELESS


def test_after_a_finding_about_numa_nodes_all_else_is_reported() -> None:
    source = pod(container(limits(count=3)), annotations={BIND: "true"})
    found = judged(source, cluster(quotas={"team": Quota(cores=50)}), STATIC)
    assert refused(found) == {"bind-larger-than-numa", "quota-never-fits"}


ALIGNED = kubelet("single-numa-node")


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (pod(annotations={PIN: pins(99)}), "pin-unknown"),
        (pod(annotations={PIN: pins(0, 99)}), "pin-partly-unknown"),
        (pod(container(limits(count=2)), annotations={PIN: pins(0, 99)}), "pinned-on-no-one-node"),
        (pod(container(limits(count=5))), "request-exceeds-every-node"),
        (pod(container(limits(count=3)), container(limits(count=2), name="b")), "whole-cards-exceed-every-node"),
        (pod(container(limits(count=3)), annotations={BIND: "true"}), "bind-larger-than-numa"),
        (pod(container(limits(count=2)), annotations={BIND: "true", PIN: pins(0, 2)}), "pinned-across-numa"),
        (pod(container(limits(count=2)), annotations={ALIGN: "strict", PIN: pins(0, 2)}), "pinned-across-numa"),
        (pod(container(limits(count=3)), annotations={ALIGN: "strict"}), "strict-larger-than-numa"),
        (pod(annotations={VGPU_MODE: "mps"}), "mode-matches-no-card"),
    ],
)
def test_a_node_that_could_not_be_read_may_be_the_one_that_fits(source: dict[str, Any], code: str) -> None:
    known = node(kubelet=ALIGNED)
    assert code in {finding.code for finding in judged(source, cluster(known), STATIC).findings}
    assert code not in {finding.code for finding in judged(source, cluster(known, unread()), STATIC).findings}


def test_a_node_that_could_not_be_read_and_is_excluded_may_hold_a_card_but_not_the_pod() -> None:
    facts = cluster(node(labels={"pool": "a"}), unread(labels={"pool": "b"}))
    pinned = pod(annotations={PIN: pins(99)}, nodeSelector={"pool": "a"})
    assert refused(judged(pinned, facts, STATIC)) == {"whole-cards-exceed-every-node"}
    wide = pod(container(limits(count=5)), nodeSelector={"pool": "a"})
    assert refused(judged(wide, facts, STATIC)) == {"request-exceeds-every-node"}


@pytest.mark.parametrize("numas", [(0, -1, 1, 1), (-1, -1, -1, -1)])
def test_cards_of_unknown_numa_node_refuse_nobody(numas: tuple[int, ...]) -> None:
    source = pod(container(limits(count=3)), annotations={BIND: "true"})
    assert judged(source, cluster(node(numas=numas)), STATIC).allowed


@pytest.mark.parametrize(
    "unknown", [kubelet(None), kubelet("single-numa-node", advertises=None), kubelet("restricted")]
)
def test_strict_is_judged_only_where_every_kubelet_is_known_to_cross_no_numa_node(unknown: Any) -> None:
    source = pod(container(limits(count=3)), annotations={ALIGN: "strict"})
    certain = node(kubelet=ALIGNED)
    other = node("n2", first=4, kubelet=unknown)
    assert refused(judged(source, cluster(certain), STATIC)) == {"strict-larger-than-numa"}
    assert judged(source, cluster(certain, other), STATIC).allowed
