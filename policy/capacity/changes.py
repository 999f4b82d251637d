"""The smallest sets of changes with which a group could start: every set of a size is tried before a larger one."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from itertools import combinations
from typing import Final

from policy.capacity.group import Feasibility, Group, at_most
from policy.capacity.ladder import Ask, without
from policy.capacity.mixed import Verdict
from policy.capacity.shapes import Cluster, Locality, Member


class Change(StrEnum):
    """What can be given up for a whole group."""

    REMOTE_MEMORY = "memory from anywhere on the node"
    REMOTE_CPU = "CPUs from anywhere on the node"
    SPAN_NUMA = "GPUs of several NUMA nodes"
    NO_CPU = "no CPU request"
    NO_MEMORY = "no memory request"
    QUOTA = "a larger quota"
    SPREAD = "members on several nodes or racks"
    STACK = "more members on one node"


_LARGEST_SET: Final = 3


def smallest_changes(
    group: Group, cluster: Cluster, feasibility: Feasibility | None = None
) -> tuple[frozenset[Change], ...]:
    """Return every smallest set of changes that lets ``group`` start, none where none of up to three changes does.

    A change that contains another one (GPUs of several NUMA nodes may have their CPUs anywhere) is named alone.
    """
    asked = feasibility or Feasibility()
    effective = [change for change, make in _MAKE.items() if make(group) != group]
    for size in range(1, _LARGEST_SET + 1):
        found = tuple(
            frozenset(changes)
            for changes in combinations(effective, size)
            if asked.judge(_made(group, changes), cluster) is Verdict.YES
        )
        if found:
            return found
    return ()


def _made(group: Group, changes: tuple[Change, ...]) -> Group:
    for change in changes:
        group = _MAKE[change](group)
    return group


def _for_each(change: Callable[[Member], Member]) -> Callable[[Group], Group]:
    return lambda group: replace(group, members=tuple(map(change, group.members)))


_MAKE: Final[Mapping[Change, Callable[[Group], Group]]] = {
    Change.REMOTE_MEMORY: lambda group: at_most(group, Locality.GPU_CPU),
    Change.REMOTE_CPU: lambda group: at_most(group, Locality.GPU),
    Change.SPAN_NUMA: lambda group: at_most(group, Locality.NODE),
    Change.NO_CPU: _for_each(lambda member: without(member, Ask.CPU)),
    Change.NO_MEMORY: _for_each(lambda member: without(member, Ask.MEMORY)),
    Change.QUOTA: lambda group: replace(group, limits=replace(group.limits, quota=None)),
    Change.SPREAD: lambda group: replace(group, limits=replace(group.limits, domains=None)),
    Change.STACK: lambda group: replace(group, limits=replace(group.limits, per_node=None)),
}
