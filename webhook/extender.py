"""`POST /filter` and `POST /bind`: kube-scheduler's extender calls (Kubernetes: scheduler extender v1).

Filter places a pod, writes its reservation and passes the one chosen node; bind marks it as being allocated and binds
it. Answers are HTTP 200 with `error` in the body, which kube-scheduler shows on the pod.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from policy.hami.errors import shown
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
            given, nodes = _pod(args.pod), _Nodes.of(args)
            if self.take_in is not None and self.cluster.pod(given.namespace, given.name) is None:
                self.take_in(args.pod)
            return self._place(given, nodes)
        except (msgspec.MsgspecError, MalformedObjectError, RecursionError, ClusterError) as error:
            return _error(f"the pod cannot be placed: {error}")

    def _place(self, given: Pod, nodes: "_Nodes") -> Answer:
        """Place the pod as the cluster holds it: the scheduler's copy may be older, and its version is not ours."""
        until = time.monotonic() + BUDGET_SECONDS
        while time.monotonic() < until:
            facts, rules = self.cluster.facts(), self.rules()
            pod = self.cluster.pod(given.namespace, given.name)
            if pod is None or pod.uid != given.uid:
                return _error(
                    f"pod {given.title} with UID {shown(given.uid)} is not there; another one may have its name"
                )
            if pod.node_name:
                return _error(f"pod {pod.title} is bound to node {pod.node_name} already; it keeps what it holds")
            placement = place(pod, facts, nodes.names, rules.hami, rules.order, int(self.clock()))
            if placement.reservation is None:
                return self._unplaced(pod, nodes, placement)
            change = Change(placement.annotations, placement.reservation, placement.labels)
            outcome = self.cluster.commit(Expected(pod, facts), change)
            if isinstance(outcome, Committed):
                node = placement.reservation.node
                self._tell(pod, EventType.NORMAL, "FilteringSucceed", f"placed on node {node}")
                return _passed(pod, nodes, [node], placement, "placed")
            if isinstance(outcome, Ambiguous):
                return _error(outcome.reason)
        return _error("others wrote first until the time was up; ask again")

    def _unplaced(self, pod: Pod, nodes: "_Nodes", placement: Placement) -> Answer:
        if placement.problem:
            return _error(placement.problem)
        if not placement.asks:
            return _passed(pod, nodes, nodes.names, placement, "no-gpu")
        self._tell(pod, EventType.WARNING, "FilteringFailed", _summary(placement))
        return _passed(pod, nodes, [], placement, "nowhere")

    def _tell(self, pod: Pod, kind: EventType, reason: str, message: str) -> None:
        self.cluster.record(Event(kind, reason, message, pod.namespace, pod.name, pod.uid, COMPONENT))


def _pod(source: object) -> Pod:
    pod = read_pod(source)
    if not (pod.namespace and pod.name and pod.uid):
        raise MalformedObjectError("metadata lacks namespace, name or uid; send the pod as the API server holds it")
    return pod


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The nodes to choose from, and how they were named: the answer names them the same way.

    Attributes:
        objects: by name, where the scheduler sent whole nodes because it was not told `nodeCacheCapable: true`.
    """

    names: list[str]
    objects: Mapping[str, object] | None = None

    @classmethod
    def of(cls, args: _FilterArgs) -> "_Nodes":
        if args.nodenames is not None:
            return cls(args.nodenames)
        found = args.nodes.get("items") if isinstance(args.nodes, dict) else None
        if not isinstance(found, list):
            raise MalformedObjectError("nodenames and nodes are missing; name the nodes to choose from")
        objects = {_name(node): node for node in found}
        return cls(list(objects), objects)

    def answer(self, names: list[str]) -> dict[str, object]:
        """Return the part of the answer that passes the nodes ``names``."""
        if self.objects is None:
            return {"nodenames": names}
        return {"nodes": {"items": [self.objects[name] for name in names]}}


def _name(node: object) -> str:
    meta = node.get("metadata") if isinstance(node, dict) else None
    name = meta.get("name") if isinstance(meta, dict) else None
    if not isinstance(name, str):
        raise MalformedObjectError("an item of nodes has no name")
    return name


def _passed(pod: Pod, nodes: _Nodes, passed: list[str], placement: Placement, verdict: str) -> Answer:
    why = {name: verdict.reason or "another node was chosen" for name, verdict in placement.verdicts.items()}
    failed = {name: reason for name, reason in why.items() if name not in passed}
    line = {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid, "nodes": len(passed)}
    if verdict == "placed":
        line["node"] = passed[0]
    return Answer(200, _ENCODE({**nodes.answer(passed), "failedNodes": failed}), JSON, verdict, line)


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
        until = time.monotonic() + BUDGET_SECONDS
        while time.monotonic() < until:
            facts = self.cluster.facts()
            held = facts.reservation(args.podUID)
            if held is None or (held.pod.namespace, held.pod.name) != (args.podNamespace, args.podName):
                title = shown(f"{args.podNamespace}/{args.podName}")
                return f"pod {title} with UID {shown(args.podUID)} holds no reservation; filter it first"
            if held.node != args.node:
                return f"pod {held.pod.title} holds its cards on node {held.node}, not on {shown(args.node)}"
            if held.pod.node_name == args.node:
                return ""  # bound by an earlier call; what the device plugin marked since stays
            if held.pod.node_name:
                return f"pod {held.pod.title} is bound to node {held.pod.node_name} already, not to {args.node}"
            marks = {BIND_PHASE: "allocating", BIND_TIME: str(int(self.clock()))}
            outcome = self.cluster.commit(Expected(held.pod, facts), Change(marks, held, bind_to=args.node))
            if isinstance(outcome, Committed):
                return ""
            if isinstance(outcome, Ambiguous):
                return outcome.reason
        return "others wrote first until the time was up; ask again"
