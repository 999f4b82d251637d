"""From start to end: readiness, failures to start, signals, the drain."""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server.running import Server


def test_the_ready_file_names_both_ports_and_goes_with_the_server(start: Callable[..., Server], tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    file.write_text("left by another run")
    server = start(f"ready_file={file}", "drain_seconds=0").wait_until_up()
    assert json.loads(file.read_text()) == {
        "port": server.port,
        "ops_port": server.ops_port,
        "pid": server.process.pid,
    }
    server.signal(signal.SIGTERM)
    assert server.end() == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("breaks", "sentence"),
    [
        ("startup", "critical numafit cannot start: cluster.json: not there; name a file that kubectl printed"),
        ("bug", "critical numafit cannot start: KeyError: 'nodes'"),
    ],
)
def test_a_server_that_cannot_be_built_ends_with_3_and_one_sentence(
    start: Callable[..., Server], breaks: str, sentence: str
) -> None:
    server = start(breaks=breaks)
    assert server.end() == 3
    assert [line.partition(" ")[2] for line in server.log] == [sentence]


@pytest.mark.parametrize("setting", ["listen.port", "listen.ops_port"])
def test_a_port_that_is_taken_ends_the_start_with_3_and_one_sentence(
    start: Callable[..., Server], setting: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = start(f"{setting}={port}")
        assert server.end() == 3
    sentence = f"critical numafit cannot start: cannot listen on 127.0.0.1:{port}: Address already in use"
    assert [line.partition(" ")[2] for line in server.log] == [sentence]


def test_a_worker_that_dies_takes_the_server_with_it(start: Callable[..., Server]) -> None:
    server = start().wait_until_up()
    arbiter = server.process.pid
    children = Path(f"/proc/{arbiter}/task/{arbiter}/children").read_text(encoding="ascii").split()
    os.kill(int(children[0]), signal.SIGKILL)
    assert server.end() == 3
    assert server.log[-1].endswith(" critical the worker died, and with it what it had reserved; start the server anew")


class Pool:
    """Clients as the API server has them: pooled connections, opened anew only when told to close."""

    def __init__(self, server: Server, size: int) -> None:
        self.answers: list[int] = []
        self.failures: list[Exception] = []
        self.closed = 0
        self._server = server
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._post) for _ in range(size)]
        for thread in self._threads:
            thread.start()

    def _post(self) -> None:
        client = self._server.client()
        try:
            while not self._over.is_set():
                client.request("POST", "/webhook", b"sleep 0.005")
                answer = client.getresponse()
                assert answer.read() == b"sleep 0.005"
                self.answers.append(answer.status)
                self.closed += answer.getheader("Connection") == "close"
        except (OSError, AssertionError) as failure:
            self.failures.append(failure)
        finally:
            client.close()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_drain_answers_everything_says_close_and_is_not_ready(
    start: Callable[..., Server], number: signal.Signals
) -> None:
    server = start("drain_seconds=1.2").wait_until_up()
    idle = server.client()
    idle.request("POST", "/webhook", b"x")
    idle.getresponse().read()
    pool = Pool(server, 8)
    assert pool.closed == 0
    server.signal(number)
    began = time.monotonic()
    while server.ops("/readyz")[0] == 200:
        assert time.monotonic() - began < 1
    assert server.ops("/readyz") == (503, "[-] drain: draining\nnot ready\n")
    before = len(pool.answers)
    assert server.post("/refit", b"new connection") == (200, b"new connection")
    while len(pool.answers) < before + 50:
        assert time.monotonic() - began < 1.1
    pool.stop()
    idle.request("POST", "/webhook", b"pooled before")
    answer = idle.getresponse()
    assert (answer.status, answer.getheader("Connection")) == (200, "close")
    assert pool.failures == []
    assert set(pool.answers) == {200}
    assert pool.closed > 8
    assert server.end() == 0
    assert time.monotonic() - began >= 1.2


def test_a_second_signal_ends_the_drain_but_not_the_request_in_hand(start: Callable[..., Server]) -> None:
    server = start("drain_seconds=60").wait_until_up()
    client = server.client()
    client.request("POST", "/webhook", b"sleep 0.6")
    assert server.reaches("numafit_in_flight", 1)
    server.signal(signal.SIGTERM)
    while server.ops("/readyz")[0] == 200:
        pass
    server.signal(signal.SIGTERM)
    assert client.getresponse().read() == b"sleep 0.6"
    client.close()
    assert server.end() == 0


def test_ctrl_c_in_a_terminal_reaches_the_worker_too_and_still_begins_a_drain(start: Callable[..., Server]) -> None:
    server = start("drain_seconds=0.5").wait_until_up()
    for pid in (server.process.pid, *children(server.process.pid)):
        os.kill(pid, signal.SIGINT)
    assert server.post("/webhook", b"sleep 0.2") == (200, b"sleep 0.2")
    assert server.end() == 0


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
