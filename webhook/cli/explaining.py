"""Why a pod goes where it goes: every check on every node and card, as values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from policy import keys
from policy.admission.case import Operator, open_case
from policy.admission.finding import Finding
from policy.admission.judge import find
from policy.admission.levels import Levels
from policy.facts import NOTHING, Card, Device, Facts, Node, NodeState, Use
from policy.hami.annotations import node_policy
from policy.hami.request import Request, read_request
from policy.placement.fit import Fit, refusal
from policy.placement.order import Order, memory_on
from policy.placement.place import Verdict, place
from policy.placement.rules import Rules
from policy.pod import Phase, Pod
from policy.scheduling import allows, untolerated_taint

CHOSEN: Final = "chosen"
FITS: Final = "fits"
NO: Final = "no"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is explained, and by what.

    Attributes:
        pod: as it would be created now.
        facts: the cluster without it.
        order: in which cards are tried.
    """

    pod: Pod
    facts: Facts
    operator: Operator
    levels: Levels
    order: Order


@dataclass(frozen=True, slots=True)
class CardAnswer:
    """What a card makes of a container.

    Attributes:
        held: what others hold of it.
        holders: the pods that do.
        answer: `chosen`, `fits` where it would do, or HAMi's word for why not.
    """

    card: Card
    held: Use
    holders: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """What a node makes of a pod.

    Attributes:
        answer: `chosen`, `fits` or `no`.
        reasons: why not, or why another node was chosen.
        cards: container -> its answers, up to the first container that does not fit.
    """

    name: str
    answer: str
    reasons: tuple[str, ...]
    cards: Mapping[str, tuple[CardAnswer, ...]]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that is said of one pod.

    Attributes:
        asks: container -> what it asks for; empty where it asks for nothing or cannot be read.
        policy: in which order its cards are tried.
        findings: admission's, refusals first.
        problem: what of the pod cannot be read, so that no node was asked; else empty.
        nodes: by name.
    """

    asks: Mapping[str, Request]
    policy: str
    findings: tuple[Finding, ...]
    problem: str
    nodes: tuple[NodeAnswer, ...]


def as_new(pod: Pod) -> Pod:
    """A pod as its owner wrote it: without what the scheduler, the device plugin and numafit added."""
    own = {keys.INJECTED, keys.JUDGED}
    written = {key: value for key, value in pod.annotations.items() if not keys.is_owned(key) and key not in own}
    return replace(pod, annotations=written, node_name="")


def explain(subject: Subject) -> Explanation:
    """Ask admission, and every node and card, about a pod."""
    pod, facts, config = subject.pod, subject.facts, subject.operator.hami
    known = facts if facts.inventory.nodes else None
    findings = find(open_case(pod, subject.operator, known), subject.levels)
    everywhere = place(pod, facts, None, config, subject.order, 0)
    if everywhere.problem or not everywhere.asks:
        return Explanation({}, "", findings, everywhere.problem, ())
    rules = Rules.of(pod.annotations, config.default_gpu_policy)
    asks = {one.name: request for one in pod.containers if (request := read_request(one, config)) is not None}
    barred = {name: tuple(_obstacles(pod, state)) for name, state in facts.nodes.items()}
    able = [name for name, obstacles in barred.items() if not obstacles]
    placed = place(pod, facts, able, config, subject.order, 0).reservation
    nodes = [
        _node(subject, rules, verdict, Standing(name, barred[name], placed.node if placed else ""))
        for name, verdict in everywhere.verdicts.items()
    ]
    return Explanation(asks, rules.policy, findings, "", tuple(nodes))


def _obstacles(pod: Pod, state: NodeState) -> Iterator[str]:
    """What keeps Kubernetes' scheduler from the node, whatever its cards."""
    node = state.node
    if node is None:
        return
    if not allows(pod, node):
        yield "the pod's node selector or required node affinity excludes it"
    if node.unschedulable:
        yield "it is cordoned"
    taint = untolerated_taint(pod, node)
    if taint is not None:
        value = f"={taint['value']}" if taint.get("value") else ""
        yield f"its taint {taint.get('key')}{value}:{taint.get('effect')} is not tolerated"


@dataclass(frozen=True, slots=True)
class Standing:
    """A node beside the others.

    Attributes:
        obstacles: what keeps the scheduler from it.
        chosen: the node that was chosen, empty if none could be.
    """

    name: str
    obstacles: tuple[str, ...]
    chosen: str


def _node(subject: Subject, rules: Rules, verdict: Verdict, standing: Standing) -> NodeAnswer:
    reasons = [*standing.obstacles, *([verdict.reason] if verdict.reason else [])]
    answer = NO if reasons else FITS
    if standing.name == standing.chosen:
        answer = CHOSEN
    elif not reasons:
        policy = node_policy(subject.pod.annotations, subject.operator.hami.default_node_policy)
        reasons.append(f"{policy} takes {standing.chosen} first")
    state = subject.facts.nodes.get(standing.name, NodeState())
    cards = dict(_cards(subject, rules, state, verdict, is_chosen=answer == CHOSEN))
    return NodeAnswer(standing.name, answer, tuple(reasons), cards)


def _cards(
    subject: Subject, rules: Rules, state: NodeState, verdict: Verdict, *, is_chosen: bool
) -> Iterator[tuple[str, tuple[CardAnswer, ...]]]:
    node, running = state.node or Node(""), dict(state.use)
    holders = _holders(state)
    for position, fit in verdict.fits.items():
        container = subject.pod.containers[position]
        request = read_request(container, subject.operator.hami) or Request(0)
        answers = []
        for card in node.cards:
            held = running.get(card.uuid, NOTHING)
            answer = _answer(card, request, held, fit, rules.on(node))
            chosen = CHOSEN if is_chosen and _is_picked(card, fit) else answer
            answers.append(CardAnswer(card, held, tuple(holders.get(card.uuid, ())), chosen))
        yield container.name, tuple(answers)
        if container.phase is not Phase.INIT:
            for device in fit.picks or ():
                taken = Use(device.slots, device.memory, device.cores)
                running[device.uuid] = running.get(device.uuid, NOTHING) + taken


def _is_picked(card: Card, fit: Fit) -> bool:
    return any(device.uuid == card.uuid for device in fit.picks or ())


def _answer(card: Card, request: Request, held: Use, fit: Fit, rules: Rules) -> str:
    """HAMi's word as the fit found it; cards that it did not come to are asked now."""
    if _is_picked(card, fit):
        return FITS
    device = Device(card.uuid, memory_on(card, request), request.cores)
    return fit.reasons.get(card.uuid) or refusal(card, device, held, rules) or FITS


def _holders(state: NodeState) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for reservation in state.reservations.values():
        for uuid in reservation.devices:
            found.setdefault(uuid, []).append(reservation.pod.title)
    return {uuid: sorted(titles) for uuid, titles in found.items()}
