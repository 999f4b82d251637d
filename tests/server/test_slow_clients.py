"""Clients that take their time, and clients that are too many."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest

from tests.server.running import Server, everything

CLIENTS = 50
DEADLINE_SECONDS = 1.0
QUICK = ("deadlines.handshake=1", "deadlines.header=1", "deadlines.body=1")

HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"
HEADER = b"POST /webhook HTTP/1.1\r\nHost: h\r\n"


@pytest.fixture(scope="module")
def quick(start: Callable[..., Server]) -> Server:
    """A server with short deadlines."""
    return start(*QUICK).wait_until_up()


def silent(server: Server) -> socket.socket:
    return socket.create_connection(("localhost", server.port), timeout=10)


def in_handshake(server: Server) -> socket.socket:
    sock = silent(server)
    sock.sendall(HELLO)
    return sock


def in_header(server: Server) -> socket.socket:
    sock = server.connect()
    sock.sendall(HEADER)
    return sock


def in_body(server: Server) -> socket.socket:
    sock = server.connect()
    sock.sendall(HEADER + b"Content-Length: 1000\r\n\r\nx")
    return sock


def in_chunks(server: Server) -> socket.socket:
    sock = server.connect()
    sock.sendall(HEADER + b"Transfer-Encoding: chunked\r\n\r\n3\r\n")
    return sock


def in_second_header(server: Server) -> socket.socket:
    sock = in_header(server)
    sock.sendall(b"Content-Length: 0\r\n\r\n")
    assert sock.recv(4096).startswith(b"HTTP/1.1 200")
    sock.sendall(HEADER)
    return sock


@pytest.fixture
def drip() -> Iterator[Callable[[list[socket.socket]], None]]:
    """Goes on sending one byte to each of the given sockets, five times a second, until the test ends."""
    over = threading.Event()
    threads: list[threading.Thread] = []

    def send(socks: list[socket.socket]) -> None:
        while not over.wait(0.2):
            for sock in socks:
                with suppress(OSError):
                    sock.sendall(b"a")

    def begin(socks: list[socket.socket]) -> None:
        threads.append(threading.Thread(target=send, args=(socks,)))
        threads[-1].start()

    yield begin
    over.set()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(
    ("stage", "last_word"),
    [
        (in_handshake, b""),
        (in_header, b""),
        (in_second_header, b""),
        (in_body, b"HTTP/1.1 400"),
        (in_chunks, b"HTTP/1.1 400"),
    ],
)
def test_50_clients_that_drip_delay_nobody_and_are_cut_at_the_deadline(
    quick: Server,
    drip: Callable[[list[socket.socket]], None],
    stage: Callable[[Server], socket.socket],
    last_word: bytes,
) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(CLIENTS) as pool:
        slow = [stack.enter_context(sock) for sock in pool.map(stage, [quick] * CLIENTS)]
        began = time.monotonic()
        drip(slow)
        assert quick.post("/webhook", b"review") == (200, b"review")
        assert time.monotonic() - began < DEADLINE_SECONDS
        for sock in slow:
            assert everything(sock).startswith(last_word)
        assert time.monotonic() - began < DEADLINE_SECONDS + 1.5


def test_the_answer_to_an_overdue_body_says_how_far_it_came(quick: Server) -> None:
    with in_body(quick) as sock:
        assert everything(sock).endswith(b"unreadable: after 0 bytes: not received in time")


def test_silent_connections_take_no_thread_and_end_as_failed_handshakes(start: Callable[..., Server]) -> None:
    server = start("limits.threads=4", "deadlines.handshake=1").wait_until_up()
    with ExitStack() as stack:
        quiet = [stack.enter_context(silent(server)) for _ in range(20)]
        assert server.post("/webhook", b"review") == (200, b"review")
        for sock in quiet:
            assert sock.recv(1) == b""
    assert server.reaches('numafit_tls_handshake_failures_total{reason="timeout"}', 20)


def test_a_client_that_does_not_take_its_answer_is_cut(start: Callable[..., Server]) -> None:
    server = start("limits.threads=4", "deadlines.answer=0.5").wait_until_up()
    body = b"x" * (6 << 20)
    with ExitStack() as stack:
        for _ in range(4):
            sock = stack.enter_context(server.connect())
            sock.sendall(HEADER + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert server.post("/webhook", b"review") == (200, b"review")


def test_requests_above_the_limit_are_shed_at_once_and_counted(start: Callable[..., Server]) -> None:
    server = start("limits.in_flight=2").wait_until_up()
    with ThreadPoolExecutor(2) as pool:
        busy = [pool.submit(server.post, "/webhook", b"sleep 0.6") for _ in range(2)]
        assert server.reaches("numafit_in_flight", 2)
        began = time.monotonic()
        assert server.post("/webhook", b"x") == (429, b"shed")
        assert server.post("/refit", b"x") == (200, b"shed")
        assert time.monotonic() - began < 0.5
        assert [request.result() for request in busy] == [(200, b"sleep 0.6")] * 2
    assert server.metric('numafit_shed_total{path="/webhook"}') == 1
    assert server.metric('numafit_shed_total{path="/refit"}') == 1
    assert server.reaches("numafit_in_flight", 0)


def test_bodies_beyond_the_memory_for_all_are_shed_and_what_they_held_is_given_back(
    start: Callable[..., Server],
) -> None:
    server = start("limits.held_bytes=300000").wait_until_up()
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(server.post, "/webhook", b"sleep 0.6 " + b" " * 500000)
        assert server.reaches("numafit_in_flight", 1)
        assert server.post("/webhook", b"x" * 500000) == (429, b"shed")
        assert server.post("/webhook", b"x" * 250000)[0] == 200, "the beginning of a body counts for nothing"
        assert busy.result()[0] == 200
    assert server.post("/webhook", b"x" * 500000)[0] == 200


def test_a_reset_in_the_handshake_is_counted(quick: Server) -> None:
    series = 'numafit_tls_handshake_failures_total{reason="closed"}'
    before = quick.metric(series)
    with in_handshake(quick) as sock:
        sock.shutdown(socket.SHUT_WR)
        everything(sock)
    assert quick.metric(series) == before + 1


def test_a_client_with_a_deadline_of_its_own_that_gives_up_breaks_nothing(quick: Server) -> None:
    with quick.connect() as sock:
        sock.sendall(HEADER + b"Content-Length: 9\r\n\r\nsleep 0.3")
        sock.settimeout(0.05)
        with pytest.raises((TimeoutError, ssl.SSLError)):
            sock.recv(1)
    assert quick.post("/webhook", b"sleep 0.4") == (200, b"sleep 0.4")
    assert not [line for line in quick.log if "Traceback" in line]
