"""A pod as the engine sees it: read from a plain Kubernetes object, never written back to one.

Only what rules, fit and accounting need is read; everything else stays in the object that the caller holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from policy.membership import Membership, gangs, read_memberships
from policy.plain import MalformedObjectError, amounts, mapping, mappings, strings, text

__all__ = [
    "Container",
    "MalformedObjectError",
    "Phase",
    "Pod",
    "read_pod",
]


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


_OVER = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod.

    Attributes:
        containers: init containers (sidecars among them) in spec order, then app containers: the position in
            this tuple is the position in HAMi's annotation values.
        owner_kind: kind of the controller that made the pod, empty if none did.
        memberships: the groups of pods that it says it belongs to.
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
    memberships: tuple[Membership, ...] = ()
    pod_level_resources: bool = False
    status_phase: str = ""
    terminating: bool = False

    @property
    def is_over(self) -> bool:
        """Whether all its containers have ended for good; such a pod holds nothing."""
        return self.status_phase in _OVER

    @property
    def title(self) -> str:
        """Namespace and name for people; pods that a controller makes have a generated or no name yet."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def group(self) -> str:
        """The gang that the pod joins, empty if none."""
        return next((member.name for member in gangs(self.memberships)), "")


def read_pod(source: object, namespace: str = "") -> Pod:
    """Read a pod from a plain object.

    Args:
        source: the pod as decoded from JSON or YAML.
        namespace: what to use where the object has none; pods of controllers reach admission without one.

    Raises:
        MalformedObjectError: a field that the engine reads has another type than Kubernetes gives it.
    """
    obj = mapping(source, "pod")
    meta = mapping(obj.get("metadata"), "metadata")
    spec = mapping(obj.get("spec"), "spec")
    status = mapping(obj.get("status"), "status")
    annotations = strings(meta.get("annotations"), "metadata.annotations")
    labels = strings(meta.get("labels"), "metadata.labels")
    return Pod(
        namespace=text(meta, "namespace", "metadata") or namespace,
        name=text(meta, "name", "metadata") or text(meta, "generateName", "metadata"),
        uid=text(meta, "uid", "metadata"),
        resource_version=text(meta, "resourceVersion", "metadata"),
        annotations=annotations,
        labels=labels,
        containers=_containers(spec, _ended(status)),
        scheduler_name=text(spec, "schedulerName", "spec"),
        node_name=text(spec, "nodeName", "spec"),
        runtime_class=text(spec, "runtimeClassName", "spec"),
        node_selector=strings(spec.get("nodeSelector"), "spec.nodeSelector"),
        affinity=_required_node_affinity(spec),
        tolerations=mappings(spec.get("tolerations"), "spec.tolerations"),
        owner_kind=_controller_kind(meta),
        memberships=read_memberships(annotations, labels, spec),
        pod_level_resources=_asks_for_anything(spec),
        status_phase=text(status, "phase", "status"),
        terminating=meta.get("deletionTimestamp") is not None,
    )


def _containers(spec: Mapping[str, Any], ended: frozenset[str]) -> tuple[Container, ...]:
    return tuple(
        _container(item, key, position, ended)
        for key in ("initContainers", "containers")
        for position, item in enumerate(mappings(spec.get(key), f"spec.{key}"))
    )


def _container(raw: Mapping[str, Any], key: str, position: int, ended: frozenset[str]) -> Container:
    try:
        return _read_container(raw, key, position, ended)
    except MalformedObjectError as error:
        raise MalformedObjectError(f"spec.{key}[{position}].{error}") from None


def _read_container(raw: Mapping[str, Any], key: str, position: int, ended: frozenset[str]) -> Container:
    """Read a container; errors name what is wrong from there on."""
    resources = mapping(raw.get("resources"), "resources")
    security = mapping(raw.get("securityContext"), "securityContext")
    name = text(raw, "name", "")
    early = Phase.SIDECAR if raw.get("restartPolicy") == "Always" else Phase.INIT
    phase = early if key == "initContainers" else Phase.APP
    return Container(
        name=name,
        phase=phase,
        path=f"/spec/{key}/{position}",
        limits=amounts(resources.get("limits"), "resources.limits"),
        requests=amounts(resources.get("requests"), "resources.requests"),
        env=mappings(raw.get("env"), "env"),
        privileged=security.get("privileged") is True,
        ended=phase is Phase.INIT and name in ended,
    )


def _ended(status: Mapping[str, Any]) -> frozenset[str]:
    where = "status.initContainerStatuses"
    statuses = mappings(status.get("initContainerStatuses"), where)
    return frozenset(text(item, "name", where) for item in statuses if _terminated_well(item))


def _terminated_well(item: Mapping[str, Any]) -> bool:
    state = item.get("state")
    terminated = state.get("terminated") if isinstance(state, dict) else None
    return isinstance(terminated, dict) and terminated.get("exitCode") == 0


def _required_node_affinity(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    where = "spec.affinity"
    affinity = mapping(spec.get("affinity"), where)
    node = mapping(affinity.get("nodeAffinity"), f"{where}.nodeAffinity")
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return mapping(node.get(key), f"{where}.nodeAffinity.{key}")


def _controller_kind(meta: Mapping[str, Any]) -> str:
    where = "metadata.ownerReferences"
    owners = mappings(meta.get("ownerReferences"), where)
    return next((text(owner, "kind", where) for owner in owners if owner.get("controller") is True), "")


def _asks_for_anything(spec: Mapping[str, Any]) -> bool:
    resources = mapping(spec.get("resources"), "spec.resources")
    return bool(resources.get("limits") or resources.get("requests"))
