"""The context that serves: what it takes over, what it keeps, and what it says about it."""

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from certs.context import ServingContext
from certs.material import CertificateError, File, Material
from certs.names import Names
from certs.pair import KeyPair, Lifetimes, issue_leaf, make_authority, make_key
from certs.reading import read_certificates
from certs.store import DirectoryStore

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
Put = Callable[[Path, Material], None]
Connect = Callable[..., tuple[str, str | None]]
NAME = "numafit.numafit-system.svc"


@pytest.fixture
def store(tmp_path: Path, names: Names) -> DirectoryStore:
    return DirectoryStore(tmp_path / "tls", names)


@pytest.fixture
def new(authority: KeyPair, names: Names, now: datetime) -> Material:
    """Another pair of the same CA."""
    key = make_key()
    return Material(None, authority.certificate, key, issue_leaf(authority, key, names.issued, now, 90 * DAY))


@pytest.fixture
def serving(store: DirectoryStore, good: Material, put: Put, now: datetime) -> ServingContext:
    """Serves a pair that was brought without its CA's key."""
    put(store.directory, replace(good, ca_key=None))
    return ServingContext(store, now)


def _serial(material: Material) -> str:
    return read_certificates(material.leaf_cert or b"")[0].serial


def test_what_is_made_at_the_first_start_is_served(store: DirectoryStore, now: datetime, connect: Connect) -> None:
    serving = ServingContext(store, now)
    ca = (store.directory / File.CA_CERT).read_bytes()
    assert connect(serving.current(), ca, NAME) == (serving.serial, "http/1.1")
    assert serving.problem == ""
    assert serving.expires_at == (now.replace(microsecond=0) + 365 * DAY).timestamp()


def test_the_time_that_is_passed_in_is_the_only_clock(store: DirectoryStore, now: datetime) -> None:
    in_a_year = ServingContext(store, now + 365 * DAY)
    assert in_a_year.expires_at == (now.replace(microsecond=0) + 730 * DAY).timestamp()


@pytest.mark.parametrize("kind", ["no CA file", "an intermediate as the CA", "a chain that holds another key"])
def test_what_examination_lets_through_can_be_served(
    kind: str, store: DirectoryStore, spoiler: "Spoiler", put: Put
) -> None:
    middle_key, key = make_key(), make_key()
    middle = KeyPair(spoiler.odd_certificate(spoiler.authority, middle_key, is_ca=True), middle_key)
    leaf = issue_leaf(middle, key, store.names.issued, spoiler.now, DAY)
    material = {
        "no CA file": replace(spoiler.new, ca_cert=None),
        "an intermediate as the CA": Material(None, middle.certificate, key, leaf),
        "a chain that holds another key": replace(spoiler.new, leaf_cert=(spoiler.new.leaf_cert or b"") + make_key()),
    }[kind]
    put(store.directory, material)
    assert ServingContext(store, spoiler.now).serial == _serial(material)


def test_there_is_no_context_without_a_good_pair(
    store: DirectoryStore, good: Material, put: Put, now: datetime
) -> None:
    put(store.directory, replace(good, leaf_key=make_key()))
    with pytest.raises(CertificateError, match=r"tls\.key is not the key of the first certificate"):
        ServingContext(store, now)


def test_a_good_new_pair_is_taken_over_at_the_next_refresh(
    serving: ServingContext, store: DirectoryStore, new: Material, put: Put, now: datetime
) -> None:
    before = serving.current()
    put(store.directory, new)
    serving.refresh(now + SECOND)
    assert serving.current() is not before
    assert serving.serial == _serial(new)
    assert serving.expires_at == (now.replace(microsecond=0) + 90 * DAY).timestamp()
    assert (serving.reloads_ok, serving.reloads_failed, serving.problem) == (1, 0, "")


def test_a_refresh_without_a_change_looks_at_no_content(
    serving: ServingContext, store: DirectoryStore, now: datetime
) -> None:
    path = store.directory / File.LEAF_KEY
    status = path.stat()
    before = serving.current()
    serving.refresh(now + SECOND)
    path.touch()
    serving.refresh(now + 2 * SECOND)
    assert status.st_mtime_ns != path.stat().st_mtime_ns
    assert serving.current() is before
    assert (serving.reloads_ok, serving.reloads_failed) == (0, 0)


