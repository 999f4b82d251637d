"""What nodes have left as a whole: what they can allocate, without what pods that have a place there request."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import floor
from typing import Any, Final

from policy.capacity.asked import together
from policy.capacity.shapes import Member
from policy.capacity.view import LocalAmounts, Whole
from policy.hami.request import InvalidRequestError
from policy.keys import ASSIGNED_NODE
from policy.pod import Pod
from policy.quantity import parse
from webhook.cluster.file import FileCluster
from webhook.cluster.objects import kind_of
from webhook.cluster.shapes import mapping

_MILLI: Final = 1000
_MIB: Final = 1024**2
_CPU: Final = "cpu"
_MEMORY: Final = "memory"

Taken = dict[str, Fraction | None]
"""Node name -> what pods request there, None where one of them cannot be read."""


def node_amounts(cluster: FileCluster, members: Iterable[Member]) -> Whole:
    """Return node name -> what is left of what any of ``members`` asks for, for nodes that say what they can allocate.

    What none of them asks for stays out of it: nodes that differ in nothing else are counted as one.
    """
    wanted = list(members)
    by_cpu, by_memory = any(each.cpus for each in wanted), any(each.memory for each in wanted)
    pods = list(_placed(cluster)) if by_cpu or by_memory else []
    cpus = _taken(pods, _CPU) if by_cpu else None
    memory = _taken(pods, _MEMORY) if by_memory else None
    return {
        name: LocalAmounts(
            None if cpus is None else _left(allocatable.get(_CPU), cpus.get(name, Fraction(0)), Fraction(_MILLI)),
            None
            if memory is None
            else _left(allocatable.get(_MEMORY), memory.get(name, Fraction(0)), Fraction(1, _MIB)),
        )
        for name, allocatable in _allocatable(cluster)
    }


def _allocatable(cluster: FileCluster) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for source in cluster.objects():
        if kind_of(source) == "Node":
            name = mapping(source.get("metadata")).get("name")
            yield str(name), mapping(mapping(source.get("status")).get("allocatable"))


def _placed(cluster: FileCluster) -> Iterator[tuple[str, Pod]]:
    """Yield the pods that count on a node, with its name: bound ones, and those that HAMi's book has there."""
    for source in cluster.objects():
        metadata = mapping(source.get("metadata"))
        pod = (
            cluster.pod(str(metadata.get("namespace")), str(metadata.get("name"))) if kind_of(source) == "Pod" else None
        )
        name = "" if pod is None else pod.node_name or pod.annotations.get(ASSIGNED_NODE, "")
        if pod is not None and name and not pod.is_over:
            yield name, pod


def _taken(pods: Iterable[tuple[str, Pod]], resource: str) -> Taken:
    found: Taken = {}
    for name, pod in pods:
        before = found.get(name, Fraction(0))
        try:
            found[name] = None if before is None else before + together(pod, resource)
        except InvalidRequestError:
            found[name] = None
    return found


def _left(allocatable: object, taken: Fraction | None, unit: Fraction) -> int | None:
    """Return what is left in the unit of members, None where it cannot be told."""
    amount = parse(allocatable) if isinstance(allocatable, str | int) else None
    return None if amount is None or taken is None else max(floor((Fraction(amount) - taken) * unit), 0)
