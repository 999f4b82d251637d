"""Where the Static memory manager puts memory, and with which words it refuses."""

from dataclasses import replace

import pytest

from policy.kubelet.demand import PodLevel
from policy.kubelet.held import Block, ContainerKey, Held, MemoryNode, give_back, take
from policy.kubelet.outcome import Merged, Prediction, Verdict
from policy.kubelet.predict import predict, predict_all
from policy.kubelet.start import start
from tests.policy.kubelet.build import GPU, ask, demand, gpus, held, machine, memory_node, nodes_of, pod, static

KEPT = {"memory_policy": "Static"}
BEST = static("best-effort", **KEPT)
SINGLE = static("single-numa-node", **KEPT)
NONE = static("none", **KEPT)
MACHINE = machine()


def _with(*nodes: MemoryNode) -> Held:
    return held(MACHINE, memory=dict(enumerate(nodes)))


def _nodes(found: Prediction, place: int = 0) -> tuple[int, ...] | None:
    return nodes_of(found.containers[place].memory_nodes)


@pytest.mark.parametrize(
    ("first", "second", "want", "nodes"),
    [
        pytest.param(memory_node(0, 64, 4), memory_node(1, 64), 10, (1,), id="the node that has enough"),
        pytest.param(memory_node(0, 64), memory_node(1, 64), 100, (0, 1), id="both where one is too small"),
        pytest.param(memory_node(0, 64, 10), memory_node(1, 64, 10), 15, (0, 1), id="both where one is too full"),
    ],
)
def test_places_memory_without_a_hint(first: MemoryNode, second: MemoryNode, want: int, nodes: tuple[int, ...]) -> None:
    found = ask(MACHINE, NONE, pod({"cpu": 1, "memory": want}), _with(first, second))
    assert (found.verdict, _nodes(found)) == (Verdict.ADMIT, nodes)


def test_memory_steers_the_container() -> None:
    found = ask(MACHINE, SINGLE, pod({"cpu": 1, "memory": 10}), _with(memory_node(0, 64, 4), memory_node(1, 64, 40)))
    assert found.containers[0].merged is not None
    assert (nodes_of(found.containers[0].merged.mask), _nodes(found)) == ((1,), (1,))
    assert found.containers[0].cpus == 0b1 << 8


@pytest.mark.parametrize(
    ("first", "second", "want", "error"),
    [
        pytest.param(
            memory_node(0, 64, 4),
            memory_node(1, 64, 4),
            10,
            "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available",
            id="no node and no set of nodes has enough",
        ),
        pytest.param(
            memory_node(0, 64, 40, held_by=1),
            memory_node(1, 64, 40, held_by=1),
            50,
            "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available",
            id="nodes that are used alone are not joined",
        ),
    ],
)
def test_says_why_memory_is_not_placed(first: MemoryNode, second: MemoryNode, want: int, error: str) -> None:
    found = ask(MACHINE, NONE, pod({"cpu": 1, "memory": want}), _with(first, second))
    assert found.reason == "UnexpectedAdmissionError"
    assert found.message == f"Allocate failed due to {error}, which is unexpected"


def test_a_hint_without_enough_memory_is_widened() -> None:
    of = machine(devices={GPU: gpus(0)})
    state = held(of, memory={0: memory_node(0, 64), 1: memory_node(1, 64)})
    found = ask(of, BEST, pod({"cpu": 1, "memory": 70, GPU: 1}), state)
    assert found.containers[0].merged == Merged(0b1, preferred=False)
    assert _nodes(found) == (0, 1)


def test_memory_that_exists_nowhere_is_no_topology_refusal() -> None:
    found = ask(MACHINE, SINGLE, pod({"cpu": 1, "memory": 500}), _with(memory_node(0, 64), memory_node(1, 64)))
    assert (found.reason, found.message) == (
        "UnexpectedAdmissionError",
        (
            "Allocate failed due to [memorymanager] failed to find NUMA nodes to extend the current topology hint, "
            "which is unexpected"
        ),
    )


def test_the_memory_of_an_ended_init_container_is_used_again() -> None:
    state = _with(memory_node(0, 16), memory_node(1, 0))
    found = ask(MACHINE, SINGLE, pod({"cpu": 1, "memory": 16}, init=({"cpu": 1, "memory": 16},)), state)
    assert (found.verdict, _nodes(found, 1)) == (Verdict.ADMIT, (0,))
    two = pod({"cpu": 1, "memory": 16}, {"cpu": 1, "memory": 1}, init=({"cpu": 1, "memory": 16},))
    assert ask(MACHINE, SINGLE, two, state).reason == "UnexpectedAdmissionError"


def test_a_pod_that_cannot_run_gives_its_memory_back() -> None:
    state = _with(memory_node(0, 16), memory_node(1, 16))
    booted = start(MACHINE, SINGLE, state)
    greedy = demand(pod({"cpu": 1, "memory": 16}, {"cpu": 1, "memory": 17}, name="greedy"), SINGLE)
    found = predict_all(booted, state, (greedy, demand(pod({"cpu": 1, "memory": 16}), SINGLE)))
    assert [each.verdict for each in found] == [Verdict.REJECT, Verdict.ADMIT]
    assert nodes_of(found[1].containers[0].memory_nodes) == (0,)


