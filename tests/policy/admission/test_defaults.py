"""What is filled in, where, and that an explicit value always wins."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from policy.admission.case import Operator
from policy.admission.finding import Level
from policy.admission.levels import Levels, resolve
from policy.facts import Quota
from policy.hami.request import HamiConfig
from policy.keys import INJECTED, JUDGED, VGPU_MODE
from tests.policy.admission.build import (
    ALIGN,
    CORES,
    COUNT,
    GROWING,
    MEMORY,
    OPERATOR,
    PERCENT,
    PIN,
    annotation,
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
    uuid,
    warned,
)

DEFAULTS = Operator(
    hami=HamiConfig(
        default_memory=4000, default_cores=25, runtime_class="nvidia", core_policy="force", overwrite_env=True
    )
)
ALIGNING = resolve({}, static_cluster=False, default_alignment="best-effort")


def bare(amounts: dict[str, Any], name: str = "main", **fields: Any) -> dict[str, Any]:
    """A container that names GPU amounts only."""
    return {"name": name, "resources": {"limits": amounts}, **fields}


def stored(source: dict[str, Any], operator: Operator = OPERATOR, levels: Levels = GROWING) -> dict[str, Any]:
    return patched(source, judged(source, operator=operator, levels=levels))


def amounts_of(source: dict[str, Any], operator: Operator = OPERATOR) -> dict[str, Any]:
    found: dict[str, Any] = stored(source, operator)["spec"]["containers"][0]["resources"]["limits"]
    return {name: value for name, value in found.items() if name.startswith("nvidia.com/")}


@pytest.mark.parametrize(
    ("written", "hami", "found"),
    [
        (limits(count=1), HamiConfig(), {COUNT: 1, CORES: "100"}),
        (limits(count=2, percent=100), HamiConfig(), {COUNT: 2, PERCENT: 100, CORES: "100"}),
        (limits(count=1, memory=1, percent=100), HamiConfig(), {COUNT: 1, MEMORY: 1, PERCENT: 100, CORES: "100"}),
        (limits(count=1, memory=8000), HamiConfig(), {COUNT: 1, MEMORY: 8000}),
        (limits(count=1, percent=50), HamiConfig(), {COUNT: 1, PERCENT: 50}),
        (limits(memory=8000), HamiConfig(), {COUNT: "1", MEMORY: 8000}),
        (limits(percent=50), HamiConfig(), {COUNT: "1", PERCENT: 50}),
        (limits(cores=30), HamiConfig(), {COUNT: "1", CORES: 30}),
        (limits(memory=8000), HamiConfig(default_count=2), {COUNT: "2", MEMORY: 8000}),
        (limits(memory=8000), HamiConfig(default_count=0), {MEMORY: 8000}),
        (limits(count=1), HamiConfig(default_memory=4000), {COUNT: 1, MEMORY: "4000"}),
        (limits(count=1), HamiConfig(default_memory=4096, memory_factor=1024), {COUNT: 1, MEMORY: "4"}),
        (limits(count=1), HamiConfig(default_memory=4000, memory_factor=1024), {COUNT: 1}),
        (limits(count=1, memory=8), HamiConfig(default_cores=25), {COUNT: 1, MEMORY: 8, CORES: "25"}),
        (limits(count=1), HamiConfig(default_cores=25), {COUNT: 1, CORES: "100"}),
        (limits(cores=30), HamiConfig(default_memory=4000), {COUNT: "1", CORES: 30, MEMORY: "4000"}),
    ],
)
def test_what_a_container_leaves_out_is_filled_in(
    written: dict[str, Any], hami: HamiConfig, found: dict[str, Any]
) -> None:
    assert amounts_of(pod(bare(written)), Operator(hami=hami)) == found


@pytest.mark.parametrize(
    "written",
    [
        limits(count=1, memory=0, cores=0),
        limits(count=1, percent=0, cores=0),
        limits(count="1", memory="8k", cores="30"),
        limits(count=0),
        limits(count=0, memory=8000),
    ],
)
def test_an_explicit_value_wins_and_0_is_one(written: dict[str, Any]) -> None:
    source = pod(bare(written), bare(limits(count=1, memory=1, cores=1), name="other"))
    assert amounts_of(source, DEFAULTS) == written


def test_a_request_is_an_explicit_value_too() -> None:
    source = pod({"name": "c", "resources": {"requests": limits(count=1, memory=8000, cores=30)}})
    assert (
        stored(source, DEFAULTS)["spec"]["containers"][0]["resources"] == source["spec"]["containers"][0]["resources"]
    )


@pytest.mark.parametrize(
    ("name", "hami", "found"),
    [
        (None, HamiConfig(), "hami-scheduler"),
        ("", HamiConfig(), "hami-scheduler"),
        ("default-scheduler", HamiConfig(), "hami-scheduler"),
        ("default-scheduler", HamiConfig(overwrite_default_scheduler=False), "default-scheduler"),
        (None, HamiConfig(scheduler_name=""), None),
        ("hami-scheduler", HamiConfig(), "hami-scheduler"),
        ("volcano", HamiConfig(), "volcano"),
    ],
)
def test_the_scheduler_is_named_unless_the_pod_chose_one(name: str | None, hami: HamiConfig, found: str | None) -> None:
    source = pod() if name is None else pod(schedulerName=name)
    assert stored(source, Operator(hami=hami))["spec"].get("schedulerName") == found


@pytest.mark.parametrize(("written", "found"), [(None, "nvidia"), ("", "nvidia"), ("kata", "kata")])
def test_the_runtime_class_is_named_unless_the_pod_chose_one(written: str | None, found: str) -> None:
    source = pod() if written is None else pod(runtimeClassName=written)
    assert stored(source, DEFAULTS)["spec"]["runtimeClassName"] == found


def test_the_environment_is_set_as_hami_sets_it() -> None:
    gpu = bare(limits(count=1, memory=1) | {"nvidia.com/priority": 1}, env=[{"name": "A", "value": "b"}])
    found = stored(pod(gpu, bare({}, name="side")), DEFAULTS)["spec"]["containers"]
    assert found[0]["env"] == [
        {"name": "A", "value": "b"},
        {"name": "CUDA_TASK_PRIORITY", "value": "1"},
        {"name": "GPU_CORE_UTILIZATION_POLICY", "value": "force"},
    ]
    assert found[1]["env"] == [
        {"name": "GPU_CORE_UTILIZATION_POLICY", "value": "force"},
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"},
    ]


def test_a_variable_that_is_there_stays_as_it_is() -> None:
    own = [
        {"name": "GPU_CORE_UTILIZATION_POLICY", "value": "disable"},
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
    ]
    found = stored(pod(bare(limits(count=1, memory=1)), bare({}, name="side", env=own)), DEFAULTS)
    assert found["spec"]["containers"][1]["env"] == own


def test_a_container_that_names_amounts_in_its_requests_only_keeps_its_devices() -> None:
    source = pod({"name": "c", "resources": {"requests": limits(memory=8000)}})
    found = stored(source, Operator(hami=HamiConfig(overwrite_env=True)))
    assert "env" not in found["spec"]["containers"][0]


def test_init_containers_and_sidecars_get_the_same() -> None:
    early = [bare(limits(memory=1), name="init"), bare(limits(count=1), name="side", restartPolicy="Always")]
    found = stored(pod(initContainers=early))["spec"]["initContainers"]
    assert [item["resources"]["limits"] for item in found] == [{MEMORY: 1, COUNT: "1"}, {COUNT: 1, CORES: "100"}]


@pytest.mark.parametrize(
    ("metadata", "before"),
    [
        ({"annotations": None}, {}),
        ({"annotations": {}}, {}),
        ({"annotations": {"team": "a", "a/b~c": "d"}}, {"team": "a", "a/b~c": "d"}),
        ({}, {}),
        (None, {}),
    ],
)
def test_annotations_are_added_to_what_is_there_or_to_a_new_map(metadata: Any, before: dict[str, str]) -> None:
    source: dict[str, Any] = {"metadata": metadata, "spec": {"containers": [bare(limits(count=1))]}}
    if metadata is None:
        del source["metadata"]
    found = stored(source)["metadata"]["annotations"]
    assert {key: value for key, value in found.items() if not key.startswith("numafit.io/")} == before
    assert set(found) - set(before) == {INJECTED, JUDGED}


@pytest.mark.parametrize("resources", [{"requests": {MEMORY: 1}, "limits": None}, {"requests": {MEMORY: 1}}])
def test_a_missing_map_of_limits_is_made(resources: dict[str, Any]) -> None:
    source = pod({"name": "c", "resources": resources})
    assert stored(source)["spec"]["containers"][0]["resources"]["limits"] == {COUNT: "1"}


@pytest.mark.parametrize("env", [{"env": None}, {}, {"env": []}])
def test_a_missing_list_of_variables_is_made(env: dict[str, Any]) -> None:
    source = pod(bare(limits(count=1, memory=1), **env))
    found = stored(source, Operator(hami=HamiConfig(core_policy="force")))
    assert found["spec"]["containers"][0]["env"] == [{"name": "GPU_CORE_UTILIZATION_POLICY", "value": "force"}]


def test_what_was_filled_in_is_listed_for_people() -> None:
    source = pod(bare(limits(memory=8000)), bare({}, name="side"))
    assert annotation(source, judged(source, operator=DEFAULTS), INJECTED) == (
        "schedulerName,runtimeClassName,"
        "main:nvidia.com/gpu=1,main:nvidia.com/gpucores=25,main:GPU_CORE_UTILIZATION_POLICY=force,"
        "side:GPU_CORE_UTILIZATION_POLICY=force,side:NVIDIA_VISIBLE_DEVICES=none"
    )


def test_a_pod_that_leaves_nothing_out_is_only_marked_as_judged() -> None:
    source = pod(bare(limits(count=1, memory=1, cores=0)), schedulerName="hami-scheduler")
    verdict = judged(source)
    assert [operation["path"] for operation in verdict.filled.operations] == [
        "/metadata/annotations/numafit.io~1judged"
    ]
    assert verdict.filled.names == ()


# Asked again.


def test_the_same_pod_asked_again_gets_an_empty_patch() -> None:
    source = pod(bare(limits(count=1)), bare({}, name="side"))
    again = judged(stored(source, DEFAULTS, ALIGNING), operator=DEFAULTS, levels=ALIGNING)
    assert again.filled.operations == ()


def add_sidecar(source: dict[str, Any]) -> None:
    source["spec"]["containers"].insert(0, bare({}, name="mesh"))


def add_gpu(source: dict[str, Any]) -> None:
    source["spec"]["containers"].append(bare(limits(memory=7), name="late"))


def add_annotation(source: dict[str, Any]) -> None:
    source["metadata"].setdefault("annotations", {})["team"] = "a"


def reset_scheduler(source: dict[str, Any]) -> None:
    source["spec"]["schedulerName"] = "default-scheduler"


OTHERS = [add_sidecar, add_gpu, add_annotation, reset_scheduler]


@pytest.mark.parametrize("other", OTHERS)
def test_the_order_of_other_mutators_does_not_matter(other: Callable[[dict[str, Any]], None]) -> None:
    def without_list(found: dict[str, Any]) -> dict[str, Any]:
        found["metadata"]["annotations"].pop(INJECTED)
        return found

    source = pod(bare(limits(count=1)))
    before = copy.deepcopy(source)
    other(before)
    after = stored(source, DEFAULTS)
    other(after)
    assert without_list(stored(after, DEFAULTS)) == without_list(stored(before, DEFAULTS))


def test_the_list_of_what_was_filled_in_grows_when_asked_again() -> None:
    source = pod(bare(limits(count=1)))
    first = stored(source)
    add_gpu(first)
    assert stored(first)["metadata"]["annotations"][INJECTED] == (
        "schedulerName,main:nvidia.com/gpucores=100,late:nvidia.com/gpu=1"
    )


def test_the_mark_follows_the_levels_in_force() -> None:
    stricter = resolve({"pin-blank": Level.ENFORCE}, static_cluster=False)
    first = stored(pod(bare(limits(count=1))))
    (operation,) = judged(first, levels=stricter).filled.operations
    assert operation["path"] == "/metadata/annotations/numafit.io~1judged"
    assert operation["value"] == stricter.digest != GROWING.digest


def test_it_is_a_patch_of_additions_only_and_of_single_entries() -> None:
    source = pod(bare(limits(count=1), env=[{"name": "A"}]), annotations={"team": "a"})
    operations = judged(source, operator=DEFAULTS).filled.operations
    assert {operation["op"] for operation in operations} == {"add"}
    assert [operation["path"] for operation in operations] == [
        "/spec/schedulerName",
        "/spec/runtimeClassName",
        "/spec/containers/0/resources/limits/nvidia.com~1gpumem",
        "/spec/containers/0/resources/limits/nvidia.com~1gpucores",
        "/spec/containers/0/env/-",
        "/metadata/annotations/numafit.io~1injected",
        "/metadata/annotations/numafit.io~1judged",
    ]


# Pods that get nothing.


def test_a_pod_for_a_foreign_scheduler_is_only_marked() -> None:
    source = pod(bare(limits(count=1)), schedulerName="volcano")
    verdict = judged(source, operator=DEFAULTS, levels=ALIGNING)
    assert [operation["path"] for operation in verdict.filled.operations] == [
        "/metadata/annotations/numafit.io~1judged"
    ]


@pytest.mark.parametrize("amounts", [{}, {"cpu": 1}, limits(count=0, memory=5), {"nvidia.com/mig-1g.10gb": 1}])
def test_a_pod_without_a_gpu_gets_nothing(amounts: dict[str, Any]) -> None:
    assert judged(pod(bare(amounts)), operator=DEFAULTS, levels=ALIGNING).filled.operations == ()


def test_a_refused_pod_gets_nothing() -> None:
    assert judged(pod(annotations={ALIGN: "x"}), operator=DEFAULTS).filled.operations == ()


def test_a_namespace_that_stays_out_gets_nothing() -> None:
    out = resolve({}, static_cluster=False, default_alignment="strict", opted_out=True)
    assert judged(pod(), operator=DEFAULTS, levels=out).filled.operations == ()


@pytest.mark.parametrize("wrong", [limits(count=1, cores=101), limits(percent=-1), limits(cores="0.5")])
def test_nothing_is_guessed_into_a_container_that_hami_refuses(wrong: dict[str, Any]) -> None:
    off = dict.fromkeys(("cores-out-of-range", "percent-out-of-range", "quantity-not-whole"), Level.OFF)
    source = pod(bare(wrong))
    found = stored(source, Operator(hami=HamiConfig(core_policy="force")), resolve(off, static_cluster=False))
    assert found["spec"]["containers"] == source["spec"]["containers"]
    assert found["spec"]["schedulerName"] == "hami-scheduler"


# The namespace's alignment.


def aligned(
    source: dict[str, Any], mode: str = "best-effort", operator: Operator = OPERATOR, **facts: Any
) -> str | None:
    levels = resolve({}, static_cluster=False, default_alignment=mode)
    verdict = judged(source, cluster(node(**facts)), levels, operator)
    assert not (refused(verdict) | warned(verdict)) - {"pin-blank", "foreign-scheduler"}
    return annotation(source, verdict, ALIGN)


@pytest.mark.parametrize("mode", ["best-effort", "strict"])
def test_the_namespaces_alignment_is_filled_in_where_the_pod_can_profit(mode: str) -> None:
    assert aligned(pod(), mode) == mode
    verdict = judged(pod(), cluster(), resolve({}, static_cluster=False, default_alignment=mode))
    assert verdict.filled.names[-1] == ALIGN


def test_no_alignment_is_filled_in_where_the_namespace_has_none() -> None:
    assert aligned(pod(), "") is None


@pytest.mark.parametrize(
    ("source", "mode"),
    [
        (pod(bare(limits(count=1))), "best-effort"),
        (pod(annotations={VGPU_MODE: "mig"}), "best-effort"),
        (pod(annotations={PIN: uuid(0)}), "best-effort"),
        (pod(metadata={"labels": {"scheduling.x-k8s.io/pod-group": "g"}}), "strict"),
        (pod(metadata={"ownerReferences": [{"kind": "ReplicaSet", "controller": True}]}), "strict"),
        (pod(initContainers=[container(name="init")]), "best-effort"),
        (pod(schedulerName="volcano"), "best-effort"),
    ],
)
def test_no_alignment_is_filled_in_where_a_finding_would_follow_from_it(source: dict[str, Any], mode: str) -> None:
    assert aligned(source, mode) is None


@pytest.mark.parametrize(
    "known",
    [{"kubelet": kubelet("none")}, {"kubelet": kubelet(None, advertises=False)}],
)
def test_no_alignment_is_filled_in_where_the_nodes_are_known_not_to_align(known: dict[str, Any]) -> None:
    assert aligned(pod(), **known) is None


def test_strict_is_not_filled_in_where_the_refit_is_off() -> None:
    off = Operator(refit_enabled=False)
    assert aligned(pod(), "strict", off) is None
    assert aligned(pod(), "best-effort", off) == "best-effort"


@pytest.mark.parametrize("value", ["strict", "best-effort"])
def test_an_explicit_alignment_wins(value: str) -> None:
    other = {"strict": "best-effort", "best-effort": "strict"}[value]
    assert aligned(pod(annotations={ALIGN: value}), other) == value


def test_a_finding_that_the_pod_has_anyway_does_not_keep_the_alignment_from_it() -> None:
    assert aligned(pod(annotations={PIN: " "})) == "best-effort"


# What is filled in never refuses.


def test_a_pod_judged_again_with_what_was_filled_in_gets_the_same_findings() -> None:
    hami = Operator(hami=HamiConfig(default_memory=4000, default_cores=100, default_count=2))
    facts = cluster(quotas={"team": Quota(8000, 200)})
    source = pod(bare(limits(percent=50)), annotations={PIN: pins(0, 1)})
    first = judged(source, facts, operator=hami)
    again = judged(patched(source, first), facts, operator=hami)
    assert (first.findings, again.findings) == ((), ())


def test_cores_that_would_be_filled_in_count_against_the_quota_at_once() -> None:
    facts = cluster(quotas={"team": Quota(cores=50)})
    assert refused(judged(pod(), facts)) == {"quota-never-fits"}


def test_memory_without_a_number_of_gpus_counts_against_the_quota_at_once() -> None:
    facts = cluster(quotas={"team": Quota(memory=7999)})
    assert refused(judged(pod(bare(limits(memory=8000))), facts)) == {"quota-never-fits"}
