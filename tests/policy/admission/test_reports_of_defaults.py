"""What users of HAMi reported of what it fills in (HAMi: public issues), one test each, named after the report."""

import pytest

from policy.admission.case import Operator
from policy.admission.levels import resolve
from policy.hami.request import HamiConfig
from policy.keys import INJECTED, JUDGED
from policy.pod import read_pod
from tests.policy.admission.build import (
    ALIGN,
    MEMORY,
    container,
    judged,
    limits,
    patched,
    pod,
    refused,
)

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