def test_what_is_taken_comes_back_lowest_node_first() -> None:
    memory = {0: memory_node(0, 10), 1: memory_node(1, 10)}
    taken = take(memory, 0b11, "memory", 14)
    assert [(node.free["memory"], node.assignments, node.group) for node in taken.values()] == [(0, 1, 3), (6, 1, 3)]
    back = give_back(taken, Block(0b11, "memory", 14))
    assert [(node.free["memory"], node.assignments, node.group) for node in back.values()] == [(10, 0, 1), (10, 0, 2)]


def test_recorded_memory_is_kept_after_a_restart() -> None:
    blocks = (Block(0b10, "memory", 10),)
    state = replace(_with(memory_node(0, 64), memory_node(1, 64, 54)), blocks={ContainerKey("pod", "c0"): blocks})
    found = ask(MACHINE, SINGLE, pod({"cpu": 1, "memory": 10}), state)
    hints = found.containers[0].hints
    assert hints is not None
    assert hints["memory"] is not None
    assert hints["memory"].listed() == [(0b10, True)]
    assert _nodes(found) == (1,)
    grown = ask(MACHINE, SINGLE, pod({"cpu": 1, "memory": 12}), state)
    assert grown.containers[0].hints is not None
    assert "memory" not in grown.containers[0].hints


def test_a_fraction_of_a_byte_cannot_be_kept() -> None:
    found = ask(MACHINE, NONE, pod({"cpu": 1, "memory": "1500m"}), _with(memory_node(0, 64), memory_node(1, 64)))
    text = "[memorymanager] failed to represent quantity as int64"
    assert found.message == f"Allocate failed due to {text}, which is unexpected"


def test_hugepages_that_a_node_lacks_crash_kubelet() -> None:
    state = _with(memory_node(0, 64), memory_node(1, 64))
    found = ask(MACHINE, NONE, pod({"cpu": 1, "memory": 1, "hugepages-1Gi": 1}), state)
    assert found.verdict is Verdict.PANIC
    assert found.message == "runtime error: invalid memory address or nil pointer dereference"


def test_pod_level_memory_is_divided_and_the_rest_shared() -> None:
    settings = static("restricted", scope="pod", gates={"PodLevelResourceManagers": True}, **KEPT)
    state = _with(memory_node(0, 64), memory_node(1, 64))
    level = PodLevel({"cpu": 6, "memory": 40}, {"cpu": 6, "memory": 40})
    containers = pod({"cpu": 2, "memory": 8}, {}, init=({}, {"cpu": 1, "memory": 4}))
    found = predict(start(MACHINE, settings, state), state, demand(containers, settings, level))
    assert found.verdict is Verdict.ADMIT
    assert [nodes_of(each.memory_nodes) for each in found.containers] == [(0,)] * 4
    assert [each.cpus for each in found.containers] == [0b1111110, 0b10, 0b110, 0b1111000]


@pytest.mark.parametrize(
    ("init", "apps", "text"),
    [
        (
            (),
            ({"cpu": 6, "memory": 8}, {}),
            (
                "pod rejected, sum of exclusive container cpu requests equals pod budget, "
                "leaving no cpus for shared containers"
            ),
        ),
        (
            ({"cpu": 6, "memory": 8, "restartPolicy": "Always"}, {}),
            ({"cpu": 1, "memory": 1},),
            "pod rejected, pod has shared init containers but no cpus available for them",
        ),
        (
            (),
            ({"cpu": 1, "memory": 40}, {}),
            (
                "pod rejected, sum of exclusive container memory requests equals pod budget, "
                "leaving no memory for shared containers"
            ),
        ),
        (
            ({"cpu": 1, "memory": 40, "restartPolicy": "Always"}, {}),
            ({"cpu": 1, "memory": 1},),
            "pod rejected, pod has shared init containers but no memory available for them",
        ),
    ],
)
def test_a_pod_whose_shared_containers_get_nothing_is_refused(
    init: tuple[dict[str, object], ...], apps: tuple[dict[str, object], ...], text: str
) -> None:
    gates = {"PodLevelResourceManagers": True}
    level = PodLevel({"cpu": 6, "memory": 40}, {"cpu": 6, "memory": 40})
    state = _with(memory_node(0, 64), memory_node(1, 64))
    found = {}
    for policy in ("best-effort", "restricted"):
        settings = static(policy, scope="pod", gates=gates, **KEPT)
        found[policy] = predict(start(MACHINE, settings, state), state, demand(pod(*apps, init=init), settings, level))
    assert (found["best-effort"].reason, found["best-effort"].message) == ("EmptyPodSharedPoolError", text)
    assert found["restricted"].message == (
        "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager"
    )


