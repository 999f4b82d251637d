"""`POST /webhook`: an AdmissionReview in, an answer out.

Answers are HTTP 200 with the verdict inside. Only what cannot be read as an AdmissionReview gets another status, so
that the API server's failurePolicy decides about the pod.
"""

import base64
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from policy.admission.case import Operator
from policy.admission.judge import Verdict, judge_creation, judge_update
from policy.admission.levels import Levels
from policy.pod import MalformedObjectError, read_pod
from policy.shape import PodShape
from webhook.answer import Answer
from webhook.cluster.interface import Cluster

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"
API_VERSION: Final = "admission.k8s.io/v1"
WARNING_LENGTH: Final = 1024
"""Of one warning; the API server cuts all of them together at 4096."""


class Judging(Protocol):
    """The policy file as admission asks for it."""

    @property
    def operator(self) -> Operator:
        """What the operator of the cluster declared."""

    @property
    def facts_max_age(self) -> float:
        """Seconds after which facts are too old to judge by."""

    def levels(self, namespace: str, labels: Mapping[str, str], pod_labels: Mapping[str, str], now: float) -> Levels:
        """The levels in force for a pod."""


class ReviewError(ValueError):
    """A body is no AdmissionReview that can be answered; the text says what is wrong and what is expected."""


class _User(msgspec.Struct):
    username: str = ""


class _Kind(msgspec.Struct):
    group: str = ""
    kind: str = ""


_Object = TypeVar("_Object")


class Request(msgspec.Struct, Generic[_Object]):
    """The part of an AdmissionRequest that is looked at; everything else is skipped while decoding."""

    uid: str
    operation: str
    kind: _Kind = msgspec.field(default_factory=_Kind)
    namespace: str | None = None
    name: str | None = None
    userInfo: _User = msgspec.field(default_factory=_User)  # noqa: N815 - Kubernetes' name
    object: _Object | None = None
    oldObject: _Object | None = None  # noqa: N815 - Kubernetes' name
    dryRun: bool | None = None  # noqa: N815 - Kubernetes' name


class _Review(msgspec.Struct, Generic[_Object]):
    kind: str
    request: Request[_Object]
    apiVersion: str = ""  # noqa: N815 - Kubernetes' name


_OF_PODS: Final = msgspec.json.Decoder(_Review[PodShape])
"""Skips what is read of no pod, which is most of one."""
_LONG: Final = 512 << 10
_OF_RAW: Final = msgspec.json.Decoder(_Review[msgspec.Raw])
_OF_ANYTHING: Final = msgspec.json.Decoder(_Review[Any])
_ENCODE: Final = msgspec.json.Encoder().encode


def decode(body: bytes) -> Request[Any]:
    """Read an AdmissionReview.

    Raises:
        ReviewError: the body is not JSON, not an AdmissionReview of version v1, or has no UID to answer to.
    """
    try:
        review = _decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        text = f"the body is no AdmissionReview: {error}; send {API_VERSION} as the API server does"
        raise ReviewError(text) from None
    if review.kind != "AdmissionReview" or review.apiVersion != API_VERSION:
        seen = f"{review.apiVersion[:60]!r} {review.kind[:60]!r}"
        raise ReviewError(f"the body is {seen}; send an AdmissionReview of {API_VERSION}")
    if not review.request.uid:
        raise ReviewError("the AdmissionReview's request has no uid; send it as the API server does")
    return review.request


def _decode(body: bytes) -> _Review[Any]:
    """An object of another shape than a pod's is decoded whole: it may be none, or `read_pod` says what is wrong.

    Not where it is long: what is no pod could take a hundred times its length in memory.
    """
    try:
        return _OF_PODS.decode(body)
    except msgspec.ValidationError:
        return (_OF_ANYTHING if len(body) <= _LONG else _OF_RAW).decode(body)


