"""The Flask application: takes a request to its operation and the answer back, and knows nothing of either."""

import logging
import time
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from webhook import logs
from webhook.answer import Answer
from webhook.deadlines import BoundedSocket
from webhook.inflight import Allowance, BodyError, NoRoomError, TooLargeError, counted, read_body
from webhook.metrics import OTHER, Metrics
from webhook.settings import Settings

_log = logging.getLogger(__name__)


class Operation(Protocol):
    """One path of the TLS port. Whatever happens, it is the operation that words the answer."""

    @property
    def limit_bytes(self) -> int:
        """The longest body it reads."""

    def handle(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Decide. Called from many threads at once."""

    def shed(self) -> Answer:
        """Too much is in hand; the caller may come again."""

    def too_large(self, limit: int) -> Answer:
        """The body is longer than `limit` bytes."""

    def unreadable(self, reason: str) -> Answer:
        """The body did not arrive whole; `reason` says how far it came."""

    def failed(self) -> Answer:
        """`handle` raised what it should not have. The traceback is in the log already."""


class Headers(Mapping[str, str]):
    """The request's header over the WSGI environment; names in any case."""

    def __init__(self, environ: Mapping[str, Any]) -> None:
        self._environ = environ

    def __getitem__(self, name: str) -> str:
        key = name.upper().replace("-", "_")
        return str(self._environ[key if key in _WITHOUT_PREFIX else f"HTTP_{key}"])

    def __iter__(self) -> Iterator[str]:
        for key in self._environ:
            if key.startswith("HTTP_") or key in _WITHOUT_PREFIX:
                yield key.removeprefix("HTTP_").replace("_", "-").title()

    def __len__(self) -> int:
        return sum(1 for _ in self)


_WITHOUT_PREFIX = frozenset({"CONTENT_TYPE", "CONTENT_LENGTH"})


class Door:
    """The Flask view of one operation: reads the body, keeps to what may be in hand, counts and logs."""

    def __init__(
        self, path: str, operation: Operation, metrics: Metrics, in_flight: Allowance, held: Allowance
    ) -> None:
        self._path = path
        self._operation = operation
        self._metrics = metrics
        self._in_flight = in_flight
        self._held = held

    def __call__(self) -> Response:
        """Answer the request that Flask is handling."""
        environ = request.environ
        body = self._body(environ)
        started = time.perf_counter()
        answer = body if isinstance(body, Answer) else self._decided(body, environ)
        seconds = time.perf_counter() - started
        self._metrics.answered(self._path, answer.verdict, seconds)
        logs.decision(self._path, answer.verdict, seconds, answer.log)
        return Response(answer.body, answer.status, content_type=answer.content_type)

    def _body(self, environ: dict[str, Any]) -> bytes | Answer:
        sock = environ.get("gunicorn.socket")
        if isinstance(sock, BoundedSocket):
            sock.allow(sock.deadlines.body)
        try:
            return read_body(environ, self._operation.limit_bytes, self._held)
        except BodyError as error:
            close_after_answer(environ)
            return self._without_body(error)

    def _without_body(self, error: BodyError) -> Answer:
        if isinstance(error, TooLargeError):
            return self._operation.too_large(self._operation.limit_bytes)
        if isinstance(error, NoRoomError):
            return self._shed()
        return self._operation.unreadable(str(error))

    def _decided(self, body: bytes, environ: dict[str, Any]) -> Answer:
        try:
            if not self._in_flight.take():
                return self._shed()
            try:
                return self._operation.handle(body, Headers(environ))
            except Exception:  # noqa: BLE001 - whatever it is, the operation words the answer
                _log.exception("unexpected error on %s", self._path)
                return self._operation.failed()
            finally:
                self._in_flight.give()
        finally:
            self._held.give(counted(len(body)))

    def _shed(self) -> Answer:
        self._metrics.shed(self._path)
        return self._operation.shed()


def close_after_answer(environ: Mapping[str, Any]) -> None:
    """End the connection with this answer; what is left of the request on it is not read."""
    sock = environ.get("gunicorn.socket")
    if isinstance(sock, BoundedSocket):
        sock.close_after_answer()


def create_app(operations: Mapping[str, Operation], metrics: Metrics, settings: Settings) -> Flask:
    """The application with one POST path for each of `operations`, and no other page."""
    app = Flask("numafit", static_folder=None)
    app.url_map.merge_slashes = False
    in_flight = Allowance(settings.limits.in_flight)
    held = Allowance(settings.limits.held_bytes)
    metrics.in_flight_from(lambda: in_flight.used)
    for path, operation in operations.items():
        door = Door(path, operation, metrics, in_flight, held)
        app.add_url_rule(path, path, door, methods=["POST"])
    app.register_error_handler(HTTPException, _TurnedDown(frozenset(operations), metrics))
    return app


class _TurnedDown:
    """Answers in plain text what is no operation: 404, 405."""

    def __init__(self, paths: frozenset[str], metrics: Metrics) -> None:
        self._paths = paths
        self._metrics = metrics

    def __call__(self, error: HTTPException) -> Response:
        close_after_answer(request.environ)
        self._metrics.turned_down(request.path if request.path in self._paths else OTHER, f"http-{error.code}")
        text = f"{error.name}: {request.method} is not answered here, but POST {', '.join(sorted(self._paths))}\n"
        response = Response(text, error.code, content_type="text/plain; charset=utf-8")
        for name, value in error.get_headers():
            if name == "Allow":
                response.headers[name] = value
        return response
