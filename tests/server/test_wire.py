"""What a client of the TLS port and of the plain port sees."""

import http.client
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.server.running import Server, everything


def test_an_operation_answers_with_its_own_status_body_and_type(server: Server) -> None:
    client = server.client()
    client.request("POST", "/webhook", b'{"a":1}', {"Content-Type": "application/json; charset=utf-8"})
    answer = client.getresponse()
    assert (answer.status, answer.getheader("Content-Type"), answer.read()) == (200, "application/json", b'{"a":1}')
    assert answer.getheader("Connection") == "keep-alive"
    client.close()


def test_one_connection_serves_many_requests(server: Server) -> None:
    client = server.client()
    client.connect()
    sock = client.sock
    for number in range(20):
        client.request("POST", "/refit", b"%d" % number)
        assert client.getresponse().read() == b"%d" % number
    assert client.sock is sock
    client.close()


def test_25_pooled_connections_are_all_served_at_once_and_take_no_thread_while_idle(server: Server) -> None:
    clients = [server.client() for _ in range(25)]

    def ask(client: http.client.HTTPSConnection) -> bytes:
        client.request("POST", "/webhook", b"sleep 0.2")
        return client.getresponse().read()

    with ThreadPoolExecutor(25) as pool:
        for _ in range(2):
            began = time.monotonic()
            assert list(pool.map(ask, clients)) == [b"sleep 0.2"] * 25
            assert time.monotonic() - began < 2
    for client in clients:
        client.close()


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET /webhook", 405),
        ("PUT /refit", 405),
        ("DELETE /refit", 405),
        ("HEAD /webhook", 405),
        ("OPTIONS /refit", 200),
        ("OPTIONS /webhook", 200),
        ("POST /", 404),
        ("POST /refit/", 404),
        ("POST //refit", 200),
        ("POST /REFIT", 404),
        ("POST /webhook/x", 404),
        ("GET /healthz", 404),
        ("GET /readyz", 404),
        ("GET /metrics", 404),
        ("POST /webhook?timeout=10s", 200),
        ("POST /refit?x=1&x=2", 200),
    ],
)
def test_only_the_operations_answer_on_the_tls_port_and_nothing_redirects(
    server: Server, request_line: str, status: int
) -> None:
    head = f"{request_line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    answer = server.raw(head.encode())
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"<" not in answer
    assert b"Location" not in answer


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        (
            b"POST /refit HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=1\r\nde\r\n0\r\n\r\n",
            b"abcde",
        ),
        (b"POST /refit HTTP/1.0\r\nContent-Length: 5\r\n\r\nabcde", b"abcde"),
        (b"POST /refit HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nabcde", b"abcde"),
        (b"POST /refit HTTP/1.1\r\nHost: h\r\n\r\n", b""),
        (b"POST /refit HTTP/1.1\r\nContent-Type: text/weird\r\nContent-Length: 5\r\n\r\nabcde", b"abcde"),
    ],
    ids=["chunked", "HTTP/1.0", "expect", "no body", "no host, odd type"],
)
def test_a_body_is_read_however_it_is_sent(server: Server, sent: bytes, received: bytes) -> None:
    head, _, body = server.raw(sent.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)).rpartition(b"\r\n\r\n")
    assert b" 200 OK" in head
    assert body == received


@pytest.mark.parametrize(("path", "limit", "status"), [("/webhook", 7 << 20, 413), ("/refit", 1 << 20, 200)])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_at_the_limit_is_read_and_one_byte_more_is_refused_by_the_operation(
    server: Server, path: str, limit: int, status: int, chunked: bool
) -> None:
    client = server.client()
    client.request("POST", path, iter([b"x" * limit]) if chunked else b"x" * limit)
    assert client.getresponse().read() == b"x" * limit
    client.request("POST", path, iter([b"x" * limit, b"x"]) if chunked else b"x" * (limit + 1))
    answer = client.getresponse()
    assert (answer.status, answer.read()) == (status, b"more than %d bytes" % limit)
    assert answer.getheader("Connection") == "close"
    client.close()


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        (b"Content-Length: 10\r\n\r\nabc", b"unreadable: the connection ended after 3 of 10 bytes"),
        (
            b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
            b"unreadable: after 0 bytes: cut short, or its chunks are malformed",
        ),
        (
            b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"unreadable: after 0 bytes: cut short, or its chunks are malformed",
        ),
    ],
)
@pytest.mark.parametrize(("path", "status"), [(b"/webhook", b"400"), (b"/refit", b"200")])
def test_a_body_that_does_not_arrive_whole_is_answered_in_the_operations_way(
    server: Server, path: bytes, status: bytes, rest: bytes, reason: bytes
) -> None:
    answer = server.half(b"POST " + path + b" HTTP/1.1\r\nHost: h\r\n" + rest)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert answer.endswith(reason)
    assert b"Connection: close" in answer