@dataclass(frozen=True)
class Spoiler:
    """Ways to break what `directory` holds. `new` is another good pair of the CA `authority`."""

    directory: Path
    new: Material
    authority: KeyPair
    odd_certificate: Callable[..., bytes]
    now: datetime

    def truncate(self) -> None:
        path = self.directory / File.LEAF_CERT
        path.write_bytes(path.read_bytes()[:-200])

    def put_new_certificate_only(self) -> None:
        self._put(File.LEAF_CERT, self.new.leaf_cert)

    def put_key_of_another_type(self) -> None:
        key = rsa.generate_private_key(65537, 2048)
        pem = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        self._put(File.LEAF_KEY, key.private_bytes(*pem))

    def put_foreign_ca(self) -> None:
        self._put(File.CA_CERT, make_authority(make_key(), self.now - DAY, 900 * DAY))

    def empty(self) -> None:
        self._put(File.LEAF_KEY, b"")

    def take_key_away(self) -> None:
        (self.directory / File.LEAF_KEY).unlink()

    def take_all_away_but_a_note(self) -> None:
        for file in (File.CA_CERT, File.LEAF_CERT, File.LEAF_KEY):
            (self.directory / file).unlink()
        (self.directory / "README").touch()

    def put_directory(self) -> None:
        (self.directory / File.LEAF_CERT).unlink()
        (self.directory / File.LEAF_CERT).mkdir()

    def put_unreadable(self) -> None:
        (self.directory / File.LEAF_CERT).unlink()
        (self.directory / File.LEAF_CERT).symlink_to(File.LEAF_CERT)

    def put_expired(self) -> None:
        self._issue(self.now - timedelta(minutes=4), NAME, timedelta(minutes=1))

    def put_one_of_the_future(self) -> None:
        self._issue(self.now + DAY, NAME, DAY)

    def put_another_name(self) -> None:
        self._issue(self.now, "elsewhere.example.com", DAY)

    def put_chain_that_is_too_long(self) -> None:
        middle_key = make_key()
        middle = KeyPair(self.odd_certificate(self.authority, middle_key, is_ca=True), middle_key)
        leaf = issue_leaf(middle, self.new.leaf_key or b"", (NAME,), self.now, DAY)
        self._put(File.LEAF_KEY, self.new.leaf_key)
        self._put(File.LEAF_CERT, leaf + middle.certificate)

    def _issue(self, begin: datetime, name: str, lifetime: timedelta) -> None:
        leaf = issue_leaf(self.authority, self.new.leaf_key or b"", (name,), begin, lifetime)
        self._put(File.LEAF_KEY, self.new.leaf_key)
        self._put(File.LEAF_CERT, leaf)

    def _put(self, file: File, pem: bytes | None) -> None:
        (self.directory / file).write_bytes(pem or b"")


@pytest.fixture
def spoiler(
    store: DirectoryStore,
    new: Material,
    authority: KeyPair,
    odd_certificate: Callable[..., bytes],
    now: datetime,
) -> Spoiler:
    return Spoiler(store.directory, new, authority, odd_certificate, now)


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (Spoiler.truncate, "tls.crt holds a certificate that is cut short or damaged"),
        (Spoiler.put_new_certificate_only, "tls.key is not the key of the first certificate in tls.crt"),
        (Spoiler.put_key_of_another_type, "tls.key is not the key of the first certificate in tls.crt"),
        (Spoiler.put_foreign_ca, "tls.crt was issued by CN=numafit CA"),
        (Spoiler.empty, "tls.key is empty"),
        (Spoiler.take_key_away, "tls.key is missing beside the other files"),
        (Spoiler.take_all_away_but_a_note, "README is there and none of ca.key"),
        (Spoiler.put_directory, "tls.crt cannot be read: is a directory"),
        (Spoiler.put_unreadable, "tls.crt cannot be read: Too many levels of symbolic links"),
        (Spoiler.put_expired, "tls.crt (CN=numafit) ended at"),
        (Spoiler.put_one_of_the_future, "tls.crt (CN=numafit) is valid from"),
        (
            Spoiler.put_another_name,
            "tls.crt carries elsewhere.example.com but not numafit.numafit-system.svc",
        ),
        (Spoiler.put_chain_that_is_too_long, "tls.crt did not pass a trial handshake: "),
    ],
)
def test_the_last_good_pair_stays_and_the_problem_names_the_file(
    spoil: Callable[[Spoiler], None], text: str, serving: ServingContext, spoiler: Spoiler, connect: Connect
) -> None:
    before, serial = serving.current(), serving.serial
    spoil(spoiler)
    serving.refresh(spoiler.now + SECOND)
    assert serving.current() is before
    assert connect(before, spoiler.authority.certificate, NAME)[0] == serving.serial == serial
    assert serving.problem.startswith(f"{spoiler.directory}: ")
    assert text in serving.problem
    assert (serving.reloads_ok, serving.reloads_failed) == (0, 1)


