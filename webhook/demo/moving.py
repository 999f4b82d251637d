"""The second half of the demo: a card is reserved, kubelet leaves others, and the reservation follows, or does not."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from policy.facts import NOTHING, Card, Facts, NodeState
from policy.hami.codec import decode_entry
from policy.hami.usage import reserve
from policy.keys import ALLOCATED, ASSIGNED_NODE
from policy.pod import read_pod
from webhook.cli.errors import OutsideError
from webhook.demo.client import Client
from webhook.demo.judging import Manifest, admit
from webhook.demo.picture import Pen, Picture, short
from webhook.demo.stage import Stage


@dataclass(frozen=True, slots=True)
class Placed:
    """A pod on its node.

    Attributes:
        facts: the cluster, with what the server says that the pod holds.
        card: UUID of the card that it holds.
    """

    pod: Manifest
    node: str
    facts: Facts
    card: str = ""

    @property
    def name(self) -> str:
        """The pod's name."""
        return str(self.pod["metadata"]["name"])

    @property
    def uid(self) -> str:
        """The pod's UID."""
        return str(self.pod["metadata"]["uid"])

    @property
    def state(self) -> NodeState:
        """The pod's node, and what is held on it."""
        return self.facts.nodes[self.node]

    @property
    def cards(self) -> tuple[Card, ...]:
        """The cards of the pod's node."""
        node = self.state.node
        return node.cards if node else ()

    def holding(self, answer: Mapping[str, Any]) -> "Placed":
        """The same with what ``answer`` of the refit says that it holds."""
        devices = answer.get("containerDevices")
        if not devices:
            raise OutsideError(f"the refit of {self.name} was refused: {answer.get('failureReason')}")
        meta = self.pod["metadata"]
        annotations = {**meta["annotations"], ASSIGNED_NODE: self.node, ALLOCATED: f"{devices};"}
        held = reserve(read_pod({**self.pod, "metadata": {**meta, "annotations": annotations}}))
        facts = self.facts.with_reservation(held) if held else self.facts
        return replace(self, facts=facts, card=decode_entry(devices)[0].uuid)

    def other_numa_nodes(self) -> list[tuple[Card, ...]]:
        """The cards of each NUMA node but the pod's own, the one with most memory free on a card first."""
        own = next(card.numa for card in self.cards if card.uuid == self.card)
        others = sorted({card.numa for card in self.cards} - {own})
        groups = [tuple(card for card in self.cards if card.numa == numa) for numa in others]
        return sorted(groups, key=lambda cards: -max(self._free(card) for card in cards))

    def _free(self, card: Card) -> int:
        return card.memory - self.state.use.get(card.uuid, NOTHING).memory


def show_placed(client: Client, stage: Stage, pod: Manifest, facts: Facts) -> Placed:
    """The pod gets a node and a card."""
    stage.step(
        "Placed: one card of one node is reserved",
        "kube-scheduler asks where the pod fits, and binds it there. The card is reserved in the pod's annotations; "
        "asked with every card allowed, /refit names it and writes nothing.",
    )
    nodes = sorted(facts.inventory.nodes)
    answer = client.place(pod, nodes)
    _exchange(stage, "/filter", f"{pod['metadata']['name']} on one of {', '.join(nodes)}", answer)
    placed = Placed(pod, _chosen(answer), facts)
    _exchange(stage, "/bind", f"{placed.name} to {placed.node}", client.bind(pod, placed.node))
    placed = _asked(client, stage, placed, placed.cards)
    _draw(stage, placed, {"NOW": placed.state})
    return placed


def show_moved(client: Client, stage: Stage, before: Placed) -> tuple[Placed, tuple[Card, ...]]:
    """Kubelet leaves other cards, and the reservation follows; returns it, and the cards that were left."""
    left = before.other_numa_nodes()[0]
    stage.step(
        f"Refitted: kubelet leaves the cards of NUMA node {left[0].numa}, and the reservation follows",
        "Kubelet has whole CPUs for the pod only there, and keeps GPUs beside CPUs. If the reservation did not follow, "
        "the pod would run on one card while another one is charged for it.",
    )
    after = _asked(client, stage, before, left)
    _draw(stage, after, {"BEFORE": before.state, "AFTER": after.state}, left)
    if after.card not in {card.uuid for card in left}:
        raise OutsideError(f"the refit answered with {after.card}, which kubelet did not leave")
    return after, left