HOSTILE = [
    b"\x00" * 100 + b"\r\n\r\n",
    b"GET\r\n\r\n",
    b"POST /webhook HTTP/9.9\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nAuthorization Bearer secret-token\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nContent-Length: \xb2\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nSCRIPT_NAME: /elsewhere\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Ssl: on\r\nContent-Length: 0\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nHost: [::1\r\nContent-Length: 0\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nHost: \xe4\xf6 /?#@:99999\r\nContent-Length: 0\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nHost: xn--\r\nContent-Length: 0\r\n\r\n",
    b"POST /%ff%00%2e%2e HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
    b"POST http://[bad/webhook HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
    b"POST /nowhere HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
    b"POST /webhook HTTP/1.1\r\n" + b"".join(b"A%d: b\r\n" % n for n in range(200)) + b"\r\n",
    b"POST /webhook HTTP/1.1\r\nA: " + b"a" * 20000 + b"\r\n\r\n",
    b"POST /" + b"a" * 20000 + b" HTTP/1.1\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]


@pytest.mark.parametrize("sent", HOSTILE, ids=lambda sent: repr(sent[:40]))
def test_no_bytes_make_the_server_answer_5xx_or_log_a_traceback(server: Server, sent: bytes) -> None:
    before = len(server.log)
    answer = server.raw(sent.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
    assert answer[9:10] in {b"4", b"2"}
    assert b"secret" not in answer
    assert server.post("/webhook", b"still here") == (200, b"still here")
    assert not [line for line in server.log[before:] if "Traceback" in line or "secret" in line]


def test_an_unexpected_exception_is_logged_and_answered_in_the_operations_way(server: Server) -> None:
    assert server.post("/webhook", b"raise x") == (400, b"failed")
    assert server.post("/refit", b"raise x") == (200, b"failed")
    assert server.post("/webhook", b"after") == (200, b"after")
    assert server.line("LookupError: ") == "LookupError: broken on purpose"


def test_tls_older_than_1_2_and_other_protocols_are_refused_and_counted(server: Server) -> None:
    before = server.metric('numafit_tls_handshake_failures_total{reason="protocol"}')
    with socket.create_connection(("localhost", server.port), timeout=10) as plain:
        plain.sendall(b"GET /webhook HTTP/1.1\r\nHost: h\r\n\r\n")
        assert b"HTTP" not in everything(plain)
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname = False
    old.verify_mode = ssl.CERT_NONE
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with socket.create_connection(("localhost", server.port), timeout=10) as plain, pytest.raises(ssl.SSLError):
        old.wrap_socket(plain)
    assert server.metric('numafit_tls_handshake_failures_total{reason="protocol"}') == before + 2


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_that_does_not_trust_the_certificate_is_counted(server: Server, version: ssl.TLSVersion) -> None:
    series = 'numafit_tls_handshake_failures_total{reason="certificate-refused"}'
    before = server.metric(series)
    distrusting = ssl.create_default_context()
    distrusting.minimum_version = distrusting.maximum_version = version
    with (
        socket.create_connection(("localhost", server.port), timeout=10) as plain,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        distrusting.wrap_socket(plain, server_hostname="localhost")
    assert server.metric(series) == before + 1
    assert " warning the client 127.0.0.1 does not trust the certificate" in server.line("does not trust")


def test_http_2_is_not_offered(server: Server) -> None:
    context = server.context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection(("localhost", server.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as sock,
    ):
        assert sock.selected_alpn_protocol() is None


def test_a_client_that_never_closes_holds_up_nobody(server: Server) -> None:
    rude = [server.connect() for _ in range(8)]
    for sock in rude:
        sock.sendall(b"POST /refit HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx")
    for sock in rude:
        assert sock.recv(4096).startswith(b"HTTP/1.1 200")
    began = time.monotonic()
    assert server.post("/webhook", b"quick") == (200, b"quick")
    assert time.monotonic() - began < 1
    for sock in rude:
        sock.close()


def test_200_requests_at_once_are_all_answered(server: Server) -> None:
    barrier = threading.Barrier(20)

    def ask(number: int) -> tuple[int, bytes]:
        barrier.wait()
        return server.post("/refit", b"%d" % number)

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(ask, range(200))) == [(200, b"%d" % number) for number in range(200)]
