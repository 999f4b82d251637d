"""A pod as the engine sees it: read from a plain Kubernetes object, never written back to one.

Only what rules, fit and accounting need is read; everything else stays in the object that the caller holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class MalformedObjectError(ValueError):
    """An object lacks the shape that Kubernetes gives it; the text names the path and what was seen."""


class Phase(StrEnum):
    """When a container of a pod runs."""

    INIT = "init"
    SIDECAR = "sidecar"
    APP = "app"


@dataclass(frozen=True, slots=True)
class Container:
    """One container.

    Attributes:
        name: its name.
        phase: when it runs; a sidecar is an init container with restartPolicy Always.
        path: JSON pointer of the container in the pod, e.g. `/spec/initContainers/0`.
        limits: resource name -> quantity as written.
        requests: the same for requests.
        env: the environment entries as written.
        privileged: whether its security context asks for privileged mode.
        ended: whether its status says that it terminated with exit code 0.
    """

    name: str
    phase: Phase
    path: str
    limits: Mapping[str, object]
    requests: Mapping[str, object]
    env: tuple[Mapping[str, Any], ...] = ()
    privileged: bool = False
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod.

    Attributes:
        containers: init containers (sidecars among them) in spec order, then app containers: the position in
            this tuple is the position in HAMi's annotation values.
        owner_kind: kind of the controller that made the pod, empty if none did.
        group: the gang that the pod joins, empty if none.
        pod_level_resources: whether `spec.resources` asks for anything.
        affinity: `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`, empty if none.
        status_phase: `status.phase`.
        terminating: whether a deletion timestamp is set.
    """

    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    containers: tuple[Container, ...] = ()
    scheduler_name: str = ""
    node_name: str = ""
    runtime_class: str = ""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: Mapping[str, Any] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    owner_kind: str = ""
    group: str = ""
    pod_level_resources: bool = False
    status_phase: str = ""
    terminating: bool = False

    @property
    def title(self) -> str:
        """Namespace and name for people; pods that a controller makes have a generated or no name yet."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


GROUP_LABELS: Final = (
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "kueue.x-k8s.io/pod-group-name",
    "kai.scheduler/subgroup-name",
    "grove.io/podgang",
)
"""Labels by which a pod joins a gang (Coscheduling, Koordinator, Kueue, KAI, Grove)."""

GROUP_ANNOTATIONS: Final = (
    "scheduling.k8s.io/group-name",
    "scheduling.volcano.sh/group-name",
    "pod-group-name",
    "gang.scheduling.koordinator.sh/name",
)
"""Annotations by which a pod joins a gang (Volcano, KAI, Koordinator)."""


def read_pod(source: object, namespace: str = "") -> Pod:
    """Read a pod from a plain object.

    Args:
        source: the pod as decoded from JSON or YAML.
        namespace: what to use where the object has none; pods of controllers reach admission without one.

    Raises:
        MalformedObjectError: a field that the engine reads has another type than Kubernetes gives it.
    """
    obj = _mapping(source, "pod")
    meta = _mapping(obj.get("metadata"), "metadata")
    spec = _mapping(obj.get("spec"), "spec")
    status = _mapping(obj.get("status"), "status")
    annotations = _strings(meta.get("annotations"), "metadata.annotations")
    labels = _strings(meta.get("labels"), "metadata.labels")
    return Pod(
        namespace=_text(meta, "namespace", "metadata") or namespace,
        name=_text(meta, "name", "metadata") or _text(meta, "generateName", "metadata"),
        uid=_text(meta, "uid", "metadata"),
        resource_version=_text(meta, "resourceVersion", "metadata"),
        annotations=annotations,
        labels=labels,
        containers=_containers(spec, _ended(status)),
        scheduler_name=_text(spec, "schedulerName", "spec"),
        node_name=_text(spec, "nodeName", "spec"),
        runtime_class=_text(spec, "runtimeClassName", "spec"),
        node_selector=_strings(spec.get("nodeSelector"), "spec.nodeSelector"),
        affinity=_required_node_affinity(spec),
        tolerations=_mappings(spec.get("tolerations"), "spec.tolerations"),
        owner_kind=_controller_kind(meta),
        group=_group(annotations, labels, spec),
        pod_level_resources=_asks_for_anything(spec),
        status_phase=_text(status, "phase", "status"),
        terminating=meta.get("deletionTimestamp") is not None,
    )


def _containers(spec: Mapping[str, Any], ended: frozenset[str]) -> tuple[Container, ...]:
    found: list[Container] = []
    for key in ("initContainers", "containers"):
        raw = spec.get(key)
        if raw is None:
            continue
        if not isinstance(raw, list):
            raise _wrong(f"spec.{key}", "a list", raw)
        found.extend(_container(item, key, position, ended) for position, item in enumerate(raw))
    return tuple(found)


def _container(source: object, key: str, position: int, ended: frozenset[str]) -> Container:
    where = f"spec.{key}[{position}]"
    raw = _mapping(source, where)
    resources = _mapping(raw.get("resources"), f"{where}.resources")
    security = _mapping(raw.get("securityContext"), f"{where}.securityContext")
    name = _text(raw, "name", where)
    if key == "containers":
        phase = Phase.APP
    else:
        phase = Phase.SIDECAR if raw.get("restartPolicy") == "Always" else Phase.INIT
    return Container(
        name=name,
        phase=phase,
        path=f"/spec/{key}/{position}",
        limits=_mapping(resources.get("limits"), f"{where}.resources.limits"),
        requests=_mapping(resources.get("requests"), f"{where}.resources.requests"),
        env=_mappings(raw.get("env"), f"{where}.env"),
        privileged=security.get("privileged") is True,
        ended=phase is Phase.INIT and name in ended,
    )


def _ended(status: Mapping[str, Any]) -> frozenset[str]:
    statuses = _mappings(status.get("initContainerStatuses"), "status.initContainerStatuses")
    return frozenset(str(item.get("name")) for item in statuses if _terminated_well(item))


def _terminated_well(item: Mapping[str, Any]) -> bool:
    state = item.get("state")
    terminated = state.get("terminated") if isinstance(state, dict) else None
    return isinstance(terminated, dict) and terminated.get("exitCode") == 0


def _required_node_affinity(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    where = "spec.affinity"
    affinity = _mapping(spec.get("affinity"), where)
    node = _mapping(affinity.get("nodeAffinity"), f"{where}.nodeAffinity")
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return _mapping(node.get(key), f"{where}.nodeAffinity.{key}")


def _controller_kind(meta: Mapping[str, Any]) -> str:
    owners = _mappings(meta.get("ownerReferences"), "metadata.ownerReferences")
    return next((str(owner.get("kind", "")) for owner in owners if owner.get("controller") is True), "")


def _group(annotations: Mapping[str, str], labels: Mapping[str, str], spec: Mapping[str, Any]) -> str:
    for key in GROUP_LABELS:
        if labels.get(key):
            return labels[key]
    for key in GROUP_ANNOTATIONS:
        if annotations.get(key):
            return annotations[key]
    for holder, key in (("schedulingGroup", "podGroupName"), ("workloadRef", "name")):
        name = _mapping(spec.get(holder), f"spec.{holder}").get(key)
        if name:
            return str(name)
    return ""


def _asks_for_anything(spec: Mapping[str, Any]) -> bool:
    resources = _mapping(spec.get("resources"), "spec.resources")
    return bool(resources.get("limits") or resources.get("requests"))


_EMPTY: Final[Mapping[str, Any]] = {}


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    if value is None:
        return _EMPTY
    raise _wrong(where, "an object", value)


def _mappings(value: object, where: str) -> tuple[Mapping[str, Any], ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _wrong(where, "a list", value)
    return tuple(_mapping(item, f"{where}[{position}]") for position, item in enumerate(value))


def _strings(value: object, where: str) -> Mapping[str, str]:
    found = _mapping(value, where)
    for key, item in found.items():
        if type(item) is not str:
            raise _wrong(f"{where}[{key}]", "text", item)
    return found


def _text(source: Mapping[str, Any], key: str, where: str) -> str:
    value = source.get(key)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise _wrong(f"{where}.{key}", "text", value)


def _wrong(where: str, wanted: str, seen: object) -> MalformedObjectError:
    return MalformedObjectError(f"{where} must be {wanted}, not {type(seen).__name__} {str(seen)[:40]!r}")
