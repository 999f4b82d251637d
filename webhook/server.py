"""Serves operations over TLS and health over plain HTTP, from start to drained end."""

import gc
import json
import logging
import os
import signal
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.config import Config
from gunicorn.errors import HaltServer
from gunicorn.glogging import Logger
from prometheus_client import disable_created_metrics

from webhook import logs
from webhook.app import Operation, create_app
from webhook.deadlines import LINGER_SECONDS, bounded
from webhook.metrics import Metrics
from webhook.ops import Check, OpsServer
from webhook.settings import Settings
from webhook.worker import Worker

KEEP_ALIVE_SECONDS = 120
"""Longer than the 90 s for which the API server keeps an idle connection: a POST never meets a closed one."""

CONNECTIONS = 512
"""Open connections at most, well under the 1024 files that a process may usually open."""

WORKER_SILENCE_SECONDS = 60
"""After this long without a sign of life the worker is replaced."""

START_FAILED = Arbiter.WORKER_BOOT_ERROR
INPUT_UNUSABLE = Arbiter.APP_LOAD_ERROR
"""The two exit codes of a worker for which gunicorn ends instead of starting another one."""

EXIT_CODES = {START_FAILED: 3, INPUT_UNUSABLE: 2}
"""What they become for who started the server, as of every command (docs/stability.md)."""

_log = logging.getLogger("numafit")


class StartupError(Exception):
    """The server cannot start. The text says what is wrong and what to do.

    StartupError
    └── UnusableInputError    because of a file that it was given to read, or of a setting: exit code 2 instead of 3
    """

    worker_code = START_FAILED


class UnusableInputError(StartupError):
    """What the server was given cannot be used."""

    worker_code = INPUT_UNUSABLE


@dataclass(frozen=True, slots=True)
class Service:
    """What is served: made in the worker process, with its threads and files.

    `notes` are checks that keep nothing from being served: `/readyz?verbose` lists those that say something.
    """

    operations: Mapping[str, Operation]
    checks: Mapping[str, Check]
    ssl_context: Callable[[], ssl.SSLContext]
    notes: Mapping[str, Check] = field(default_factory=dict)


Build = Callable[[Metrics], Service]


def serve(settings: Settings, build: Build, version: str) -> NoReturn:
    """Serve until a signal ends it; raises SystemExit.

    0 after SIGTERM or SIGINT: the first starts a drain of `drain_seconds`, in which everything is still answered,
    the second ends it. 2 when `build` raised UnusableInputError. 3 when the server cannot start for another reason:
    `build` raised (StartupError tells its text alone, anything else its kind too) or an address is not free.
    """
    logs.configure(settings.log.level, settings.log.format)
    _forget(settings.ready_file)
    try:
        tls = _listener(settings.listen.host, settings.listen.port)
        plain = _listener(settings.listen.host, settings.listen.ops_port)
    except StartupError as error:
        _log.critical("numafit cannot start: %s", error)
        raise SystemExit(EXIT_CODES[error.worker_code]) from None
    try:
        Application(settings, build, version, tls, plain).run()
    finally:
        _forget(settings.ready_file)
    raise SystemExit(0)


def _listener(host: str, port: int) -> socket.socket:
    both = not host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both or ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512, dualstack_ipv6=both)
    except OSError as error:
        reason, _, _ = (error.strerror or str(error)).partition(" (while attempting")  # what Python adds to it
        raise StartupError(f"cannot listen on {host or '*'}:{port}: {reason}") from None


class Application(BaseApplication):  # type: ignore[misc]  # gunicorn has no annotations
    """gunicorn's view of the server; lives in the arbiter and, forked, in the worker."""

    metrics: Metrics
    service: Service

    def __init__(
        self, settings: Settings, build: Build, version: str, tls: socket.socket, plain: socket.socket
    ) -> None:
        self.settings = settings
        self.draining = False
        self._build = build
        self._version = version
        self._ports = {"port": tls.getsockname()[1], "ops_port": plain.getsockname()[1]}
        self._listener = tls.detach()  # gunicorn takes the descriptor and closes it
        self._plain = plain
        super().__init__()

    def load_default_config(self) -> None:
        """Start from gunicorn's defaults; what its environment variables say does not count."""
        self.cfg = _TlsConfig()

    def load_config(self) -> None:
        """Set what differs from gunicorn's defaults."""
        for name, value in _options(self.settings, self._listener).items():
            self.cfg.set(name, value)
        self.cfg.set("ssl_context", lambda _conf, _default: self._context())
        self.cfg.set("pre_request", self._before_request)
        self.cfg.set("post_worker_init", lambda _worker: self._started())
        self.cfg.settle()

    def load(self) -> Any:
        """Build the service; called once, in the worker."""
        disable_created_metrics()  # type: ignore[no-untyped-call]  # no annotations; a second series per counter
        self.metrics = Metrics(self._version)
        try:
            self.service = self._build(self.metrics)
        except StartupError as error:
            _log.critical("numafit cannot start: %s", error)
            raise SystemExit(error.worker_code) from None
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends the start with a sentence
            _log.critical("numafit cannot start: %s: %s", type(error).__name__, error)
            _log.debug("where it came from", exc_info=True)
            raise SystemExit(START_FAILED) from None
        self._socket_class = bounded(self.settings.deadlines, self.metrics.handshake_failed)
        return create_app(self.service.operations, self.metrics, self.settings).wsgi_app

    def run(self) -> None:
        """Run the arbiter; returns by SystemExit."""
        gc.freeze()  # the worker shares what is imported here; its collections must not copy those pages
        DrainingArbiter(self).run()

    def _context(self) -> ssl.SSLContext:
        context = self.service.ssl_context()
        context.sslsocket_class = self._socket_class
        return context

    def _before_request(self, _worker: object, req: Any) -> None:
        req.unreader.sock.request = req
        if self.draining:
            req.force_close()

    def _started(self) -> None:
        checks = {"drain": lambda: "draining" if self.draining else None, **self.service.checks}
        OpsServer(self._plain, checks, self.service.notes, self.metrics).start()
        gc.collect()
        gc.freeze()  # collections of what requests leave must not go through the whole cluster
        if self.settings.ready_file:
            _announce(self.settings.ready_file, {**self._ports, "pid": os.getppid()})
        _log.info("serving operations on TLS port %(port)d, health and metrics on plain port %(ops_port)d", self._ports)


