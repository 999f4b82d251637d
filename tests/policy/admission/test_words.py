"""What the words of the rules mean: GPU containers, needs, whole cards, cards at once, pins, modes, reachable nodes."""

from typing import Any

import pytest

from policy.admission.case import gpu_container
from policy.facts import Card
from policy.hami.request import HamiConfig
from policy.keys import VGPU_MODE
from policy.pod import read_pod
from tests.policy.admission.build import (
    ALIGN,
    BIND,
    NOPIN,
    PIN,
    STATIC,
    case,
    cluster,
    container,
    judged,
    limits,
    node,
    pins,
    pod,
    refused,
    uuid,
)

HAMI = HamiConfig()


def read(amounts: dict[str, Any], hami: HamiConfig = HAMI, requests: dict[str, Any] | None = None) -> Any:
    source = pod({"name": "c", "resources": {"limits": amounts, "requests": requests}})
    return gpu_container(read_pod(source).containers[0], hami)


@pytest.mark.parametrize(
    ("amounts", "need"),
    [
        (limits(count=1), 1),
        (limits(count="3"), 3),
        (limits(count="2k"), 2000),
        (limits(count="1500m"), 2),
        (limits(memory=8000), 1),
        (limits(percent=50), 1),
        (limits(cores=30), 1),
        (limits(cores=0), 1),
        (limits(count="two"), 1),
        (limits(count=2, memory=8000, cores=30), 2),
    ],
)
def test_a_gpu_container_needs_its_count_or_one_card_where_only_amounts_are_named(
    amounts: dict[str, Any], need: int
) -> None:
    assert read(amounts).need == need


@pytest.mark.parametrize(
    "amounts",
    [
        {},
        {"cpu": 4, "memory": "1Gi"},
        limits(count=0),
        limits(count="0", memory=8000, cores=100),
        limits(count=-1),
        {"nvidia.com/mig-1g.10gb": 1},
        {"nvidia.com/priority": 1},
        {"amd.com/gpu": 1},
    ],
)
def test_what_names_no_gpu_resource_or_counts_none_is_no_gpu_container(amounts: dict[str, Any]) -> None:
    assert read(amounts) is None


def test_requests_count_where_limits_say_nothing_of_a_resource() -> None:
    assert read({}, requests=limits(count=2)).need == 2
    assert read(limits(count=1), requests=limits(count=2)).need == 1
    assert read(limits(count=1), requests=limits(memory=7)).memory == 7


def test_other_resource_names_take_the_place_of_the_usual_ones() -> None:
    hami = HamiConfig(count="example.com/vgpu", memory="example.com/mem")
    assert read({"example.com/vgpu": 2, "example.com/mem": 5}, hami).memory == 5
    assert read(limits(count=2), hami) is None


def test_the_configured_number_of_cards_is_needed_where_only_amounts_are_named() -> None:
    assert read(limits(memory=1), HamiConfig(default_count=2)).need == 2
    assert read(limits(memory=1), HamiConfig(default_count=0)) is None


@pytest.mark.parametrize(
    ("amounts", "hami", "whole"),
    [
        (limits(count=1), HAMI, True),
        (limits(cores=30), HAMI, True),
        (limits(count=1, cores=100, memory=1), HAMI, True),
        (limits(count=1, percent=100, cores=10), HAMI, True),
        (limits(count=1, percent="100"), HAMI, True),
        (limits(count=1, memory=0), HAMI, True),
        (limits(count=1, percent=0), HAMI, True),
        (limits(count=1, memory=1), HAMI, False),
        (limits(count=1, memory=1, percent=100, cores=10), HAMI, False),
        (limits(count=1, percent=99), HAMI, False),
        (limits(count=1, cores=99, memory=1), HAMI, False),
        (limits(count=1), HamiConfig(default_memory=1), False),
        (limits(count=1, percent=100), HamiConfig(default_memory=1), True),
        (limits(count=1, memory=1), HamiConfig(default_cores=100), True),
        (limits(count=1, memory=1, cores=10), HamiConfig(default_cores=100), False),
    ],
)
def test_a_whole_card_is_all_cores_all_memory_in_percent_or_no_memory_amount(
    amounts: dict[str, Any], hami: HamiConfig, whole: bool
) -> None:
    assert read(amounts, hami).whole_card is whole


