"""The cluster door: all that the rest of numafit knows of a cluster.

A file and a live cluster fill the same facts behind it, and nothing outside this package asks which one it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from policy.facts import Facts, Kubelet, Reservation
from policy.hami.request import HamiConfig
from policy.pod import Pod


class ClusterError(Exception):
    """A cluster cannot be read or written as asked.

    ClusterError
    ├── UnreadableFileError   a file is missing, is neither JSON nor YAML, or holds no Kubernetes objects
    ├── RejectedObjectError   an object cannot be created, replaced or deleted as asked
    └── UnreachableError      an API server did not answer, or refused what numafit needs to read
    """


class UnreadableFileError(ClusterError):
    """A file is missing, is neither JSON nor YAML, or holds no Kubernetes objects."""


class RejectedObjectError(ClusterError):
    """An object cannot be created, replaced or deleted as asked."""


class UnreachableError(ClusterError):
    """An API server did not answer, or refused what numafit needs to read."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What the operator says of the kubelets of some nodes.

    Attributes:
        match_labels: labels that a node must carry to be meant; empty means every node.
        kubelet: what is said; None fields say nothing.
    """

    match_labels: Mapping[str, str]
    kubelet: Kubelet


@dataclass(frozen=True, slots=True)
class Expected:
    """What must still hold when a decision is committed.

    Attributes:
        pod: the pod as the decision saw it. Namespace, name and UID must be the same, and so must its
            resourceVersion unless it is empty.
        facts: what the decision was made from. Nothing may have changed since on the node of the new reservation,
            nor in the use of a quota that it counts against: two decisions from the same facts would otherwise
            book one share twice.
    """

    pod: Pod
    facts: Facts


@dataclass(frozen=True, slots=True)
class Change:
    """One write to one pod.

    Attributes:
        annotations: set or replaced, all at once; others stay.
        reservation: what the pod holds afterwards.
        labels: set or replaced; others stay.
        bind_to: node to bind the pod to, empty to leave its binding alone.
    """

    annotations: Mapping[str, str]
    reservation: Reservation
    labels: Mapping[str, str] = field(default_factory=dict)
    bind_to: str = ""


@dataclass(frozen=True, slots=True)
class Committed:
    """The change was made; `pod` is the pod as it is now."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing was written: the pod is gone, is another one or was changed meanwhile."""

    reason: str


@dataclass(frozen=True, slots=True)
class Outdated:
    """Nothing was written: what the decision was made from has changed. Fresh facts allow a new decision."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Nobody knows whether it was written: the pod must be read again (docs/decisions.md 10)."""

    reason: str


Outcome = Committed | Conflict | Outdated | Ambiguous


class EventType(StrEnum):
    """Kubernetes' two types of events."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that people see at a pod.

    Attributes:
        reason: one word in UpperCamelCase, e.g. `NumaRefitSucceed`.
        component: who says so.
    """

    type: EventType
    reason: str
    message: str
    namespace: str
    name: str
    uid: str
    component: str


class Cluster(Protocol):
    """The door itself. Every method may be called from any thread."""

    def facts(self) -> Facts:
        """What is known now: one frozen value, read without a lock."""

    def problems(self) -> Sequence[str]:
        """What could not be read, one sentence each: kind, namespace, name and why."""

    def is_stale(self, max_age: float) -> bool:
        """Tell whether the facts are older than ``max_age`` seconds; those of a file never are."""

    def declare(self, declared: Sequence[Declared], config: HamiConfig) -> None:
        """Take over what the operator says of kubelets and of HAMi, in the place of what was said before."""

    def pod(self, namespace: str, name: str) -> Pod | None:
        """Read one pod anew, past the facts; None if it does not exist.

        Raises:
            UnreachableError: nobody answered.
        """

    def commit(self, expected: Expected, change: Change) -> Outcome:
        """Write ``change`` if ``expected`` still holds, and hold its reservation in the facts from then on."""

    def record(self, event: Event) -> None:
        """Tell people something. Returns at once; repetitions are folded, and a failure is never an error."""

    def close(self) -> None:
        """Let go of connections and threads."""
