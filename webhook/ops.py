"""The plain listener for health and metrics. It has threads of its own, so that it answers however busy the rest is."""

import logging
import socket
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from webhook.metrics import Metrics

CONNECTIONS = 32
"""Connections served at once; a further one is closed."""

CONNECTION_SECONDS = 10.0
"""How long a connection may take in all."""

_log = logging.getLogger(__name__)

Check = Callable[[], str | None]
"""Tells why the server is not ready, or None where it is. Quick, and without waiting for anybody."""

_NOTE_LINES = 20
"""Of one note on the page; the log has them all."""


class Page(NamedTuple):
    """One answer of this listener."""

    status: HTTPStatus
    content_type: str
    body: bytes


_TEXT = "text/plain; charset=utf-8"


def readiness(checks: Mapping[str, Check], notes: Mapping[str, Check], verbose: bool) -> Page:
    """200 when every check passes, else 503. The failing ones are listed with their reason, with `verbose` all.

    `notes` are what the operator should know and what keeps nothing from being served; only `verbose` lists them.
    """
    found = {name: _tried(name, check) for name, check in checks.items()}
    lines = [
        f"[-] {name}: {reason}" if reason else f"[+] {name}" for name, reason in found.items() if reason or verbose
    ]
    failing = any(found.values())
    if verbose:
        lines += [f"[!] {name}: {line}" for name, note in notes.items() for line in _noted(name, note)]
    lines.append("not ready" if failing else "ready")
    status = HTTPStatus.SERVICE_UNAVAILABLE if failing else HTTPStatus.OK
    return Page(status, _TEXT, "".join(f"{line}\n" for line in lines).encode())


def _noted(name: str, note: Check) -> list[str]:
    lines = (_tried(name, note) or "").splitlines()
    more = len(lines) - _NOTE_LINES
    return [*lines[:_NOTE_LINES], *([f"and {more} more"] if more > 0 else [])]


def _tried(name: str, check: Check) -> str | None:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a check that breaks is a reason not to be ready
        _log.exception("the check %s failed", name)
        return f"the check itself failed: {type(error).__name__}"


class OpsServer(ThreadingHTTPServer):
    """Serves `/healthz`, `/readyz` and `/metrics` on a socket that listens already."""

    daemon_threads = True
    block_on_close = False

    def __init__(
        self,
        listener: socket.socket,
        checks: Mapping[str, Check],
        notes: Mapping[str, Check],
        metrics: Metrics,
    ) -> None:
        super().__init__(listener.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self._slots = threading.BoundedSemaphore(CONNECTIONS)
        self._pages: dict[str, Callable[[str], Page]] = {
            "/healthz": lambda _: Page(HTTPStatus.OK, _TEXT, b"ok\n"),
            "/readyz": lambda query: readiness(checks, notes, verbose="verbose" in query),
            "/metrics": lambda _: Page(HTTPStatus.OK, CONTENT_TYPE_PLAIN_0_0_4, metrics.text()),
        }

    def start(self) -> None:
        """Serve from now on, in a thread that does not keep the process alive."""
        threading.Thread(target=self.serve_forever, name="ops", daemon=True).start()

    def page(self, method: str, target: str) -> Page:
        """The answer to one request."""
        path, _, query = target.partition("?")
        if path not in self._pages:
            text = f"Not Found: this listener has {', '.join(self._pages)}\n"
            return Page(HTTPStatus.NOT_FOUND, _TEXT, text.encode())
        if method not in {"GET", "HEAD"}:
            return Page(HTTPStatus.METHOD_NOT_ALLOWED, _TEXT, b"Method Not Allowed: use GET\n")
        return self._pages[path](query)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give the connection a thread, if one is free."""
        if self._slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve the connection, and cut it when its time is over."""
        cut = threading.Timer(CONNECTION_SECONDS, self.shutdown_request, (request,))
        cut.daemon = True
        cut.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            cut.cancel()
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is no news here."""
        _log.debug("connection of %s broke: %r", client_address, request, exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: OpsServer
    timeout = CONNECTION_SECONDS

    def _answer(self) -> None:
        page = self.server.page(self.command, self.path)
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page.body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _answer  # noqa: N815 - http.server's names

    def version_string(self) -> str:
        """No versions for strangers."""
        return "numafit"

    def log_message(self, *_: object) -> None:
        """Probes and scrapes are not logged."""
