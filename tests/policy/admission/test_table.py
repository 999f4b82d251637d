"""The table of rules: codes, levels, texts, and the mark of what was in force."""

from typing import Any

import pytest

from policy.admission.finding import Level
from policy.admission.levels import resolve, unknown_codes
from policy.admission.table import BY_CODE, RULES
from policy.keys import JUDGED
from tests.policy.admission.build import (
    ALIGN,
    BIND,
    GROWING,
    PIN,
    STATIC,
    annotation,
    case,
    container,
    judged,
    limits,
    pod,
)


def leveled(code: str, level: str, *, static: bool = False) -> Any:
    return resolve({code: Level(level)}, static_cluster=static)


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
        "kubelet-never-admits",
        "memory-exceeds-every-card",
        "type-matches-no-card",
        "mode-matches-no-card",
        "pinned-unfit",
        "alignment-on-mig-cards",
    }


def test_the_mark_changes_with_the_levels_and_with_nothing_else() -> None:
    aligning = resolve({}, static_cluster=False, default_alignment="strict")
    in_force = (GROWING, STATIC, leveled("pin-blank", "off"), aligning)
    same = (resolve({}, static_cluster=False), leveled("pin-blank", "warn"))
    marks = [annotation(pod(), judged(pod(), levels=levels), JUDGED) for levels in in_force + same]
    assert len(set(marks[:4])) == 4
    assert marks[4:] == [marks[0]] * 2


def test_codes_that_no_rule_has_are_named() -> None:
    assert unknown_codes({"pin-blank": Level.OFF, "pin-blanc": Level.OFF}) == ("pin-blanc",)


def test_a_rule_about_workloads_holds_for_no_pod() -> None:
    assert BY_CODE["annotation-on-owner"].check(case(pod(annotations={ALIGN: "strict"}))) is None


@pytest.mark.parametrize(("value", "count", "holds"), [("true", 1, True), ("true", 2, False), ("false", 1, False)])
def test_a_rule_that_is_off_can_be_asked_for(value: str, count: int, holds: bool) -> None:
    source = pod(container(limits(count)), annotations={BIND: value})
    assert judged(source).findings == ()
    found = judged(source, levels=leveled("bind-without-effect", "warn"))
    assert [finding.text for finding in found.findings] == [
        "bind-without-effect: nvidia.com/numa-bind has no effect: every container asks for 1 GPU."
    ] * holds


def test_pins_that_are_wrong_in_themselves_are_not_said_to_lack_a_spare_one() -> None:
    source = pod(annotations={ALIGN: "strict", PIN: "0"})
    assert {finding.code for finding in judged(source).findings} == {"pin-is-index"}
