"""A node's cards as people think of them: by NUMA node, with how full each is and who holds it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from rich import box
from rich.table import Table
from rich.text import Text

from policy.facts import NOTHING, Card, NodeState, Use
from webhook.cli.screen import printable

MINE: Final = "bold green"
WIDEST_BAR: Final = 24
BESIDE_BARS: Final = 32
BESIDE_A_BAR: Final = 21
"""Columns that are not bars: once in a table, and once for each state in it."""


@dataclass(frozen=True, slots=True)
class Pen:
    """With what bars are drawn: the pod's own part, that of others, and what is free."""

    mine: str
    others: str
    free: str

    @classmethod
    def of(cls, *, is_ascii: bool) -> "Pen":
        """The pen for a stream."""
        return cls("#", "=", ".") if is_ascii else cls("█", "▒", "░")

    def legend(self, pod: str) -> str:
        """What the parts of a bar mean."""
        return f"{self.mine} {pod}   {self.others} other pods   {self.free} free"


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn of a node.

    Attributes:
        states: heading -> the node at one moment, side by side.
        uid: of the pod that stands out.
        left: UUIDs of the cards that kubelet left, empty for no such column.
    """

    states: dict[str, NodeState]
    uid: str
    left: frozenset[str] = frozenset()

    def draw(self, pen: Pen, width: int) -> Table:
        """Draw it within ``width`` columns."""
        columns = width - BESIDE_BARS - BESIDE_A_BAR * len(self.states)
        bar = max(4, min(WIDEST_BAR, columns // len(self.states)))
        table = Table(box=box.HORIZONTALS, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
        for head in ("NUMA", "CARD", *(("KUBELET",) if self.left else ())):
            table.add_column(head, no_wrap=True)
        for title in self.states:
            table.add_column(title, no_wrap=True)
            table.add_column("MiB", justify="right", no_wrap=True)
            table.add_column("HELD BY", overflow="fold")
        for _, group in groupby(self._cards(), key=lambda card: card.numa):
            cards = tuple(group)
            for position, card in enumerate(cards):
                row = self._row(card, pen, bar)
                numa = "" if position else str(card.numa)
                table.add_row(numa, *row, end_section=card is cards[-1])
        return table

    def _cards(self) -> Sequence[Card]:
        node = next(iter(self.states.values())).node
        return sorted(node.cards, key=lambda card: (card.numa, card.index)) if node else ()

    def _row(self, card: Card, pen: Pen, bar: int) -> Iterator[Text]:
        yield Text(f"{card.index} {short(card.uuid)}")
        if self.left:
            yield Text("allows" if card.uuid in self.left else "")
        for state in self.states.values():
            used = state.use.get(card.uuid, NOTHING).memory
            yield self._bar(card, state, pen, bar)
            yield Text(f"{used}")
            yield self._holders(card, state)

    def _bar(self, card: Card, state: NodeState, pen: Pen, length: int) -> Text:
        own = self._own(card, state).memory
        upto = [_share(amount, card.memory, length) for amount in (own, state.use.get(card.uuid, NOTHING).memory)]
        bar = Text().append(pen.mine * upto[0], style=MINE).append(pen.others * (upto[1] - upto[0]))
        return bar.append(pen.free * (length - upto[1]), style="dim")

    def _own(self, card: Card, state: NodeState) -> Use:
        held = state.reservations.get(self.uid)
        return held.devices.get(card.uuid, NOTHING) if held else NOTHING

    def _holders(self, card: Card, state: NodeState) -> Text:
        held = {each.pod.name: uid for uid, each in state.reservations.items() if card.uuid in each.devices}
        named = (Text(printable(name), style=MINE if held[name] == self.uid else "") for name in sorted(held))
        return Text("\n").join(named)


def _share(amount: int, whole: int, length: int) -> int:
    """How many of ``length`` characters ``amount`` fills; what is not nothing is seen."""
    return min(length, max(round(amount * length / whole), 1 if amount else 0)) if whole else 0


def short(uuid: str) -> str:
    """A UUID as far as people read it."""
    return printable(uuid[: len("GPU-12345678")])