def test_a_pair_that_was_broken_and_is_whole_again_ends_the_problem(
    serving: ServingContext, spoiler: Spoiler, put: Put
) -> None:
    spoiler.put_new_certificate_only()
    serving.refresh(spoiler.now + SECOND)
    assert serving.problem != ""
    put(spoiler.directory, spoiler.new)
    serving.refresh(spoiler.now + 2 * SECOND)
    assert (serving.problem, serving.serial, serving.reloads_ok) == ("", _serial(spoiler.new), 1)


def test_a_brought_pair_that_ends_is_a_problem_before_and_after_and_is_served_all_the_same(
    serving: ServingContext, now: datetime
) -> None:
    before = serving.current()
    serving.refresh(now + 330 * DAY)
    assert "tls.crt (CN=numafit) ends at" in serving.problem
    assert serving.reloads_failed == 0
    serving.refresh(now + 366 * DAY)
    assert "tls.crt (CN=numafit) ended at" in serving.problem
    assert serving.current() is before


def test_a_running_server_renews_its_leaf_under_the_ca_that_clients_have(
    store: DirectoryStore, now: datetime, connect: Connect
) -> None:
    hourly = replace(store, lifetimes=Lifetimes(leaf=timedelta(hours=1)))
    serving = ServingContext(hourly, now - timedelta(minutes=45))
    ca = (store.directory / File.CA_CERT).read_bytes()
    first = serving.serial
    assert connect(serving.current(), ca, NAME)[0] == first
    serving.refresh(now)
    assert connect(serving.current(), ca, NAME)[0] == serving.serial != first
    assert (store.directory / File.CA_CERT).read_bytes() == ca
    assert serving.expires_at == (now.replace(microsecond=0) + timedelta(hours=1)).timestamp()


def test_the_ca_is_published_before_its_leaf_is_served_and_put_back_when_it_is_lost(
    store: DirectoryStore, new: Material, put: Put, now: datetime, tmp_path: Path
) -> None:
    published = tmp_path / "ca.crt"
    serving = ServingContext(store, now, published)
    old = published.read_bytes()
    assert old == (store.directory / File.CA_CERT).read_bytes()
    published.unlink()
    published.mkdir()
    put(store.directory, new)
    serving.refresh(now + SECOND)
    assert serving.serial != _serial(new)
    assert f"{tmp_path}: ca.crt cannot be written: is a directory" in serving.problem
    published.rmdir()
    serving.refresh(now + 20 * SECOND)
    assert (serving.serial, published.read_bytes(), serving.problem) == (_serial(new), new.ca_cert, "")
    published.unlink()
    serving.refresh(now + 40 * SECOND)
    assert published.read_bytes() == new.ca_cert


def test_a_running_server_never_makes_another_ca(
    store: DirectoryStore, now: datetime, tmp_path: Path, connect: Connect
) -> None:
    context = ServingContext(store, now, tmp_path / "published.crt")
    trusted = (tmp_path / "published.crt").read_bytes()
    gone = store.directory.rename(tmp_path / "gone")
    context.refresh(now + DAY)
    assert context.problem == (
        f"{store.directory}: ca.key is gone; put the files back, or restart the server to begin anew with another CA"
    )
    assert connect(context.current(), trusted, NAME)[0] == context.serial
    assert (tmp_path / "published.crt").read_bytes() == trusted
    gone.rename(store.directory)
    context.refresh(now + 2 * DAY)
    assert context.problem == ""


def test_no_handshake_fails_while_pairs_are_swapped(
    serving: ServingContext, store: DirectoryStore, new: Material, put: Put, now: datetime, connect: Connect
) -> None:
    old = replace(new, leaf_cert=(store.directory / File.LEAF_CERT).read_bytes())
    old = replace(old, leaf_key=(store.directory / File.LEAF_KEY).read_bytes())
    over = Event()

    def clients() -> set[str]:
        seen = set()
        while not over.is_set():
            seen.add(connect(serving.current(), new.ca_cert, NAME)[0])
        return seen

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(clients) for _ in range(3)]
        for second in range(1, 21):
            put(store.directory, new if second % 2 else old)
            serving.refresh(now + second * SECOND)
        over.set()
        seen = set[str]().union(*(client.result(timeout=10) for client in running))
    assert serving.reloads_ok == 20
    assert seen == {_serial(old), _serial(new)}


def _open_files() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def test_no_temporary_file_is_needed_to_load_a_key(
    store: DirectoryStore, now: datetime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.ensure(now)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    before = _open_files()
    assert ServingContext(store, now).problem == ""
    assert _open_files() == before