@dataclass(frozen=True, slots=True)
class Admission:
    """The operation behind `/webhook`.

    Attributes:
        cluster: where facts come from.
        judging: the policy file in force, asked anew for each request.
        count: told every finding's code and level.
        limit_bytes: the longest body.
    """

    cluster: Cluster
    judging: Callable[[], Judging]
    count: Callable[[str, str], None]
    limit_bytes: int = 7 << 20
    clock: Callable[[], float] = field(default=time.time)

    def handle(self, body: bytes, headers: Mapping[str, str]) -> Answer:  # noqa: ARG002 - the shell hands them to all
        """Judge one AdmissionReview."""
        try:
            request = decode(body)
            verdict = self.judge(request)
        except (ReviewError, MalformedObjectError) as error:
            return Answer(400, f"{error}\n".encode(), TEXT, "error", {"error": str(error)})
        for finding in verdict.findings:
            self.count(finding.code, finding.level)
        return Answer(200, respond(request.uid, verdict), JSON, _word(verdict), _line(request, verdict))

    def judge(self, request: Request[Any]) -> Verdict:
        """Judge what ``request`` does to a pod; whatever is no pod, and deletions, are none of numafit's business.

        Raises:
            ReviewError: an object is not there.
            MalformedObjectError: an object is no pod, though it says so.
        """
        kind = request.kind
        if (kind.group, kind.kind) != ("", "Pod") or request.operation not in {"CREATE", "UPDATE"}:
            return Verdict()
        judging, namespace = self.judging(), request.namespace or ""
        source = _present(request.object, "object")
        pod = read_pod(source, namespace)
        facts = self.cluster.facts()
        labels = facts.namespaces.get(pod.namespace, {})
        levels = judging.levels(pod.namespace, labels, pod.labels, self.clock())
        if request.operation == "UPDATE":
            old = read_pod(_present(request.oldObject, "oldObject"), namespace)
            return judge_update(pod, old.annotations, request.userInfo.username, judging.operator, levels)
        fresh = not self.cluster.is_stale(judging.facts_max_age)
        return judge_creation(pod, source, judging.operator, levels, facts, fresh=fresh)

    def shed(self) -> Answer:
        """The API server may ask again, or go by its failurePolicy."""
        return _plain(429, "too many requests in hand; ask again", "shed")

    def too_large(self, limit: int) -> Answer:
        """A body over the limit."""
        return _plain(413, f"the body is longer than {limit} bytes", "error")

    def unreadable(self, reason: str) -> Answer:
        """A body that did not arrive whole."""
        return _plain(400, f"the body could not be read: {reason}", "error")

    def failed(self) -> Answer:
        """A fault of numafit's own must not look like a verdict: the API server goes by its failurePolicy."""
        return _plain(422, "numafit could not judge this review; its log says why", "failed")


def _present(source: Any, field: str) -> Any:
    if source is None:
        raise ReviewError(f"the AdmissionReview's request has no {field}; send it as the API server does")
    return source


def _plain(status: int, text: str, verdict: str) -> Answer:
    return Answer(status, f"{text}\n".encode(), TEXT, verdict, {"error": text})


def respond(uid: str, verdict: Verdict) -> bytes:
    """Write the AdmissionReview that answers the request ``uid``."""
    response: dict[str, object] = {"uid": uid, "allowed": verdict.allowed}
    if not verdict.allowed:
        message = "\n".join(finding.text for finding in verdict.refusals)
        response["status"] = {"code": 403, "reason": "Forbidden", "message": message}
    warnings = [finding.text[:WARNING_LENGTH] for finding in verdict.warnings]
    if warnings:
        response["warnings"] = warnings
    if verdict.filled.operations:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(_ENCODE(verdict.filled.operations)).decode("ascii")
    return _ENCODE({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response})


def _word(verdict: Verdict) -> str:
    if not verdict.allowed:
        return "refused"
    return "warned" if verdict.warnings else "allowed"


def _generated_name(source: object) -> str:
    meta = source.get("metadata") if isinstance(source, dict) else None
    prefix = meta.get("generateName") if isinstance(meta, dict) else None
    return f"{prefix}*" if isinstance(prefix, str) else ""


def _line(request: Request[Any], verdict: Verdict) -> Mapping[str, object]:
    """What the decision line says of one review: names and codes, never a whole object."""
    line: dict[str, object] = {
        "operation": request.operation,
        "namespace": request.namespace or "",
        "name": request.name or _generated_name(request.object),
        "uid": request.uid,
    }
    if verdict.findings:
        line["codes"] = [f"{finding.code}/{finding.level}" for finding in verdict.findings]
    if verdict.filled.names:
        line["injected"] = list(verdict.filled.names)
    if request.dryRun:
        line["dry_run"] = True
    return line
