"""What kubelet itself would answer, asked of its model (`policy.kubelet`). It needs facts.

Judged is what decides on an empty node whatever else is on it: each container by itself, and under the scope pod the
whole pod. CPUs, memory and what init containers leave to others stay out of it: facts do not say how CPU and memory
manager are set up, and they could only make kubelet refuse more.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Final

from policy.admission.capacity import every_reachable
from policy.admission.case import Case
from policy.admission.room import Spot
from policy.admission.spelling import quoted
from policy.facts import UNKNOWN_NUMA, Card
from policy.keys import NVIDIA
from policy.kubelet.demand import ContainerDemand, Demand, peak
from policy.kubelet.held import Held
from policy.kubelet.machine import Device, Machine, lay_out, resource_of
from policy.kubelet.masks import MOST_NODES as MOST_IDS
from policy.kubelet.outcome import TOPOLOGY_AFFINITY
from policy.kubelet.predict import predict
from policy.kubelet.settings import MOST_NODES_BY_DEFAULT, Settings
from policy.kubelet.start import start
from policy.kubelet.versions import MOST_NODES
from policy.pod import Phase

_SINGLE: Final = "single-numa-node"
_POD: Final = "pod"
_MODES: Final = ("", "hami-core")
"""Modes in which kubelet knows a card by as many devices as it has shares."""

_RESOURCE: Final = "gpu"
_NO_CPUS: Final = lay_out(())


def kubelet_never_admits(case: Case) -> str | None:
    """Every kubelet that could get the pod would refuse it even on an empty node (`TopologyAffinityError`).

    It runs single-numa-node, knows its cards' NUMA nodes, and none of these has as many shares of cards as a
    container asks for; or as the whole pod does at one time, where the scope is pod.
    """
    if case.pod.pod_level_resources or not every_reachable(case, lambda spot: _refuses(spot, case)):
        return None
    spot = max(case.room.reachable, key=lambda one: max(_shares(one).values()))
    asked, who = _asked(spot, case)
    largest = max(_shares(spot).values())
    return (
        f"kubelet takes all GPUs from one NUMA node: {who} asks for {asked}, the largest has {largest}; ask for fewer."
    )


def _refuses(spot: Spot, case: Case) -> bool:
    """Tell whether the kubelet of ``spot`` can never admit the pod; what is not known of it admits everything."""
    kubelet = spot.node.kubelet
    if kubelet.topology_policy != _SINGLE or kubelet.advertises_numa is not True:
        return False
    if sum(gpu.need for gpu in case.gpus) <= max(spot.numa_sizes.values(), default=0):
        return False  # a card is a share at least: pods that ask for no more are most, and must cost nothing
    asked, _ = _asked(spot, case)
    shares = _shares(spot)
    return bool(shares) and asked > max(shares.values()) and _is_refused(tuple(sorted(shares.items())), asked)


def _shares(spot: Spot) -> dict[int, int]:
    """Return NUMA node -> the devices that kubelet sees there, empty where that is not known for every card."""
    cards = [card for card in spot.node.cards if card.vendor == NVIDIA]
    if not all(map(_is_plain, cards)):
        return {}
    shares: dict[int, int] = {}
    for card in cards:
        shares[card.numa] = shares.get(card.numa, 0) + card.slots
    return shares


def _is_plain(card: Card) -> bool:
    return card.mode in _MODES and UNKNOWN_NUMA < card.numa < MOST_IDS


def _asked(spot: Spot, case: Case) -> tuple[int, str]:
    """Return the most devices that must come from one NUMA node, and who asks for them."""
    if spot.node.kubelet.topology_scope == _POD:
        demands = tuple(_demand(gpu.container.name, gpu.container.phase, gpu.need) for gpu in case.gpus)
        return peak(demands, lambda each: int(each.limits[_RESOURCE])), "the pod"
    return case.most, f"container {quoted(case.first_of_most.container.name)}"


def _demand(name: str, phase: Phase, amount: int) -> ContainerDemand:
    return ContainerDemand(name, phase, 0, {_RESOURCE: Fraction(amount)}, {})


@lru_cache(maxsize=256)
def _is_refused(shares: tuple[tuple[int, int], ...], amount: int) -> bool:
    """Ask the model what kubelet answers, on an empty machine, to a container that asks for ``amount`` devices."""
    devices = (Device(f"{node}-{place}", frozenset({node})) for node, count in shares for place in range(count))
    machine = Machine(tuple(node for node, _ in shares), _NO_CPUS, {_RESOURCE: resource_of(devices)})
    options = {MOST_NODES: str(max(MOST_NODES_BY_DEFAULT, len(shares)))}
    kubelet = start(machine, Settings(topology_policy=_SINGLE, topology_options=options), Held())
    container = _demand("container", Phase.APP, amount)
    demand = Demand("pod", "uid", "BestEffort", (container,), 0, {}, container.limits, by_pod=False, silent=False)
    prediction = predict(kubelet, Held(), demand)
    return prediction.complete and prediction.outcomes == {TOPOLOGY_AFFINITY}
