"""Levels: what follows from a finding, and when rules are not judged at all."""

from dataclasses import replace
from typing import Any

import pytest

from policy.admission.case import Operator
from policy.admission.finding import Level
from policy.admission.judge import Verdict
from policy.admission.levels import resolve, unknown_codes
from policy.admission.table import BY_CODE, HOPELESS, ROOM, RULES, WITH_FACTS
from policy.facts import Facts, Quota
from policy.keys import JUDGED, TO_ALLOCATE, VGPU_MODE
from tests.policy.admission.build import (
    ALIGN,
    BIND,
    GROWING,
    NOPIN,
    PIN,
    STATIC,
    audited,
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
    updated,
    uuid,
    warned,
)

TYPO = pod(annotations={ALIGN: "strikt"})
UNKNOWN = pod(annotations={PIN: pins(99)})


def leveled(code: str, level: str, *, static: bool = False) -> Any:
    return resolve({code: Level(level)}, static_cluster=static)


def test_a_finding_refuses_warns_is_logged_or_is_not_looked_for() -> None:
    by_level = {level: judged(TYPO, levels=leveled("alignment-unknown", level)) for level in Level}
    assert refused(by_level[Level.ENFORCE]) == {"alignment-unknown"}
    assert warned(by_level[Level.WARN]) == {"alignment-unknown"}
    assert audited(by_level[Level.AUDIT]) == {"alignment-unknown"}
    assert by_level[Level.OFF].findings == ()
    assert [by_level[level].allowed for level in Level] == [False, True, True, True]


def test_what_concerns_room_refuses_on_a_static_cluster_and_warns_on_one_that_grows() -> None:
    assert refused(judged(UNKNOWN, cluster(), STATIC)) == {"pin-unknown"}
    assert warned(judged(UNKNOWN, cluster(), GROWING)) == {"pin-unknown"}


def test_the_operators_word_on_a_rule_wins_over_whether_the_cluster_grows() -> None:
    assert warned(judged(UNKNOWN, cluster(), leveled("pin-unknown", "warn", static=True))) == {"pin-unknown"}
    assert refused(judged(UNKNOWN, cluster(), leveled("pin-unknown", "enforce"))) == {"pin-unknown"}


@pytest.mark.parametrize("level", ["enforce", "warn", "audit"])
def test_best_effort_on_a_mig_pod_warns_at_most_whatever_the_rules_level(level: str) -> None:
    source = pod(annotations={ALIGN: "best-effort", VGPU_MODE: "mig"})
    (finding,) = judged(source, levels=leveled("alignment-on-mig", level)).findings
    assert finding.level == ("audit" if level == "audit" else "warn")


def test_refusals_come_first_and_everything_is_reported_together() -> None:
    source = pod(
        container(limits(count=2, cores=101)),
        annotations={PIN: f"{uuid(0)},{uuid(0)}", BIND: "maybe", "hami.io/numa-bind": "true"},
    )
    found = [(finding.level, finding.code) for finding in judged(source, cluster()).findings]
    assert [level for level, _ in found] == ["enforce"] * 3 + ["warn"] * 2
    assert {code for _, code in found} == {
        "bind-not-boolean",
        "pinned-fewer-than-requested",
        "cores-out-of-range",
        "near-miss-key",
        "pin-duplicate",
    }


@pytest.mark.parametrize(
    ("facts", "fresh", "annotations", "spec", "found"),
    [
        (cluster(), True, {}, {}, {"pin-unknown"}),
        (None, True, {}, {}, set()),
        (Facts(), True, {}, {}, set()),
        (None, False, {}, {}, set()),
        (cluster(), False, {}, {}, {"facts-stale"}),
        (Facts(), False, {}, {}, set()),
        (cluster(), True, {VGPU_MODE: "mig"}, {}, set()),
        (cluster(), False, {VGPU_MODE: "mig"}, {}, {"facts-stale"}),
        (cluster(), True, {}, {"nodeName": "n1"}, {"node-name-preset"}),
    ],
)
def test_rules_that_need_facts_are_asked_only_where_a_scheduler_will_choose_among_known_cards(
    facts: Facts | None, fresh: bool, annotations: dict[str, str], spec: dict[str, Any], found: set[str]
) -> None:
    source = pod(annotations={PIN: pins(99), **annotations}, **spec)
    assert {finding.code for finding in judged(source, facts, STATIC, fresh=fresh).findings} == found


