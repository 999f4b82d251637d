"""What users of HAMi reported of its webhook's checks (HAMi: public issues), one test each, named after the report."""

import pytest

from policy.admission.case import Operator
from policy.admission.levels import resolve
from policy.facts import Quota, Use
from policy.keys import ALLOCATED, TO_ALLOCATE
from policy.pod import read_pod
from tests.policy.admission.build import (
    ALIGN,
    PIN,
    STATIC,
    cluster,
    container,
    judged,
    limits,
    patched,
    pins,
    pod,
    refused,
    updated,
    uuid,
    warned,
)

SCHEDULER = "system:serviceaccount:kube-system:hami-scheduler"
WRITERS = Operator(writers=frozenset({SCHEDULER}))
VENDORS = ("vgpu", "Ascend910B", "DCU", "Iluvatar", "MLU", "a-vendor-of-tomorrow")


def test_av_01_a_foreign_scheduler_name_does_not_get_forged_reservations_past_the_webhook() -> None:
    for name in ("default-scheduler", "volcano"):
        found = judged(pod(schedulerName=name, annotations={TO_ALLOCATE: "GPU-a,NVIDIA,1,1:;"}))
        assert refused(found) == {"forged-reservation"}
        assert TO_ALLOCATE in found.refusals[0].message
    assert judged(pod(schedulerName="default-scheduler", annotations={PIN: uuid(0)})).allowed


def test_av_02_a_reservation_cannot_be_patched_in_later() -> None:
    before, after = {TO_ALLOCATE: "a"}, pod(annotations={TO_ALLOCATE: "b"})
    assert not updated(before, after, "alice", operator=WRITERS).allowed
    assert not updated({}, after, "alice", operator=WRITERS).allowed
    assert not updated(before, pod(), "alice", operator=WRITERS).allowed
    assert updated(before, after, SCHEDULER, operator=WRITERS).allowed
    labelled = pod(metadata={"annotations": before, "labels": {"a": "b"}})
    label = updated(before, labelled, "alice", operator=WRITERS)
    assert (label.findings, label.filled.operations) == ((), ())


def test_av_03_the_rule_holds_for_every_vendors_keys() -> None:
    for vendor in VENDORS:
        for end in ("devices-to-allocate", "devices-allocated"):
            assert refused(judged(pod(annotations={f"hami.io/{vendor}-{end}": "x"}))) == {"forged-reservation"}


def test_av_04_a_slip_in_an_annotation_blocks_no_pod_without_a_gpu() -> None:
    assert warned(judged(pod(container({}), annotations={ALIGN: "bogus"}))) == {"not-a-gpu-pod"}
    (refusal,) = judged(pod(annotations={ALIGN: "bogus"})).refusals
    assert all(word in refusal.message for word in (ALIGN, '"bogus"', '"best-effort"', '"strict"'))


def test_av_05_a_policy_that_does_not_exist_is_refused_and_not_replaced_by_another() -> None:
    policy = "hami.io/gpu-scheduler-policy"
    for wrong in ("spred", "binpack,spred"):
        (refusal,) = judged(pod(annotations={policy: wrong})).refusals
        assert "binpack, spread, numa, mutex, topology-aware" in refusal.message
    assert policy not in patched(pod(), judged(pod()))["metadata"]["annotations"]


@pytest.mark.parametrize("value", [0, 1, 100])
def test_av_07_a_percentage_of_memory_is_a_whole_number(value: int) -> None:
    assert judged(pod(container(limits(1, percent=value)))).allowed


@pytest.mark.parametrize("value", [-1, 101, "99.1", "50m", 4294967297])
def test_av_07_a_percentage_that_is_none_is_refused_in_init_containers_too(value: object) -> None:
    wrong = container(limits(1, percent=value), name="c")
    found = [judged(pod(wrong)), judged(pod(initContainers=[wrong]))]
    assert len({frozenset(refused(verdict)) for verdict in found}) == 1
    assert not found[0].allowed


@pytest.mark.parametrize("value", [101, 150, 2**31])
def test_av_08_cores_above_100_are_refused_and_never_clamped(value: int) -> None:
    in_requests = {"name": "c", "resources": {"requests": limits(1, memory=1, cores=value)}}
    for wrong in (container(limits(1, memory=1, cores=value)), in_requests):
        found = judged(pod(wrong))
        assert refused(found) == {"cores-out-of-range"}
        assert found.filled.operations == ()


