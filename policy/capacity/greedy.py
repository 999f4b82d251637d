"""Placing members one after the other, as a scheduler does that never looks back.

That it succeeds proves that a group fits. That it fails proves nothing: another order, or another choice, might do.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from policy.capacity.landing import Landing, landings
from policy.capacity.shapes import Cluster, Member, NodeRoom


class Choice(StrEnum):
    """Which of the places that can take a member it gets."""

    FIRST_FIT = "first_fit"
    BEST_FIT = "best_fit"


@dataclass(slots=True)
class _Run:
    """Equal nodes beside each other, and where a member would land on one of them."""

    room: NodeRoom
    nodes: int
    known: dict[str, Landing | None] = field(default_factory=dict)

    def landing(self, member: Member, choice: Choice) -> Landing | None:
        if member.name not in self.known:
            ways = landings(self.room, member)
            least = min(ways, key=_left, default=None) if choice is Choice.BEST_FIT else next(ways, None)
            self.known[member.name] = least
        return self.known[member.name]


def _left(landing: Landing) -> tuple[int, int, int]:
    return landing.left


def big_first(members: Iterable[Member]) -> list[Member]:
    """Return ``members`` by what they ask for, most cards first."""
    return sorted(members, key=lambda member: (-member.gpus, -member.cpus, -member.memory))


def place_in_turn(members: Sequence[Member], cluster: Cluster, choice: Choice) -> bool:
    """Tell whether all of ``members``, each as often as it counts, find a place in turn."""
    runs = [_Run(alike.room, len(alike.names)) for alike in cluster]
    return all(_place(member, runs, choice) for member in members for _ in range(member.count))


def _place(member: Member, runs: list[_Run], choice: Choice) -> bool:
    found = [(at, way) for at, run in enumerate(runs) if (way := run.landing(member, choice)) is not None]
    if not found:
        return False
    at, way = min(found, key=lambda each: _left(each[1])) if choice is Choice.BEST_FIT else found[0]
    runs[at].nodes -= 1
    runs[at : at + (not runs[at].nodes)] = [_Run(way.room, 1)]
    return True
