"""An explanation as people and programs read it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from policy.facts import UNKNOWN_NUMA, Card, Facts, Reservation, Use
from policy.hami.request import PERCENT_UNSET, Request
from policy.pod import Pod
from webhook.cli import screen
from webhook.cli.catalogue import CARD_WORDS, unmarked
from webhook.cli.explaining import CHOSEN, FITS, CardAnswer, Explanation, NodeAnswer
from webhook.cli.holdings import Holding, holdings

HELD: Final = ("NUMA", "CARD", "CONTAINER", "MIB", "CORES", "STATE")
ASKED: Final = ("NUMA", "CARD", "SHARES", "MIB", "CORES", "ANSWER", "HELD BY")
READ: Final = len("GPU-12345678")
"""Characters of a card's UUID that people read where there is no room for all."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A pod with everything that is known of it.

    Attributes:
        facts: the cluster as it is, the pod included.
        node: the only node to tell of, empty for all.
        filled: what admission filled in before nodes and cards were asked.
    """

    pod: Pod
    explanation: Explanation
    facts: Facts
    node: str = ""
    filled: tuple[str, ...] = ()

    @property
    def reservation(self) -> Reservation | None:
        """What the pod holds, None if it holds nothing."""
        return self.facts.reservation(self.pod.uid)

    @property
    def nodes(self) -> tuple[NodeAnswer, ...]:
        """The nodes to tell of."""
        return tuple(node for node in self.explanation.nodes if self.node in {"", node.name})

    @property
    def quota(self) -> dict[str, dict[str, int]]:
        """Limit and use of each thing that the namespace's quota limits."""
        quota = self.facts.quotas.get(self.pod.namespace)
        used = self.facts.quota_use.get(self.pod.namespace, Use())
        limits = {"memory": (quota.memory, used.memory), "cores": (quota.cores, used.cores)} if quota else {}
        return {name: {"limit": limit, "used": use} for name, (limit, use) in limits.items() if limit is not None}


def write_text(explained: Explained) -> None:
    """Write tables: what it asks, what admission says, what it holds, what nodes and cards make of it."""
    explanation = explained.explanation
    screen.put(f"Pod {screen.printable(explained.pod.title)}")
    screen.table((), _head(explained))
    if explanation.findings:
        screen.put("")
        screen.table(("LEVEL", "FINDING"), ((found.level, found.text) for found in explanation.findings))
    reservation = explained.reservation
    if reservation is not None:
        screen.put(f"\nHolds on node {reservation.node}")
        _cards(HELD, [_holding_row(held) for held in holdings(reservation, explained.facts)])
    if explained.nodes:
        screen.put("\nPlaced now" if reservation is None else "\nPlaced anew")
        screen.table(("NODE", "ANSWER", "REASON"), ((n.name, n.answer, "; ".join(n.reasons)) for n in explained.nodes))
    for node in explained.nodes:
        for container, cards in node.cards.items():
            screen.put(f"\nNode {node.name}, container {screen.printable(container)} (held/all)")
            _cards(ASKED, [_card_row(answer) for answer in cards])
    meanings = list(_meanings(explained))
    if meanings:
        screen.put("")
        screen.table(("ANSWER", "MEANING"), meanings)


def _cards(heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
    """Write a line for each card: its UUID, the second cell, shortened where there is no room for it."""
    if not screen.fits(heads, rows):
        rows = [(numa, uuid[:READ], *rest) for numa, uuid, *rest in rows]
    screen.table(heads, rows, cut=True)


def _head(explained: Explained) -> Iterator[tuple[str, str]]:
    explanation = explained.explanation
    if explained.filled:
        yield "filled in", f"{', '.join(explained.filled)} (judged as it would be stored)"
    for container, request in explanation.asks.items():
        yield f"container {container}", _asked(request)
    if explanation.problem:
        yield "cannot be placed", explanation.problem
    elif not explanation.asks:
        yield "asks for", "no GPU, so no card is chosen"
    for name, amounts in explained.quota.items():
        yield f"quota of {name}", f"{amounts['used']} of {amounts['limit']} held in {explained.pod.namespace}"


def _asked(request: Request) -> str:
    memory = f"{request.memory} MiB" if request.percent == PERCENT_UNSET else f"{request.percent} % of memory"
    cards = "1 card" if request.nums == 1 else f"{request.nums} cards"
    return f"{cards}, {memory} and {request.cores} % of cores on each"


def _numa(card: Card | None) -> str:
    return "?" if card is None or card.numa == UNKNOWN_NUMA else str(card.numa)


def _holding_row(holding: Holding) -> tuple[str, ...]:
    device = holding.device
    state = "waits for kubelet" if holding.pending else "handed over"
    if holding.card is None:
        state = f"{state}; its node registers no such card"
    return _numa(holding.card), device.uuid, holding.container, str(device.memory), str(device.cores), state


def _card_row(answer: CardAnswer) -> tuple[str, ...]:
    card, held = answer.card, answer.held
    amounts = (f"{held.slots}/{card.slots}", f"{held.memory}/{card.memory}", f"{held.cores}/{card.cores}")
    return (_numa(card), card.uuid, *amounts, answer.answer, ", ".join(answer.holders))


def _meanings(explained: Explained) -> Iterator[tuple[str, str]]:
    """Each answer that a card gave, once."""
    given = {answer.answer for node in explained.nodes for cards in node.cards.values() for answer in cards}
    known = {
        CHOSEN: f"The pod gets it: {explained.explanation.policy} takes it first.",
        FITS: "It would do.",
        **{word: unmarked(meaning) for word, meaning in CARD_WORDS.items()},
    }
    yield from ((word, meaning) for word, meaning in known.items() if word in given)


def as_json(explained: Explained) -> dict[str, object]:
    """The same for programs."""
    explanation, reservation = explained.explanation, explained.reservation
    return {
        "namespace": explained.pod.namespace,
        "name": explained.pod.name,
        "asks": [_ask(container, request) for container, request in explanation.asks.items()],
        "filledIn": list(explained.filled),
        "policy": explanation.policy,
        "problem": explanation.problem,
        "quota": explained.quota,
        "findings": [{"code": f.code, "level": f.level, "message": f.message} for f in explanation.findings],
        "node": reservation.node if reservation else "",
        "holds": [_holding(one) for one in holdings(reservation, explained.facts)] if reservation else [],
        "nodes": [_node(node) for node in explained.nodes],
    }


def _ask(container: str, request: Request) -> Mapping[str, object]:
    amount = {"memory": request.memory} if request.percent == PERCENT_UNSET else {"memoryPercent": request.percent}
    return {"container": container, "cards": request.nums, **amount, "cores": request.cores}


def _holding(holding: Holding) -> Mapping[str, object]:
    device = holding.device
    return {
        "container": holding.container,
        "card": device.uuid,
        "numa": holding.card.numa if holding.card else None,
        "memory": device.memory,
        "cores": device.cores,
        "pending": holding.pending,
    }


def _node(node: NodeAnswer) -> Mapping[str, object]:
    return {
        "name": node.name,
        "answer": node.answer,
        "reasons": list(node.reasons),
        "containers": [
            {"container": container, "cards": [_card(answer) for answer in cards]}
            for container, cards in node.cards.items()
        ],
    }


def _card(answer: CardAnswer) -> Mapping[str, object]:
    card = answer.card
    return {
        "card": card.uuid,
        "index": card.index,
        "numa": card.numa,
        "type": card.type,
        "held": asdict(answer.held),
        "heldBy": list(answer.holders),
        "answer": answer.answer,
    }
