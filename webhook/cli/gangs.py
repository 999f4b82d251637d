"""The groups of pods in a manifest, with their members: objects that make pods, and pods that join by a mark."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from policy.membership import contradict, gangs
from policy.pod import Pod
from webhook.cli.makers import minimum, role, topology
from webhook.cli.pods import pod_of
from webhook.cli.quorums import Key, MalformedGroupError, Quorum, marked_minimum, quorums
from webhook.cli.templates import Workload, objects, workloads
from webhook.cluster.shapes import mapping, mappings

_SINGLE: Final = "pod"


@dataclass(frozen=True, slots=True)
class Part:
    """Pods of one template.

    Attributes:
        count: how many the group has of them.
    """

    name: str
    count: int
    pod: Pod


@dataclass(slots=True)
class Gang:
    """A group as it is written.

    Attributes:
        system: who keeps it together, or the kind of the object that makes its pods.
        minimum: how many must start, None for all.
        topologies: node labels that members must share.
        notes: what was read and is not judged, one sentence each.
    """

    title: str
    system: str
    namespace: str
    parts: list[Part] = field(default_factory=list)
    minimum: int | None = None
    topologies: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Roll:
    """Who belongs to which group, object by object.

    Attributes:
        gangs: by key, those with an object of their own first seen first.
    """

    def __init__(self, namespace: str, file: str) -> None:
        self.gangs: dict[Key, Gang] = {}
        self._namespace, self._file = namespace, file

    def take(self, values: Iterable[object]) -> None:
        """Read documents: groups first, for their members may stand before them.

        Raises:
            InputError: a pod cannot be read.
            MalformedGroupError: a count is none, or a pod names different groups to different systems.
        """
        every = [source for value in values for _, source in objects(value)]
        for source in every:
            for quorum in quorums(source, self._namespace):
                self._declare(quorum)
        for source in every:
            for workload in workloads(source):
                self._join(workload, pod_of(workload, self._namespace, self._file))

    def join(self, pod: Pod) -> bool:
        """Add a pod of the cluster to the group that it says it belongs to, if that is known; tell whether it is."""
        key = _key(pod)
        known = self.gangs.get(key) if key else None
        if known is not None and key is not None:
            known.parts.append(Part(pod.name, 1, pod))
        return known is not None

    def _declare(self, quorum: Quorum) -> None:
        namespace, system, _ = quorum.key
        found = Gang(quorum.title, system, namespace, minimum=quorum.minimum)
        found.topologies += [quorum.topology] if quorum.topology else []
        self.gangs[quorum.key] = found

    def _join(self, workload: Workload, pod: Pod) -> None:
        key = _key(pod)
        what = role(workload)
        if key is None:
            key = (pod.namespace, workload.kind if workload.steps else _SINGLE, workload.name)
        found = self.gangs.get(key)
        if found is None:
            found = self.gangs[key] = _undeclared(workload, pod, key)
        found.parts.append(Part(what.name, what.count, pod))
        shared = topology(workload)
        if shared and shared not in found.topologies:
            found.topologies.append(shared)
        found.notes += [note for note in _not_judged(workload.pod(pod.namespace)) if note not in found.notes]


def _key(pod: Pod) -> Key | None:
    if contradict(pod.memberships):
        names = ", ".join(f"{each.name} ({each.system})" for each in gangs(pod.memberships))
        raise MalformedGroupError(f"Pod {pod.title} joins different groups: {names}; name one group everywhere")
    found = next(iter(gangs(pod.memberships)), None)
    return None if found is None else (pod.namespace, found.system, found.name)


def _undeclared(workload: Workload, pod: Pod, key: Key) -> Gang:
    """A group of which no object of its own is given: the maker of its pods says how many, or the pods themselves."""
    _, system, name = key
    if not pod.group:
        where = f"{workload.kind} {pod.namespace}/{workload.name}"
        return Gang(where, system, pod.namespace, minimum=minimum(workload.owner, where))
    found = Gang(f"group {pod.namespace}/{name}", system, pod.namespace, minimum=marked_minimum(pod, system))
    if found.minimum is None:
        found.notes.append("no object says how many must start; all that are given must")
    return found


def _not_judged(source: Mapping[str, Any]) -> Iterator[str]:
    """Name what of a pod decides where it may go and is not judged."""
    spec = mapping(source.get("spec"))
    affinity = mapping(spec.get("affinity"))
    hard = "requiredDuringSchedulingIgnoredDuringExecution"
    for key in ("podAffinity", "podAntiAffinity"):
        if mapping(affinity.get(key)).get(hard):
            yield f"required {key} is not judged"
    if any(
        each.get("whenUnsatisfiable") == "DoNotSchedule" for each in mappings(spec.get("topologySpreadConstraints"))
    ):
        yield "topologySpreadConstraints are not judged"
