"""A TLS socket that knows until when its peer may take its time.

gunicorn's threads wait on a socket without an end, and a time-out of a socket starts anew with each byte. Here every
read and write keeps to one deadline, so that a client that sends a byte a second holds a thread no longer than one
that sends nothing. A wait is cut into steps, after each of which the clock is looked at: to set the time-out of each
wait, or to switch the socket between blocking and not as gunicorn does, would be a handful of system calls a request.
"""

import errno
import logging
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from webhook.settings import Deadlines

LINGER_SECONDS = 2.0
"""How long an answered connection is listened to before it is closed, so that a reset cannot overtake the answer."""

CERTIFICATE_REFUSED = "certificate-refused"
"""The reason of a handshake that a client ended because it does not trust the certificate."""

STEP_SECONDS = 0.25
"""How long a wait lasts before it looks at the clock, so how late a deadline may be noticed at most."""

_log = logging.getLogger(__name__)


class OverdueError(ConnectionResetError):
    """The peer took longer than it may. A reset, so that gunicorn closes the connection without a word."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.ECONNRESET, what)

    def __str__(self) -> str:
        return str(self.strerror)


class BoundedSocket(ssl.SSLSocket):
    """Made by `bounded`, through `ssl.SSLContext.sslsocket_class`."""

    deadlines: ClassVar[Deadlines]
    handshake_failed: ClassVar[Callable[[str], None]]

    cut = False
    request: Any = None
    _until = 0.0
    _held: bytearray | None = None

    def allow(self, seconds: float) -> None:
        """Set the deadline for all that is read and written from now on."""
        self._until = time.monotonic() + seconds

    def close_after_answer(self) -> None:
        """Say `Connection: close` with the answer: what the client still sends is no request."""
        if self.request is not None:
            self.request.force_close()

    def settimeout(self, value: float | None) -> None:
        """Nothing: the deadline counts, whatever gunicorn says of time-outs; so for `setblocking`."""

    def setblocking(self, flag: bool) -> None:
        """Nothing."""

    def do_handshake(self, block: bool = False) -> None:
        """Shake hands within the deadline; the header's begins when it is done."""
        super().settimeout(self.deadlines.handshake)
        peer = self._peer()  # asked now: who refuses our certificate is gone when that is known
        try:
            super().do_handshake(block)
        except OSError as failure:
            self.cut = True
            reason = _reason(failure)
            if reason == CERTIFICATE_REFUSED:
                _log.warning("the client %s does not trust the certificate that is served: %s", peer, failure)
            type(self).handshake_failed(reason)
            raise OverdueError(f"TLS handshake: {failure}") from failure
        super().settimeout(STEP_SECONDS)
        self.allow(self.deadlines.header)

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Read before the deadline."""
        while True:
            self._check("not received in time")
            with suppress(TimeoutError):
                return super().recv(buflen, flags)

    def send(self, data: Any, flags: int = 0) -> int:
        """Write before the deadline; sendall is made of this."""
        while True:
            self._check("the answer was not taken in time")
            with suppress(TimeoutError):
                return super().send(data, flags)

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Write all of it before the answer's deadline, or with what else is written `together`."""
        if self._held is not None:
            self._held += data
            return
        self.allow(self.deadlines.answer)
        super().sendall(data, flags)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Hold back what is written meanwhile: header and body of an answer go out as one record, in one call."""
        self._held = bytearray()
        try:
            yield
        finally:
            held, self._held = self._held, None
            if held:
                self.sendall(held)

    def _peer(self) -> str:
        try:
            return str(self.getpeername()[0])
        except OSError:
            return "of unknown address"

    def _check(self, late: str) -> None:
        if time.monotonic() >= self._until:
            self.cut = True
            raise OverdueError(late)


def bounded(deadlines: Deadlines, handshake_failed: Callable[[str], None]) -> type[BoundedSocket]:
    """The socket class of one server. `handshake_failed` is told the reason of each handshake that fails."""
    attributes = {"deadlines": deadlines, "handshake_failed": staticmethod(handshake_failed)}
    return type("ServingSocket", (BoundedSocket,), attributes)


def _reason(failure: OSError) -> str:
    """One of timeout, certificate-refused, closed, protocol.

    A peer that does not trust our certificate says so with an alert, and under TLS 1.3 too before the handshake is
    complete here: its alert comes instead of its Finished.
    """
    if isinstance(failure, TimeoutError):
        return "timeout"
    if isinstance(failure, ssl.SSLEOFError | ConnectionError):
        return "closed"
    alert = getattr(failure, "reason", None) or ""
    return CERTIFICATE_REFUSED if "ALERT" in alert and alert.endswith(_CERTIFICATE_ALERTS) else "protocol"


_CERTIFICATE_ALERTS = (
    "BAD_CERTIFICATE",
    "CERTIFICATE_EXPIRED",
    "CERTIFICATE_REVOKED",
    "CERTIFICATE_UNKNOWN",
    "UNKNOWN_CA",
    "UNSUPPORTED_CERTIFICATE",
)
