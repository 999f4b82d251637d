"""gunicorn's threaded worker, with deadlines, a drain, and nothing slow in the loop that accepts.

What gunicorn 27 does and this changes: it waits for a new connection's first byte on a thread; it closes an answered
connection in the accepting loop, where a client that does not close its side holds up everybody for two seconds; and
its answer to what is no HTTP repeats what the client sent.
"""

import errno
import logging
import signal
import ssl
import time
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from selectors import EVENT_READ
from typing import TYPE_CHECKING, Any

from gunicorn import util
from gunicorn.http import errors
from gunicorn.workers.gthread import TConn, ThreadWorker

from webhook.deadlines import LINGER_SECONDS
from webhook.metrics import OTHER

if TYPE_CHECKING:
    from webhook.server import Application

LINGER_BYTES = 16 << 20
"""How much of a body that was too large is thrown away, so that its sender comes to read the answer."""

_GONE = frozenset({errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK})

_STATUS: dict[type[Exception], HTTPStatus] = {
    errors.LimitRequestLine: HTTPStatus.REQUEST_URI_TOO_LONG,
    errors.LimitRequestHeaders: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    errors.ExpectationFailed: HTTPStatus.EXPECTATION_FAILED,
    errors.UnsupportedTransferCoding: HTTPStatus.NOT_IMPLEMENTED,
}

_log = logging.getLogger(__name__)


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no annotations
    """The one worker process."""

    app: "Application"

    def init_signals(self) -> None:
        """Take the signals. SIGINT of a terminal reaches the whole group; the arbiter passes on what it means."""
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, super().handle_exit)

    def handle_exit(self, sig: int, frame: object) -> None:
        """Drain on the first SIGTERM; stop on the second, or when the alarm says that the drain is over."""
        seconds = self.app.settings.drain_seconds
        if self.app.draining or not seconds:
            super().handle_exit(sig, frame)
        else:
            self.app.draining = True
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def accept(self, listener: Any) -> None:
        """Leave a new connection with the poller until it says something: silence costs no thread."""
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno not in _GONE:
                raise
            return
        conn = TConn(self.cfg, client, address, listener.getsockname())
        conn.timeout = time.monotonic() + self.app.settings.deadlines.handshake
        self.nr_conns += 1
        self.pending_conns.append(conn)
        self.poller.register(client, EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def murder_pending(self) -> None:
        """Close the connections that never said anything, and count them as failed handshakes."""
        before = len(self.pending_conns)
        super().murder_pending()
        for _ in range(before - len(self.pending_conns)):
            self.app.metrics.handshake_failed("timeout")

    def handle(self, conn: Any) -> bool:
        """Serve one request in a thread of the pool; a connection that ends with it is closed here."""
        if conn.initialized:
            conn.sock.allow(self.app.settings.deadlines.header)
        keep = bool(super().handle(conn))
        if not keep:
            _close(conn.sock)
        return keep

    def handle_request(self, req: Any, conn: Any) -> bool:
        """Have the application answer, and send what it answers at once."""
        with conn.sock.together():
            return bool(super().handle_request(req, conn))

    def finish_request(self, conn: Any, fs: Any) -> None:
        """Wait for the next request, or forget the connection that `handle` has closed."""
        if not fs.cancelled() and not fs.exception() and fs.result():
            super().finish_request(conn, fs)
        else:
            self.nr_conns -= 1
            conn.close()

    def handle_error(self, _req: object, client: Any, addr: Any, exc: Exception) -> None:
        """Answer what could not be read as HTTP. The text of `exc` may hold a token and goes nowhere."""
        if isinstance(exc, ssl.SSLError):
            return
        status = _STATUS.get(type(exc), HTTPStatus.BAD_REQUEST)
        if not isinstance(exc, errors.ParseException):
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            _log.error("error while serving a request", exc_info=exc)
        _log.info("not an HTTP request from %s: %s", addr[0], type(exc).__name__)
        self.app.metrics.turned_down(OTHER, f"http-{status.value}")
        body = f"{status.phrase}\n"
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nConnection: close\r\nContent-Type: text/plain\r\n"
        with suppress(OSError):
            client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())


def _close(sock: Any) -> None:
    """Close after the answer was sent; a peer that was cut off gets no time to go on."""
    if getattr(sock, "cut", True):
        util.close(sock)
        return
    sock.allow(LINGER_SECONDS)
    util.close_graceful(sock, timeout=LINGER_SECONDS, max_drain=LINGER_BYTES)
