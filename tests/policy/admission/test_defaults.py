"""What is filled in, where, and that an explicit value always wins."""

from typing import Any

import pytest

from policy.admission.case import Operator
from policy.admission.levels import Levels
from policy.hami.request import HamiConfig
from policy.keys import INJECTED, JUDGED
from tests.policy.admission.build import (
    CORES,
    COUNT,
    GROWING,
    MEMORY,
    OPERATOR,
    PERCENT,
    annotation,
    judged,
    limits,
    patched,
    pod,
)

DEFAULTS = Operator(
    hami=HamiConfig(
        default_memory=4000, default_cores=25, runtime_class="nvidia", core_policy="force", overwrite_env=True
    )
)


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
