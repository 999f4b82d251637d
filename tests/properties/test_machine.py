"""A stateful machine: anything that happens to a cluster, in any order, with books kept beside numafit's own."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from policy.placement.order import Order
from tests.properties import shapes
from tests.properties.happenings import NODE_CHANGES, ODDITIES, POD_CHANGES, is_pending, is_servable, refit_request
from tests.properties.ledger import Object, PodPage
from tests.properties.shapes import NAMESPACES, QUOTAS, STYLES, Wanted
from tests.properties.world import World

STEPS_OF_A_RUN: Final = 60
RUNS: Final = 9 * settings().max_examples // 8
LEAST_STEPS: Final = 50 * settings().max_examples
"""5,000 in the default profile, 100,000 in `long`."""

MOST_PODS: Final = 8
OUTCOMES: Final = {
    *("filter: placed", "filter: nowhere", "filter: no-gpu", "filter: error", "bind: bound", "bind: error"),
    *("refit: moved", "refit: kept", "refit: refused"),
}
"""Each of these happens when the machine runs, or it would prove nothing."""

NUMBERS = st.integers(0, 255)
LIMITS = st.sampled_from([None, *QUOTAS])
NODE_LISTS = st.sampled_from([["n1"], ["n2"], ["n1", "n2"], ["n2", "n1", "gone"]])

ShapedPod = tuple[Sequence[Wanted], Mapping[str, str]]


class Cluster(RuleBasedStateMachine):
    """Pods come, are placed, bound, served, refitted and go, while others change the same cluster."""

    counts: ClassVar[Counter[str]] = Counter()

    @initialize(
        order=st.sampled_from(Order), limits=LIMITS, crowd=st.lists(st.tuples(shapes.pods(), NUMBERS), max_size=3)
    )
    def open(self, order: Order, limits: Mapping[str, str] | None, crowd: Sequence[tuple[ShapedPod, int]]) -> None:
        self.nodes = shapes.nodes()
        self.made = 0
        self.world = World([node.source() for node in self.nodes.values()], self.counts, order)
        self.change_quota("q1", limits)
        for pod, number in crowd:
            self.others_place(pod, number)

    @invariant()
    def all_books_agree(self) -> None:
        self.counts["steps"] += 1
        self.world.audit()

    def pick(self, number: int, condition: Callable[[PodPage], object] = lambda _: True) -> PodPage | None:
        """One of the pods that fulfil a condition."""
        found = [pod for pod in self.world.books().pods.values() if condition(pod)]
        return found[number % len(found)] if found else None

    def make(self, pod: ShapedPod, namespace: str) -> Object:
        """A new pod's plain object; where there are many, the first one goes."""
        known = list(self.world.books().pods)
        if len(known) >= MOST_PODS:
            self.world.others_delete(known[0])
        self.made += 1
        name = f"p{self.made}"
        self.world.wanted[f"uid-{name}"] = pod[0]
        return shapes.pod(name, namespace, f"uid-{name}", *pod)

    @rule(pods=st.lists(shapes.pods(), min_size=1, max_size=4), number=NUMBERS, nodes=NODE_LISTS, late=st.booleans())
    def place(self, pods: Sequence[ShapedPod], number: int, nodes: Sequence[str], late: bool) -> None:
        """Place new pods, known to the cluster or first seen with the call; most are bound at once.

        Those that are late are decided on the same facts, on both nodes in turn, under one quota.
        """
        for turn, pod in enumerate(pods, start=number):
            source = self.make(pod, "team" if late else NAMESPACES[number % 2])
            if turn % 4 > 1:
                self.world.others_write(source, anew=True)
            self.world.place(source, [("n1", "n2")[turn % 2]] if late else nodes, late=late)
            placed = self.world.books().pods[source["metadata"]["uid"]]
            if turn % 3 and placed.node:
                self.world.bind(placed, placed.node, late=False)

    @rule(number=NUMBERS, nodes=NODE_LISTS, late=st.booleans())
    def place_again(self, number: int, nodes: Sequence[str], late: bool) -> None:
        pod = self.pick(number)
        if pod:
            self.world.place(self.world.source(pod), nodes, late=late)

    @rule(pod=shapes.pods(), number=NUMBERS)
    def others_place(self, pod: ShapedPod, number: int) -> None:
        node, style = list(self.nodes.values())[number // 2 % 2], list(STYLES)[number // 8 % len(STYLES)]
        source = self.make(pod, NAMESPACES[number % 2])
        source["metadata"]["annotations"] |= shapes.held_elsewhere(pod[0], node, number // 4, style)
        self.world.others_write(source, anew=True)

    @rule(number=NUMBERS, node=st.sampled_from(["", "", "", "n1", "n2"]), late=st.booleans())
    def bind(self, number: int, node: str, late: bool) -> None:
        pod = self.pick(number)
        if pod:
            self.world.bind(pod, node or pod.node, late=late)

    @rule(number=NUMBERS)
    def serve(self, number: int) -> None:
        pod = self.pick(number, is_servable)
        if pod:
            self.world.serve(pod)

    @rule(
        asked=st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from(list(ODDITIES))), min_size=1, max_size=4),
        late=st.booleans(),
    )
    def refit(self, asked: Sequence[tuple[int, int, str]], late: bool) -> None:
        for number, allowed, odd in asked:
            pod = self.pick(number, is_pending)
            if pod:
                uuids = [uuid for node in self.nodes.values() for uuid in node.uuids]
                chosen = [uuid for at, uuid in enumerate([*uuids, "GPU-unknown"]) if (allowed | number) >> at & 1]
                self.world.refit(ODDITIES[odd](refit_request(pod, number, chosen), pod), late=late)

    @rule(number=NUMBERS, what=st.sampled_from([*POD_CHANGES, "it is deleted"]))
    def change_pod(self, number: int, what: str) -> None:
        pod = self.pick(number)
        if pod and what in POD_CHANGES:
            self.world.others_write(POD_CHANGES[what](self.world.source(pod), pod))
        elif pod:
            self.world.others_delete(pod.uid)

    @rule(name=st.sampled_from(["n1", "n2"]), what=st.sampled_from([*NODE_CHANGES, "it is deleted"]), number=NUMBERS)
    def change_node(self, name: str, what: str, number: int) -> None:
        node = self.nodes[name]
        if what in NODE_CHANGES:
            NODE_CHANGES[what](node, number % len(node.numa))
            self.world.others_put(node.source())
        else:
            self.world.others_take_away("Node", "", name)

    @rule(name=st.sampled_from(["q1", "q2"]), limits=LIMITS)
    def change_quota(self, name: str, limits: Mapping[str, str] | None) -> None:
        if limits is None:
            self.world.others_take_away("ResourceQuota", "team", name)
        else:
            self.world.others_put(shapes.quota(name, limits))

    @rule(restart=st.booleans())
    def restart_or_remember(self, restart: bool) -> None:
        """Start anew from the objects, or let somebody decide now and write later."""
        if restart:
            self.world.open(self.world.cluster.objects())
        else:
            self.world.hold_facts()


def test_nothing_that_happens_makes_the_books_disagree(remark: Callable[[str], None]) -> None:
    Cluster.counts.clear()
    bounds = settings(
        max_examples=RUNS, stateful_step_count=STEPS_OF_A_RUN, suppress_health_check=list(HealthCheck), print_blob=True
    )
    try:
        run_state_machine_as_test(Cluster, settings=bounds)
    finally:
        remark(f"stateful machine: {_told(Cluster.counts)}")
    assert Cluster.counts["steps"] >= LEAST_STEPS
    assert Cluster.counts.keys() >= OUTCOMES


def _told(counts: Counter[str]) -> str:
    others = ", ".join(f"{count:,} {what}" for what, count in counts.most_common() if what != "steps")
    return f"{counts['steps']:,} steps; {others}"
