"""What holds for every pod, cluster and setting."""

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy import keys
from policy.admission.case import Operator
from policy.admission.finding import Level
from policy.admission.levels import Levels, resolve
from policy.admission.table import ANY_POD, ROOM
from policy.facts import Facts, Node
from tests.policy.admission.build import CORES, COUNT, MEMORY, cluster, judged, patched, updated
from tests.policy.admission.strategies import FACTS, LEVELS, NODES, OPERATORS, SOUND, pods

few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
STATIC_LEVELS = resolve({}, static_cluster=True)
OF_ROOM = {rule.code for rule in ROOM}
OF_ANY_POD = {rule.code for rule in ANY_POD}
OWN_VARIABLES = {"NVIDIA_VISIBLE_DEVICES", "CUDA_TASK_PRIORITY", "GPU_CORE_UTILIZATION_POLICY"}
OWN_ANNOTATIONS = {keys.INJECTED, keys.JUDGED, keys.NUMA_ALIGNMENT}


@few
@given(pods(), st.none() | FACTS, LEVELS, OPERATORS, st.booleans())
def test_every_pod_gets_a_verdict_of_one_line_per_finding(
    source: dict[str, Any], facts: Facts | None, levels: Levels, operator: Operator, fresh: bool
) -> None:
    found = judged(source, facts, levels, operator, fresh=fresh)
    order = [finding.level is not Level.ENFORCE for finding in found.findings]
    codes = [finding.code for finding in found.findings]
    assert order == sorted(order)
    assert len(codes) == len(set(codes))
    assert len(OF_ROOM & set(codes)) <= 1
    assert all(finding.text.isprintable() and finding.level is not Level.OFF for finding in found.findings)
    if not found.allowed:
        assert found.filled.operations == ()


@few
@given(pods(SOUND, 1), st.none() | FACTS, LEVELS, OPERATORS)
def test_a_patched_pod_gets_an_empty_patch_and_the_same_findings(
    source: dict[str, Any], facts: Facts | None, levels: Levels, operator: Operator
) -> None:
    first = judged(source, facts, levels, operator)
    again = judged(patched(source, first), facts, levels, operator)
    assert again.findings == first.findings
    assert again.filled.operations == ()


@few
@given(pods(SOUND, 1), LEVELS, OPERATORS)
def test_a_patch_adds_its_own_and_leaves_every_other_byte(
    source: dict[str, Any], levels: Levels, operator: Operator
) -> None:
    before = json.dumps(source)
    verdict = judged(source, None, levels, operator)
    assert json.dumps(source) == before
    assert all(set(operation) == {"op", "path", "value"} for operation in verdict.filled.operations)
    assert {operation["op"] for operation in verdict.filled.operations} <= {"add"}
    after = patched(source, verdict)
    _take_out_what_is_new(source, after)
    assert json.dumps(after) == before


def _take_out_what_is_new(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Undo what numafit may do, and nothing else: fields that it may fill in, and parents that it may make."""
    _undo(before["metadata"], after["metadata"], "annotations", OWN_ANNOTATIONS, emptied=True)
    for field in ("schedulerName", "runtimeClassName"):
        if before["spec"].get(field, "") in {"", "default-scheduler"}:
            _restore(before["spec"], after["spec"], field)
    for kind in ("initContainers", "containers"):
        for old, new in zip(before["spec"].get(kind, []), after["spec"].get(kind, []), strict=True):
            _undo_resources(old, new)
            _undo_env(old, new)


def _restore(old: Mapping[str, Any], new: dict[str, Any], field: str) -> None:
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def _undo(old: Mapping[str, Any], new: dict[str, Any], field: str, own: set[str], *, emptied: bool) -> None:
    was, now = old.get(field) or {}, new.get(field) or {}
    for key in own & now.keys():
        if key not in was:
            del now[key]
        elif emptied and key in {keys.INJECTED, keys.JUDGED}:
            now[key] = was[key]
    if not now:
        _restore(old, new, field)


def _undo_resources(old: dict[str, Any], new: dict[str, Any]) -> None:
    if "resources" in new and new["resources"] is not None:
        _undo(old.get("resources") or {}, new["resources"], "limits", {COUNT, MEMORY, CORES}, emptied=False)
    if not new.get("resources"):
        _restore(old, new, "resources")


def _undo_env(old: dict[str, Any], new: dict[str, Any]) -> None:
    was, now = old.get("env") or [], new.get("env") or []
    assert now[: len(was)] == was
    assert {entry["name"] for entry in now[len(was) :]} <= OWN_VARIABLES - {entry["name"] for entry in was}
    if len(now) > len(was):
        _restore(old, new, "env") if not was else new.update(env=was)


def _reversed(value: Any) -> Any:
    """The same object with its keys written in the opposite order."""
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


@few
@given(pods(), NODES.filter(bool), LEVELS, OPERATORS)
def test_a_verdict_does_not_depend_on_the_order_of_keys_and_nodes(
    source: dict[str, Any], nodes: list[Node], levels: Levels, operator: Operator
) -> None:
    one = judged(source, cluster(*nodes), levels, operator)
    other = judged(_reversed(source), cluster(*nodes[::-1]), levels, operator)
    assert one.findings == other.findings


@few
@given(pods(SOUND, 1), NODES.filter(lambda nodes: len(nodes) > 1), OPERATORS)
def test_a_node_more_never_refuses_a_pod_that_was_let_in(
    source: dict[str, Any], nodes: list[Node], operator: Operator
) -> None:
    before = judged(source, cluster(*nodes[:-1]), STATIC_LEVELS, operator)
    after = judged(source, cluster(*nodes), STATIC_LEVELS, operator)
    refusals = OF_ROOM & {finding.code for finding in after.refusals}
    assert not refusals or OF_ROOM & {finding.code for finding in before.refusals}


@few
@given(pods(), FACTS, OPERATORS, st.booleans())
def test_nothing_needs_facts_to_be_refused_that_is_not_refused_without_them(
    source: dict[str, Any], facts: Facts, operator: Operator, fresh: bool
) -> None:
    """On a cluster that grows facts add warnings, and refusals by quota only."""
    growing = resolve({}, static_cluster=False)
    without = {finding.code for finding in judged(source, None, growing, operator).refusals}
    known = {finding.code for finding in judged(source, facts, growing, operator, fresh=fresh).refusals}
    assert without <= known <= without | {"quota-never-fits", "quota-full"}
    assert fresh or known == without


@few
@given(pods(st.just({}), 1), st.none() | FACTS, LEVELS)
def test_a_pod_without_a_gpu_is_left_alone(source: dict[str, Any], facts: Facts | None, levels: Levels) -> None:
    found = judged(source, facts, levels)
    assert {finding.code for finding in found.findings} <= OF_ANY_POD
    assert found.filled.operations == ()


@few
@given(pods(), pods(), st.sampled_from(["alice", "hami"]), OPERATORS)
def test_an_update_is_blocked_by_forgery_and_nothing_else(
    old: dict[str, Any], source: dict[str, Any], user: str, operator: Operator
) -> None:
    before = old["metadata"].get("annotations") or {}
    found = updated(before, source, user, operator=operator)
    after = source["metadata"].get("annotations") or {}
    forged = any(before.get(key, "") != after.get(key, "") for key in {**before, **after} if keys.is_owned(key))
    assert {finding.code for finding in found.refusals} == (
        {"forged-reservation"} if forged and user == "alice" else set()
    )
    assert found.filled.operations == ()
