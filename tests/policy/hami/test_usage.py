"""Accounting by phases: what a pod holds on each card, at its peak and after its init containers have ended."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.facts import NOTHING, Device, Entry, Use
from policy.hami.usage import align, effective, reserve, steady
from policy.keys import ALLOCATED, ASSIGNED_NODE
from policy.pod import Container, Phase, Pod

INIT, SIDECAR, APP = Phase.INIT, Phase.SIDECAR, Phase.APP


def on(uuid: str, memory: int, cores: int = 0, slots: int = 1) -> Entry:
    return (Device(uuid, memory, cores, slots=slots),)


ENTRIES = st.lists(
    st.builds(
        Device,
        uuid=st.sampled_from("abc"),
        memory=st.integers(0, 99),
        cores=st.integers(0, 99),
        slots=st.integers(1, 3),
    ),
    max_size=2,
).map(tuple)
INIT_PHASES = st.lists(st.sampled_from([INIT, SIDECAR]), max_size=3)

few = settings(max_examples=60, deadline=None)


@st.composite
def pods(draw: st.DrawFn) -> tuple[list[Entry], list[Phase]]:
    phases = draw(INIT_PHASES) + [APP] * draw(st.integers(1, 3))
    return [draw(ENTRIES) for _ in phases], phases


@pytest.mark.parametrize(
    ("entries", "containers", "aligned"),
    [
        ([on("a", 1), ()], 1, (on("a", 1),)),
        ([on("a", 1), (), (), ()], 2, (on("a", 1), ())),
        ([on("a", 1)], 2, ((), on("a", 1))),
        ([on("a", 1), ()], 3, ((), on("a", 1), ())),
        ([], 2, ((), ())),
        ([on("a", 1), on("b", 1)], 1, (on("a", 1), on("b", 1))),
        ([(), ()], 0, ()),
    ],
)
def test_gives_each_container_its_entry(entries: Sequence[Entry], containers: int, aligned: tuple[Entry, ...]) -> None:
    assert align(entries, containers) == aligned


@pytest.mark.parametrize(
    ("entries", "phases", "peak", "after"),
    [
        ([on("a", 30), on("a", 20)], [INIT, APP], 30, 20),
        ([on("a", 20), on("a", 30)], [INIT, APP], 30, 30),
        ([on("a", 30), on("a", 40), on("a", 1)], [INIT, INIT, APP], 40, 1),
        ([on("a", 2), on("a", 20), on("a", 10)], [SIDECAR, INIT, APP], 22, 12),
        ([on("a", 20), on("a", 2), on("a", 10)], [INIT, SIDECAR, APP], 20, 12),
        ([on("a", 6), on("a", 6), on("a", 1)], [SIDECAR, SIDECAR, APP], 13, 13),
        ([on("a", 5), on("a", 5), on("a", 5)], [INIT, APP, APP], 10, 10),
    ],
)
def test_counts_the_peak_over_phases_and_then_what_still_runs(
    entries: list[Entry], phases: list[Phase], peak: int, after: int
) -> None:
    assert effective(entries, phases)["a"].memory == peak
    assert steady(entries, phases)["a"].memory == after


def test_takes_shares_memory_and_cores_each_at_their_own_peak() -> None:
    entries = [on("a", 10, cores=1, slots=3), on("a", 4, cores=9)]
    assert effective(entries, [INIT, APP]) == {"a": Use(slots=3, memory=10, cores=9)}


def test_counts_each_card_by_itself_in_the_order_of_uuids() -> None:
    entries = [on("b", 5000), on("a", 5000), on("a", 5000)]
    assert list(effective(entries, [INIT, APP, APP]).items()) == [("a", Use(2, 10000, 0)), ("b", Use(1, 5000, 0))]


def test_counts_devices_of_no_container_as_an_apps() -> None:
    assert steady([on("a", 1), on("a", 2)], [APP])["a"] == Use(2, 3, 0)


def test_an_ended_init_container_holds_nothing_where_the_value_is_complete() -> None:
    assert steady([on("a", 7), (), ()], [INIT, APP]) == {}


@pytest.mark.parametrize("phases", [[INIT, APP], [INIT, INIT, APP], [INIT, SIDECAR]])
def test_a_value_without_the_blank_entries_in_front_belongs_to_what_still_runs(phases: list[Phase]) -> None:
    assert steady([on("a", 7), ()], phases) == {"a": Use(1, 7, 0)}


@few
@given(pods())
def test_the_peak_is_never_below_what_remains(pod: tuple[list[Entry], list[Phase]]) -> None:
    entries, phases = pod
    complete = [*entries, ()]
    peak = effective(complete, phases)
    for uuid, after in steady(complete, phases).items():
        assert peak[uuid].peak(after) == peak[uuid]


@few
@given(pods(), st.data())
def test_the_order_of_app_containers_does_not_matter(pod: tuple[list[Entry], list[Phase]], data: st.DataObject) -> None:
    entries, phases = pod
    first_app = phases.index(APP)
    apps = data.draw(st.permutations(entries[first_app:]))
    shuffled = [*entries[:first_app], *apps, ()]
    assert effective(shuffled, phases) == effective([*entries, ()], phases)
    assert steady(shuffled, phases) == steady([*entries, ()], phases)


@few
@given(st.lists(ENTRIES, min_size=1, max_size=4), ENTRIES)
def test_the_order_of_ordinary_init_containers_does_not_matter(init: list[Entry], app: Entry) -> None:
    phases = [INIT] * len(init) + [APP]
    assert effective([*reversed(init), app, ()], phases) == effective([*init, app, ()], phases)


@few
@given(pods())
def test_nothing_is_counted_that_no_entry_holds(pod: tuple[list[Entry], list[Phase]]) -> None:
    entries, phases = pod
    total = sum((Use(d.slots, d.memory, d.cores) for entry in entries for d in entry), NOTHING)
    held = sum(effective([*entries, ()], phases).values(), NOTHING)
    assert total.peak(held) == total


def container(phase: Phase, ended: bool = False) -> Container:
    return Container(name="c", phase=phase, path="", limits={}, requests={}, ended=ended)


POD = Pod(
    uid="u",
    annotations={ASSIGNED_NODE: "n1", ALLOCATED: "a,NVIDIA,30,1:;a,NVIDIA,20,2:;"},
    containers=(container(INIT), container(APP)),
)


def test_a_placed_pod_holds_its_peak() -> None:
    held = reserve(POD)
    assert held is not None
    assert (held.node, held.entries) == ("n1", (on("a", 30, 1), on("a", 20, 2)))
    assert held.devices == {"a": Use(1, 30, 2)}
    assert (held.init_released, held.problem) == (False, "")


@pytest.mark.parametrize(
    "pod",
    [
        replace(POD, annotations={ALLOCATED: "a,NVIDIA,30,1:;"}),
        replace(POD, annotations={ASSIGNED_NODE: "", ALLOCATED: "a,NVIDIA,30,1:;"}),
        replace(POD, status_phase="Succeeded"),
        replace(POD, status_phase="Failed"),
    ],
)
def test_a_pod_that_was_not_placed_or_is_over_holds_nothing(pod: Pod) -> None:
    assert reserve(pod) is None


def test_a_pod_that_is_being_deleted_still_holds_its_cards() -> None:
    held = reserve(replace(POD, terminating=True, status_phase="Running"))
    assert held is not None
    assert held.devices == {"a": Use(1, 30, 2)}


@pytest.mark.parametrize(
    ("init", "released", "memory"),
    [
        ([container(INIT, ended=True)], True, 20),
        ([container(INIT, ended=False)], False, 30),
        ([container(SIDECAR)], False, 50),
    ],
)
def test_init_usage_is_released_when_every_ordinary_init_container_has_ended(
    init: list[Container], released: bool, memory: int
) -> None:
    held = reserve(replace(POD, containers=(*init, container(APP))))
    assert held is not None
    assert (held.init_released, held.devices["a"].memory) == (released, memory)


def test_one_running_init_container_keeps_the_peak() -> None:
    containers = (container(INIT, ended=True), container(INIT), container(APP))
    held = reserve(replace(POD, containers=containers))
    assert held is not None
    assert not held.init_released


def test_what_cannot_be_read_is_reported_and_the_rest_is_counted() -> None:
    value = "broken:a,NVIDIA,30,1:;a,NVIDIA,20,2:;"
    held = reserve(replace(POD, annotations={ASSIGNED_NODE: "n1", ALLOCATED: value}))
    assert held is not None
    assert held.devices == {"a": Use(1, 30, 2)}
    assert held.problem == "entry 0: device 'broken': has 1 fields, needs uuid, type, MiB and percent of cores"


def test_a_placed_pod_without_a_value_holds_no_card() -> None:
    held = reserve(replace(POD, annotations={ASSIGNED_NODE: "n1"}))
    assert held is not None
    assert (held.entries, held.devices, held.problem) == (((), ()), {}, "")