@pytest.mark.parametrize(
    ("value", "count", "excluded"),
    [
        (uuid(99), 2, ""),
        (pins(98, 99), 2, uuid(98)),
        ("0", 1, ""),
        (", ,", 1, ""),
        (f"{uuid(99)};", 1, ""),
    ],
)
def test_where_pins_are_wrong_in_themselves_the_cluster_is_not_asked(value: str, count: int, excluded: str) -> None:
    source = pod(container(limits(count=count)), annotations={PIN: value, NOPIN: excluded})
    needing = {rule.code for rule in (*ROOM, *WITH_FACTS)} | {"pin-partly-unknown"}
    found = judged(source, cluster(quotas={"team": Quota(0, 0)}), STATIC)
    assert not found.allowed
    assert not needing & (refused(found) | warned(found))


# Pods for foreign schedulers.


@pytest.mark.parametrize("name", ["volcano", "kai-scheduler", "Default-scheduler"])
def test_a_pod_for_a_foreign_scheduler_gets_warnings_only(name: str) -> None:
    wrong = container(limits(count=1, cores=150), securityContext={"privileged": True})
    found = judged(pod(wrong, schedulerName=name, annotations={ALIGN: "strikt"}), cluster(), STATIC)
    assert found.allowed
    assert warned(found) == {"foreign-scheduler", "cores-out-of-range", "privileged-gpu", "alignment-unknown"}


@pytest.mark.parametrize("name", ["", "default-scheduler", "hami-scheduler"])
def test_a_pod_for_hamis_or_the_default_scheduler_is_judged_in_full(name: str) -> None:
    assert refused(judged(pod(annotations={ALIGN: "strikt"}, schedulerName=name))) == {"alignment-unknown"}


def test_a_reservation_is_refused_for_a_foreign_scheduler_too() -> None:
    found = judged(pod(schedulerName="volcano", annotations={TO_ALLOCATE: "x"}))
    assert (refused(found), warned(found)) == ({"forged-reservation"}, {"foreign-scheduler"})


def test_no_level_makes_more_than_a_warning_of_a_pod_for_a_foreign_scheduler() -> None:
    levels = resolve(dict.fromkeys(BY_CODE, Level.ENFORCE), static_cluster=True)
    with_gpu = pod(schedulerName="volcano")
    without = pod(container({}), schedulerName="volcano", annotations={ALIGN: "strict"})
    assert warned(judged(with_gpu, levels=levels)) == {"foreign-scheduler"}
    assert warned(judged(without, levels=levels)) == {"not-a-gpu-pod"}


# At most one rule about room.


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


# What is not known.

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


# Updates.


def test_an_update_is_judged_by_the_keys_that_changed_and_only_warns() -> None:
    found = updated({ALIGN: "strikt"}, pod(annotations={ALIGN: "strikt", PIN: "0", BIND: "x"}), levels=STATIC)
    assert found.allowed
    assert [finding.code for finding in found.findings] == ["key-changed-late", "bind-not-boolean", "pin-is-index"]
    assert found.findings[0].message.startswith("nvidia.com/numa-bind, nvidia.com/use-gpuuuid changed late")


@pytest.mark.parametrize("key", [ALIGN, BIND, PIN, NOPIN])
def test_missing_and_empty_are_the_same_on_an_update(key: str) -> None:
    assert updated({}, pod(annotations={key: ""})) == Verdict()
    assert updated({key: ""}, pod()) == Verdict()
    assert warned(updated({key: uuid(0)}, pod(annotations={key: ""}))) == {"key-changed-late"}


