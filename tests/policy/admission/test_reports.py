"""What users of HAMi reported (HAMi: public issues), one test each, named after the report."""

from typing import Any

import pytest

from policy.admission.case import Operator
from policy.admission.levels import resolve
from policy.facts import Quota, Use
from policy.hami.request import HamiConfig
from policy.keys import ALLOCATED, INJECTED, JUDGED, TO_ALLOCATE, VGPU_MODE
from policy.pod import read_pod
from tests.policy.admission.build import (
    ALIGN,
    BIND,
    COUNT,
    MEMORY,
    PIN,
    STATIC,
    cluster,
    container,
    judged,
    kubelet,
    limits,
    node,
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


def owned_by(kind: str, **metadata: Any) -> dict[str, Any]:
    return {"ownerReferences": [{"kind": kind, "name": "o", "controller": True}], **metadata}


# Admission validation.


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


# Defaults.

FORCING = Operator(hami=HamiConfig(core_policy="force", overwrite_env=True))


def test_di_01_a_second_invocation_adds_no_second_variable() -> None:
    gpu = container(limits(1, memory=1) | {"nvidia.com/priority": 1})
    once = patched(pod(gpu, container({}, name="side")), judged(pod(gpu, container({}, name="side")), operator=FORCING))
    assert judged(once, operator=FORCING).filled.operations == ()
    names = [[entry["name"] for entry in item["env"]] for item in once["spec"]["containers"]]
    assert names == [
        ["CUDA_TASK_PRIORITY", "GPU_CORE_UTILIZATION_POLICY"],
        ["GPU_CORE_UTILIZATION_POLICY", "NVIDIA_VISIBLE_DEVICES"],
    ]


def test_di_02_a_container_injected_in_front_moves_the_positions_and_nothing_else() -> None:
    source = pod(container({}, name="istio-proxy"), container())
    assert [item.name for item in read_pod(source).containers] == ["istio-proxy", "main"]
    paths = [operation["path"] for operation in judged(source).filled.operations]
    assert "/spec/containers/1/resources/limits/nvidia.com~1gpucores" in paths


@pytest.mark.parametrize("annotations", [None, {}, {"a": "b"}, {"a/b": "c", "d~e": "f"}])
def test_di_04_a_missing_annotations_map_is_made_and_an_existing_one_kept(annotations: dict[str, str] | None) -> None:
    source = pod(metadata={"annotations": annotations})
    for before in (source, {**source, "metadata": {"name": "p"}}):
        kept = dict(before["metadata"].get("annotations") or {})
        found = patched(before, judged(before))["metadata"]["annotations"]
        assert found == {**kept, INJECTED: found[INJECTED], JUDGED: found[JUDGED]}


def test_di_06_an_annotation_that_appears_on_the_second_pass_is_judged_then() -> None:
    first = patched(pod(), judged(pod()))
    first["metadata"]["annotations"][ALIGN] = "strikt"
    assert refused(judged(first)) == {"alignment-unknown"}


def test_di_07_the_default_schedulers_name_is_no_choice_and_any_other_is() -> None:
    for written, found in (
        ("default-scheduler", "hami-scheduler"),
        ("hami-scheduler", "hami-scheduler"),
        ("kai", "kai"),
    ):
        source = pod(schedulerName=written)
        assert patched(source, judged(source))["spec"]["schedulerName"] == found


def test_di_08_a_whole_card_by_default_is_visible_and_an_explicit_0_is_kept() -> None:
    source = pod(container(limits(1)))
    assert "main:nvidia.com/gpucores=100" in patched(source, judged(source))["metadata"]["annotations"][INJECTED]
    explicit = pod(container(limits(1, memory=0, cores=0)))
    operator = Operator(hami=HamiConfig(default_memory=4000, default_cores=50))
    assert (
        patched(explicit, judged(explicit, operator=operator))["spec"]["containers"] == explicit["spec"]["containers"]
    )
    assert MEMORY not in patched(source, judged(source))["spec"]["containers"][0]["resources"]["limits"]


def test_di_09_nothing_is_filled_in_where_the_namespace_stays_out() -> None:
    found = judged(pod(), levels=resolve({}, static_cluster=False, default_alignment="strict", opted_out=True))
    assert (found.allowed, found.filled.operations) == (True, ())


# Topology and kubelet.


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"])
def test_tk_01_strict_in_a_replica_set_is_warned_of_failing_for_ever(kind: str) -> None:
    found = judged(pod(annotations={ALIGN: "strict"}, metadata=owned_by(kind)))
    assert [finding.text for finding in found.findings] == [
        f"strict-restarts-forever: a strict pod that fails to align is replaced by its {kind}; use best-effort."
    ]
    assert judged(pod(annotations={ALIGN: "best-effort"}, metadata=owned_by(kind))).findings == ()


@pytest.mark.parametrize("kind", ["Job", "Workflow", ""])
def test_tk_01_strict_in_a_pod_that_is_not_replaced_at_once_is_fine(kind: str) -> None:
    assert judged(pod(annotations={ALIGN: "strict"}, metadata=owned_by(kind))).findings == ()


EXCLUSIVE = {"cpu": "8", "memory": "8Gi"}


@pytest.mark.parametrize(
    ("resources", "aligned"),
    [
        ({"limits": EXCLUSIVE, "requests": EXCLUSIVE}, True),
        ({"limits": EXCLUSIVE}, True),
        ({"limits": {"cpu": 8, "memory": "8Gi"}, "requests": {"cpu": "8000m", "memory": "8589934592"}}, True),
        ({"limits": {"cpu": "2000m", "memory": "1Gi"}}, True),
        ({}, False),
        ({"requests": EXCLUSIVE}, False),
        ({"limits": {"cpu": "8"}}, False),
        ({"limits": {"cpu": "1500m", "memory": "1Gi"}}, False),
        ({"limits": {"cpu": "500m", "memory": "1Gi"}}, False),
        ({"limits": EXCLUSIVE, "requests": {"cpu": "4", "memory": "8Gi"}}, False),
        ({"limits": EXCLUSIVE, "requests": {"cpu": "8", "memory": "4Gi"}}, False),
        ({"limits": {"cpu": "8", "memory": "much"}}, False),
        ({"limits": {"cpu": "8", "memory": 0}}, False),
    ],
)
def test_tk_03_alignment_means_nothing_without_cpus_of_ones_own(resources: dict[str, Any], aligned: bool) -> None:
    named = {**resources, "limits": {**resources.get("limits", {}), COUNT: 1}}
    source = pod({"name": "c", "resources": named}, annotations={ALIGN: "best-effort"})
    assert ("alignment-without-exclusive-cpus" in warned(judged(source))) is not aligned


def test_tk_03_one_container_without_limits_takes_the_cpus_from_all() -> None:
    side = {"name": "mesh", "resources": {}}
    assert warned(judged(pod(container(), side, annotations={ALIGN: "strict"}))) == {"alignment-without-exclusive-cpus"}
    assert warned(judged(pod(annotations={ALIGN: "strict"}, initContainers=[side]))) == {
        "alignment-without-exclusive-cpus"
    }


@pytest.mark.parametrize("resources", [{"limits": {"cpu": 8}}, {"requests": {"memory": "1Gi"}}])
def test_tk_03_resources_of_the_pod_take_the_cpus_from_all(resources: dict[str, Any]) -> None:
    source = pod(annotations={ALIGN: "strict"}, resources=resources)
    assert warned(judged(source)) == {"alignment-without-exclusive-cpus"}


def test_tk_06_a_node_of_34_numa_ids_with_two_in_use_is_judged_by_the_two() -> None:
    grace = node(numas=[0, 0, 33, 33], kubelet=kubelet("single-numa-node"))
    for annotations in ({BIND: "true"}, {ALIGN: "strict"}):
        assert judged(pod(container(limits(2)), annotations=annotations), cluster(grace), STATIC).allowed
        found = judged(pod(container(limits(3)), annotations=annotations), cluster(grace), STATIC)
        assert len(refused(found)) == 1
        assert "the largest has 2" in found.refusals[0].message


def test_tk_09_strict_on_a_mig_pod_is_said_at_admission() -> None:
    assert refused(judged(pod(annotations={ALIGN: "strict", VGPU_MODE: "mig"}))) == {"alignment-on-mig"}


# Gangs.


@pytest.mark.parametrize(
    "joined",
    [
        {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}},
        {"metadata": {"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}}},
        {"metadata": {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}}},
        {"annotations": {"scheduling.k8s.io/group-name": "g"}},
        {"annotations": {"scheduling.volcano.sh/group-name": "g"}},
        {"annotations": {"pod-group-name": "g"}},
        {"annotations": {"gang.scheduling.koordinator.sh/name": "g"}},
        {"schedulingGroup": {"podGroupName": "g"}},
        {"workloadRef": {"name": "g"}},
    ],
)
def test_gp_03_a_strict_member_of_a_gang_is_warned_of_stopping_the_rest(joined: dict[str, Any]) -> None:
    strict = {**joined, "annotations": {**joined.get("annotations", {}), ALIGN: "strict"}}
    (finding,) = judged(pod(**strict)).findings
    assert finding.text == (
        'strict-in-group: one strict failure stops the whole group "g" while it holds its GPUs; use best-effort.'
    )
    assert judged(pod(**joined)).findings == ()


# Support.


def test_ob_08_a_manifest_copied_from_a_running_pod_is_refused_with_the_hint() -> None:
    copied = {
        "hami.io/bind-phase": "success",
        "hami.io/bind-time": "1",
        "hami.io/vgpu-node": "n1",
        ALLOCATED: "GPU-a,NVIDIA,1,1:;",
        TO_ALLOCATE: ";",
    }
    (refusal,) = judged(pod(annotations=copied)).refusals
    assert refusal.message.endswith("remove it, as from any manifest copied from a running pod.")
