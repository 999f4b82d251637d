"""Slips of the pen in resource names."""

import pytest

from policy.admission.case import Operator
from policy.admission.judge import judge_creation
from policy.admission.levels import resolve
from policy.admission.slips import nearest_resource
from policy.hami.request import HamiConfig
from policy.pod import read_pod

KNOWN = HamiConfig().resources


@pytest.mark.parametrize(
    ("resource", "meant"),
    [
        ("nvidia.com/gpu-mem", "nvidia.com/gpumem"),
        ("nvidia.com/gpumemory", "nvidia.com/gpumem"),
        ("nvidia.com/gpumen", "nvidia.com/gpumem"),
        ("nvidia.com/gpumem-percent", "nvidia.com/gpumem-percentage"),
        ("nvidia.com/gpucore", "nvidia.com/gpucores"),
        ("nvidia.com/gpu_cores", "nvidia.com/gpucores"),
        ("nvidia.com/GPU", "nvidia.com/gpu"),
        ("nvidia.com/gpus", "nvidia.com/gpu"),
        ("NVIDIA.com/gpu", "nvidia.com/gpu"),
        ("nvidia.com/vgpu", "nvidia.com/gpu"),
        ("nvidia.com/gpu.shared", ""),
        ("nvidia.com/mig-1g.10gb", ""),
        ("nvidia.com/hostdev", ""),
        ("amd.com/gpu", ""),
        ("memory", ""),
    ],
)
def test_a_resource_that_reads_like_one_of_hamis_is_taken_for_a_slip(resource: str, meant: str) -> None:
    assert nearest_resource(resource, KNOWN) == meant


@pytest.mark.parametrize("limits", [{"nvidia.com/gpu": 1, "nvidia.com/gpu-mem": 1000}, {"nvidia.com/gpu-mem": 1000}])
def test_a_misspelt_resource_warns_also_where_nothing_else_asks_for_a_gpu(limits: dict[str, int]) -> None:
    source = {"spec": {"containers": [{"name": "main", "resources": {"limits": limits}}]}}
    verdict = judge_creation(read_pod(source), source, Operator(), resolve({}, static_cluster=False), None, fresh=True)
    assert [finding.text for finding in verdict.warnings] == [
        (
            'near-miss-resource: container "main" asks for "nvidia.com/gpu-mem", which HAMi does not know; '
            "did you mean nvidia.com/gpumem?"
        )
    ]
