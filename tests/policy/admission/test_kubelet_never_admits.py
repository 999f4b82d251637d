"""`kubelet-never-admits`, held to the kubelet model: it never says so of a pod that some kubelet would take."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.admission.kubelet import kubelet_never_admits
from policy.facts import Kubelet, Node
from policy.kubelet.demand import demand_of
from policy.kubelet.held import Held
from policy.kubelet.machine import Device, Machine, lay_out, resource_of
from policy.kubelet.masks import mask_of
from policy.kubelet.outcome import TOPOLOGY_AFFINITY, Prediction
from policy.kubelet.predict import predict
from policy.kubelet.settings import Settings
from policy.kubelet.start import start
from policy.pod import read_pod
from tests.policy.admission.build import COUNT, case, cluster, container, limits, node, pod
from tests.policy.kubelet.build import cpus

SINGLE = Kubelet("single-numa-node", "container", advertises_numa=True)


def gpu_node(numas: tuple[int, ...], slots: int = 1, kubelet: Kubelet = SINGLE) -> Node:
    made = node(numas=numas, kubelet=kubelet)
    return replace(made, cards=tuple(replace(card, slots=slots) for card in made.cards))


def asked(*amounts: int, init: int = 0) -> dict[str, Any]:
    early = [container(limits(init), "init")] if init else []
    return pod(*(container(limits(each), f"c{at}") for at, each in enumerate(amounts)), initContainers=early)


def predicted(where: Node, source: dict[str, Any], *, static_cpus: bool) -> Prediction:
    """What the model says of a machine with many CPUs and these cards, on which nobody else runs."""
    numas = sorted({card.numa for card in where.cards})
    devices = [Device(f"{card.uuid}::{s}", frozenset({card.numa})) for card in where.cards for s in range(card.slots)]
    layout = lay_out(cpus({numa: f"{at * 64}-{at * 64 + 63}" for at, numa in enumerate(numas)}))
    machine = Machine(tuple(numas), layout, {COUNT: resource_of(devices)})
    scope: Any = where.kubelet.topology_scope or "container"
    settings = Settings(topology_policy="single-numa-node", scope=scope)
    if static_cpus:
        settings = replace(settings, cpu_policy="static", reserved_cpus=mask_of([0]))
    held = Held(shared=layout.all)
    return predict(start(machine, settings, held), held, demand_of(read_pod(source), settings))


machines = st.builds(
    gpu_node,
    st.lists(st.integers(0, 3), min_size=1, max_size=5).map(tuple),
    st.integers(1, 2),
    st.sampled_from([SINGLE, replace(SINGLE, topology_scope="pod"), replace(SINGLE, topology_scope=None)]),
)
pods = st.builds(
    lambda amounts, init: asked(*amounts, init=init),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(0, 3),
)


@given(machines, pods, st.booleans())
def test_where_it_holds_the_model_refuses_whatever_it_picks(
    where: Node, source: dict[str, Any], static_cpus: bool
) -> None:
    if kubelet_never_admits(case(source, cluster(where))) is not None:
        assert predicted(where, source, static_cpus=static_cpus).outcomes == {TOPOLOGY_AFFINITY}


@given(machines, st.integers(1, 5))
def test_of_one_container_it_says_what_the_model_says(where: Node, amount: int) -> None:
    source = asked(amount)
    judged = case(source, cluster(where))
    refused = predicted(where, source, static_cpus=False).outcomes == {TOPOLOGY_AFFINITY}
    assert (kubelet_never_admits(judged) is not None) == (refused and bool(judged.room.reachable))


@pytest.mark.parametrize(
    ("kubelet", "source", "text"),
    [
        (SINGLE, asked(1, 3), 'container "c1" asks for 3, the largest has 2; ask for fewer.'),
        (replace(SINGLE, topology_scope="pod"), asked(2, 2), "the pod asks for 4, the largest has 2; ask for fewer."),
    ],
)
def test_the_text_says_who_asks_for_how_much(kubelet: Kubelet, source: dict[str, Any], text: str) -> None:
    facts = cluster(gpu_node((0, 0, 1, 1), kubelet=kubelet))
    assert kubelet_never_admits(case(source, facts)) == f"kubelet takes all GPUs from one NUMA node: {text}"


def test_it_holds_on_a_machine_with_more_numa_nodes_than_kubelet_takes_by_default() -> None:
    facts = cluster(gpu_node(tuple(range(10))))
    assert kubelet_never_admits(case(asked(2), facts)) is not None


@pytest.mark.parametrize("numa", [64, 1000])
def test_a_numa_node_that_kubelet_cannot_name_is_not_judged(numa: int) -> None:
    facts = cluster(gpu_node((0, numa)))
    assert kubelet_never_admits(case(asked(2), facts)) is None
