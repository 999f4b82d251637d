"""The load: one process with a few TLS connections, so cheap that it is never what is measured.

`python -m tests.bench.load PORT CA BODY saturated|paced|fresh SECONDS CONNECTIONS RATE` prints one JSON object: the
number of requests, the seconds they took, and the latencies in milliseconds that 50 and 99 % of them stayed within.
"""

import json
import selectors
import socket
import ssl
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from tests.bench.sampling import at

HOST = "localhost"
TIMEOUT_SECONDS = 10
PIECE_BYTES = 65536


class Connection:
    """One keep-alive connection with at most one request on it."""

    def __init__(self, port: int, context: ssl.SSLContext, body: bytes) -> None:
        plain = socket.create_connection((HOST, port), timeout=TIMEOUT_SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._tls = context.wrap_socket(plain, server_hostname=HOST)
        head = f"POST /webhook HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        self._request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        self.due = 0.0

    def fileno(self) -> int:
        """For the selector."""
        return self._tls.fileno()

    def send(self, due: float) -> None:
        """Send the request that was due at this time."""
        self.due = due
        self._tls.sendall(self._request)

    def finish(self) -> None:
        """Read the answer; the first byte of it is there already.

        Raises:
            ConnectionError: it is no success, or does not come whole.
        """
        answer = b""
        while (end := answer.find(b"\r\n\r\n")) < 0:
            answer += self._more()
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise ConnectionError(f"the server answered {answer[:200]!r}")
        name = answer.lower().index(b"content-length:")
        length = int(answer[name + len(b"content-length:") : answer.index(b"\r\n", name)])
        while len(answer) < end + 4 + length:
            answer += self._more()

    def _more(self) -> bytes:
        piece = self._tls.recv(PIECE_BYTES)
        if not piece:
            raise ConnectionError("the server closed the connection before its answer was complete")
        return piece

    def close(self) -> None:
        """Close it at once."""
        self._tls.close()


class Pool:
    """The connections, each idle or waiting for an answer."""

    def __init__(self, connections: list[Connection]) -> None:
        self.idle = deque(connections)
        self._selector = selectors.DefaultSelector()
        for each in connections:
            self._selector.register(each, selectors.EVENT_READ, each)
            each.send(0.0)
            each.finish()  # so that the server's session tickets are not taken for an answer later

    def answered(self, seconds: float) -> Iterator[float]:
        """Wait up to so long; yield for each answer how long after its due time it came."""
        for key, _ in self._selector.select(max(0.0, seconds)):
            connection: Connection = key.data
            connection.finish()
            yield time.perf_counter() - connection.due
            self.idle.append(connection)


def saturated(pool: Pool, seconds: float) -> list[float]:
    """Send on every connection as soon as it is idle."""
    taken: list[float] = []
    until = time.perf_counter() + seconds
    while (now := time.perf_counter()) < until:
        while pool.idle:
            pool.idle.popleft().send(now)
        taken += pool.answered(until - now)
    return taken


def paced(pool: Pool, seconds: float, rate: float) -> list[float]:
    """Send so many a second, whether answers come or not: a wait for a free connection counts as latency."""
    taken: list[float] = []
    began = time.perf_counter()
    due = deque(began + number / rate for number in range(int(seconds * rate)))
    expected = len(due)
    while len(taken) < expected:
        while due and pool.idle and due[0] <= time.perf_counter():
            pool.idle.popleft().send(due.popleft())
        wait = due[0] - time.perf_counter() if due and pool.idle else TIMEOUT_SECONDS
        taken += pool.answered(wait)
    return taken


def fresh(port: int, context: ssl.SSLContext, body: bytes, seconds: float, rate: float) -> list[float]:
    """Open a connection for each request, so many a second, one at a time."""
    taken = []
    began = time.perf_counter()
    for number in range(int(seconds * rate)):
        time.sleep(max(0.0, began + number / rate - time.perf_counter()))
        due = time.perf_counter()
        connection = Connection(port, context, body)
        connection.send(due)
        connection.finish()
        taken.append(time.perf_counter() - due)
        connection.close()
    return taken


def main(arguments: list[str]) -> None:
    """Put the load on, and say how it went."""
    port, ca, file, kind, seconds, connections, rate = arguments
    body = Path(file).read_bytes()
    context = ssl.create_default_context(cafile=ca)
    began = time.perf_counter()
    if kind == "fresh":
        taken = fresh(int(port), context, body, float(seconds), float(rate))
    else:
        pool = Pool([Connection(int(port), context, body) for _ in range(int(connections))])
        began = time.perf_counter()
        taken = saturated(pool, float(seconds)) if kind == "saturated" else paced(pool, float(seconds), float(rate))
    took = time.perf_counter() - began
    millis = sorted(1000 * each for each in taken)
    print(json.dumps({"requests": len(taken), "seconds": took, "p50": at(millis, 50), "p99": at(millis, 99)}))


if __name__ == "__main__":
    main(sys.argv[1:])
