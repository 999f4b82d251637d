"""Judging workloads from manifests: what admission would say of their pods, and what it can never see."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from policy import keys
from policy.admission.defaults import Filled
from policy.admission.finding import Finding, Level
from policy.admission.judge import judge_creation
from policy.admission.levels import Levels
from policy.facts import Facts
from policy.hami.errors import shown
from policy.keys import USER_KEYS
from policy.pod import Container, MalformedObjectError, Pod, read_pod
from webhook.cli.controllers import as_made
from webhook.cli.manifests import Cause, Document, Note
from webhook.cli.templates import Steps, Workload, strays, workloads
from webhook.cluster.shapes import mapping
from webhook.levels.file import LevelsFile

REFUSED: Final = "refused"
ON_OWNER: Final = "annotation-on-owner"
PLACEHOLDERS: Final = ("{{", "${")
"""What stands for a value that is filled in later, by Helm, Argo, envsubst or Flux."""


_FIELD: Final = re.compile(r"(?:\.?[A-Za-z]+|\[[^]]+\])+")
_STEP: Final = re.compile(r"([A-Za-z]+)|\[([^]]+)\]")
_RANKS: Final = (Level.ENFORCE, Level.WARN, Level.AUDIT)


@dataclass(frozen=True, slots=True)
class Located:
    """A finding, and where in the manifest it is about.

    Attributes:
        line: in the file, from 1.
        container: the container that it is about, empty for the pod as a whole.
    """

    finding: Finding
    line: int
    container: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said of one pod or template.

    Attributes:
        line: where it begins.
        namespace: where its pods would be.
        found: refusals first, those of a level by line.
        filled: what would be filled in.
    """

    document: Document
    workload: Workload
    line: int
    namespace: str
    found: tuple[Located, ...]
    filled: Filled

    @property
    def title(self) -> str:
        """Kind, namespace and name of what is applied."""
        return f"{self.workload.kind} {self.namespace}/{self.workload.name}"

    @property
    def verdict(self) -> str:
        """`refused`, `warned` or `allowed`: the worst that follows."""
        levels = {located.finding.level for located in self.found}
        if Level.ENFORCE in levels:
            return REFUSED
        return "warned" if Level.WARN in levels else "allowed"


@dataclass(frozen=True, slots=True)
class Judge:
    """What manifests are judged by.

    Attributes:
        levels: the policy file.
        facts: the cluster, None where nothing is known of it.
        namespace: of manifests that name none.
        now: seconds since the epoch, for exemptions that expire.
    """

    levels: LevelsFile
    facts: Facts | None
    namespace: str
    now: float

    def judge(self, document: Document) -> Iterator[Judged | Note]:
        """Judge every pod and template in a document; one that cannot be read or judged is noted."""
        for workload in workloads(document.value):
            place = (*workload.base, *workload.steps)
            try:
                yield self._judge(document, workload, document.line(place))
            except MalformedObjectError as error:
                line = document.line((*place, *_named_steps(str(error))))
                yield Note(document.file, line, Cause.UNREADABLE, f"{workload.kind} {workload.name}: {error}")
        for stray in strays(document.value, self.levels.operator.hami.resources):
            yield Note(document.file, document.line(stray.steps), Cause.UNKNOWN, f"not judged: {stray.text}")

    def _judge(self, document: Document, workload: Workload, line: int) -> Judged | Note:
        namespace = workload.namespace or self.namespace
        source = workload.pod(namespace)
        pod = as_made(workload, read_pod(source, namespace))
        unknown = _placeholder(pod)
        if unknown:
            text = (
                f"{workload.kind} {workload.name}: {unknown} is filled in later, so it is not judged; render it first"
            )
            return Note(document.file, line, Cause.UNRENDERED, text)
        labels = self.facts.namespaces.get(namespace, {}) if self.facts else {}
        levels = self.levels.levels(namespace, labels, pod.labels, self.now)
        verdict = judge_creation(pod, source, self.levels.operator, levels, self.facts, fresh=True)
        found = [_locate(finding, document, workload, pod) for finding in verdict.findings]
        found += _on_owner(document, workload, pod, levels)
        found.sort(key=rank)
        return Judged(document, workload, line, namespace, tuple(found), verdict.filled)


def rank(located: Located) -> tuple[int, int]:
    """Sort findings by: refusals first, then as they stand in the file."""
    return _RANKS.index(located.finding.level), located.line


def _named_steps(error: str) -> Steps:
    """Return what leads to the field that an error about an object begins with: `spec.containers[0].name must …`."""
    named = _FIELD.match(error)
    if named is None:
        return ()
    steps = (name or key for name, key in _STEP.findall(named[0]))
    return tuple(int(step) if step.isdecimal() else step for step in steps)


def _placeholder(pod: Pod) -> str:
    """Name the first annotation that rules read, or amount, whose value nobody knows yet; empty if all are known."""
    named: list[tuple[str, object]] = [item for item in pod.annotations.items() if item[0] in USER_KEYS]
    named += [item for each in pod.containers for part in (each.limits, each.requests) for item in part.items()]
    for name, value in named:
        if isinstance(value, str) and any(mark in value for mark in PLACEHOLDERS):
            return f"{name} {shown(value)}"
    return ""


def _locate(finding: Finding, document: Document, workload: Workload, pod: Pod) -> Located:
    """Find the line by what the message names: an annotation, else a container and its resource."""
    container = next((each for each in pod.containers if f'container "{each.name}"' in finding.message), None)
    steps = (*workload.base, *workload.steps, *_subject(finding.message, pod, container))
    return Located(finding, document.line(steps), container.name if container else "")


def _subject(message: str, pod: Pod, container: Container | None) -> Steps:
    key = _first_named(message, pod.annotations)
    if key:
        return ("metadata", "annotations", key)
    if container is None:
        return ()
    _, _, group, position = container.path.split("/")
    within: Steps = ("spec", group, int(position))
    for part, amounts in (("limits", container.limits), ("requests", container.requests)):
        resource = _first_named(message, amounts)
        if resource:
            return (*within, "resources", part, resource)
    return within


def _first_named(message: str, names: Mapping[str, Any]) -> str:
    places = {name: re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)", message) for name in names}
    return min((place.start(), name) for name, place in places.items() if place)[1] if any(places.values()) else ""


def _on_owner(document: Document, workload: Workload, pod: Pod, levels: Levels) -> Iterator[Located]:
    """HAMi's keys on what keeps the template, where no pod gets them, and not on the template itself."""
    level = levels.by_code[ON_OWNER]
    if level is Level.OFF:
        return
    for steps, key in _owner_keys(workload):
        if key not in pod.annotations:
            message = (
                f"{key} stands on the {workload.kind} and not on its pods; "
                f"move it to {'.'.join(map(str, workload.steps))}.metadata.annotations."
            )
            line = document.line((*workload.base, *steps, "metadata", "annotations", key))
            yield Located(Finding(ON_OWNER, level, message), line)


def _owner_keys(workload: Workload) -> Iterator[tuple[Steps, str]]:
    """HAMi's keys on the owner and on what lies between it and the template."""
    holder: Any = workload.owner
    for depth, step in enumerate(workload.steps):
        if isinstance(holder, dict):
            annotations = mapping(mapping(holder.get("metadata")).get("annotations"))
            yield from ((workload.steps[:depth], key) for key in keys.USER_KEYS if key in annotations)
        holder = holder[step]
