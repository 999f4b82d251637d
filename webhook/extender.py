"""`POST /filter` and `POST /bind`: kube-scheduler's extender calls (Kubernetes: scheduler extender v1).

Filter places a pod, writes its reservation and passes the one chosen node; bind marks it as being allocated and binds
it. Answers are HTTP 200 with `error` in the body, which kube-scheduler shows on the pod.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from policy.keys import BIND_PHASE, BIND_TIME
from policy.placement.place import Placement, place
from policy.pod import MalformedObjectError, Pod, read_pod
from webhook.answer import Answer
from webhook.cluster.interface import (
    Ambiguous,
    Change,
    Cluster,
    ClusterError,
    Committed,
    Conflict,
    Event,
    EventType,
    Expected,
)
from webhook.refit import BUDGET_SECONDS, COMPONENT, Rules
from webhook.review import JSON

LIMIT_BYTES: Final = 64 << 20
"""kube-scheduler may send whole nodes."""

_ENCODE: Final = msgspec.json.Encoder().encode


class _FilterArgs(msgspec.Struct):
    pod: Any
    nodenames: list[str] | None = None
    nodes: Any = None


class _BindArgs(msgspec.Struct):
    podName: str  # noqa: N815 - Kubernetes' name
    podNamespace: str  # noqa: N815 - Kubernetes' name
    podUID: str  # noqa: N815 - Kubernetes' name
    node: str


@dataclass(frozen=True, slots=True)
class _Call:
    """What both operations share: how they answer what never comes to a decision."""

    cluster: Cluster
    rules: Callable[[], Rules]
    clock: Callable[[], float] = field(default=time.time)
    limit_bytes: int = LIMIT_BYTES

    def shed(self) -> Answer:
        """Too much is in hand."""
        return _error("too many requests in hand; ask again")

    def too_large(self, limit: int) -> Answer:
        """A body over the limit."""
        return _error(f"the body is longer than {limit} bytes")

    def unreadable(self, reason: str) -> Answer:
        """A body that did not arrive whole."""
        return _error(f"the body could not be read: {reason}")

    def failed(self) -> Answer:
        """A fault of numafit's own."""
        return _error("numafit could not decide; its log says why")


def _error(text: str) -> Answer:
    return Answer(200, _ENCODE({"error": text}), JSON, "error", {"error": text})


@dataclass(frozen=True, slots=True)
class Filter(_Call):
    """The operation behind `/filter`.

    Attributes:
        take_in: told a pod that the cluster does not hold, for clusters that only know what they were told.
    """

    take_in: Callable[[Mapping[str, Any]], None] | None = None

    def handle(self, body: bytes, headers: Mapping[str, str]) -> Answer:  # noqa: ARG002 - the shell hands them to all
        """Place one pod."""
        try:
            args = msgspec.json.decode(body, type=_FilterArgs)
            return self._place(_pod(args.pod), args.pod, _names(args))
        except (msgspec.MsgspecError, MalformedObjectError, RecursionError, ClusterError) as error:
            return _error(f"the pod cannot be placed: {error}")

    def _place(self, pod: Pod, source: Mapping[str, Any], names: list[str]) -> Answer:
        if self.take_in is not None and self.cluster.pod(pod.namespace, pod.name) is None:
            self.take_in(source)
        until = self.clock() + BUDGET_SECONDS
        while self.clock() < until:
            facts, rules = self.cluster.facts(), self.rules()
            placement = place(pod, facts, names, rules.hami, rules.order, int(self.clock()))
            if placement.problem:
                return _error(placement.problem)
            if not placement.asks:
                return _passed(pod, names, placement, "no-gpu")
            if placement.reservation is None:
                self._tell(pod, EventType.WARNING, "FilteringFailed", _summary(placement))
                return _passed(pod, [], placement, "nowhere")
            change = Change(placement.annotations, placement.reservation, placement.labels)
            outcome = self.cluster.commit(Expected(pod, facts), change)
            if isinstance(outcome, Committed):
                node = placement.reservation.node
                self._tell(pod, EventType.NORMAL, "FilteringSucceed", f"placed on node {node}")
                return _passed(pod, [node], placement, "placed")
            if isinstance(outcome, Conflict | Ambiguous):
                return _error(outcome.reason)
        return _error("others wrote first until the time was up; ask again")

    def _tell(self, pod: Pod, kind: EventType, reason: str, message: str) -> None:
        self.cluster.record(Event(kind, reason, message, pod.namespace, pod.name, pod.uid, COMPONENT))


def _pod(source: object) -> Pod:
    pod = read_pod(source)
    if not pod.uid:
        raise MalformedObjectError("metadata.uid is missing; send the pod as the API server holds it")
    return pod


def _names(args: _FilterArgs) -> list[str]:
    if args.nodenames is not None:
        return args.nodenames
    found = args.nodes.get("items") if isinstance(args.nodes, dict) else None
    if not isinstance(found, list):
        raise MalformedObjectError("nodenames and nodes are missing; name the nodes to choose from")
    return [_name(node) for node in found]


def _name(node: object) -> str:
    meta = node.get("metadata") if isinstance(node, dict) else None
    name = meta.get("name") if isinstance(meta, dict) else None
    if not isinstance(name, str):
        raise MalformedObjectError("an item of nodes has no name")
    return name


def _passed(pod: Pod, names: list[str], placement: Placement, verdict: str) -> Answer:
    failed = {name: verdict.reason or "another node was chosen" for name, verdict in placement.verdicts.items()}
    body = {"nodenames": names, "failedNodes": {name: why for name, why in failed.items() if name not in names}}
    line = {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid, "nodes": names}
    return Answer(200, _ENCODE(body), JSON, verdict, line)


def _summary(placement: Placement) -> str:
    reasons = sorted({verdict.reason for verdict in placement.verdicts.values()})
    return f"no node fits: {'; '.join(reasons)}"


@dataclass(frozen=True, slots=True)
class Bind(_Call):
    """The operation behind `/bind`."""

    def handle(self, body: bytes, headers: Mapping[str, str]) -> Answer:  # noqa: ARG002 - the shell hands them to all
        """Bind one pod to the node of its reservation."""
        try:
            args = msgspec.json.decode(body, type=_BindArgs)
        except (msgspec.MsgspecError, RecursionError) as error:
            return _error(f"the binding cannot be read: {error}")
        line = {"namespace": args.podNamespace, "name": args.podName, "uid": args.podUID, "node": args.node}
        problem = self._bind(args)
        if problem:
            return Answer(200, _ENCODE({"error": problem}), JSON, "error", {**line, "error": problem})
        return Answer(200, _ENCODE({}), JSON, "bound", line)

    def _bind(self, args: _BindArgs) -> str:
        """Bind, and return why it cannot be done, empty if it is."""
        until = self.clock() + BUDGET_SECONDS
        while self.clock() < until:
            facts = self.cluster.facts()
            held = facts.reservation(args.podUID)
            if held is None or (held.pod.namespace, held.pod.name) != (args.podNamespace, args.podName):
                return f"pod {args.podNamespace}/{args.podName} with UID {args.podUID!r} holds no reservation"
            if held.node != args.node:
                return f"pod {held.pod.title} holds its cards on node {held.node}, not on {args.node!r}"
            marks = {BIND_PHASE: "allocating", BIND_TIME: str(int(self.clock()))}
            outcome = self.cluster.commit(Expected(held.pod, facts), Change(marks, held, bind_to=args.node))
            if isinstance(outcome, Committed):
                return ""
            if isinstance(outcome, Conflict | Ambiguous):
                return outcome.reason
        return "others wrote first until the time was up; ask again"
