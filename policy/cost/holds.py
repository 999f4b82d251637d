"""GPUs that somebody has and that compute nothing: held by members that wait for others.

A GPU that is held and one that is free and cannot run are different numbers; the same GPU is never both.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from policy.facts import Card, Use


@dataclass(frozen=True, slots=True)
class Hold:
    """Some equal members that had their GPUs and did not compute.

    Attributes:
        members: how many.
        gpus: of each; a share of a card is a fraction.
        begin: in seconds: the reservation, which HAMi writes when it filters, or the binding.
        end: in seconds: the start of the whole group, or the release.
    """

    members: int
    gpus: Fraction
    begin: Fraction
    end: Fraction

    @property
    def gpu_seconds(self) -> Fraction:
        """What was held; a hold that ends before it begins is none."""
        return self.members * self.gpus * max(self.end - self.begin, Fraction(0))


def held(holds: Iterable[Hold]) -> Fraction:
    """Return the GPU-seconds of all ``holds``."""
    return sum((hold.gpu_seconds for hold in holds), Fraction(0))


@dataclass(frozen=True, slots=True)
class Share:
    """How much of a card a reservation is, by each of its amounts.

    Attributes:
        memory: part of the card's memory.
        cores: part of its cores.
    """

    memory: Fraction
    cores: Fraction

    @property
    def dominant(self) -> Fraction:
        """The larger part: what others cannot have of the card at least."""
        return max(self.memory, self.cores)


def share(use: Use, card: Card) -> Share:
    """Return which part of ``card`` is taken by ``use``; a card without memory or cores has none to take."""
    return Share(_part(use.memory, card.memory), _part(use.cores, card.cores))


def _part(taken: int, whole: int) -> Fraction:
    return Fraction(taken, whole) if whole else Fraction(0)
