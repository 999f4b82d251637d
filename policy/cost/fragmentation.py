"""How much idle GPU the usual work could not use (fragmentation gradient descent: Weng and others, USENIX ATC 2023).

For one node and one kind of task, all idle GPU counts if the task cannot run there at all, else the rests of cards
that are too small for one of the task's cards. Kinds are weighed by how often they come.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

CARD: Final = 1000
"""Thousandths of a card."""


@dataclass(frozen=True, slots=True)
class NodeLeft:
    """What a node has left: thousandths of each card, CPUs, memory; None is not known and refuses nothing."""

    gpus: tuple[int, ...]
    cpu: Fraction | None = None
    memory: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of task.

    Attributes:
        weight: how much of the work is of this kind.
        gpus: how many different cards.
        gpu: thousandths of each; of several cards each is taken whole.
        cpu: CPUs.
        memory: in the unit of the nodes'.
    """

    weight: Fraction
    gpus: int
    gpu: int = CARD
    cpu: Fraction = Fraction(0)
    memory: Fraction = Fraction(0)

    @property
    def per_card(self) -> int:
        """Thousandths of one card that it needs."""
        return CARD if self.gpus > 1 else self.gpu


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """Thousandths of a card: what is a fragment, of all that is idle."""

    fragment: Fraction
    left: int

    @property
    def ratio(self) -> Fraction:
        """The fragment as part of what is idle, 0 where nothing is."""
        return self.fragment / self.left if self.left else Fraction(0)


def fragmentation(nodes: Sequence[NodeLeft], tasks: Iterable[Task]) -> Fragmentation:
    """Return the fragment of ``nodes`` for a mix of ``tasks``.

    A task without GPUs makes all idle GPU a fragment, as in its authors' simulator; leave such tasks out to judge GPU
    work alone.
    """
    fragment = sum((task.weight * sum(_fragment(node, task) for node in nodes) for task in tasks), Fraction(0))
    return Fragmentation(fragment, sum(sum(node.gpus) for node in nodes))


def _fragment(node: NodeLeft, task: Task) -> int:
    usable = [left for left in node.gpus if left >= task.per_card] if task.gpus else []
    short = _short(node.cpu, task.cpu) or _short(node.memory, task.memory)
    if short or not task.gpus or len(usable) < task.gpus:
        return sum(node.gpus)
    return sum(left for left in node.gpus if left < task.per_card)


def _short(left: Fraction | None, need: Fraction) -> bool:
    return left is not None and left < need
