"""A pod that is asked about again, and pods that get nothing."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from policy.admission.case import Operator
from policy.admission.finding import Level
from policy.admission.levels import Levels, resolve
from policy.facts import Quota
from policy.hami.request import HamiConfig
from policy.keys import INJECTED
from tests.policy.admission.build import (
    ALIGN,
    GROWING,
    OPERATOR,
    PIN,
    cluster,
    judged,
    limits,
    patched,
    pins,
    pod,
    refused,
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