@pytest.mark.parametrize(
    ("value", "refusals", "warnings"),
    [
        (uuid(0), {"pinned-fewer-than-requested"}, set()),
        (pins(0, 1), set(), set()),
        (pins(0, 1, 2), set(), set()),
        (f" {uuid(0)} , {uuid(1)} ,", set(), set()),
        (f"{uuid(0)},{uuid(0)}", {"pinned-fewer-than-requested"}, {"pin-duplicate"}),
        (f"{uuid(0)};{uuid(1)}", {"pin-has-separator", "pinned-fewer-than-requested"}, set()),
        ("", set(), {"pin-blank"}),
    ],
)
def test_av_09_how_many_cards_are_pinned(value: str, refusals: set[str], warnings: set[str]) -> None:
    found = judged(pod(container(limits(2)), annotations={PIN: value}), cluster())
    assert (refused(found), warned(found)) == (refusals, warnings)


def test_av_12_a_privileged_sidecar_beside_a_gpu_container_is_refused_by_name() -> None:
    mesh = container({}, name="mesh", securityContext={"privileged": True})
    (refusal,) = judged(pod(container(), mesh)).refusals
    assert refusal.text.startswith('privileged-gpu: container "mesh" is privileged')
    assert judged(pod(mesh)).allowed


def test_av_13_a_privileged_gpu_pod_hears_why_at_once_and_not_as_pending() -> None:
    (refusal,) = judged(pod(container(limits(1, memory=1), securityContext={"privileged": True}))).refusals
    assert "is privileged" in refusal.message
    assert "ask for no GPU" in refusal.message


def test_av_14_a_node_named_in_advance_skips_the_reservation() -> None:
    assert refused(judged(pod(nodeName="n1"))) == {"node-name-preset"}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    daemon = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    assert judged(pod(affinity=daemon), cluster(), STATIC).allowed


def test_av_15_a_templates_pod_is_judged_by_the_namespace_of_the_request() -> None:
    source = pod(container(limits(1, memory=8000)))
    source["metadata"] = {"generateName": "train-"}
    made = read_pod(source, "team-a")
    assert (made.namespace, made.title) == ("team-a", "team-a/train-")
    facts = cluster(quotas={"team-a": Quota(7000), "team-b": Quota(9000)})
    assert refused(judged({**source, "metadata": {"namespace": "team-a"}}, facts)) == {"quota-never-fits"}
    assert judged({**source, "metadata": {"namespace": "team-b"}}, facts).allowed


def test_av_19_a_full_quota_is_said_at_creation_where_it_can_be_known() -> None:
    facts = cluster(quotas={"team": Quota(10000)}, held={"team": Use(memory=8000)})
    assert refused(judged(pod(container(limits(1, memory=3000))), facts)) == {"quota-full"}
    assert judged(pod(container(limits(1, percent=50))), facts).allowed


def test_av_21_more_memory_than_any_card_has_is_not_let_in() -> None:
    assert refused(judged(pod(container(limits(1, memory=80001))), cluster(), STATIC)) == {"memory-exceeds-every-card"}
    assert judged(pod(container(limits(1, memory=80000))), cluster(), STATIC).allowed


def test_av_23_strict_under_volcano_is_allowed_with_a_warning() -> None:
    found = judged(pod(schedulerName="volcano", annotations={ALIGN: "strict"}))
    assert found.allowed
    assert warned(found) == {"foreign-scheduler"}


def test_av_24_a_namespace_that_stays_out_still_may_not_forge() -> None:
    out = resolve({}, static_cluster=False, opted_out=True)
    assert refused(judged(pod(annotations={ALLOCATED: "x"}), levels=out)) == {"forged-reservation"}


def test_ob_08_a_manifest_copied_from_a_running_pod_is_refused_with_the_hint() -> None:
    copied = {
        "hami.io/bind-phase": "success",
        "hami.io/bind-time": "1",
        "hami.io/vgpu-node": "n1",
        ALLOCATED: "GPU-a,NVIDIA,1,1:;",
        TO_ALLOCATE: ";",
    }
    (refusal,) = judged(pod(annotations=copied)).refusals
    assert refusal.message.endswith("remove that from manifests copied from a running pod.")
