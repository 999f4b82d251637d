"""Objects that say how many pods of a group must start: PodGroups of every kind, Workloads, and marks on pods.

Which pods belong to them is `policy.membership`'s business.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from policy.hami.errors import shown
from policy.membership import COSCHEDULING, POD_GROUP, WORKLOAD
from policy.pod import Pod
from webhook.cluster.shapes import mapping, mappings, title


class MalformedGroupError(ValueError):
    """A group says something that cannot be judged; the text names the field, the value and what is allowed."""


Key = tuple[str, str, str]
"""Namespace, system and name of a group."""


@dataclass(frozen=True, slots=True)
class Quorum:
    """What an object says of its group.

    Attributes:
        title: the object, for people.
        minimum: how many pods must start, None for all.
        topology: the node label that all members must share, empty if they need not.
    """

    key: Key
    title: str
    minimum: int | None = None
    topology: str = ""


_POD_GROUPS: Final[Mapping[str, str]] = {
    "scheduling.x-k8s.io": COSCHEDULING,
    "scheduling.sigs.k8s.io": "koordinator",
    "scheduling.volcano.sh": "volcano",
    "scheduling.run.ai": "kai",
}
"""API groups whose PodGroup says `spec.minMember`, and who reads it."""

_NATIVE: Final = "scheduling.k8s.io"

_MARKS: Final[Mapping[str, str]] = {
    "koordinator": "gang.scheduling.koordinator.sh/min-available",
    "kueue": "kueue.x-k8s.io/pod-group-total-count",
}
"""Systems whose members may carry the minimum themselves."""


def quorums(source: Mapping[str, Any], namespace: str) -> Iterator[Quorum]:
    """Yield the groups that an object declares, none if it is of another kind.

    Raises:
        MalformedGroupError: what it says is not of the shape that its API gives it.
    """
    kind, group = source.get("kind"), str(source.get("apiVersion")).partition("/")[0]
    metadata, spec = mapping(source.get("metadata")), mapping(source.get("spec"))
    where, name = str(metadata.get("namespace") or namespace), str(metadata.get("name"))
    if kind == "PodGroup" and group in _POD_GROUPS:
        minimum = whole(spec, "minMember", f"{title(source)}: spec")
        yield Quorum((where, _POD_GROUPS[group], name), title(source), minimum)
    elif kind == "PodGroup" and group == _NATIVE:
        yield _native(source, (where, POD_GROUP, name), spec, "schedulingPolicy")
    elif kind == "Workload" and group == _NATIVE:
        for each in mappings(spec.get("podGroups")):
            yield _native(source, (where, WORKLOAD, f"{name}/{each.get('name')}"), each, "policy")


def _native(source: Mapping[str, Any], key: Key, spec: Mapping[str, Any], field: str) -> Quorum:
    """A group without a gang policy is no gang: one pod may start alone (Kubernetes: basic policy)."""
    gang = mapping(spec.get(field)).get("gang")
    minimum = whole(mapping(gang), "minCount", f"{title(source)}: {field}.gang") if gang is not None else 1
    constraints = mapping(spec.get("schedulingConstraints"))
    levels = [each.get("key") for each in mappings(constraints.get("topology"))]
    levels += [each.get("topologyKey") for each in mappings(constraints.get("topologyConstraints"))]
    named = f"{title(source)} {key[2]}" if "/" in key[2] else title(source)
    return Quorum(key, named, minimum, str(levels[0]) if levels else "")


def marked_minimum(pod: Pod, system: str) -> int | None:
    """Return the minimum that a member of a group of ``system`` carries itself, None if it carries none.

    Raises:
        MalformedGroupError: it is no whole number.
    """
    key = _MARKS.get(system, "")
    return whole(pod.annotations, key, f"Pod {pod.title}: metadata.annotations") if key in pod.annotations else None


def whole(source: Mapping[str, Any], key: str, where: str) -> int | None:
    """Return a count of pods, None where there is none.

    Raises:
        MalformedGroupError: it is something else.
    """
    value = source.get(key)
    number = (
        int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < _LONG else value
    )
    if number is None or (type(number) is int and 0 <= number <= MOST_PODS):
        return number
    raise MalformedGroupError(f"{where}.{key} is {shown(value)}; it must be a whole number from 0 to {MOST_PODS}")


_LONG: Final = 10
MOST_PODS: Final = 100_000
"""More pods than a group can have; a slip of the keyboard must not be counted one by one."""
