"""Placing a new pod: which nodes can hold it, which one is best, and what is to be written for it.

Each container gets its cards in turn (HAMi: filter). Sidecars and app containers run together; an ordinary init
container runs beside the sidecars that precede it, and what it holds is free again for all that follow
(docs/decisions.md 8).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from policy.facts import NOTHING, Card, Entry, Facts, NodeState, Reservation, Use
from policy.hami.annotations import AnnotationError, node_policy
from policy.hami.codec import encode
from policy.hami.reasons import NODE_UNREGISTERED, NODE_USAGE_UNAVAILABLE
from policy.hami.request import HamiConfig, InvalidRequestError, Request, read_request
from policy.keys import ALLOCATED, ASSIGNED_NODE, ASSIGNED_TIME, TO_ALLOCATE
from policy.placement.fit import Fit, fit_node
from policy.placement.order import Order
from policy.placement.rules import Budget, Layout, Rules
from policy.pod import Phase, Pod


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one node.

    Attributes:
        fits: container position -> fit, of the containers that ask for cards, up to the first that does not fit.
        entries: devices per container if all fit, else empty.
        reason: why the node cannot hold the pod, in HAMi's words; empty if it can.
        score: how full the node is before the pod, 10 for each of shares, cores and memory that is full.
    """

    fits: Mapping[int, Fit] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()
    reason: str = ""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Placement:
    """What came of placing a pod.

    Attributes:
        asks: whether the pod asks for cards at all; nothing else is said if it does not.
        verdicts: node name -> verdict.
        reservation: what the pod is to hold; None if no node can hold it.
        annotations: to be written on the pod in one change, with `labels`.
        problem: what of the pod itself cannot be read, so that no node was asked; else empty.
    """

    asks: bool = True
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    reservation: Reservation | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


def place(pod: Pod, facts: Facts, nodes: Iterable[str] | None, config: HamiConfig, order: Order, now: int) -> Placement:
    """Place ``pod`` on one of ``nodes``, None for all that are known.

    What the pod itself holds counts as free. ``now`` is in seconds since the epoch.
    """
    if pod.is_over:
        return Placement(problem=f"pod {pod.title} is {pod.status_phase}; a pod that is over gets no cards any more")
    try:
        needs = [read_request(container, config) for container in pod.containers]
        rules = Rules.of(pod.annotations, config.default_gpu_policy)
    except (InvalidRequestError, AnnotationError) as error:
        return Placement(problem=str(error))
    if not any(needs):
        return Placement(asks=False)
    free = facts.without_pod(pod.uid)
    budget = _budget(pod, free, config)
    names = sorted(set(free.nodes if nodes is None else nodes))
    verdicts = {name: _judge(needs, free.nodes.get(name), rules, budget, order) for name in names}
    chosen = _best(verdicts, node_policy(pod.annotations, config.default_node_policy))
    if chosen is None:
        return Placement(verdicts=verdicts)
    return _placed(pod, chosen, verdicts, now)


def _budget(pod: Pod, facts: Facts, config: HamiConfig) -> Budget:
    return Budget(
        quota=facts.quotas.get(pod.namespace),
        used=facts.quota_use.get(pod.namespace, NOTHING),
        memory_factor=config.memory_factor,
        layout=Layout(((),) * len(pod.containers), [container.phase for container in pod.containers]),
        position=0,
    )


def _judge(
    needs: Sequence[Request | None], state: NodeState | None, rules: Rules, budget: Budget, order: Order
) -> Verdict:
    node = state.node if state else None
    if state is None or node is None or not (node.cards or node.problem):
        return Verdict(reason=NODE_UNREGISTERED)
    if node.problem:
        return Verdict(reason=f"{NODE_USAGE_UNAVAILABLE}: {node.problem}")
    here, phases, running = rules.on(node), budget.layout.phases, dict(state.use)
    entries: list[Entry] = [()] * len(needs)
    fits: dict[int, Fit] = {}
    for position, need in enumerate(needs):
        if need is None:
            continue
        within = here if budget.quota is None else here.within(budget.at(position, entries))
        found = fits[position] = fit_node(need, node.cards, running, within, order)
        if found.picks is None:
            return Verdict(fits, reason=found.text)
        entries[position] = found.picks
        if phases[position] is not Phase.INIT:
            _take(running, found.picks)
    return Verdict(fits, tuple(entries), score=fullness(node.cards, state.use))


def _take(use: dict[str, Use], devices: Entry) -> None:
    for device in devices:
        held = use.get(device.uuid, NOTHING)
        use[device.uuid] = held + Use(device.slots, device.memory, device.cores)


def fullness(cards: Sequence[Card], use: Mapping[str, Use]) -> float:
    """Return a node's score: 10 for each of shares, cores and memory that is full (HAMi: node score)."""
    held = sum((use.get(card.uuid, NOTHING) for card in cards), NOTHING)
    parts = (
        (held.slots, sum(card.slots for card in cards)),
        (held.cores, sum(card.cores for card in cards)),
        (held.memory, sum(card.memory for card in cards)),
    )
    return sum((10 * taken / total for taken, total in parts if total), 0.0)


def _best(verdicts: Mapping[str, Verdict], policy: str) -> str | None:
    """Return the fullest node, or the emptiest under `spread`, the first by name of equals."""
    able = sorted(name for name, verdict in verdicts.items() if not verdict.reason)
    choose = min if policy == "spread" else max
    return choose(able, key=lambda name: verdicts[name].score, default=None)


def _placed(pod: Pod, node: str, verdicts: Mapping[str, Verdict], now: int) -> Placement:
    entries = verdicts[node].entries
    value = encode(entries)
    annotations = {ASSIGNED_NODE: node, ASSIGNED_TIME: str(now), TO_ALLOCATE: value, ALLOCATED: value}
    labels = {ASSIGNED_NODE: node}
    held = replace(pod, annotations={**pod.annotations, **annotations}, labels={**pod.labels, **labels})
    layout = Layout(entries, [container.phase for container in pod.containers])
    return Placement(
        verdicts=verdicts,
        reservation=Reservation(held, node, entries, layout.use()),
        annotations=annotations,
        labels=labels,
    )
