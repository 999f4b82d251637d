"""Which group of pods a pod says it belongs to: the marks of every gang API, in one place.

A mark counts only where its system looks for it: Coscheduling's key as an annotation joins nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from policy.plain import mapping, text


@dataclass(frozen=True, slots=True)
class Membership:
    """A pod's place in one group.

    Attributes:
        system: who reads the mark, with the Kubernetes release where the field depends on it.
        name: the group; of a Workload its name and the pod group in it.
    """

    system: str
    name: str


@dataclass(frozen=True, slots=True)
class _Mark:
    """A label or annotation that joins a group; `beside` is an annotation without which it does not."""

    system: str
    key: str
    beside: str = ""


COSCHEDULING: Final = "coscheduling"
POD_GROUP: Final = "kubernetes-1.36+"
WORKLOAD: Final = "kubernetes-1.35"

_LABELS: Final = (
    _Mark(COSCHEDULING, "scheduling.x-k8s.io/pod-group"),
    _Mark("koordinator", "pod-group.scheduling.sigs.k8s.io"),
    _Mark("kueue", "kueue.x-k8s.io/pod-group-name", beside="kueue.x-k8s.io/pod-group-total-count"),
    _Mark("kai", "kai.scheduler/subgroup-name"),
    _Mark("grove", "grove.io/podgang"),
    _Mark("jobset", "jobset.sigs.k8s.io/jobset-name"),
    _Mark("leaderworkerset", "leaderworkerset.sigs.k8s.io/group-key"),
)
_ANNOTATIONS: Final = (
    _Mark("volcano", "scheduling.volcano.sh/group-name"),
    _Mark("volcano", "scheduling.k8s.io/group-name"),
    _Mark("kai", "pod-group-name"),
    _Mark("koordinator", "gang.scheduling.koordinator.sh/name"),
)

GROUP_LABELS: Final = tuple(mark.key for mark in _LABELS)
"""Labels by which a pod joins a group."""

GROUP_ANNOTATIONS: Final = (*(mark.key for mark in _ANNOTATIONS), *(mark.beside for mark in _LABELS if mark.beside))
"""Annotations by which a pod joins a group, and those without which a label does not."""

_OWNERS: Final = frozenset({"jobset", "leaderworkerset"})
"""Systems that make the pods of a group and leave it to others whether all start or none."""

_RETRIED: Final = frozenset({COSCHEDULING, POD_GROUP})


def read_memberships(
    annotations: Mapping[str, str], labels: Mapping[str, str], spec: Mapping[str, Any]
) -> tuple[Membership, ...]:
    """Return every group that a pod says it belongs to, one for each system.

    Raises:
        MalformedObjectError: `schedulingGroup` or `workloadRef` has another shape than Kubernetes gives it.
    """
    found: dict[str, Membership] = {}
    for member in (*_marked(_ANNOTATIONS, annotations, annotations), *_marked(_LABELS, labels, annotations)):
        found.setdefault(member.system, member)
    for member in _fields(spec):
        found[member.system] = member
    return tuple(found.values())


def _marked(marks: Iterable[_Mark], place: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[Membership]:
    if not place:
        return
    for mark in marks:
        name = place.get(mark.key)
        if name and (not mark.beside or annotations.get(mark.beside)):
            yield Membership(mark.system, name)


def _fields(spec: Mapping[str, Any]) -> Iterator[Membership]:
    where = "spec.schedulingGroup"
    name = text(mapping(spec.get("schedulingGroup"), where), "podGroupName", where)
    if name:
        yield Membership(POD_GROUP, name)
    where = "spec.workloadRef"
    reference = mapping(spec.get("workloadRef"), where)
    name, group = text(reference, "name", where), text(reference, "podGroup", where)
    if name:
        yield Membership(WORKLOAD, f"{name}/{group}" if group else name)


def gangs(memberships: Iterable[Membership]) -> tuple[Membership, ...]:
    """Return the memberships that promise all or nothing."""
    return tuple(member for member in memberships if member.system not in _OWNERS)


def contradict(memberships: Iterable[Membership]) -> bool:
    """Tell whether a pod names different gangs to different systems, so that no order of events can serve both."""
    return len({member.name for member in gangs(memberships)}) > 1


def retries_bind(memberships: Iterable[Membership]) -> bool:
    """Tell whether HAMi waits for a busy node lock when it binds the pod (HAMi: node lock of pod group members)."""
    return any(member.system in _RETRIED for member in memberships)
