"""`POST /refit` where numafit owns the accounting: authenticate, decide, commit, answer (docs/decisions.md 9 to 11)."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from policy.facts import Reservation
from policy.hami.request import HamiConfig
from policy.placement.order import Order
from policy.placement.refit import (
    REFIT_CODES,
    Kept,
    Moved,
    RefitRequest,
    Refused,
    check_request,
    decide,
)
from webhook.answer import Answer
from webhook.caller import CALLER_CODES, Unauthenticated, bearer
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
from webhook.refit_wire import MalformedRefitError, failed, read_request, succeeded
from webhook.review import JSON

BUDGET_SECONDS: Final = 1.5
"""For deciding anew after others wrote first; the device plugin gives up after two seconds."""

COMPONENT: Final = "numafit"

WIRE_CODES: Final[Mapping[str, str]] = {
    "refit-malformed": "The body is no refit request.",
    "refit-body-unreadable": "The body did not arrive whole.",
    "refit-too-large": "The body is over the limit.",
    "refit-overloaded": "Too much is in hand; ask again.",
    "refit-contended": "Others wrote first again and again until the time was up; ask again.",
    "refit-unconfirmed": "Nobody knows whether the write was made, and the pod does not show it.",
    "refit-internal": "A fault of numafit's own; its log says more.",
}
"""Why a refit is refused before or after the decision: code -> meaning. Codes never change (docs/stability.md)."""

ALL_CODES: Final[Mapping[str, str]] = {**WIRE_CODES, **CALLER_CODES, **REFIT_CODES}


@dataclass(frozen=True, slots=True)
class Rules:
    """By what a refit is decided: HAMi's configuration and the order in which cards are tried."""

    hami: HamiConfig
    order: Order


@dataclass(frozen=True, slots=True)
class Refit:
    """The operation behind `/refit`.

    Attributes:
        cluster: where facts come from and decisions go.
        rules: asked anew for each request.
        authenticate: says of a bearer token why its caller is turned away, None if it is let in.
        count: told every answer's result and code.
        limit_bytes: the longest body.
    """

    cluster: Cluster
    rules: Callable[[], Rules]
    authenticate: Callable[[str, RefitRequest], Unauthenticated | None]
    count: Callable[[str, str], None]
    limit_bytes: int = 1 << 20

    def handle(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Answer one refit request. What can be refused on sight of it is refused before the caller is asked for."""
        try:
            request = read_request(body)
        except MalformedRefitError as error:
            return self._refuse("refit-malformed", str(error), {})
        line = _line(request)
        refused = check_request(request)
        if refused is not None:
            return self._refuse(refused.code, refused.reason, line)
        stranger = self.authenticate(bearer(headers.get("Authorization")), request)
        if stranger is not None:
            return self._refuse(stranger.code, stranger.reason, line)
        return self._decide(request, line)

    def _decide(self, request: RefitRequest, line: Mapping[str, object]) -> Answer:
        """Decide on what is known now, again and again while others write first."""
        until = time.monotonic() + BUDGET_SECONDS
        while time.monotonic() < until:
            facts, rules = self.cluster.facts(), self.rules()
            decision = decide(request, facts, rules.hami, rules.order)
            if isinstance(decision, Kept):
                return self._answer("kept", decision.container_devices, line)
            before = facts.reservation(request.pod_uid)
            if isinstance(decision, Refused) or before is None:
                return self._refused(decision, before, line)
            change = Change(annotations=decision.annotations, reservation=decision.reservation)
            outcome = self.cluster.commit(Expected(pod=before.pod, facts=facts), change)
            if isinstance(outcome, Committed) or (isinstance(outcome, Ambiguous) and self._is_made(decision)):
                return self._moved(decision, line)
            if isinstance(outcome, Ambiguous):
                return self._refuse("refit-unconfirmed", outcome.reason, line)
        return self._refuse("refit-contended", "others wrote first until the time was up; ask again", line)

    def _is_made(self, moved: Moved) -> bool:
        """Read the pod again and tell whether it is as it was to be (docs/decisions.md 10)."""
        wanted = moved.reservation.pod
        try:
            pod = self.cluster.pod(wanted.namespace, wanted.name)
        except ClusterError:
            return False
        if pod is None or pod.uid != wanted.uid:
            return False
        return all(pod.annotations.get(key) == value for key, value in moved.annotations.items())

    def _moved(self, moved: Moved, line: Mapping[str, object]) -> Answer:
        self._tell(EventType.NORMAL, "NumaRefitSucceed", moved.message, moved.reservation)
        cards = {"old": list(moved.old), "new": list(moved.new)}
        return self._answer("moved", moved.container_devices, {**line, **cards})

    def _refused(self, decision: Moved | Refused, before: Reservation | None, line: Mapping[str, object]) -> Answer:
        if not isinstance(decision, Refused):
            return self._refuse("refit-pod-unknown", REFIT_CODES["refit-pod-unknown"], line)
        if decision.event and before is not None:
            self._tell(EventType.WARNING, "NumaRefitFailed", f"{decision.code}: {decision.reason}", before)
        return self._refuse(decision.code, decision.reason, line)

    def _tell(self, kind: EventType, reason: str, message: str, reservation: Reservation) -> None:
        pod = reservation.pod
        self.cluster.record(Event(kind, reason, message, pod.namespace, pod.name, pod.uid, COMPONENT))

    def _answer(self, result: str, container_devices: str, line: Mapping[str, object]) -> Answer:
        self.count(result, "")
        return Answer(200, succeeded(container_devices), JSON, result, line)

    def _refuse(self, code: str, reason: str, line: Mapping[str, object]) -> Answer:
        self.count("refused", code)
        return Answer(200, failed(code, reason), JSON, "refused", {**line, "codes": [code], "reason": reason})

    def shed(self) -> Answer:
        """Too much is in hand; in band, for any other status is an outage to the plugin."""
        return self._refuse("refit-overloaded", "too many requests in hand; ask again", {})

    def too_large(self, limit: int) -> Answer:
        """A body over the limit."""
        return self._refuse("refit-too-large", f"the body is longer than {limit} bytes", {})

    def unreadable(self, reason: str) -> Answer:
        """A body that did not arrive whole."""
        return self._refuse("refit-body-unreadable", f"the body could not be read: {reason}", {})

    def failed(self) -> Answer:
        """A fault of numafit's own."""
        return self._refuse("refit-internal", "numafit could not decide; its log says why", {})


def _line(request: RefitRequest) -> Mapping[str, object]:
    return {
        "namespace": request.pod_namespace,
        "name": request.pod_name,
        "uid": request.pod_uid,
        "node": request.node_name,
        "container": request.container_index,
        "allowed": len(request.allowed),
    }
