"""QoS classes, exclusive CPUs, and what a pod needs at its peak."""

from dataclasses import replace
from typing import Any

import pytest

from policy.kubelet.demand import PodLevel
from policy.kubelet.settings import Settings
from policy.kubelet.versions import VERSIONS
from tests.policy.kubelet.build import GPU, demand, pod

STATIC = Settings(cpu_policy="static")
MANAGERS = replace(STATIC, gates={"PodLevelResourceManagers": True})
SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("containers", "qos", "exclusive"),
    [
        ([{GPU: 1}], "BestEffort", [0]),
        ([{}], "BestEffort", [0]),
        ([{"cpu": 0, "memory": 0}], "BestEffort", [0]),
        ([{"cpu": 2, "memory": 8}], "Guaranteed", [2]),
        ([{"cpu": "2000m", "memory": 8}], "Guaranteed", [2]),
        ([{"cpu": "1500m", "memory": 8}], "Guaranteed", [0]),
        ([{"cpu": 2, "memory": 8, "requests": {"memory": 4}}], "Burstable", [0]),
        ([{"cpu": 2, "memory": 8}, {"cpu": 1}], "Burstable", [0, 0]),
        ([{"cpu": 2, "memory": 8}, {}], "Burstable", [0, 0]),
        ([{"cpu": 2, "memory": 8}, {"cpu": "500m", "memory": 8}], "Guaranteed", [2, 0]),
        ([{"requests": {"cpu": 1}}], "Burstable", [0]),
    ],
)
def test_reads_the_qos_class_and_exclusive_cpus(
    containers: list[dict[str, Any]], qos: str, exclusive: list[int]
) -> None:
    found = demand(pod(*containers), STATIC)
    assert found.qos == qos
    assert [each.cpus for each in found.containers] == exclusive


@pytest.mark.parametrize(
    ("init", "apps", "peak"),
    [
        ([], [2, 3], 5),
        ([8], [2, 3], 8),
        ([4, 6], [2, 3], 6),
        ([{**SIDECAR, "cpu": 3, "memory": 1}], [2], 5),
        ([{**SIDECAR, "cpu": 3, "memory": 1}, 4], [2], 7),
        ([4, {**SIDECAR, "cpu": 3, "memory": 1}], [1], 4),
    ],
)
def test_adds_sidecars_to_apps_and_to_the_init_containers_after_them(
    init: list[Any], apps: list[int], peak: int
) -> None:
    listed = [each if isinstance(each, dict) else {"cpu": each, "memory": 1, GPU: each} for each in init]
    listed = [{**each, GPU: each["cpu"]} for each in listed]
    found = demand(pod(*({"cpu": each, "memory": 1, GPU: each} for each in apps), init=tuple(listed)), STATIC)
    assert found.cpus == peak
    assert found.devices[GPU] == peak


def test_memory_that_only_init_containers_ask_for_is_left_out_of_the_pods() -> None:
    init = {"cpu": 1, "memory": 20, "hugepages-2Mi": 4}
    found = demand(pod({"cpu": 1, "memory": 8}, init=(init,)), STATIC)
    assert found.memory == {"memory": 20}


def test_memory_in_fractions_cannot_be_kept() -> None:
    found = demand(pod({"cpu": 1, "memory": "1500m"}), STATIC)
    assert found.memory is None
    assert found.containers[0].memory is None


@pytest.mark.parametrize(
    ("containers", "level", "qos"),
    [
        ([{GPU: 1}], PodLevel(limits={"cpu": 4, "memory": 8}), "Guaranteed"),
        ([{"cpu": 4, "memory": 4}], PodLevel(limits={"cpu": 4, "memory": 10}), "Burstable"),
        ([{"cpu": 4, "memory": 8}], PodLevel(limits={"cpu": 4, "memory": 8}), "Guaranteed"),
        ([{}], PodLevel(requests={"cpu": 1}), "Burstable"),
    ],
)
def test_pod_level_resources_alone_decide_over_the_class(
    containers: list[dict[str, Any]], level: PodLevel, qos: str
) -> None:
    found = demand(pod(*containers), STATIC, level)
    assert (found.qos, found.silent, found.by_pod) == (qos, True, False)


def test_versions_before_1_34_do_not_know_pod_level_resources() -> None:
    old = replace(STATIC, rules=VERSIONS["1.33"])
    found = demand(pod({"cpu": 2, "memory": 8}), old, PodLevel(limits={"cpu": 4, "memory": 8}))
    assert (found.cpus, found.silent) == (2, False)


def test_pod_level_managers_divide_the_pods_amounts() -> None:
    level = PodLevel({"cpu": 6, "memory": 64}, {"cpu": 6, "memory": 64})
    found = demand(pod({"cpu": 2, "memory": 8}, {"requests": {"cpu": 1}}), MANAGERS, level)
    assert found.by_pod
    assert (found.cpus, found.memory) == (6, {"memory": 64})
    assert [each.cpus for each in found.containers] == [2, 0]
    assert [each.memory for each in found.containers] == [{"memory": 8}, {}]


def test_an_amount_that_is_no_quantity_is_refused_with_its_name() -> None:
    with pytest.raises(ValueError, match=r"^cpu: 'lots' is no quantity such as 2, 500m or 16Gi; correct the pod$"):
        demand(pod({"cpu": "lots"}), STATIC)