def test_an_empty_owned_key_is_forged_on_creation_and_nothing_on_an_update() -> None:
    source = pod(annotations={TO_ALLOCATE: ""})
    assert refused(judged(source)) == {"forged-reservation"}
    assert updated({}, source) == Verdict()


@pytest.mark.parametrize("change", [{"metadata": {"finalizers": ["x"]}}, {"metadata": {"labels": {"a": "b"}}}])
def test_finalizers_and_labels_of_the_worst_pod_always_pass(change: dict[str, Any]) -> None:
    worst = {ALIGN: "strikt", PIN: "0", TO_ALLOCATE: "x"}
    source = pod(container(limits(count=9, cores=999)), annotations=worst, nodeName="n1", **change)
    source["metadata"]["annotations"] = worst
    assert updated(worst, source, levels=STATIC) == Verdict()


def test_only_listed_writers_change_a_reservation_later() -> None:
    operator = Operator(writers=frozenset({"system:serviceaccount:kube-system:hami-scheduler"}))
    source = pod(annotations={TO_ALLOCATE: "y"})
    writer = "system:serviceaccount:kube-system:hami-scheduler"
    assert updated({TO_ALLOCATE: "x"}, source, writer, operator=operator).allowed
    assert refused(updated({TO_ALLOCATE: "x"}, source, "alice", operator=operator)) == {"forged-reservation"}


def test_levels_hold_on_updates_too() -> None:
    source = pod(annotations={TO_ALLOCATE: "x", ALIGN: "strikt"})
    levels = resolve({"forged-reservation": Level.WARN, "alignment-unknown": Level.AUDIT}, static_cluster=False)
    found = updated({}, source, levels=levels)
    assert (warned(found), audited(found)) == ({"forged-reservation", "key-changed-late"}, {"alignment-unknown"})
    off = resolve({"forged-reservation": Level.OFF, "key-changed-late": Level.OFF}, static_cluster=False)
    assert warned(updated({}, source, levels=off)) == {"alignment-unknown"}


# The table itself.


def test_every_rule_has_its_own_code_a_meaning_and_a_remedy() -> None:
    assert len(BY_CODE) == len(RULES)
    assert all(rule.meaning.endswith(".") and rule.remedy.endswith(".") for rule in RULES)
    assert all(code == code.lower() and code.replace("-", "").isalpha() for code in BY_CODE)


def test_only_rules_about_the_cluster_take_their_level_from_whether_it_grows() -> None:
    assert {rule.code for rule in RULES if rule.level is None} == {
        "pin-unknown",
        "pinned-on-no-one-node",
        "pinned-node-excluded",
        "request-exceeds-every-node",
        "whole-cards-exceed-every-node",
        "bind-larger-than-numa",
        "pinned-across-numa",
        "strict-larger-than-numa",
        "memory-exceeds-every-card",
        "type-matches-no-card",
        "mode-matches-no-card",
        "pinned-unfit",
        "alignment-on-mig-cards",
    }


def test_the_mark_changes_with_the_levels_and_with_nothing_else() -> None:
    marks = {
        judged(pod(), cluster(), levels).filled.operations[-1]["value"]
        for levels in (GROWING, STATIC, leveled("pin-blank", "off"), replace(GROWING), resolve({}, static_cluster=True))
    }
    assert len(marks) == 3
    assert judged(pod()).filled.operations[-1]["path"].endswith(JUDGED.replace("/", "~1"))


def test_codes_that_no_rule_has_are_named() -> None:
    assert unknown_codes({"pin-blank": Level.OFF, "pin-blanc": Level.OFF}) == ("pin-blanc",)


def test_a_rule_about_workloads_is_never_held_against_a_pod() -> None:
    assert warned(judged(pod(annotations={ALIGN: "best-effort"}, metadata={"labels": {}}))) <= {"not-a-gpu-pod"}