class DrainingArbiter(Arbiter):  # type: ignore[misc]  # gunicorn has no annotations
    """gunicorn's master, with one way to stop for SIGTERM and SIGINT."""

    _stopping = False
    _has_spawned = False

    def manage_workers(self) -> None:
        """Keep the one worker. When it dies, so does the server.

        What it committed since its files were read died with it: another worker would give the same shares away again.
        """
        if self._has_spawned and not self.WORKERS and not self._stopping:
            _log.critical("the worker died, and with it what it had reserved; start the server anew")
            raise HaltServer("the worker died", START_FAILED)
        self._has_spawned = True
        super().manage_workers()

    def signal(self, sig: int, frame: object) -> None:
        """Queue a signal, as gunicorn does. Once the stop has begun nobody reads the queue, so pass it on."""
        if self._stopping and sig in {signal.SIGTERM, signal.SIGINT}:
            self.kill_workers(signal.SIGTERM)
        else:
            super().signal(sig, frame)

    def handle_term(self) -> None:
        """Begin the stop: the worker drains, and this process waits for it."""
        self._stopping = True
        super().handle_term()

    handle_int = handle_term

    def halt(self, reason: str | None = None, exit_status: int = 0) -> None:
        """End, with numafit's exit code where the worker could not start."""
        super().halt(reason, EXIT_CODES.get(exit_status, exit_status))


class _TlsConfig(Config):  # type: ignore[misc]  # gunicorn has no annotations
    is_ssl = True  # gunicorn takes it from file names; here the context comes from a hook

    def settle(self) -> None:
        """Make plain attributes of the settings: gunicorn looks up twenty a request, through two calls each."""
        self.__dict__.update({name: setting.get() for name, setting in self.settings.items()})


class _Log(Logger):  # type: ignore[misc]  # gunicorn has no annotations
    """Sends gunicorn's few words the way of all others."""

    def setup(self, cfg: Any) -> None:
        """Leave the handlers to the root logger."""
        self.cfg = cfg
        self.error_log.propagate = True
        self.error_log.setLevel(logging.WARNING)
        self.error_log.addFilter(_says_something)

    def access(self, *_: object) -> None:
        """Each decision has a line of its own already."""


def _says_something(record: logging.LogRecord) -> bool:
    """A worker that could not start has said why; gunicorn adds three lines that do not."""
    return record.msg not in {"Worker (pid:%s) exited with code %s.", "Shutting down: %s", "Reason: %s"}


def _options(settings: Settings, listener: int) -> dict[str, object]:
    limits = settings.deadlines
    longest = limits.handshake + limits.header + limits.body + 2 * limits.answer + LINGER_SECONDS
    return {
        "bind": f"fd://{listener}",
        "worker_class": Worker,
        "workers": 1,
        "threads": settings.limits.threads,
        "worker_connections": max(CONNECTIONS, 2 * settings.limits.threads),
        "keepalive": KEEP_ALIVE_SECONDS,
        "timeout": WORKER_SILENCE_SECONDS,
        "graceful_timeout": int(settings.drain_seconds + 2 * longest) + 1,
        "logger_class": _Log,
        "control_socket_disable": True,
        "forwarded_allow_ips": "",
        "forwarder_headers": "",
        "secure_scheme_headers": {},
        "worker_tmp_dir": "/dev/shm" if os.access("/dev/shm", os.W_OK) else None,  # noqa: S108 - gunicorn's heartbeat
    }


def _announce(file: Path, ports: Mapping[str, int]) -> None:
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    partial.write_text(json.dumps(ports) + "\n", encoding="utf-8")
    partial.replace(file)


def _forget(file: Path | None) -> None:
    if file:
        file.unlink(missing_ok=True)
