"""A server as a process of its own, and what a client does to it."""

import contextlib
import http.client
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[2]
WAIT_SECONDS = 30
"""Before a test gives up on what never comes; generous, for machines where others work too."""


def echo(directory: Path, *settings: str, breaks: str = "") -> "Server":
    """A server of trivial operations with the pair in ``directory``."""
    ports = ("listen.host=127.0.0.1", "listen.port=0", "listen.ops_port=0")
    arguments = ["tests.server.echo_server", str(directory), *ports, *settings]
    return Server(arguments, directory / "cert.pem", {"BREAK": breaks})


class Server:
    """One running server. `log` grows as it writes."""

    def __init__(self, module: Sequence[str], trust: Path, environment: Mapping[str, str]) -> None:
        """Run a Python module with its arguments; clients verify by the certificate ``trust``."""
        self.trust = trust
        self.log: list[str] = []
        self.port = self.ops_port = 0
        self._written = threading.Condition()
        self._over = False
        self.process = subprocess.Popen(
            [sys.executable, "-m", *module],
            cwd=ROOT,
            env={**os.environ, **environment},
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        with self.process.stderr as lines:
            for line in lines:
                if "serving operations" in line:
                    self.port, self.ops_port = map(int, re.findall(r"port (\d+)", line))
                with self._written:
                    self.log.append(line.rstrip("\n"))
                    self._written.notify_all()
        with self._written:
            self._over = True
            self._written.notify_all()

    def wait_until_up(self) -> Self:
        self.line("serving operations")
        return self

    def line(self, part: str) -> str:
        """The first line of the log with this in it; waits for it."""
        with self._written:
            self._written.wait_for(lambda: self._over or any(part in line for line in self.log), WAIT_SECONDS)
            found = next((line for line in self.log if part in line), None)
        assert found is not None, "\n".join(self.log)
        return found

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        """Wait for the end, forced if need be, and return the exit code."""
        code = self.process.wait(WAIT_SECONDS)
        self._reader.join()
        return code

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.trust)

    def client(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("localhost", self.port, timeout=WAIT_SECONDS, context=self.context())

    def connect(self) -> ssl.SSLSocket:
        plain = socket.create_connection(("localhost", self.port), timeout=WAIT_SECONDS)
        return self.context().wrap_socket(plain, server_hostname="localhost")

    def raw(self, data: bytes) -> bytes:
        """Send these bytes over TLS and return all that comes until the server closes."""
        with self.connect() as sock:
            sock.sendall(data)
            return everything(sock)

    def half(self, data: bytes) -> bytes:
        """Send these bytes, say over TLS that no more will come, and return the answer."""
        sent, received = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self.context().wrap_bio(received, sent, server_hostname="localhost")

        def advance(step: Callable[[], object]) -> object:
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    plain.sendall(sent.read())
                    received.write(plain.recv(65536))

        with socket.create_connection(("localhost", self.port), timeout=WAIT_SECONDS) as plain:
            advance(tls.do_handshake)
            tls.write(data)
            with contextlib.suppress(ssl.SSLWantReadError):
                tls.unwrap()
            plain.sendall(sent.read())
            received.write(everything(plain))
            received.write_eof()
            answer = b""
            with contextlib.suppress(ssl.SSLError):
                while piece := tls.read(65536):
                    answer += piece
            return answer

    def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        client = self.client()
        try:
            client.request("POST", path, body)
            answer = client.getresponse()
            return answer.status, answer.read()
        finally:
            client.close()

    def ops(self, target: str) -> tuple[int, str]:
        request = urllib.request.Request(f"http://127.0.0.1:{self.ops_port}{target}")
        try:
            with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answer:  # noqa: S310 - http, by name
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metric(self, series: str) -> float:
        """The value of one series, 0 where it does not exist yet."""
        lines = self.ops("/metrics")[1].splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.rpartition(" ")[0] == series)

    def reaches(self, series: str, value: float) -> bool:
        """Whether the series comes to this value before long."""
        until = time.monotonic() + WAIT_SECONDS
        while (seen := self.metric(series)) != value and time.monotonic() < until:
            pass
        return seen == value

    def kill(self) -> None:
        """End it and its worker at once."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.end()


def everything(sock: socket.socket) -> bytes:
    """All that comes until the other side is done; a reset is an end too."""
    received = b""
    try:
        while piece := sock.recv(65536):
            received += piece
    except ConnectionError:
        pass
    return received
