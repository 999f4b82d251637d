"""`numafit certs`: made, shown and verified, also against a server that runs."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.conftest import Numafit


@pytest.fixture
def made(numafit: Numafit, tmp_path: Path) -> Path:
    answer = numafit("certs", "init", "--dir", tmp_path / "certs")
    assert (answer.code, answer.out) == (0, "")
    return tmp_path / "certs"


def test_what_is_made_verifies_and_stays_as_it_is(numafit: Numafit, made: Path) -> None:
    before = {path.name: path.read_bytes() for path in made.iterdir()}
    assert numafit("certs", "init", "--dir", made).code == 0
    assert {path.name: path.read_bytes() for path in made.iterdir()} == before
    answer = numafit("certs", "verify", "--dir", made)
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.startswith(f"{made} is good until ")


def test_the_leaf_is_shown_first_and_what_is_trusted_last(numafit: Numafit, made: Path) -> None:
    document = json.loads(numafit("certs", "show", "--dir", made, "-o", "json").out)
    leaf, ca = document["certificates"]
    assert (document["kind"], document["defects"]) == ("Certificates", [])
    assert (leaf["issuer"], leaf["isCA"], ca["isCA"]) == (ca["subject"], False, True)
    assert leaf["names"][2:5] == ["numafit.numafit.svc", "numafit.numafit.svc.cluster.local", "localhost"]
    text = numafit("certs", "show", "--dir", made).out
    assert f"serial   {leaf['serial']}\nsha-256  {leaf['sha256']}\n" in text
    assert "PRIVATE KEY" not in text


def test_every_problem_is_said(numafit: Numafit, made: Path) -> None:
    (made / "tls.key").unlink()
    (made / "ca.crt").write_text("nonsense")
    answer = numafit("certs", "verify", "--dir", made)
    assert answer.code == 1
    assert [line.split(": ")[1] for line in answer.out.splitlines()] == ["missing", "unreadable"]


def test_names_come_from_the_settings(
    numafit: Numafit, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMAFIT_TLS__EXTRA_DNS_NAMES", "gpu.example.com")
    answer = numafit("certs", "verify", "--dir", made)
    assert answer.code == 1
    assert f"{made}: name-missing: tls.crt" in answer.out
    (tmp_path / "numafit.yaml").write_text(f"version: numafit.io/v1\ntls: {{directory: {made}}}\n")
    assert numafit("certs", "init", "--config", tmp_path / "numafit.yaml").code == 0
    assert numafit("certs", "verify", "--dir", made).code == 0


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_directory_that_is_not_there_is_no_success(numafit: Numafit, tmp_path: Path, command: str) -> None:
    answer = numafit("certs", command, "--dir", tmp_path / "none")
    assert answer.code == 2
    place = tmp_path / "none"
    advice = f"`numafit certs init --dir {place}` makes one with certificates"
    assert answer.err == f"numafit: {place} is no directory; {advice}\n"


@pytest.mark.parametrize("command", [["show"], ["show", "-o", "json"], ["verify"]])
def test_an_empty_directory_is_said_to_be_one(numafit: Numafit, tmp_path: Path, command: list[str]) -> None:
    answer = numafit("certs", *command, "--dir", tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        f"numafit: {tmp_path} is empty; `numafit certs init --dir {tmp_path}` makes certificates there\n"
    )


def test_files_of_others_are_left_alone(numafit: Numafit, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    answer = numafit("certs", "init", "--dir", tmp_path)
    assert answer.code == 2
    assert answer.err.startswith(f"numafit: {tmp_path}: notes.txt is there")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@contextmanager
def answering(answer: Callable[[socket.socket], object]) -> Iterator[int]:
    """A server that does the same with every connection and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, suppress(OSError):
                        answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextmanager
def serving(directory: Path) -> Iterator[int]:
    """A TLS server that shakes hands."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "tls.crt", directory / "tls.key")
    with answering(lambda connection: context.wrap_socket(connection, server_side=True).close()) as port:
        yield port


def test_a_running_server_is_called_as_its_clients_do(numafit: Numafit, made: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    numafit("certs", "init", "--dir", other)
    with serving(made) as port:
        call = ("--host", "localhost", "--port", port)
        assert numafit("certs", "verify", "--dir", made, *call).code == 0
        answer = numafit("certs", "verify", "--dir", other, *call)
        assert answer.code == 1
        assert answer.out.startswith(f"localhost:{port} does not verify with this ca.crt: ")


def test_a_leaf_that_was_not_taken_over_is_seen(numafit: Numafit, made: Path) -> None:
    with serving(made) as port:
        (made / "tls.crt").unlink()
        numafit("certs", "init", "--dir", made)
        answer = numafit("certs", "verify", "--dir", made, "--host", "localhost", "--port", port)
    assert answer.code == 1
    assert answer.out.startswith(f"localhost:{port} serves another certificate than this tls.crt")


def test_a_server_that_does_not_answer_is_not_a_bad_certificate(numafit: Numafit, made: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    answer = numafit("certs", "verify", "--dir", made, "--host", "127.0.0.1", "--port", port)
    assert (answer.code, answer.out) == (3, "")
    assert answer.err.startswith(f"numafit: 127.0.0.1:{port} does not answer: ")


def plainly(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (plainly, "does not speak TLS; "),
        (lambda connection: connection.recv(4096), "does not complete a TLS handshake ("),
    ],
)
def test_a_port_without_tls_is_said_to_be_one(
    numafit: Numafit, made: Path, answer: Callable[[socket.socket], object], words: str
) -> None:
    with answering(answer) as port:
        said = numafit("certs", "verify", "--dir", made, "--host", "localhost", "--port", port)
    assert said.code == 1
    assert said.out.startswith(f"localhost:{port} {words}")
    assert said.out.endswith("name the TLS port of the server, not the plain one of health and metrics\n")
