"""Who calls the refit: a request's bearer token, and what a TokenReview says of it (HAMi: caller authentication)."""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_PREFIX: Final = "Bearer "
POD_NAME: Final = "authentication.kubernetes.io/pod-name"
POD_UID: Final = "authentication.kubernetes.io/pod-uid"


@dataclass(frozen=True, slots=True)
class Unauthenticated:
    """The caller is not the device plugin of the node that it speaks for.

    Attributes:
        code: stable reason code.
        reason: for people; never holds the token.
    """

    code: str
    reason: str


CALLER_CODES: Final[Mapping[str, str]] = {
    "caller-not-configured": "No way to tell callers apart is configured, so none is let in.",
    "caller-no-token": "The request carries no bearer token.",
    "caller-token-invalid": "The token is not one that the device plugin is known by.",
    "caller-not-device-plugin": "The token belongs to somebody else than the device plugin.",
    "caller-token-unbound": "The token is not bound to a pod.",
    "caller-pod-unknown": "The token's pod does not exist any more, or is another one of that name.",
    "caller-wrong-node": "The token's pod runs on another node than the request names.",
}
"""Why a caller is turned away: code -> meaning. Codes never change (docs/stability.md)."""


def bearer(header: str | None) -> str:
    """Return the token of an Authorization header, empty if it has none: the prefix is compared as HAMi does."""
    return header[len(_PREFIX) :] if header is not None and header.startswith(_PREFIX) else ""


@dataclass(frozen=True, slots=True)
class TokenReviewed:
    """What a TokenReview said of a token."""

    authenticated: bool
    username: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallerPod:
    """The pod of the token's name in the device plugin's namespace."""

    uid: str
    node: str


def check_review(
    token: str, review: TokenReviewed, pod: CallerPod | None, node: str, service_account: str
) -> Unauthenticated | None:
    """Return why the bearer of ``token`` may not speak for ``node``, None if it may.

    Args:
        token: as the request carries it.
        review: what the API server says of it.
        pod: the pod that the review names, None if it does not exist.
        node: the node of the request.
        service_account: user name of the device plugin's service account.
    """
    if not token:
        return Unauthenticated("caller-no-token", "caller authentication: the request carries no bearer token")
    if not review.authenticated:
        return Unauthenticated("caller-token-invalid", "caller authentication: the token is not valid")
    if review.username != service_account:
        reason = f"caller authentication: {review.username!r} is not the device plugin, {service_account}"
        return Unauthenticated("caller-not-device-plugin", reason)
    name, uid = (next(iter(review.extra.get(key, ())), "") for key in (POD_NAME, POD_UID))
    if not name or not uid:
        return Unauthenticated("caller-token-unbound", "caller authentication: the token is not bound to a pod")
    if pod is None or pod.uid != uid:
        return Unauthenticated("caller-pod-unknown", f"caller authentication: pod {name!r} of the token is gone")
    if pod.node != node:
        reason = f"caller authentication: pod {name!r} runs on {pod.node!r}, not on {node!r}"
        return Unauthenticated("caller-wrong-node", reason)
    return None


class TokenFile:
    """Callers that share one token, kept in a file: for clusters without an API server to ask."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._token = b""

    def check(self, token: str) -> Unauthenticated | None:
        """Return why the bearer of ``token`` is turned away, None if it is let in. The file is read when it changes.

        The token is compared as it is sent, blanks included (HAMi: bearer prefix). A file that is gone or empty lets
        nobody in.
        """
        if not token:
            return Unauthenticated("caller-no-token", "caller authentication: the request carries no bearer token")
        expected = self._expected()
        if not expected or not hmac.compare_digest(token.encode(errors="replace"), expected):
            return Unauthenticated("caller-token-invalid", "caller authentication: the token is not the expected one")
        return None

    def problem(self) -> str | None:
        """Say why no caller can be let in, None if one can."""
        try:
            return None if self._read() else f"{self._path} is empty; write the token of the device plugins into it"
        except OSError as error:
            return f"{self._path} cannot be read: {error.strerror}"

    def _expected(self) -> bytes:
        try:
            return self._read()
        except OSError:
            return b""

    def _read(self) -> bytes:
        seen = self._path.stat()
        signature = seen.st_mtime_ns, seen.st_ino, seen.st_size
        if signature != self._seen:
            self._token = self._path.read_bytes().strip()
            self._seen = signature
        return self._token
