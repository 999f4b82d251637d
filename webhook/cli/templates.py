"""Finding pods, and templates of pods wherever a workload keeps them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from policy.admission.defaults import escape
from webhook.cluster.documents import is_list, items
from webhook.cluster.shapes import mapping

Steps = tuple[str | int, ...]
"""Keys and positions that lead from the top of something to a part of it."""

MAKERS: Final[Mapping[str, str]] = {
    "CronJob": "Job",
    "Deployment": "ReplicaSet",
    "DeploymentConfig": "ReplicationController",
    "JobSet": "Job",
    "LeaderWorkerSet": "StatefulSet",
    "Pod": "",
    "PodTemplate": "",
    "RayJob": "RayCluster",
    "RayService": "RayCluster",
    "Rollout": "ReplicaSet",
    "Service": "ReplicaSet",
}
"""Kinds whose pods another controller makes (Knative's Service among them), or none; all others make their own."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A pod, or a template of pods, within a document.

    Attributes:
        owner: the object that is applied: the pod itself, or what keeps the template.
        base: where it stands in the document.
        steps: where the pod or template stands in the owner; empty for a pod.
        source: the pod or template itself.
    """

    owner: Mapping[str, Any]
    base: Steps
    steps: Steps
    source: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The owner's kind."""
        return str(self.owner.get("kind"))

    @property
    def name(self) -> str:
        """The owner's name, or the beginning of a name that is made up when it is applied."""
        metadata = mapping(self.owner.get("metadata"))
        return str(metadata.get("name") or metadata.get("generateName") or "without a name")

    @property
    def namespace(self) -> str:
        """The owner's namespace, empty where it names none."""
        return str(mapping(self.owner.get("metadata")).get("namespace") or "")

    @property
    def path(self) -> str:
        """JSON pointer to the pod or template in its owner, empty for a pod."""
        return "".join(f"/{escape(str(step))}" for step in self.steps)

    @property
    def maker(self) -> str:
        """The kind of the controller that makes the pods, empty for a pod by itself.

        Some kinds keep whole objects (Katib's Experiment a Job): the innermost one counts.
        """
        kind, part = self.kind, cast("Any", self.owner)
        for step in self.steps:
            part = part[step]
            if isinstance(part, dict) and isinstance(part.get("apiVersion"), str):
                kind = str(part.get("kind"))
        return MAKERS.get(kind, kind)

    def pod(self, namespace: str) -> dict[str, Any]:
        """The pod that comes of it, as a plain object; what is a template is handed on with its parts as they are."""
        if not self.steps:
            return dict(self.owner)
        metadata = self.source.get("metadata") or {}
        if isinstance(metadata, dict):
            owners = [{"kind": self.maker, "name": self.name, "controller": True}] if self.maker else []
            made = {"namespace": namespace, "generateName": f"{self.name}-", "ownerReferences": owners}
            metadata = {**metadata, **made}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": self.source.get("spec")}


def workloads(value: object, base: Steps = ()) -> Iterator[Workload]:
    """Find all pods and templates in a document, lists taken apart."""
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from workloads(item, (*base, position))
    elif isinstance(value, dict) and is_list(value):
        for position, item in enumerate(items(value)):
            yield from workloads(item, (*base, "items", position))
    elif isinstance(value, dict):
        yield from _of_object(value, base)


def _of_object(owner: Mapping[str, Any], base: Steps) -> Iterator[Workload]:
    if owner.get("kind") == "Pod" and owner.get("apiVersion") == "v1":
        yield Workload(owner, base, (), owner)
        return
    for key, value in owner.items():
        for steps, source in _templates(value, (key,)):
            yield Workload(owner, base, steps, source)


def _templates(value: object, steps: Steps) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """Whatever has `spec.containers` below the top is a template, however its key is called."""
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from _templates(item, (*steps, position))
    elif isinstance(value, dict):
        if isinstance(mapping(value.get("spec")).get("containers"), list):
            yield steps, value
            return
        for key, item in value.items():
            yield from _templates(item, (*steps, key))
