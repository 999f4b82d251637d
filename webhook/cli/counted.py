"""What `numafit capacity` finds out about one kind of pod: free against runnable, and what would help."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from policy.capacity.asked import quota_members
from policy.capacity.constraints import Binding, bindings
from policy.capacity.count import Capacity, measure, most
from policy.capacity.group import Group
from policy.capacity.ladder import Ask, ladder, largest_requests, without
from policy.capacity.missing import Addition, additions
from policy.capacity.moves import Mover, Search
from policy.capacity.shapes import Limits, Locality, Member
from policy.capacity.view import Asking, Bar, View, view
from policy.pod import Pod
from webhook.cli.node_amounts import node_amounts
from webhook.cli.room import Known, unknowns

_LEFT_OUT: Final = (Ask.CPU, Ask.MEMORY, Ask.GPU)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is counted.

    Attributes:
        title: for people.
        member: its count is how many are needed.
        pod: one of its kind, whose selector, affinity and tolerations decide where it may go.
    """

    title: str
    member: Member
    pod: Pod


@dataclass(frozen=True, slots=True)
class Counted:
    """The answer.

    Attributes:
        bindings: what keeps free cards from use.
        ladder: locality -> how many fit, from the one that is asked to the loosest.
        without: request -> how many fit where it is left out.
        smaller: request -> the largest amount below the one asked with which enough fit.
        additions: what would have to become free.
        search: for a pod whose move would make room; None where enough fit.
        unknown: what is not known and refused nothing.
    """

    asked: Asked
    limits: Limits
    view: View
    capacity: Capacity
    bindings: tuple[Binding, ...]
    ladder: Mapping[Locality, int]
    without: Mapping[Ask, int]
    smaller: Mapping[Ask, int]
    additions: tuple[Addition, ...]
    search: Search | None
    unknown: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether as many fit as are needed."""
        return self.capacity.members >= self.asked.member.count

    @property
    def closed(self) -> Mapping[Bar, tuple[str, ...]]:
        """Why nodes are closed to it -> the nodes."""
        return self.view.closed.get(self.asked.member.name, {})


def count(asked: Asked, known: Known) -> Counted:
    """Count in a cluster how many like ``asked`` can run now, and look for what would help where too few can."""
    member, asking = asked.member, [Asking(asked.member, asked.pod)]
    whole = node_amounts(known.cluster, [member])
    seen = view(known.facts, asking, known.local, whole=whole)
    cluster = seen.cluster
    limits = Limits(quota=quota_members(member, asked.pod.namespace, known.facts, known.config, cluster))
    capacity = measure(member, cluster, limits)
    fits = capacity.members >= member.count
    mover = Mover(known.facts, asking, known.config, known.local, whole)
    rungs = ladder(member, cluster, limits)
    return Counted(
        asked=asked,
        limits=limits,
        view=seen,
        capacity=capacity,
        bindings=bindings(capacity, seen, limits),
        ladder={rung: rungs[rung] for rung in member.locality.rungs},
        without={ask: most(without(member, ask), cluster, limits) for ask in _LEFT_OUT if _asks(member, ask)},
        smaller={} if fits else largest_requests(member, cluster, member.count, limits),
        additions=additions(member, cluster, member.count, limits),
        search=None if fits else mover.cheapest(Group((member,), limits=limits)),
        unknown=unknowns(seen, member),
    )


def _asks(member: Member, ask: Ask) -> int:
    return {Ask.CPU: member.cpus, Ask.MEMORY: member.memory, Ask.GPU: member.gpus}[ask]
