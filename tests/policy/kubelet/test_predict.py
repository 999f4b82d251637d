"""Whole predictions: what holds for every pod, what arbitrary picks lead to, and what kubelet cannot do."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from policy.kubelet.devices import Plugin
from policy.kubelet.held import ContainerKey, DeviceKey, Held
from policy.kubelet.machine import Device, Machine, resource_of
from policy.kubelet.masks import mask_of, read_list
from policy.kubelet.outcome import TOPOLOGY_AFFINITY, Merged, Verdict
from policy.kubelet.predict import predict, predict_all
from policy.kubelet.settings import Settings
from policy.kubelet.start import start
from policy.kubelet.versions import VERSIONS
from tests.policy.kubelet.build import (
    GPU,
    NIC,
    ask,
    demand,
    gpus,
    held,
    machine,
    memory_node,
    pod,
    random_machine,
    random_pod,
    static,
)

CASES = 150
POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
SINGLE = static("single-numa-node")


def _cases(seed: int, *scopes: str) -> Iterator[tuple[Machine, Held, dict[str, Any], dict[str, Any]]]:
    random = Random(seed)
    for _ in range(CASES):
        of, state = random_machine(random)
        more = {"scope": random.choice(scopes), "memory_policy": random.choice(("None", "Static"))}
        yield of, state, more, random_pod(random)


def _outcomes(of: Machine, state: Held, settings: Settings, source: Mapping[str, Any]) -> frozenset[str]:
    booted = start(of, settings, state, Plugin(preference={}))
    return predict(booted, state, demand(source, settings)).outcomes


def test_best_effort_and_none_never_refuse_for_topology() -> None:
    for of, state, more, source in _cases(1, "container", "pod"):
        for policy in ("none", "best-effort"):
            assert TOPOLOGY_AFFINITY not in _outcomes(of, state, static(policy, **more), source)


def test_what_single_numa_node_admits_restricted_admits_and_best_effort_too() -> None:
    admitted = 0
    for of, state, more, source in _cases(2, "container", "pod"):
        found = [_outcomes(of, state, static(policy, **more), source) for policy in reversed(POLICIES[1:])]
        for strict, lax in pairwise(found):
            if strict == {"admit"} and len(of.nodes) > 1:
                admitted += 1
                assert lax == {"admit"}, (of, state, source)
    assert admitted > CASES / 10


def _renamed(of: Machine, state: Held) -> tuple[Machine, Held]:
    """The same with other names, in another order."""

    def name(old: str) -> str:
        return f"{9 - int(old[1:])}-of-{old[0]}"

    resources = {
        key: resource_of(replace(each, id=name(each.id)) for each in listed.devices.values())
        for key, listed in of.resources.items()
    }
    devices = {key: frozenset(map(name, ids)) for key, ids in state.devices.items()}
    in_use = {key: frozenset(map(name, ids)) for key, ids in state.in_use.items()}
    return replace(of, resources=resources), replace(state, devices=devices, in_use=in_use)


def test_names_of_devices_change_nothing() -> None:
    for of, state, more, source in _cases(3, "container", "pod"):
        for policy in POLICIES:
            settings = static(policy, **more)
            assert _outcomes(of, state, settings, source) == _outcomes(*_renamed(of, state), settings, source)


def test_says_the_same_each_time() -> None:
    for of, state, more, source in _cases(4, "container"):
        settings = static("restricted", **more)
        booted = start(of, settings, state)
        asked = demand(source, settings)
        assert predict(booted, state, asked) == predict(booted, state, asked)


def test_gives_back_all_that_a_refused_pod_had_taken() -> None:
    refused = 0
    for of, state, more, source in _cases(5, "container", "pod"):
        settings = static("single-numa-node", **more)
        booted = start(of, settings, state, Plugin(preference={}))
        asked = demand(source, settings)
        alone = predict(booted, state, asked)
        if alone.outcomes.isdisjoint({"admit"}):
            refused += 1
            again = predict_all(booted, state, (replace(asked, name="first"), asked))[-1]
            assert (again.verdict, again.message) == (alone.verdict, alone.message)
    assert refused > CASES / 4


def test_an_arbitrary_pick_decides_over_the_next_container() -> None:
    of = machine(devices={GPU: [Device("g0", frozenset({0})), Device("g1", frozenset({0, 1}))]})
    source = pod({"cpu": 7, "memory": 8, GPU: 1}, {"cpu": 4, "memory": 8, GPU: 1})
    found = ask(of, SINGLE, source, plugin=Plugin(has_preference=False))
    assert (found.verdict, found.outcomes, found.depends) == (
        Verdict.ADMIT,
        frozenset({"admit", TOPOLOGY_AFFINITY}),
        True,
    )
    assert ask(of, SINGLE, source, plugin=Plugin(preference=None)).outcomes == found.outcomes
    decided = ask(of, SINGLE, source, plugin=Plugin(preference={GPU: ("g1",)}))
    assert decided.outcomes == {TOPOLOGY_AFFINITY}


def test_an_arbitrary_pick_decides_over_the_next_pod() -> None:
    of = machine(devices={GPU: [Device("g0", frozenset({0})), Device("g1", frozenset({0, 1}))]})
    booted = start(of, SINGLE, held(of), Plugin(has_preference=False))
    first = demand(pod({"cpu": 7, "memory": 8, GPU: 1}, name="first"), SINGLE)
    second = demand(pod({"cpu": 4, "memory": 8, GPU: 1}), SINGLE)
    found = predict_all(booted, held(of), (first, second))
    assert [each.outcomes for each in found] == [frozenset({"admit"}), frozenset({"admit", TOPOLOGY_AFFINITY})]


def test_says_when_not_every_path_was_walked() -> None:
    nodes = [{first, second} for first in range(6) for second in range(6)]
    devices = [Device(f"g{place}", frozenset(each)) for place, each in enumerate(nodes)]
    of = machine({node: f"{4 * node}-{4 * node + 3}" for node in range(6)}, {GPU: devices})
    found = ask(of, static("restricted"), pod({GPU: 3}, {GPU: 3}, {GPU: 3}), plugin=Plugin(has_preference=False))
    assert not found.complete
    assert ask(machine(), SINGLE, pod({GPU: 1}, {GPU: 1})).complete


def test_reports_hints_and_the_merged_hint_of_the_pod_in_pod_scope() -> None:
    settings = static("restricted", scope="pod")
    found = ask(machine(), settings, pod({"cpu": 5, "memory": 8, GPU: 2}, {"cpu": 5, "memory": 8, GPU: 1}))
    assert found.verdict is Verdict.ADMIT
    assert found.merged == Merged(0b11, preferred=True)
    assert found.hints is not None
    assert set(found.hints) == {GPU, "cpu"}
    assert [each.cpus for each in found.containers] == [read_list("1-5"), read_list("6-10")]
    assert all(each.merged is None for each in found.containers)


def test_gaps_in_node_ids_crash_kubelet_when_it_compares_distances() -> None:
    of = machine({0: "0-7", 8: "8-15"}, {GPU: gpus(0, 8)}, distances={0: (10, 20), 8: (20, 10)})
    settings = static("restricted", topology_options={"prefer-closest-numa-nodes": "true"})
    found = ask(of, settings, pod({GPU: 1}))
    assert (found.verdict, found.outcomes) == (Verdict.PANIC, frozenset({"panic"}))
    assert found.message == "runtime error: index out of range [8] with length 2"
    pod_scope = replace(settings, scope="pod")
    assert ask(of, pod_scope, pod({GPU: 1})).message == found.message


def test_memory_on_34_nodes_stalls_kubelet() -> None:
    of = machine({0: "0-7"}, {}, nodes=tuple(range(34)))
    settings = static("restricted", topology_options={"max-allowable-numa-nodes": "64"}, memory_policy="Static")
    full = held(of, memory={node: memory_node(node, 64) for node in of.nodes})
    found = predict(start(of, settings, full), full, demand(pod({"cpu": 1, "memory": 1}), settings))
    assert (found.verdict, found.message) == (Verdict.STALL, "walking every set of 34 NUMA nodes for memory")


@pytest.mark.parametrize(
    ("free", "want", "text"),
    [
        ("0-3,8-11", 3, "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"),
        (
            "0,8",
            2,
            (
                "SMT Alignment Error: not enough free physical CPUs: "
                "available physical CPUs = 0, requested CPUs = 2, CPUs per core = 2"
            ),
        ),
    ],
)
def test_full_cores_only_are_asked_for_in_whole_cores(free: str, want: int, text: str) -> None:
    of = machine({0: "0-3,8-11", 1: "4-7,12-15"}, {}, threads=2)
    settings = static("best-effort", cpu_options={"full-pcpus-only": "true"})
    state = held(of, ",".join(str(cpu) for cpu in range(16) if not read_list(free) >> cpu & 1))
    found = ask(of, settings, pod({"cpu": want, "memory": 1}), state)
    assert (found.reason, found.message) == ("SMTAlignmentError", text)


def test_before_1_32_a_shortage_of_whole_cores_was_told_wrongly() -> None:
    of = machine({0: "0-1"}, {}, threads=2)
    settings = replace(static("none", cpu_options={"full-pcpus-only": "true"}), rules=VERSIONS["1.31"])
    found = ask(of, settings, pod({"cpu": 2, "memory": 1}))
    assert found.message == "SMT Alignment Error: requested 2 cpus not multiple cpus per core = 2"


@pytest.mark.parametrize(("version", "verdict"), [("1.36", Verdict.REJECT), ("1.37", Verdict.ADMIT)])
def test_1_37_keeps_recorded_cpus_before_it_counts_whole_cores(version: str, verdict: Verdict) -> None:
    of = machine({0: "0-3"}, {}, threads=2)
    settings = replace(static("none", cpu_options={"full-pcpus-only": "true"}), rules=VERSIONS[version])
    state = replace(held(of), shared=read_list("0-1"), cpus={ContainerKey("pod", "c0"): read_list("2-3")})
    assert ask(of, settings, pod({"cpu": 2, "memory": 1}), state).verdict is verdict


@pytest.mark.parametrize(("version", "mask"), [("1.35", 0b1), ("1.36", 0b11)])
def test_versions_range_over_other_nodes_for_device_hints(version: str, mask: int) -> None:
    settings = replace(Settings(topology_policy="best-effort"), rules=VERSIONS[version])
    of = machine({0: "0-3", 1: "4-7"}, {GPU: gpus(0), NIC: gpus(1)})
    merged = ask(of, settings, pod({GPU: 1, NIC: 1})).containers[0].merged
    assert merged == Merged(mask, preferred=False)


def test_recorded_cpus_of_a_part_of_the_pod_pin_its_hint() -> None:
    settings = static("restricted", scope="pod")
    of = machine()
    state = replace(
        held(of), shared=of.layout.all & ~read_list("8-9"), cpus={ContainerKey("pod", "c0"): read_list("8-9")}
    )
    found = ask(of, settings, pod({"cpu": 2, "memory": 1}, {"cpu": 2, "memory": 1}), state)
    assert found.merged == Merged(0b10, preferred=True)
    changed = ask(of, settings, pod({"cpu": 1, "memory": 1}, {"cpu": 2, "memory": 1}), state)
    assert changed.reason == TOPOLOGY_AFFINITY


def test_devices_recorded_for_the_pod_repeat_its_hint() -> None:
    settings = static("single-numa-node", scope="pod")
    of = machine()
    recorded = {DeviceKey("pod", name, GPU): frozenset({device}) for name, device in (("c0", "g0"), ("c1", "g2"))}
    state = replace(held(of), devices=recorded, in_use={GPU: frozenset({"g0", "g2"})})
    found = ask(of, settings, pod({GPU: 1}, {GPU: 1}), state)
    assert (found.reason, found.merged) == (TOPOLOGY_AFFINITY, Merged(None, preferred=False))


def test_a_machine_names_what_is_wrong_with_it() -> None:
    with pytest.raises(ValueError, match=r"NUMA nodes \(0, 64\) must be different ids from 0 to 63, lowest first"):
        machine({0: "0-1"}, {}, nodes=(0, 64))
    with pytest.raises(ValueError, match=r"CPUs are on NUMA nodes \[1\], which the machine does not list: \(0,\)"):
        machine({1: "0-1"}, {}, nodes=(0,))


def test_lists_of_cpus_are_read_and_written() -> None:
    assert read_list("0-3, 8") == mask_of((0, 1, 2, 3, 8))
    assert not read_list("")
    for wrong in ("3-1", "a", "1-", "0x1"):
        with pytest.raises(ValueError, match="is no number or range such as 0-3; write 0-3,8"):
            read_list(wrong)


@pytest.mark.parametrize("scope", ["container", "pod"])
def test_a_recorded_device_that_is_gone_crashes_kubelet(scope: str) -> None:
    of = machine()
    gone = frozenset({"gone"})
    state = replace(held(of), devices={DeviceKey("pod", "c0", GPU): gone}, in_use={GPU: gone})
    assert ask(of, static("restricted", scope=scope), pod({GPU: 1}), state).verdict is Verdict.PANIC


def test_a_changed_number_of_recorded_cpus_is_refused() -> None:
    of = machine()
    state = replace(held(of), shared=of.layout.all & ~0b110, cpus={ContainerKey("pod", "c0"): 0b110})
    assert ask(of, SINGLE, pod({"cpu": 3, "memory": 1}), state).reason == TOPOLOGY_AFFINITY


def test_devices_on_too_many_nodes_stall_kubelet() -> None:
    of = machine({0: "0-7"}, {GPU: gpus(*range(17))}, nodes=tuple(range(17)))
    settings = static("restricted", topology_options={"max-allowable-numa-nodes": "64"})
    found = ask(of, settings, pod({GPU: 1}))
    assert (found.verdict, found.message) == (Verdict.STALL, f"walking every set of 17 NUMA nodes for {GPU}")


def test_dealing_cpus_without_end_stalls_kubelet() -> None:
    of = machine({node: f"{16 * node}-{16 * node + 15}" for node in range(4)}, {}, threads=2)
    options = {"distribute-cpus-across-numa": "true", "full-pcpus-only": "true"}
    free = read_list("0-6,16-22,32-37,48-53,64")
    for policy, mask in (("none", None), ("best-effort", 0b1111)):
        settings = static(policy, "63", cpu_options=options)
        state = held(of, ",".join(str(cpu) for cpu in range(63) if not free >> cpu & 1))
        found = ask(of, settings, pod({"cpu": 22, "memory": 1}), state)
        assert (found.verdict, found.message) == (Verdict.STALL, "distributing odd CPUs in whole cores never ends")
        assert found.containers[0].merged is None or found.containers[0].merged.mask == mask


def test_names_the_cards_that_a_pod_may_get() -> None:
    found = ask(machine(), SINGLE, pod({GPU: 1}, {GPU: 1}))
    assert found.cards == {GPU: frozenset({"g0", "g1"})}
