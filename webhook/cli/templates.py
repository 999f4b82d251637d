"""Finding pods, and templates of pods wherever a workload keeps them."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
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

_QUANTITIES: Final = (("resources", "limits"), ("resources", "requests"))


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
        return _name(self.owner)

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


def _name(owner: Mapping[str, Any]) -> str:
    metadata = mapping(owner.get("metadata"))
    return str(metadata.get("name") or metadata.get("generateName") or "without a name")


def workloads(value: object) -> Iterator[Workload]:
    """Find all pods and templates in a document, lists taken apart."""
    for base, owner in objects(value):
        yield from _of_object(owner, base)


def objects(value: object, base: Steps = ()) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """Find the objects of a document, each with where it stands, lists taken apart."""
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from objects(item, (*base, position))
    elif isinstance(value, dict) and is_list(value):
        for position, item in enumerate(items(value)):
            yield from objects(item, (*base, "items", position))
    elif isinstance(value, dict):
        yield base, value


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


@dataclass(frozen=True, slots=True)
class Stray:
    """A quantity in an object that is neither in a pod nor in a template of pods.

    Attributes:
        steps: where its limits or requests stand in the document.
        text: for people.
    """

    steps: Steps
    text: str


def strays(value: object, resources: Collection[str]) -> Iterator[Stray]:
    """Find the objects that ask for one of ``resources`` outside of their templates, each once."""
    for base, owner in objects(value):
        known = {workload.steps for workload in _of_object(owner, base)}
        for steps, resource in islice(_asks(owner, (), known, resources), 1):
            place = ".".join(map(str, steps))
            text = f"{owner.get('kind')} {_name(owner)} asks for {resource} in {place}, which is in no pod template"
            yield Stray((*base, *steps, resource), text)


def _asks(
    value: object, steps: Steps, known: Collection[Steps], resources: Collection[str]
) -> Iterator[tuple[Steps, str]]:
    if steps in known:
        return
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from _asks(item, (*steps, position), known, resources)
    elif isinstance(value, dict):
        if steps[-2:] in _QUANTITIES:
            yield from ((steps, key) for key in value if key in resources)
        for key, item in value.items():
            yield from _asks(item, (*steps, key), known, resources)
