"""What any client meets on the TLS port: verification, keep-alive, limits, slow clients."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Final

import pytest

from tests.serve.objects import asking, node, placed, refit, review
from tests.serve.running import AUTHORIZED, Client, Numafit
from tests.server.running import everything

MIB: Final = 1 << 20
REVIEW_SECONDS: Final = 1.0
SLOW_CLIENTS: Final = 50


@pytest.fixture(scope="module")
def server(serve: Callable[..., Numafit]) -> Iterator[Numafit]:
    server = serve([node("n"), placed("p", "n", 0)], "--deadlines-body=2").wait_until_up()
    yield server
    server.kill()


@pytest.fixture
def client(server: Numafit) -> Iterator[Client]:
    with Client(server) as client:
        yield client


@pytest.mark.parametrize("name", ["localhost", "numafit.numafit.svc", "numafit.numafit.svc.cluster.local", "127.0.0.1"])
def test_a_client_that_trusts_only_the_published_ca_verifies_every_name_of_the_service(
    server: Numafit, name: str
) -> None:
    context = ssl.create_default_context(cafile=server.trust)
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=name) as sock,
    ):
        assert sock.version() == "TLSv1.3"


@pytest.mark.parametrize("name", ["numafit.other.svc", "example.com"])
def test_another_name_is_not_verified(server: Numafit, name: str) -> None:
    context = ssl.create_default_context(cafile=server.trust)
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        context.wrap_socket(plain, server_hostname=name)


def test_the_ready_file_names_the_ports_and_the_key_is_its_owners_alone(server: Numafit) -> None:
    told = json.loads((server.directory / "ready.json").read_text())
    assert (told["port"], told["ops_port"]) == (server.port, server.ops_port)
    modes = {file.name: oct(file.stat().st_mode & 0o777) for file in (server.directory / "certs").glob("*.key")}
    assert modes == {"ca.key": "0o600", "tls.key": "0o600"}


def test_every_kind_of_request_is_answered_over_one_connection(server: Numafit) -> None:
    client = server.client()
    client.connect()
    sock = client.sock
    bodies = {
        "/webhook": review(asking("p")),
        "/refit": refit("p", "n", [0]),
        "/filter": {"pod": asking("new"), "nodenames": ["n"]},
        "/bind": {"podName": "new", "podNamespace": "default", "podUID": "uid-new", "node": "n"},
    }
    for path, body in bodies.items():
        client.request("POST", path, json.dumps(body), AUTHORIZED)
        answer = client.getresponse()
        assert (answer.status, answer.getheader("Content-Type")) == (200, "application/json")
        assert b"error" not in answer.read()
    assert client.sock is sock
    client.close()


def padded(body: object, size: int) -> bytes:
    return json.dumps(body).encode().ljust(size)


def test_a_review_at_the_limit_is_judged_and_one_byte_more_is_413(client: Client) -> None:
    status, answer = client.post("/webhook", padded(review(asking("p")), 7 * MIB))
    assert (status, json.loads(answer)["response"]["allowed"]) == (200, True)
    assert client.post("/webhook", padded(review(asking("p")), 7 * MIB + 1)) == (
        413,
        b"the body is longer than 7340032 bytes\n",
    )


def test_a_refit_at_the_limit_is_decided_and_one_byte_more_is_refused_in_band(client: Client) -> None:
    kept = b'{"succeeded":true,"containerDevices":"GPU-n-0,NVIDIA,1000,1:"}'
    assert client.post("/refit", padded(refit("p", "n", [0]), MIB)) == (200, kept)
    status, answer = client.post("/refit", padded(refit("p", "n", [0]), MIB + 1))
    said = {"succeeded": False, "failureReason": "refit-too-large: the body is longer than 1048576 bytes"}
    assert (status, json.loads(answer)) == (200, said)


def test_512_cards_are_allowed_and_513_are_not(client: Client) -> None:
    asked = refit("p", "n", [0])
    asked["allowedDeviceUUIDs"] *= 512
    assert client.say("/refit", asked)["succeeded"] is True
    asked["allowedDeviceUUIDs"].append("one more")
    assert client.say("/refit", asked)["failureReason"].startswith("refit-allowed-too-many: ")


def test_50_clients_of_one_byte_a_second_leave_a_review_its_second_and_are_cut(server: Numafit) -> None:
    over = threading.Event()
    with ExitStack() as stack:
        slow = [stack.enter_context(server.connect()) for _ in range(SLOW_CLIENTS)]
        for sock in slow:
            sock.sendall(b"POST /webhook HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n")

        def drip() -> None:
            while not over.wait(1):
                for sock in slow:
                    with suppress(OSError):
                        sock.sendall(b" ")

        dripping = threading.Thread(target=drip)
        dripping.start()
        began = time.monotonic()
        with Client(server) as client:
            assert client.say("/webhook", review(asking("p")))["response"]["allowed"] is True
        assert time.monotonic() - began < REVIEW_SECONDS
        answers = [everything(sock) for sock in slow]
        over.set()
        dripping.join()
    assert {answer[:12] for answer in answers} == {b"HTTP/1.1 400"}
    assert all(b"the body could not be read: after " in answer for answer in answers)


def test_a_connection_cut_in_the_body_costs_nobody_anything(server: Numafit, client: Client) -> None:
    for path in ("/webhook", "/refit", "/filter", "/bind"):
        with server.connect() as sock:
            sock.sendall(f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{{".encode())
    assert client.say("/webhook", review(asking("p")))["response"]["allowed"] is True
    assert server.reaches('numafit_requests_total{path="/bind",verdict="error"}', 1)
    assert server.reaches('numafit_refits_total{code="refit-body-unreadable",result="refused"}', 1)
    assert not [line for line in server.log if "Traceback" in line]


@pytest.mark.parametrize(
    "path", ["/refit/", "/REFIT", "/refit//x", "/webhook/", "/", "/healthz", "/metrics", "/readyz"]
)
def test_other_paths_are_404_without_a_redirect(server: Numafit, path: str) -> None:
    answer = server.raw(f"POST {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"Location" not in answer
