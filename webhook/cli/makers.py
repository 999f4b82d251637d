"""Objects that make the pods of a group: how many pods come of each of their templates, and how many must start."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from webhook.cli.quorums import MOST_PODS, MalformedGroupError, whole
from webhook.cli.templates import Workload
from webhook.cluster.shapes import mapping

LEADER_WORKER_SET: Final = "LeaderWorkerSet"
LEADER: Final = "leaderTemplate"

_FACTORS: Final = ("replicas", "parallelism", "count")
"""Fields between an object and its template that multiply its pods."""

_TEMPLATES: Final = frozenset({"spec", "template", "jobTemplate", "podTemplate"})
"""Steps that lead to a template and name no role."""

_NAMES: Final = ("name", "groupName")

_MINIMA: Final = (("spec",), ("spec", "runPolicy", "schedulingPolicy"), ("spec", "schedulingPolicy"))
"""Where objects keep `minAvailable` (Volcano's Job, Kubeflow's training jobs)."""

_MINIMUM_MARKS: Final = ("scheduling.volcano.sh/group-min-member", "kai.scheduler/batch-min-member")
_LEAST: Final = ("minCount", "minAvailable")
"""Fields beside a template that say with how many of its pods the group may start (Kueue, Volcano)."""

_TOPOLOGIES: Final = ("kueue.x-k8s.io/podset-required-topology", "leaderworkerset.sigs.k8s.io/exclusive-topology")


@dataclass(frozen=True, slots=True)
class Role:
    """One template.

    Attributes:
        name: for people.
        count: pods of it in one group.
    """

    name: str
    count: int


def role(workload: Workload) -> Role:
    """Return what a template stands for in its owner's group; a pod by itself stands for itself.

    Raises:
        MalformedGroupError: a count is none.
    """
    if workload.kind == LEADER_WORKER_SET:
        return _leader_or_worker(workload)
    floored = minimum(workload.owner, workload.kind) is None
    count = prod(_count(holder, where, floored=floored) for holder, where in _holders(workload))
    if count > MOST_PODS:
        raise MalformedGroupError(f"{workload.kind} {workload.name} makes {count} pods; at most {MOST_PODS} are judged")
    return Role(_name(workload), count)


def _count(holder: Mapping[str, Any], where: str, *, floored: bool) -> int:
    """Return by how much a holder multiplies its pods: where it says so, by the least that may start."""
    count = 1
    for key in _FACTORS:
        found = whole(holder, key, where)
        if found is None:
            continue
        least = next((n for name in _LEAST if floored and (n := whole(holder, name, where)) is not None), found)
        completions = whole(holder, "completions", where) if key == "parallelism" else None
        count *= min(each for each in (found, least, completions) if each is not None)
    return count


def _holders(workload: Workload) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the objects between the owner's top and its template, each with its path."""
    holder: Any = workload.owner
    for depth, step in enumerate(workload.steps):
        holder = holder[step]
        if isinstance(holder, dict) and depth + 1 < len(workload.steps):
            path = ".".join(map(str, workload.steps[: depth + 1]))
            yield holder, f"{workload.kind} {workload.name}: {path}"


def _leader_or_worker(workload: Workload) -> Role:
    """A group is one leader and the workers that fill it up; `replicas` counts groups (LeaderWorkerSet)."""
    template = mapping(mapping(workload.owner.get("spec")).get("leaderWorkerTemplate"))
    size = whole(template, "size", f"{workload.kind} {workload.name}: spec.leaderWorkerTemplate")
    has_leader = LEADER in template
    if has_leader and workload.steps[-1] == LEADER:
        return Role("leader", 1)
    return Role("worker", max((1 if size is None else size) - has_leader, 0))


def _name(workload: Workload) -> str:
    steps = list(workload.steps)
    while steps and steps[-1] in _TEMPLATES:
        steps.pop()
    if not steps:
        return workload.name
    if not isinstance(steps[-1], int):
        return str(steps[-1])
    item: Any = workload.owner
    for step in steps:
        item = item[step]
    return next((str(item[key]) for key in _NAMES if item.get(key)), f"{steps[-2]}[{steps[-1]}]")


def minimum(owner: Mapping[str, Any], where: str) -> int | None:
    """Return how many pods of ``owner`` must start, whichever they are; None for all.

    Raises:
        MalformedGroupError: it is no count.
    """
    annotations = mapping(mapping(owner.get("metadata")).get("annotations"))
    found = [whole(annotations, key, f"{where}: metadata.annotations") for key in _MINIMUM_MARKS]
    for path in _MINIMA:
        holder: Mapping[str, Any] = owner
        for step in path:
            holder = mapping(holder.get(step))
        found.append(whole(holder, "minAvailable", f"{where}: {'.'.join(path)}"))
    return next((each for each in found if each is not None), None)


def topology(workload: Workload) -> str:
    """Return the node label that all pods of a template must share, empty if they need not."""
    for source in (workload.source, workload.owner):
        annotations = mapping(mapping(source.get("metadata")).get("annotations"))
        for key in _TOPOLOGIES:
            if annotations.get(key):
                return str(annotations[key])
    return ""
