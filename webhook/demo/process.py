"""The server of the demo: `numafit serve` itself, as a process of its own, in a directory that goes away with it."""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from webhook.cli.errors import OutsideError
from webhook.settings import PREFIX

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 0.02
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_SOURCES: Final = Path(__file__).parents[2]
"""Where the packages lie, so that the server is this very numafit wherever the demo is started."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers.

    Attributes:
        port: of the TLS listener, on localhost.
        ops_port: of the plain listener.
        token: what the device plugin shows.
        directory: holds everything that the server reads and writes.
    """

    port: int
    ops_port: int
    token: str
    directory: Path

    @property
    def trust(self) -> Path:
        """The CA certificate that the server publishes for its clients."""
        return self.directory / "ca.crt"

    def log(self) -> list[str]:
        """The lines that the server has logged."""
        return _log(self.directory).read_text(encoding="utf-8").splitlines()


def _log(directory: Path) -> Path:
    return directory / "log"


@contextmanager
def running(cluster: Path, levels: Path) -> Iterator[Running]:
    """Serve ``cluster`` and the policy file ``levels`` until the block ends, however it ends.

    Raises:
        OutsideError: there is no room for its files, or it does not start.
    """
    directory = _new_directory()
    process = None
    try:
        token = secrets.token_urlsafe()
        (directory / "token").write_text(token, encoding="ascii")
        process = _start(directory, cluster, levels)
        ports = _ports(directory, process)
        yield Running(ports["port"], ports["ops_port"], token, directory)
    finally:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # a second Ctrl-C waits until all is gone
        if process is not None:
            _stop(process)
        shutil.rmtree(directory)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _new_directory() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="numafit-demo-"))
    except OSError as error:
        raise OutsideError(f"the demo needs a directory for its files, say in TMPDIR which: {error}") from None


def _start(directory: Path, cluster: Path, levels: Path) -> subprocess.Popen[bytes]:
    flags: dict[str, object] = {
        "cluster": cluster,
        "levels": levels,
        "tls-directory": directory / "certs",
        "tls-publish": directory / "ca.crt",
        "refit-token-file": directory / "token",
        "ready-file": directory / "ready",
        "listen-host": "127.0.0.1",
        "listen-port": 0,
        "listen-ops-port": 0,
        "extender": "true",
        "drain-seconds": 0,
    }
    with _log(directory).open("wb") as log:
        return subprocess.Popen(  # noqa: S603 - the same interpreter, the same program
            [sys.executable, "-m", "webhook.cli", "serve", *(f"--{name}={value}" for name, value in flags.items())],
            cwd=_SOURCES,
            env={name: value for name, value in os.environ.items() if not name.startswith(PREFIX)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C reaches the demo alone, which then stops the server
        )


def _ports(directory: Path, process: subprocess.Popen[bytes]) -> dict[str, int]:
    ready = directory / "ready"
    until = time.monotonic() + START_SECONDS
    while not ready.exists():
        if process.poll() is not None:
            said = _log(directory).read_text(encoding="utf-8", errors="replace").strip()
            raise OutsideError(f"the server of the demo did not start (exit code {process.returncode}): {said}")
        if time.monotonic() > until:
            raise OutsideError(f"the server of the demo was not ready within {START_SECONDS:.0f} s; try again")
        time.sleep(LOOK_SECONDS)
    ports: dict[str, int] = json.loads(ready.read_text(encoding="utf-8"))
    return ports


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the leader of a session of its own, and its worker
        process.wait()