def test_a_preferred_hint_is_not_traded_for_one_that_is_not() -> None:
    kinds = {"memory": 64, "hugepages-2Mi": 4}
    more = {"memory": 64, "hugepages-2Mi": 10}
    state = _with(MemoryNode(kinds, kinds, 0, 0b1), MemoryNode(more, more, 0, 0b10))
    # The pod's hint leaves out what only the init container asks for, and so names node 0.
    source = pod({"cpu": 1, "memory": 8}, init=({"cpu": 1, "memory": 8, "hugepages-2Mi": 8},))
    found = ask(MACHINE, static("restricted", scope="pod", **KEPT), source, state)
    text = "[memorymanager] failed to find the extended preferred hint"
    assert found.message == f"Allocate failed due to {text}, which is unexpected"


def test_without_a_hint_the_default_must_be_preferred_where_nobody_cared() -> None:
    state = _with(memory_node(0, 64, 30), memory_node(1, 64, 30))
    settings = replace(static("single-numa-node", scope="pod", **KEPT), cpu_policy="none")
    found = ask(MACHINE, settings, pod({"cpu": 1, "memory": 40}, {"cpu": 1, "memory": 40}), state)
    assert found.merged == Merged(None, preferred=True)
    text = "[memorymanager] failed to find the default preferred hint"
    assert found.message == f"Allocate failed due to {text}, which is unexpected"


def test_a_wider_hint_may_not_break_up_groups() -> None:
    of = machine(devices={GPU: gpus(0, 1)})
    state = held(of, memory={0: memory_node(0, 64, 40, held_by=1), 1: memory_node(1, 64, 40, held_by=1)})
    settings = replace(static("best-effort", **KEPT), cpu_policy="none")
    found = ask(of, settings, pod({"cpu": 1, "memory": 60, GPU: 2}), state)
    text = "[memorymanager] failed to find NUMA nodes to extend the current topology hint"
    assert found.containers[0].merged == Merged(0b11, preferred=True)
    assert text not in found.message
    assert found.message == (
        "Allocate failed due to [memorymanager] preferred hint violates NUMA node allocation, which is unexpected"
    )


BY_POD = static("best-effort", scope="pod", gates={"PodLevelResourceManagers": True}, **KEPT)


@pytest.mark.parametrize(
    ("amounts", "apps", "error"),
    [
        (
            {"cpu": 30, "memory": 40},
            ({"cpu": 1, "memory": 1},),
            "not enough cpus available to satisfy request: requested=23, available=8",
        ),
        (
            {"cpu": 2, "memory": 40},
            ({"cpu": 3, "memory": 1},),
            "not enough cpus available to satisfy request: requested=3, available=2",
        ),
        (
            {"cpu": 2, "memory": 400},
            ({"cpu": 1, "memory": 1},),
            "[memorymanager] failed to find NUMA nodes to extend the current topology hint",
        ),
        (
            {"cpu": 2, "memory": 40},
            ({"cpu": 1, "memory": "1500m"},),
            "[memorymanager] failed to represent quantity as int64",
        ),
    ],
)
def test_says_why_a_block_for_the_pod_is_not_given(
    amounts: dict[str, int], apps: tuple[dict[str, object], ...], error: str
) -> None:
    state = _with(memory_node(0, 64), memory_node(1, 64))
    asked = demand(pod(*apps), BY_POD, PodLevel(amounts, amounts))
    found = predict(start(MACHINE, BY_POD, state), state, asked)
    assert found.message == f"Allocate failed due to {error}, which is unexpected"


def test_a_block_for_the_pod_keeps_to_whole_cores() -> None:
    of = machine({0: "0-7"}, {}, threads=2)
    settings = replace(BY_POD, cpu_options={"full-pcpus-only": "true"}, memory_policy="None")
    amounts = {"cpu": 3, "memory": 40}
    asked = demand(pod({"cpu": 2, "memory": 1}), settings, PodLevel(amounts, amounts))
    found = predict(start(of, settings, held(of)), held(of), asked)
    assert found.message == "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"


def test_a_pod_of_half_a_cpu_gets_no_block_of_cpus() -> None:
    state = _with(memory_node(0, 64), memory_node(1, 64))
    amounts = {"cpu": "500m", "memory": 40}
    asked = demand(pod({}), BY_POD, PodLevel(amounts, amounts))
    found = predict(start(MACHINE, BY_POD, state), state, asked)
    assert (found.verdict, found.containers[0].cpus, _nodes(found)) == (Verdict.ADMIT, None, (0,))


def test_a_pod_that_is_not_guaranteed_gets_no_block() -> None:
    state = _with(memory_node(0, 64), memory_node(1, 64))
    asked = demand(pod({}), BY_POD, PodLevel({"cpu": 1}, {"cpu": 2}))
    found = predict(start(MACHINE, BY_POD, state), state, asked)
    assert (found.verdict, found.containers[0].cpus, _nodes(found)) == (Verdict.ADMIT, None, ())


def test_recorded_memory_of_the_pod_repeats_its_hint() -> None:
    blocks = (Block(0b10, "memory", 10),)
    state = replace(_with(memory_node(0, 64), memory_node(1, 64, 54)), blocks={ContainerKey("pod", "c0"): blocks})
    found = ask(MACHINE, static("restricted", scope="pod", **KEPT), pod({"cpu": 1, "memory": 10}), state)
    assert found.merged == Merged(0b10, preferred=True)
