"""Who asks for more, or is asked for more, is never let in where others are not."""

import copy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy import keys
from policy.admission.case import Operator
from policy.admission.finding import Level
from policy.admission.levels import resolve
from policy.admission.table import BY_CODE
from policy.facts import Facts
from tests.policy.admission.build import judged
from tests.policy.admission.strategies import FACTS, OPERATORS, SOUND, pods

slow_to_make = settings(suppress_health_check=[HealthCheck.too_slow])

MODES = ["", "best-effort", "strict"]
SEVERITY = [Level.OFF, Level.WARN, Level.ENFORCE]
OVERRIDES = st.dictionaries(st.sampled_from(sorted(BY_CODE)), st.sampled_from(Level), max_size=4)


def aligned(source: dict[str, Any], mode: str) -> dict[str, Any]:
    """The same pod with another alignment mode, none if empty."""
    made = copy.deepcopy(source)
    annotations = {**(made["metadata"].get("annotations") or {}), keys.NUMA_ALIGNMENT: mode}
    made["metadata"]["annotations"] = {
        key: value for key, value in annotations.items() if value or key != keys.NUMA_ALIGNMENT
    }
    return made


@slow_to_make
@given(pods(SOUND, 1), st.none() | FACTS, OPERATORS, OVERRIDES, st.booleans())
def test_a_stricter_alignment_mode_never_lets_in_a_pod_that_a_milder_one_does_not(
    source: dict[str, Any], facts: Facts | None, operator: Operator, overrides: dict[str, Level], static: bool
) -> None:
    levels = resolve(overrides, static_cluster=static)
    allowed = [judged(aligned(source, mode), facts, levels, operator).allowed for mode in MODES]
    assert allowed == sorted(allowed, reverse=True)


@slow_to_make
@given(pods(SOUND, 1), st.none() | FACTS, OPERATORS, OVERRIDES, st.sampled_from(sorted(BY_CODE)), st.booleans())
def test_a_higher_level_never_lets_in_a_pod_that_a_lower_one_does_not(
    source: dict[str, Any],
    facts: Facts | None,
    operator: Operator,
    overrides: dict[str, Level],
    code: str,
    static: bool,
) -> None:
    verdicts = []
    for level in SEVERITY:
        levels = resolve({**overrides, code: level}, static_cluster=static)
        verdicts.append(judged(source, facts, levels, operator).allowed)
    assert verdicts == sorted(verdicts, reverse=True)