def show_repeated(client: Client, stage: Stage, placed: Placed, left: Sequence[Card]) -> None:
    """The same refit once more."""
    stage.step(
        "The same refit again: the same answer, and nothing is written",
        'A device plugin that lost the answer asks again, and must not move the pod again. "moved" counts writes, '
        '"kept" counts answers that found the reservation right.',
    )
    before = _refits(client)
    again = _asked(client, stage, placed, left)
    after = _refits(client)
    for series, count in after.items():
        stage.said(f"{series}  {before.get(series, '0.0')} -> {count}")
    if again.card != placed.card:
        raise OutsideError(f"the repeated refit answered with {again.card} in the place of {placed.card}")


def show_strict(client: Client, stage: Stage, facts: Facts) -> None:
    """No card that kubelet leaves can take a strict pod."""
    placed = _settled(client, admit(client, "strict.yaml"), facts)
    left = placed.other_numa_nodes()[-1]
    stage.step(
        f"Strict: kubelet leaves NUMA node {left[0].numa}, where no card has room, and the pod fails",
        "A pod that says hami.io/numa-alignment: strict fails rather than run on a card that is not the reserved one. "
        "The reason has a code, the same in the event, the log and the metrics.",
    )
    answer = client.refit(placed.pod, placed.node, [card.uuid for card in left])
    _exchange(stage, "/refit", _asking(placed, left), answer, "red")
    if answer["succeeded"]:
        raise OutsideError(f"the strict pod was refitted onto {answer['containerDevices']}; no card there had room")
    _draw(stage, placed, {"AFTER": _held(client, placed).state}, left)
    stage.said("")
    stage.tell(
        "The device plugin now fails the allocation, and kubelet ends the pod with UnexpectedAdmissionError. Of a "
        "best-effort pod it would log the reason and take kubelet's cards."
    )


def _settled(client: Client, pod: Manifest, facts: Facts) -> Placed:
    """Have ``pod`` placed and bound without a word."""
    placed = Placed(pod, _chosen(client.place(pod, sorted(facts.inventory.nodes))), facts)
    client.bind(pod, placed.node)
    return _held(client, placed)


def _held(client: Client, placed: Placed) -> Placed:
    """Ask what the pod holds: with every card allowed, /refit says so and writes nothing."""
    return placed.holding(client.refit(placed.pod, placed.node, [card.uuid for card in placed.cards]))


def _refits(client: Client) -> dict[str, str]:
    """How many refits had which result: the metric's series and their values."""
    lines = (line.rpartition(" ") for line in client.metrics() if line.startswith("numafit_refits_total"))
    return {series: count for series, _, count in lines}


def _chosen(answer: Mapping[str, Any]) -> str:
    nodes = answer.get("nodenames")
    if not nodes:
        raise OutsideError(f"the pod of the demo fits no node: {answer.get('error') or answer.get('failedNodes')}")
    return str(nodes[0])


def _asked(client: Client, stage: Stage, placed: Placed, allowed: Sequence[Card]) -> Placed:
    answer = client.refit(placed.pod, placed.node, [card.uuid for card in allowed])
    _exchange(stage, "/refit", _asking(placed, allowed), answer, "green")
    return placed.holding(answer)


def _asking(placed: Placed, allowed: Sequence[Card]) -> str:
    every = len(allowed) == len(placed.cards)
    cards = f"all {len(allowed)} cards" if every else ", ".join(short(card.uuid) for card in allowed)
    return f"as the device plugin of {placed.node}: {placed.name}, allowed are {cards}"


def _exchange(stage: Stage, path: str, asked: str, answer: Mapping[str, Any], style: str = "") -> None:
    stage.said(f"POST {path}  {asked}", "bold")
    stage.said(json.dumps(answer, separators=(",", ":")), style)


def _draw(stage: Stage, placed: Placed, states: dict[str, NodeState], left: Sequence[Card] = ()) -> None:
    pen = Pen.of(is_ascii=stage.is_ascii)
    model = f"{len(placed.cards)} x {placed.cards[0].type}, {placed.cards[0].memory} MiB each"
    stage.said(f"\n{placed.node}: {model}   {pen.legend(placed.name)}")
    stage.show(Picture(states, placed.uid, frozenset(card.uuid for card in left)).draw(pen, stage.width))