@pytest.mark.parametrize(
    ("amounts", "hami", "memory", "percent", "cores"),
    [
        (limits(count=1), HAMI, 0, 100, 100),
        (limits(count=1, memory="20k"), HAMI, 20000, 0, 0),
        (limits(count=1, memory=3), HamiConfig(memory_factor=1024), 3072, 0, 0),
        (limits(count=1, memory=3), HamiConfig(memory_factor=0), 3, 0, 0),
        (limits(count=1, percent=40), HAMI, 0, 40, 0),
        (limits(count=1, memory=8, percent=40), HAMI, 8, 0, 0),
        (limits(count=1, percent=0), HAMI, 0, 100, 0),
        (limits(count=1, memory=0, percent=40), HAMI, 0, 40, 0),
        (limits(count=1), HamiConfig(default_memory=4000, default_cores=25), 4000, 0, 25),
        (limits(count=1, cores=0), HamiConfig(default_cores=25), 0, 100, 0),
        (limits(count=1, memory="much", cores="many"), HAMI, 0, 100, 0),
    ],
)
def test_amounts_are_read_as_hami_will_with_its_defaults_filled_in(
    amounts: dict[str, Any], hami: HamiConfig, memory: int, percent: int, cores: int
) -> None:
    found = read(amounts, hami)
    assert (found.memory, found.percent, found.cores) == (memory, percent, cores)


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("init", "apps", "most", "at_once"),
    [
        ([], [limits(count=1)], 1, 1),
        ([], [limits(count=2), limits(count=3)], 3, 5),
        ([], [limits(count=2), limits(count=3, memory=1)], 3, 5),
        ([], [limits(count=2, memory=1), limits(count=3, memory=1)], 3, 3),
        ([limits(count=4)], [limits(count=1)], 4, 4),
        ([limits(count=2) | SIDECAR], [limits(count=1), limits(count=1, memory=1)], 2, 4),
        ([limits(count=9) | SIDECAR, limits(count=2)], [limits(count=1, memory=1)], 9, 10),
        ([], [limits(count=0), limits(count=2)], 2, 2),
    ],
)
def test_whole_cards_that_run_together_add_up_and_shares_fit_on_the_widest_of_them(
    init: list[dict[str, Any]], apps: list[dict[str, Any]], most: int, at_once: int
) -> None:
    early = [
        container({k: v for k, v in amounts.items() if k != "restartPolicy"}, name=f"i{place}")
        | ({"restartPolicy": "Always"} if "restartPolicy" in amounts else {})
        for place, amounts in enumerate(init)
    ]
    found = case(pod(*map(container, apps), initContainers=early))
    assert (found.most, found.at_once) == (most, at_once)


@pytest.mark.parametrize(
    ("value", "excluded", "found", "left"),
    [
        ("a,b", "", ("a", "b"), ("a", "b")),
        (" a ,\tb\n", "", ("a", "b"), ("a", "b")),
        ("a,,b,", "", ("a", "b"), ("a", "b")),
        ("a,b,a", "", ("a", "b"), ("a", "b")),
        ("", "a", (), ()),
        ("   ", "", (), ()),
        (", ,", "", (), ()),
        ("a,b,c", "b , d", ("a", "b", "c"), ("a", "c")),
        ("a", "A", ("a",), ("a",)),
    ],
)
def test_pins_are_the_distinct_items_and_those_left_are_not_excluded(
    value: str, excluded: str, found: tuple[str, ...], left: tuple[str, ...]
) -> None:
    read_case = case(pod(annotations={PIN: value, NOPIN: excluded}))
    assert (read_case.pins, read_case.left) == (found, left)


@pytest.mark.parametrize(
    ("value", "mode"),
    [("strict", "strict"), (" Best-Effort\n", "best-effort"), ("STRICT", "strict"), ("strikt", ""), ("", "")],
)
def test_a_mode_is_a_valid_value_blanks_and_case_aside(value: str, mode: str) -> None:
    assert case(pod(annotations={ALIGN: value})).mode == mode


def test_blanks_are_what_go_trims_and_nothing_more() -> None:
    separator = chr(28)
    assert not case(pod(annotations={ALIGN: f"{separator}strict"})).mode
    assert case(pod(annotations={ALIGN: "\N{NO-BREAK SPACE}strict"})).mode == "strict"
    assert refused(judged(pod(annotations={PIN: separator}))) == {"pin-has-separator"}


@pytest.mark.parametrize(
    ("value", "is_mig"), [("mig", True), (" MIG ", True), ("hami-core", False), ("mig,mps", False), ("", False)]
)
def test_a_mig_pod_says_mig_and_nothing_else(value: str, is_mig: bool) -> None:
    assert case(pod(annotations={VGPU_MODE: value})).is_mig is is_mig


@pytest.mark.parametrize(
    ("value", "binds"), [("1", True), ("t", True), ("TRUE", True), ("false", False), (" true", False), ("yes", False)]
)
def test_numa_bind_is_a_boolean_as_go_spells_it(value: str, binds: bool) -> None:
    assert case(pod(annotations={BIND: value})).binds is binds


def only(name: str) -> dict[str, Any]:
    """The affinity of a DaemonSet's pod."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


@pytest.mark.parametrize(
    ("fields", "eligible", "reachable"),
    [
        ({}, {"n1", "n2"}, {"n1"}),
        ({"nodeSelector": {"pool": "b"}}, {"n2"}, set()),
        ({"affinity": only("n1")}, {"n1"}, {"n1"}),
        ({"affinity": only("n3")}, set(), set()),
        ({"annotations": {PIN: pins(4)}}, {"n2"}, set()),
        ({"annotations": {PIN: pins(0, 1, 4)}}, {"n1", "n2"}, {"n1"}),
        ({"annotations": {NOPIN: pins(0, 1, 2)}}, {"n1", "n2"}, set()),
    ],
)
def test_a_reachable_node_is_eligible_and_has_enough_candidates(
    fields: dict[str, Any], eligible: set[str], reachable: set[str]
) -> None:
    facts = cluster(node("n1", labels={"pool": "a"}), node("n2", [0], 4, labels={"pool": "b"}), node("n3", []))
    room = case(pod(container(limits(count=2)), **fields), facts).room
    assert {spot.node.name for spot in room.eligible} == eligible
    assert {spot.node.name for spot in room.reachable} == reachable


def test_unhealthy_and_cordoned_cards_are_candidates() -> None:
    sick = node(cards=(Card(uuid(0), healthy=False),), cordoned=frozenset({uuid(0)}))
    assert judged(pod(), cluster(sick), STATIC).allowed
