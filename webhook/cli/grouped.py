"""What `numafit group` finds out about one group: whether it can start now, who keeps it from that, what would help."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from policy.capacity.changes import Change, smallest_changes
from policy.capacity.constraints import Binding, bindings
from policy.capacity.count import Capacity, measure
from policy.capacity.gate import Gate, after_failure
from policy.capacity.group import Feasibility, Group, emptied
from policy.capacity.mixed import Verdict
from policy.capacity.moves import Mover, Search
from policy.capacity.quotas import group_quota
from policy.capacity.shapes import Cluster, Limits, Locality, Member
from policy.capacity.solver_cp import cp_sat
from policy.capacity.view import Asking, View, view
from policy.membership import COSCHEDULING
from policy.pod import Pod
from webhook.cli.gangs import Gang, Part
from webhook.cli.node_amounts import node_amounts
from webhook.cli.room import Known, read_member, unknowns

_THOROUGH: Final = 8_000
"""Partial placements that are looked at for the verdict where no solver is asked after them."""

_QUICK: Final = 400
"""Partial placements that are looked at for each question after the verdict: there are dozens of them."""

_MOVES: Final = 5
"""Moves that are tried where members are unlike and each costs a search."""

_MANY_MOVES: Final = 50


@dataclass(frozen=True, slots=True)
class Role:
    """Members that ask for the same.

    Attributes:
        alone: how many of it fit if no other member came.
        bindings: what keeps more of it out.
        failing: whether it is one of those that cannot start together.
    """

    member: Member
    alone: Capacity
    bindings: tuple[Binding, ...]
    failing: bool


@dataclass(frozen=True, slots=True)
class Grouped:
    """The answer.

    Attributes:
        needed: how many members must still find a place.
        problem: why the group cannot be asked about at all; empty where it was.
        on_empty: whether it could start if nobody held anything.
        ladder: locality -> whether it could start if nobody were bound more.
        changes: the smallest sets of changes with which it could.
        gate: what Coscheduling would do with the members that do find a place; None for other systems.
    """

    gang: Gang
    needed: int
    running: int
    verdict: Verdict
    problem: str = ""
    roles: tuple[Role, ...] = ()
    on_empty: Verdict = Verdict.UNKNOWN
    ladder: Mapping[Locality, Verdict] | None = None
    changes: tuple[frozenset[Change], ...] = ()
    search: Search | None = None
    gate: Gate | None = None
    unknown: tuple[str, ...] = ()


def judge(gang: Gang, known: Known) -> Grouped:
    """Judge one group on a cluster.

    Raises:
        InputError: a member cannot be counted.
    """
    waiting, running = _apart(gang.parts, known)
    pods: dict[str, Pod] = {}
    members = _members(gang, waiting, known, pods)
    total = sum(member.count for member in members)
    group = Group(tuple(members), _minimum(gang, total, running), running)
    if total < group.needed:
        given = f"{total} of the {group.needed} members that must still start are given"
        problem = f"{given}; create the others, or lower the minimum"
        return Grouped(gang, group.needed, running, Verdict.NO, problem)
    if not members:
        return Grouped(gang, 0, running, Verdict.YES)
    asking = [Asking(member, pods[member.name]) for member in members]
    whole = node_amounts(known.cluster, members)
    seen = view(known.facts, asking, known.local, whole=whole)
    limits = Limits(
        quota=group_quota(members, gang.namespace, known.facts, known.config, seen.cluster),
        domains=_domains(gang.topologies, known),
    )
    tries = _MOVES if len(members) > 1 else _MANY_MOVES
    mover = Mover(known.facts, asking, known.config, known.local, whole, Feasibility(_QUICK), tries)
    return _judged(gang, replace(group, limits=limits), seen, mover)


def _judged(gang: Gang, group: Group, seen: View, mover: Mover) -> Grouped:
    feasibility, cluster = mover.feasibility, seen.cluster
    solver = cp_sat()
    verdict = Feasibility(_THOROUGH if solver is None else _QUICK, solver).judge(group, cluster)
    failing = Feasibility(_QUICK, solver).failing(group, cluster) if verdict is Verdict.NO else ()
    roles = tuple(_role(member, group, seen, failing) for member in group.members)
    unknown = dict.fromkeys(what for member in group.members for what in unknowns(seen, member))
    answer = Grouped(gang, group.needed, group.running, verdict, roles=roles, unknown=tuple(unknown))
    if verdict is not Verdict.NO:
        return answer
    return replace(
        answer,
        on_empty=feasibility.judge(_without_quota(group), emptied(cluster)),
        ladder=feasibility.ladder(group, cluster),
        changes=smallest_changes(group, cluster, feasibility),
        search=mover.cheapest(group) if group.limits.domains is None else None,
        gate=_gate(gang, group, cluster),
    )


def _apart(parts: Iterable[Part], known: Known) -> tuple[list[Part], int]:
    """Return the parts that wait, and how many pods have a place already."""
    waiting, running = [], 0
    for part in parts:
        pod = known.cluster.pod(part.pod.namespace, part.pod.name)
        if pod is None:
            waiting.append(part)
        elif not pod.is_over:
            has_place = bool(pod.node_name or known.facts.reservation(pod.uid))
            running += part.count if has_place else 0
            waiting += [] if has_place else [part]
    return waiting, running


def _members(gang: Gang, parts: Iterable[Part], known: Known, pods: dict[str, Pod]) -> list[Member]:
    """Return one member for all pods that ask for the same and may go to the same places."""
    found: dict[object, Member] = {}
    for part in parts:
        pod = part.pod
        member = read_member(pod, known.config, f"{gang.title}: {part.name}", part.name, part.count)
        places = pod.node_selector, pod.affinity, pod.tolerations
        likeness = replace(member, name="", count=0), repr(places)
        if likeness in found:
            same = found[likeness]
            found[likeness] = replace(same, count=same.count + member.count)
            continue
        while member.name in pods:
            member = replace(member, name=f"{member.name}'")
        pods[member.name] = pod
        found[likeness] = member
    return [member for member in found.values() if member.count]


def _minimum(gang: Gang, total: int, running: int) -> int:
    return total + running if gang.minimum is None else gang.minimum


def _domains(topologies: list[str], known: Known) -> Mapping[str, str] | None:
    """Return node -> its values of all labels that members must share; nodes that lack one are in no domain."""
    if not topologies:
        return None
    nodes = known.facts.inventory.nodes.values()
    return {
        node.name: "/".join(node.labels[key] for key in topologies)
        for node in nodes
        if all(key in node.labels for key in topologies)
    }


def _role(member: Member, group: Group, seen: View, failing: tuple[str, ...]) -> Role:
    limits = group.limits if len(group.members) == 1 else replace(group.limits, quota=None)
    alone = measure(member, seen.cluster, limits)
    return Role(member, alone, bindings(alone, seen, limits), member.name in failing)


def _without_quota(group: Group) -> Group:
    return replace(group, limits=replace(group.limits, quota=None))


def _gate(gang: Gang, group: Group, cluster: Cluster) -> Gate | None:
    if gang.system != COSCHEDULING or len(group.members) != 1 or gang.minimum is None:
        return None
    placed = min(measure(group.members[0], cluster, group.limits).members, group.members[0].count)
    existing = group.members[0].count + group.running
    return after_failure(gang.minimum, group.running + placed, existing)
