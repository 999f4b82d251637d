"""What keeps a member from cards that are free, in the words of who operates the cluster, the largest part first."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from policy.capacity.count import Capacity, Cause, measure, most
from policy.capacity.shapes import ANY_CARD, NO_LIMITS, Limits, Locality
from policy.capacity.view import Bar, View


class Constraint(StrEnum):
    """What binds."""

    CPU = "cpu"
    MEMORY = "memory"
    SEVERAL = "cpu and memory"
    NODE = "cpu, memory or seats of a whole node"
    NUMA = "cards in one NUMA node"
    FRAGMENTATION = "fragmentation"
    TYPE = "type"
    QUOTA = "quota"
    DOMAIN = "one domain for all"
    TOPOLOGY_POLICY = "topology policy"
    SELECTOR = "node selector or affinity"
    TAINT = "taint"
    UNSCHEDULABLE = "cordoned node"
    UNREAD = "unreadable node"
    CARDS = "cards"


@dataclass(frozen=True, slots=True)
class Binding:
    """One constraint.

    Attributes:
        shares: free shares of cards that it keeps from use; of whole cards a share is a card. 0 where none is free.
    """

    constraint: Constraint
    shares: int


_CAUSES: Final[Mapping[Cause, Constraint]] = {
    Cause.CPU: Constraint.CPU,
    Cause.MEMORY: Constraint.MEMORY,
    Cause.SEVERAL: Constraint.SEVERAL,
    Cause.NODE_CAP: Constraint.NODE,
    Cause.QUOTA: Constraint.QUOTA,
    Cause.DOMAIN: Constraint.DOMAIN,
}
_BARS: Final[Mapping[Bar, Constraint]] = {
    Bar.TOPOLOGY_POLICY: Constraint.TOPOLOGY_POLICY,
    Bar.SELECTOR: Constraint.SELECTOR,
    Bar.TAINT: Constraint.TAINT,
    Bar.UNSCHEDULABLE: Constraint.UNSCHEDULABLE,
    Bar.UNREAD: Constraint.UNREAD,
}


def bindings(counted: Capacity, view: View, limits: Limits = NO_LIMITS) -> tuple[Binding, ...]:
    """Return what keeps free cards from the member that was ``counted`` in ``view``.

    Where no card is free that it may use, the cards themselves bind.
    """
    found: Counter[Constraint] = Counter()
    for constraint, shares in _found(counted, view, limits):
        found[constraint] += shares
    if not found and not counted.members:
        return (Binding(Constraint.CARDS, 0),)
    return tuple(Binding(constraint, shares) for constraint, shares in found.most_common())


def _found(counted: Capacity, view: View, limits: Limits) -> Iterator[tuple[Constraint, int]]:
    for cause, shares in counted.lost.items():
        if cause in _CAUSES:
            yield _CAUSES[cause], shares
        elif cause is Cause.GRANULARITY:
            yield _granularity(counted, view, limits), shares
    yield from _closed(counted, view)
    others = _of_other_types(counted, view, limits)
    if others:
        yield Constraint.TYPE, others


def _granularity(counted: Capacity, view: View, limits: Limits) -> Constraint:
    """Cards are left over: because they lie on several NUMA nodes, or because they are too few or too full."""
    anywhere = most(replace(counted.member, locality=Locality.NODE), view.cluster, limits)
    return Constraint.NUMA if anywhere > counted.members else Constraint.FRAGMENTATION


def _closed(counted: Capacity, view: View) -> Iterator[tuple[Constraint, int]]:
    why = {name: bar for bar, names in view.closed.get(counted.member.name, {}).items() for name in names}
    for node in counted.nodes:
        for name in node.names if node.lost.get(Cause.BARRED) else ():
            yield _BARS[why[name]], node.lost[Cause.BARRED]


def _of_other_types(counted: Capacity, view: View, limits: Limits) -> int:
    """Return how many idle cards the member's own choice of types and UUIDs leaves out, 0 where more fit none."""
    if counted.member.filter == ANY_CARD:
        return 0
    any_card = measure(replace(counted.member, filter=ANY_CARD), view.cluster, limits)
    return any_card.free_gpus - counted.free_gpus if any_card.members > counted.members else 0
