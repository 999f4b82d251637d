"""What a container asks for, and what HAMi's webhook adds to it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.hami.mutation import Mutation, MutationError, mutate, overwrites_env
from policy.hami.request import HamiConfig, InvalidRequestError, Request, read_request
from policy.keys import OVERWRITE_ENV, OVERWRITE_ENV_CONTAINERS
from policy.pod import Container, Phase

GPU, MEM, PCT, CORES, PRIORITY = (
    "nvidia.com/gpu",
    "nvidia.com/gpumem",
    "nvidia.com/gpumem-percentage",
    "nvidia.com/gpucores",
    "nvidia.com/priority",
)
CONFIG = HamiConfig()

few = settings(max_examples=80, deadline=None)

QUANTITIES: st.SearchStrategy[object] = st.integers(-5, 2**33) | st.sampled_from(
    ["1", "20k", "16Gi", "0.5", "1500m", "x", "", None, True, []]
)
LEGAL_AMOUNTS = st.dictionaries(st.sampled_from([GPU, MEM, PCT, CORES, PRIORITY]), st.sampled_from([0, 1, "50", 100]))
AMOUNTS = st.dictionaries(st.sampled_from([GPU, MEM, PCT, CORES, PRIORITY]), QUANTITIES)


def container(
    limits: dict[str, object] | None = None,
    requests: dict[str, object] | None = None,
    env: tuple[dict[str, object], ...] = (),
) -> Container:
    return Container("main", Phase.APP, "/spec/containers/0", limits or {}, requests or {}, env)


@pytest.mark.parametrize(
    ("limits", "request_"),
    [
        ({}, None),
        ({GPU: 0}, None),
        ({MEM: 1000}, None),
        ({GPU: 1}, Request(1, 0, 100, 0)),
        ({GPU: "2", MEM: "20k"}, Request(2, 20000, 101, 0)),
        ({GPU: 1, PCT: 50}, Request(1, 0, 50, 0)),
        ({GPU: 1, PCT: 150}, Request(1, 0, 100, 0)),
        ({GPU: 1, PCT: 0}, Request(1, 0, 100, 0)),
        ({GPU: 1, PCT: -4}, Request(1, 0, 100, 0)),
        ({GPU: 1, PCT: "0.5"}, Request(1, 0, 100, 0)),
        ({GPU: 1, MEM: 2000, PCT: 50}, Request(1, 2000, 50, 0)),
        ({GPU: 1, MEM: 2000, PCT: 0}, Request(1, 2000, 101, 0)),
        ({GPU: 1, MEM: 0}, Request(1, 0, 100, 0)),
        ({GPU: 1, CORES: 100}, Request(1, 0, 100, 100)),
        ({GPU: 2147483647, MEM: 2147483647}, Request(2147483647, 2147483647, 101, 0)),
    ],
)
def test_reads_limits(limits: dict[str, object], request_: Request | None) -> None:
    assert read_request(container(limits), CONFIG) == request_


def test_a_limit_wins_over_a_request_and_each_resource_is_looked_up_by_itself() -> None:
    asked = container({GPU: 1, MEM: 100}, {GPU: 4, CORES: 30})
    assert read_request(asked, CONFIG) == Request(1, 100, 101, 30)


@pytest.mark.parametrize(
    ("config", "limits", "request_"),
    [
        (HamiConfig(default_memory=512), {GPU: 1}, Request(1, 512, 101, 0)),
        (HamiConfig(default_memory=512), {GPU: 1, MEM: 0}, Request(1, 512, 101, 0)),
        (HamiConfig(default_memory=512, memory_factor=10), {GPU: 1}, Request(1, 512, 101, 0)),
        (HamiConfig(default_memory=512), {GPU: 1, PCT: 30}, Request(1, 0, 30, 0)),
        (HamiConfig(default_cores=30), {GPU: 1}, Request(1, 0, 100, 30)),
        (HamiConfig(default_cores=30), {GPU: 1, CORES: 0}, Request(1, 0, 100, 0)),
        (HamiConfig(memory_factor=10), {GPU: 1, MEM: 214748364}, Request(1, 2147483640, 101, 0)),
        (HamiConfig(memory_factor=0), {GPU: 1, MEM: 7}, Request(1, 7, 101, 0)),
        (HamiConfig(count="example.com/gpu"), {GPU: 1}, None),
        (HamiConfig(count="example.com/gpu"), {"example.com/gpu": 1}, Request(1, 0, 100, 0)),
    ],
)
def test_the_configuration_fills_in_and_scales(
    config: HamiConfig, limits: dict[str, object], request_: Request | None
) -> None:
    assert read_request(container(limits), config) == request_


@pytest.mark.parametrize(
    ("config", "limits", "text"),
    [
        (CONFIG, {GPU: -1}, f'{GPU} of container "main" is -1; it must be a whole number from 0 to 2147483647'),
        (CONFIG, {GPU: "1.5"}, f"{GPU} of container \"main\" is '1.5'; it must be a whole number from 0 to 2147483647"),
        (CONFIG, {GPU: None}, f'{GPU} of container "main" is null; it must be a whole number from 0 to 2147483647'),
        (
            CONFIG,
            {GPU: 2147483648},
            f'{GPU} of container "main" is 2147483648; it must be a whole number from 0 to 2147483647',
        ),
        (
            CONFIG,
            {GPU: 1, MEM: "16Gi"},
            f"{MEM} of container \"main\" is '16Gi'; it must be a whole number from 0 to 2147483647",
        ),
        (
            CONFIG,
            {GPU: 1, MEM: []},
            f'{MEM} of container "main" is list; it must be a whole number from 0 to 2147483647',
        ),
        (CONFIG, {GPU: 1, CORES: 101}, f'{CORES} of container "main" is 101; it must be a whole number from 0 to 100'),
        (
            HamiConfig(memory_factor=10),
            {GPU: 1, MEM: 214748365},
            f'{MEM} of container "main" is 214748365; it must be a whole number from 0 to 214748364',
        ),
    ],
)
def test_a_wrong_amount_is_refused_by_name_value_and_range(
    config: HamiConfig, limits: dict[str, object], text: str
) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        read_request(container(limits), config)
    assert str(refusal.value) == text


@few
@given(AMOUNTS, AMOUNTS)
def test_any_amounts_are_a_request_within_range_or_refused(
    limits: dict[str, object], requests: dict[str, object]
) -> None:
    try:
        found = read_request(container(limits, requests), CONFIG)
    except InvalidRequestError:
        return
    assert found is None or (found.nums > 0 and found.memory >= 0 and 0 <= found.cores <= 100)
    assert found is None or found.percent in range(1, 102)


@pytest.mark.parametrize(
    ("limits", "requests", "mutation"),
    [
        ({}, {}, Mutation(False, {}, ())),
        ({GPU: 1}, {}, Mutation(True, {CORES: 100}, ())),
        ({GPU: 1, MEM: 8192}, {}, Mutation(True, {}, ())),
        ({GPU: 1, PCT: 50}, {}, Mutation(True, {}, ())),
        ({GPU: 1, PCT: "100"}, {}, Mutation(True, {CORES: 100}, ())),
        ({GPU: 1, PCT: 0}, {}, Mutation(True, {}, ())),
        ({GPU: 1, CORES: 0}, {}, Mutation(True, {}, ())),
        ({MEM: 8192}, {}, Mutation(True, {GPU: 1}, ())),
        ({CORES: 30}, {}, Mutation(True, {GPU: 1}, ())),
        ({PCT: 100}, {}, Mutation(True, {GPU: 1, CORES: 100}, ())),
        ({}, {GPU: 1, MEM: 8192}, Mutation(False, {}, ())),
        ({}, {GPU: 1}, Mutation(True, {CORES: 100}, ())),
        ({CORES: 100}, {GPU: 1}, Mutation(True, {}, ())),
        ({MEM: 5}, {GPU: 2}, Mutation(True, {}, ())),
        ({GPU: 1}, {MEM: 1}, Mutation(True, {}, ())),
        ({GPU: 1}, {CORES: 5}, Mutation(True, {}, ())),
        ({PRIORITY: 0}, {}, Mutation(False, {}, (("CUDA_TASK_PRIORITY", "0"),))),
        ({}, {PRIORITY: 1}, Mutation(False, {}, ())),
    ],
)
def test_adds_what_hami_adds(limits: dict[str, object], requests: dict[str, object], mutation: Mutation) -> None:
    assert mutate(container(limits, requests), CONFIG, overwrite_env=False) == mutation


def test_a_memory_name_that_is_not_configured_makes_a_card_exclusive() -> None:
    found = mutate(container({GPU: 1, MEM: 5}), HamiConfig(memory=""), overwrite_env=False)
    assert found.limits == {CORES: 100}


def test_a_default_count_of_zero_leaves_containers_with_amounts_only_alone() -> None:
    assert mutate(container({MEM: 5}), HamiConfig(default_count=0), overwrite_env=False) == Mutation(False, {}, ())


def test_variables_are_added_in_hamis_order() -> None:
    config = HamiConfig(core_policy="force")
    found = mutate(container({"cpu": 1, PRIORITY: "2"}), config, overwrite_env=True)
    assert found.env == (
        ("CUDA_TASK_PRIORITY", "2"),
        ("GPU_CORE_UTILIZATION_POLICY", "force"),
        ("NVIDIA_VISIBLE_DEVICES", "none"),
    )


def test_the_variable_is_closed_only_where_no_gpu_is_asked_for() -> None:
    assert mutate(container({GPU: 1, MEM: 5}), CONFIG, overwrite_env=True).env == ()


@pytest.mark.parametrize("core_policy", ["", "default"])
def test_the_default_core_policy_adds_no_variable(core_policy: str) -> None:
    assert mutate(container({GPU: 1}), HamiConfig(core_policy=core_policy), overwrite_env=False).env == ()


@pytest.mark.parametrize(
    ("env", "added"),
    [
        ((), True),
        (({"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"},), False),
        (({"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},), True),
        (
            (
                {"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"},
                {"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {}},
            ),
            True,
        ),
        (({"name": ["hostile"], "value": "none"},), True),
    ],
)
def test_a_variable_that_the_container_ends_with_is_not_added_again(
    env: tuple[dict[str, object], ...], added: bool
) -> None:
    found = mutate(container(env=env), CONFIG, overwrite_env=True).env
    assert found == ((("NVIDIA_VISIBLE_DEVICES", "none"),) if added else ())


@pytest.mark.parametrize(
    ("limits", "requests", "text"),
    [
        ({GPU: 1, PCT: 101}, {}, f'{PCT} of container "main" is 101; it must be a whole number from 0 to 100'),
        ({PCT: 50}, {PCT: "0.5"}, f"{PCT} of container \"main\" is '0.5'; it must be a whole number from 0 to 100"),
        ({CORES: -1}, {}, f'{CORES} of container "main" is -1; it must be a whole number from 0 to 100'),
        ({PRIORITY: "1.5"}, {}, f"{PRIORITY} of container \"main\" is '1.5'; it must be a whole number of any size"),
    ],
)
def test_a_container_with_a_wrong_amount_is_refused(
    limits: dict[str, object], requests: dict[str, object], text: str
) -> None:
    with pytest.raises(MutationError) as refusal:
        mutate(container(limits, requests), CONFIG, overwrite_env=False)
    assert str(refusal.value) == text


@few
@given(LEGAL_AMOUNTS, LEGAL_AMOUNTS, st.booleans(), st.integers(0, 1))
def test_a_second_mutation_adds_nothing(
    limits: dict[str, object], requests: dict[str, object], close: bool, count: int
) -> None:
    config = HamiConfig(default_count=count, core_policy="force")
    first = mutate(container(limits, requests), config, overwrite_env=close)
    env: tuple[dict[str, object], ...] = tuple({"name": name, "value": value} for name, value in first.env)
    second = mutate(container({**limits, **first.limits}, requests, env), config, overwrite_env=close)
    assert second == Mutation(first.has_resource, {}, ())


@pytest.mark.parametrize(
    ("pod", "per_container", "configured", "overwrites"),
    [
        (None, None, False, False),
        (None, None, True, True),
        ("false", None, True, False),
        ("true", None, False, True),
        ("yes", None, True, True),
        ("false", '{"main":"true"}', False, True),
        ("true", '{"main":"false"}', True, False),
        ("true", '{"other":"false"}', False, True),
        ("true", '{"main":"maybe"}', False, True),
        ("true", '{"main":false}', False, True),
        ("true", '["main"]', False, True),
        ("true", "{", False, True),
        ("true", "[" * 100_000, False, True),
    ],
)
def test_the_containers_own_word_wins_over_the_pods_and_the_pods_over_the_configuration(
    pod: str | None, per_container: str | None, configured: bool, overwrites: bool
) -> None:
    said = {OVERWRITE_ENV: pod, OVERWRITE_ENV_CONTAINERS: per_container}
    annotations = {key: value for key, value in said.items() if value is not None}
    assert overwrites_env(annotations, "main", HamiConfig(overwrite_env=configured)) is overwrites
