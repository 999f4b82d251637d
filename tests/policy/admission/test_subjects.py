"""Rules about an annotation are not asked of pods without it. These tests notice one that should be."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from policy import keys
from policy.admission.case import Operator, open_case
from policy.admission.table import RULES, subject
from policy.facts import Facts
from policy.pod import read_pod
from tests.policy.admission.strategies import FACTS, OPERATORS, pods


@pytest.mark.parametrize(
    ("code", "key"),
    [
        ("pin-duplicate", keys.USE_UUID),
        ("pinned-unfit", keys.USE_UUID),
        ("exclusion-is-mig", keys.NOUSE_UUID),
        ("strict-in-group", keys.NUMA_ALIGNMENT),
        ("alignment-on-mig", keys.NUMA_ALIGNMENT),
        ("bind-larger-than-numa", keys.NUMA_BIND),
        ("policy-unknown", ""),
        ("memory-zero", ""),
    ],
)
def test_the_first_word_of_a_code_says_which_annotation_its_rule_is_about(code: str, key: str) -> None:
    assert subject(code) == key


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pods(), FACTS, OPERATORS)
def test_a_rule_about_an_annotation_never_holds_without_it(
    source: dict[str, Any], facts: Facts, operator: Operator
) -> None:
    pod = read_pod(source)
    for rule in RULES:
        others = {key: value for key, value in pod.annotations.items() if key != subject(rule.code)}
        case = open_case(replace(pod, annotations=others), operator, facts)
        if subject(rule.code) and case.gpus:
            assert rule.check(case) is None, rule.code
