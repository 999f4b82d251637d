"""Levels: what follows from a finding, and when rules are not judged at all."""

from typing import Any

import pytest

from policy.admission.finding import Level
from policy.admission.levels import resolve
from policy.admission.table import BY_CODE, ROOM, WITH_FACTS
from policy.facts import Facts, Quota
from policy.keys import TO_ALLOCATE, VGPU_MODE
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
    limits,
    pins,
    pod,
    refused,
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
