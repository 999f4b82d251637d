"""What changes under a running server: policy file, certificates, token, and the server's own end."""

import hashlib
import http.client
import signal
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from certs.names import service_names
from certs.store import DirectoryStore
from tests.serve.objects import asking, node, placed, refit, review
from tests.serve.running import AUTHORIZED, TOKEN, Client, Numafit

ENFORCED: Final = "version: numafit.io/v1\nlevels: {pin-duplicate: enforce}\n"
WARNED: Final = "version: numafit.io/v1\n"
BROKEN: Final = "version: numafit.io/v1\nlevel: {pin-duplicate: off}\n"

DOUBLED: Final = review(asking("doubled", annotations={"nvidia.com/use-gpuuuid": "GPU-n-0,GPU-n-0,GPU-n-1"}))


@pytest.fixture
def levels(tmp_path: Path) -> Path:
    file = tmp_path / "levels.yaml"
    file.write_text(WARNED)
    return file


@pytest.fixture
def server(serve: Callable[..., Numafit], levels: Path) -> Iterator[Numafit]:
    server = serve([node("n"), placed("p", "n", 0)], f"--levels={levels}").wait_until_up()
    yield server
    server.kill()


def replace(file: Path, text: str) -> None:
    """Write a file as editors and kubelet do: another one takes its place."""
    draft = file.with_suffix(".new")
    draft.write_text(text)
    draft.replace(file)


def test_a_changed_policy_file_is_taken_over_and_a_bad_one_is_refused(server: Numafit, levels: Path) -> None:
    with Client(server) as client:
        assert client.say("/webhook", DOUBLED)["response"]["allowed"] is True
        replace(levels, ENFORCED)
        server.line("the changed policy file")
        assert client.say("/webhook", DOUBLED)["response"]["allowed"] is False
        replace(levels, BROKEN)
        assert server.reaches("numafit_levels_problem", 1)
        assert client.say("/webhook", DOUBLED)["response"]["allowed"] is False, "the last good file counts"
        status, page = server.ops("/readyz?verbose")
        assert (status, "[!] levels: " in page, "level is no key of the policy file" in page) == (200, True, True)
        assert server.ops("/readyz") == (200, "ready\n")
        replace(levels, WARNED)
        assert server.reaches("numafit_levels_problem", 0)
        assert client.say("/webhook", DOUBLED)["response"]["allowed"] is True
        assert "[!]" not in server.ops("/readyz?verbose")[1]


def test_another_token_counts_from_the_moment_it_is_there_and_none_lets_nobody_in(server: Numafit) -> None:
    token = server.directory / "token"
    with Client(server) as client:
        assert client.say("/refit", refit("p", "n", [1]))["succeeded"] is True
        replace(token, "another")
        assert client.say("/refit", refit("p", "n", [0]))["failureReason"].startswith("caller-token-invalid: ")
        _, answer = client.post("/refit", refit("p", "n", [0]), {"Authorization": "Bearer another"})
        assert b'"succeeded":true' in answer
        token.unlink()
        for sent in ("another", TOKEN, " another", "\xa0"):
            _, answer = client.post("/refit", refit("p", "n", [1]), {"Authorization": f"Bearer {sent}"})
            assert b"caller-token-invalid" in answer
        assert "[!] refit-caller: " in server.ops("/readyz?verbose")[1]
        assert server.ops("/readyz") == (200, "ready\n")
        replace(token, TOKEN)
        assert client.say("/refit", refit("p", "n", [1]))["succeeded"] is True


def served(server: Numafit, trust: Path) -> str:
    """The fingerprint of the leaf that a new connection gets, verified by ``trust``."""
    context = ssl.create_default_context(cafile=trust)
    connection = http.client.HTTPSConnection("localhost", server.port, timeout=10, context=context)
    connection.connect()
    leaf = connection.sock.getpeercert(binary_form=True)
    connection.close()
    return hashlib.sha256(leaf or b"").hexdigest()


def renewed(server: Numafit, trust: Path, old: str) -> bool:
    """Whether new connections come to get another leaf before long."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            if served(server, trust) != old:
                return True
        except ssl.SSLCertVerificationError:
            continue
    return False


def test_a_swapped_certificate_is_served_to_new_connections_and_a_foreign_one_never(
    server: Numafit, tmp_path: Path
) -> None:
    directory = server.directory / "certs"
    old = served(server, directory / "ca.crt")
    other = tmp_path / "other"
    DirectoryStore(other, service_names("numafit", "numafit", ())).ensure(datetime.now(UTC))
    with Client(server) as kept:
        kept.say("/webhook", DOUBLED)
        directory.rename(server.directory / "before")
        other.rename(directory)
        assert renewed(server, directory / "ca.crt", old)
        assert kept.say("/webhook", DOUBLED)["response"]["allowed"] is True, "a connection that stands is not touched"
    new = served(server, directory / "ca.crt")
    (directory / "tls.key").write_bytes((server.directory / "before" / "tls.key").read_bytes())
    assert server.reaches("numafit_certificate_problem", 1)
    assert served(server, directory / "ca.crt") == new
    status, page = server.ops("/readyz?verbose")
    assert (status, "[!] certificate: " in page) == (200, True)


def test_sigterm_in_the_middle_of_load_loses_no_answer(serve: Callable[..., Numafit]) -> None:
    server = serve([node("n"), placed("p", "n", 0)], "--drain-seconds=2").wait_until_up()
    answers: list[int] = []
    failures: list[BaseException] = []
    over = threading.Event()

    def load(number: int) -> None:
        path, body = [("/webhook", DOUBLED), ("/refit", refit("p", "n", [0, 1]))][number % 2]
        with Client(server) as client:
            while not over.is_set():
                try:
                    answers.append(client.post(path, body, AUTHORIZED)[0])
                except OSError as failure:
                    failures.append(failure)
                    break

    threads = [threading.Thread(target=load, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    while len(answers) < 50:
        assert not failures
    began = time.monotonic()
    server.signal(signal.SIGTERM)
    while server.ops("/readyz")[0] == 200:
        assert time.monotonic() - began < 2
    drained = len(answers)
    while len(answers) < drained + 20:
        assert time.monotonic() - began < 2
    over.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert set(answers) == {200}
    assert server.end() == 0
    assert not (server.directory / "ready.json").exists()
