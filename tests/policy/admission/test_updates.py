"""Updates of pods that exist: judged by what changed, and blocked by forgery only."""

from typing import Any

import pytest

from policy.admission.case import Operator
from policy.admission.finding import Level
from policy.admission.judge import Verdict
from policy.admission.levels import resolve
from policy.keys import TO_ALLOCATE
from tests.policy.admission.build import (
    ALIGN,
    BIND,
    NOPIN,
    PIN,
    STATIC,
    audited,
    container,
    judged,
    limits,
    pod,
    refused,
    updated,
    uuid,
    warned,
)


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
