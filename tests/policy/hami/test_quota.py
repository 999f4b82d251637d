"""Quotas: which limits count, what a pod needs before a card is chosen, and when that fits."""

from typing import Any

import pytest

from policy.facts import Quota, Use
from policy.hami.quota import fits, read_quotas, webhook_need
from policy.hami.request import HamiConfig, InvalidRequestError
from policy.pod import Container, MalformedObjectError, Phase, Pod

CONFIG = HamiConfig()
INIT, SIDECAR, APP = Phase.INIT, Phase.SIDECAR, Phase.APP
MEM, CORES = "limits.nvidia.com/gpumem", "limits.nvidia.com/gpucores"


def resource_quota(hard: Any, namespace: str = "team", **spec: Any) -> dict[str, Any]:
    return {"kind": "ResourceQuota", "metadata": {"namespace": namespace}, "spec": {"hard": hard, **spec}}


def container(phase: Phase, **amounts: object) -> Container:
    limits = {f"nvidia.com/{name}": amount for name, amount in amounts.items()}
    return Container("c", phase, "", limits, {})


@pytest.mark.parametrize(
    ("hard", "quota"),
    [
        ({MEM: "900k", CORES: 400}, Quota(900_000, 400)),
        ({MEM: "0"}, Quota(0, None)),
        ({CORES: "1500m", MEM: "2"}, Quota(2, None)),
        ({MEM: "0.5"}, None),
        ({MEM: "9223372036854775808"}, None),
        ({MEM: "lots"}, None),
        ({"requests.nvidia.com/gpumem": 5, "limits.nvidia.com/gpu": "24", "nvidia.com/gpumem": 5}, None),
        (None, None),
    ],
)
def test_only_whole_limits_of_memory_and_cores_count(hard: Any, quota: Quota | None) -> None:
    assert read_quotas([resource_quota(hard)], CONFIG) == ({"team": quota} if quota else {})


def test_the_strictest_of_several_counts_in_each_dimension() -> None:
    quotas = [
        resource_quota({MEM: 2000, CORES: 100}),
        resource_quota({MEM: 1000, CORES: 300}),
        resource_quota({MEM: 9}, namespace="other"),
    ]
    expected = {"team": Quota(1000, 100), "other": Quota(9, None)}
    assert read_quotas(quotas, CONFIG) == expected
    assert read_quotas(reversed(quotas), CONFIG) == expected


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({"scopes": ["Terminating"]}, False),
        ({"scopeSelector": {"matchExpressions": []}}, False),
        ({"scopes": [], "scopeSelector": None}, True),
    ],
)
def test_a_quota_with_a_scope_does_not_count(spec: dict[str, Any], counts: bool) -> None:
    assert bool(read_quotas([resource_quota({MEM: 1}, **spec)], CONFIG)) is counts


def test_limits_of_configured_resource_names_count() -> None:
    config = HamiConfig(memory="example.com/mem")
    assert read_quotas([resource_quota({"limits.example.com/mem": 7})], config) == {"team": Quota(7, None)}


@pytest.mark.parametrize("source", [{"metadata": 1}, {"spec": []}, {"spec": {"hard": "x"}}])
def test_an_object_of_another_shape_is_refused(source: dict[str, Any]) -> None:
    with pytest.raises(MalformedObjectError, match="of a ResourceQuota must be an object, not"):
        read_quotas([{"metadata": {"namespace": "team"}, **source}], CONFIG)


@pytest.mark.parametrize(
    ("containers", "need"),
    [
        ([container(APP, gpu=2, gpumem=1024, gpucores=30)], Use(2, 2048, 60)),
        ([container(INIT, gpu=1, gpumem=800), container(APP, gpu=1, gpumem=500)], Use(1, 800, 0)),
        ([container(INIT, gpu=1, gpumem=800)] * 2 + [container(APP, gpu=1, gpumem=500)], Use(1, 800, 0)),
        (
            [
                container(SIDECAR, gpu=1, gpumem=600),
                container(INIT, gpu=1, gpumem=300),
                container(APP, gpu=1, gpumem=500),
            ],
            Use(2, 1100, 0),
        ),
        (
            [container(INIT, gpu=1, gpumem=300), container(SIDECAR, gpu=1, gpumem=600), container(APP)],
            Use(1, 600, 0),
        ),
        ([container(APP, gpu=1, **{"gpumem-percentage": 100})], Use(1, 0, 0)),
        ([container(APP, gpu=0, gpumem=5)], Use()),
        ([container(APP, cpu=1)], Use()),
    ],
)
def test_a_pod_needs_its_peak_over_phases(containers: list[Container], need: Use) -> None:
    assert webhook_need(Pod(containers=tuple(containers)), CONFIG) == need


def test_a_pod_whose_amounts_cannot_be_read_has_no_need() -> None:
    with pytest.raises(InvalidRequestError, match=r"nvidia\.com/gpumem"):
        webhook_need(Pod(containers=(container(APP, gpu=1, gpumem="16Gi"),)), CONFIG)


@pytest.mark.parametrize(
    ("quota", "used", "need", "factor", "fit"),
    [
        (None, Use(9, 9, 9), Use(1, 10**9, 10**9), 1, True),
        (Quota(2000, None), Use(0, 1000), Use(0, 1000), 1, True),
        (Quota(2000, None), Use(0, 1000), Use(0, 1001), 1, False),
        (Quota(2000, None), Use(0, 10_000), Use(0, 10_000), 10, True),
        (Quota(2000, None), Use(0, 10_000), Use(0, 10_001), 10, False),
        (Quota(2000, None), Use(0, 1000), Use(0, 1001), 0, False),
        (Quota(None, 100), Use(0, 0, 50), Use(0, 10**9, 50), 1, True),
        (Quota(None, 100), Use(0, 0, 50), Use(0, 0, 51), 1, False),
        (Quota(0, None), Use(), Use(1, 1, 0), 1, False),
        (Quota(5, None), Use(0, 10), Use(1, 0, 0), 1, True),
        (Quota(5, None), Use(0, 10), Use(1, 0, 1), 1, False),
    ],
)
def test_what_reaches_the_limit_fits_and_what_passes_it_does_not(
    quota: Quota | None, used: Use, need: Use, factor: int, fit: bool
) -> None:
    assert fits(quota, used, need, factor) is fit
