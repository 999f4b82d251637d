"""A directory of certificates: what is made, kept, renewed and repaired in it, and what is left alone."""

import multiprocessing
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import Barrier

import pytest

from certs.examine import examine
from certs.files import write_atomically
from certs.material import CertificateError, Code, File, Material
from certs.names import Names, service_names
from certs.pair import KeyPair, Lifetimes, issue_leaf, make_authority, make_key
from certs.publish import publish_ca
from certs.reading import read_certificates
from certs.store import DirectoryStore, read_material

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
Put = Callable[[Path, Material], None]


class CrashError(BaseException):
    """The end of the process at this very moment."""


@pytest.fixture
def store(tmp_path: Path, names: Names) -> DirectoryStore:
    return DirectoryStore(tmp_path / "tls", names)


def _contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_the_first_start_makes_a_good_set_that_only_its_owner_can_read(store: DirectoryStore, now: datetime) -> None:
    store.ensure(now)
    assert examine(read_material(store.directory), store.names, now).defects == ()
    assert _mode(store.directory) == 0o700
    modes = {path.name: _mode(path) for path in store.directory.iterdir()}
    assert modes == {"ca.key": 0o600, "tls.key": 0o600, "ca.crt": 0o644, "tls.crt": 0o644, ".lock": 0o600}


def test_a_directory_that_is_there_keeps_its_mode_and_a_volumes_own_files_are_no_ones(
    store: DirectoryStore, now: datetime
) -> None:
    store.directory.mkdir(mode=0o750)
    (store.directory / "lost+found").mkdir()
    store.ensure(now)
    assert _mode(store.directory) == 0o750


def test_later_starts_change_not_one_byte(store: DirectoryStore, now: datetime) -> None:
    first = store.ensure(now)
    before = _contents(store.directory)
    assert store.ensure(now + 200 * DAY).pair == first.pair
    assert _contents(store.directory) == before


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("step", range(4))
def test_after_a_crash_at_any_write_the_next_start_goes_on_with_what_is_there(
    step: int, done: bool, store: DirectoryStore, now: datetime
) -> None:
    left = iter(range(4))

    def crash(path: Path, content: bytes, mode: int) -> None:
        last = next(left) == step
        if done or not last:
            write_atomically(path, content, mode)
        if last:
            raise CrashError

    with pytest.raises(CrashError):
        replace(store, write=crash).ensure(now)
    before = {name: pem for name, pem in _contents(store.directory).items() if name != ".lock"}
    assert len(before) == step + done
    kept = store.ensure(now + HOUR)
    assert kept.warnings == ()
    assert before.items() <= _contents(store.directory).items()


def test_after_a_crash_while_a_leaf_is_renewed_the_old_one_is_whole(store: DirectoryStore, now: datetime) -> None:
    first = store.ensure(now)

    def crash(_path: Path, _content: bytes, _mode: int) -> None:
        raise CrashError

    with pytest.raises(CrashError):
        replace(store, write=crash).ensure(now + 250 * DAY)
    assert read_material(store.directory).leaf_cert == first.pair.certificate
    assert store.ensure(now + 250 * DAY).pair.certificate != first.pair.certificate


def test_a_key_that_a_stopped_write_left_behind_is_taken_away(store: DirectoryStore, now: datetime) -> None:
    store.directory.mkdir()
    (store.directory / ".ca.key.new-x1").write_bytes(make_key())
    store.ensure(now)
    assert set(_contents(store.directory)) == {*File, ".lock"}


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "taken"
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        write_atomically(path, b"new", 0o600)
    assert list(tmp_path.iterdir()) == [path]


LEFT_ALONE: dict[str, tuple[Callable[[Material, KeyPair], Material], str]] = {
    "a certificate alone": (lambda own, _: Material(leaf_cert=own.leaf_cert), "tls.key is missing"),
    "a key alone": (lambda own, _: Material(leaf_key=own.leaf_key), "tls.crt is missing"),
    "a CA alone": (lambda own, _: Material(ca_cert=own.ca_cert), "tls.key is missing"),
    "a CA key and a pair": (lambda own, _: replace(own, ca_cert=None), "ca.crt is missing"),
    "a full set without the leaf's key": (lambda own, _: replace(own, leaf_key=None), "tls.key is missing"),
    "half a CA key": (
        lambda own, _: Material(ca_key=(own.ca_key or b"")[:90]),
        "ca.key holds no PEM private key",
    ),
    "half a leaf key": (
        lambda own, _: replace(own, leaf_cert=None, leaf_key=b"-----BEGIN"),
        "tls.key holds no PEM private key",
    ),
    "two halves of two CAs": (
        lambda own, other: Material(own.ca_key, other.certificate),
        "ca.key is not the key of any certificate in ca.crt",
    ),
    "a leaf of another CA": (
        lambda own, other: replace(own, ca_key=other.key, ca_cert=other.certificate),
        "tls.crt was issued by CN=numafit CA",
    ),
    "another CA without its key": (
        lambda own, other: replace(own, ca_key=None, ca_cert=other.certificate),
        "tls.crt was issued by CN=numafit CA",
    ),
    "a pair of two halves": (
        lambda own, _: replace(own, leaf_key=make_key()),
        "tls.key is not the key of the first certificate in tls.crt",
    ),
    "an empty certificate": (lambda own, _: replace(own, leaf_cert=b""), "tls.crt is empty"),
}


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_a_half_or_foreign_set_is_named_and_not_touched(
    case: str, store: DirectoryStore, good: Material, put: Put, now: datetime
) -> None:
    key = make_key()
    broken, text = LEFT_ALONE[case]
    put(store.directory, broken(good, KeyPair(make_authority(key, now - DAY, 100 * DAY), key)))
    before = _contents(store.directory)
    with pytest.raises(CertificateError) as refused:
        store.ensure(now)
    assert str(refused.value).startswith(f"{store.directory}: ")
    assert text in str(refused.value)
    assert _contents(store.directory) == before


def test_a_directory_with_other_files_is_not_taken_over(store: DirectoryStore, now: datetime) -> None:
    store.directory.mkdir()
    (store.directory / "server.pem").write_text("somebody's")
    with pytest.raises(CertificateError, match=r"server\.pem is there and none of ca\.key, ca\.crt, tls"):
        store.ensure(now)
    assert _contents(store.directory) == {"server.pem": b"somebody's"}


def _to_directory(path: Path) -> None:
    path.mkdir()


def _to_pipe(path: Path) -> None:
    os.mkfifo(path)


def _to_nothing(path: Path) -> None:
    path.symlink_to("gone")


def _to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def _to_far_too_much(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 30)


@pytest.mark.parametrize("file", File)
@pytest.mark.parametrize(
    ("turn", "text"),
    [
        (_to_directory, "is a directory or a device"),
        (_to_pipe, "is a directory or a device"),
        (_to_nothing, "is a symbolic link to gone, which does not exist"),
        (_to_itself, "Too many levels of symbolic links"),
        (_to_far_too_much, "has 1073741824 bytes: 1048576 are allowed"),
    ],
)
def test_what_cannot_be_read_is_named_and_not_replaced(
    turn: Callable[[Path], None], text: str, file: File, store: DirectoryStore, now: datetime
) -> None:
    store.ensure(now)
    path = store.directory / file
    path.unlink()
    turn(path)
    with pytest.raises(CertificateError) as refused:
        store.ensure(now)
    assert f"{file} cannot be read: {text}" in str(refused.value)
    assert [defect.code for defect in refused.value.defects] == [Code.UNREADABLE]


def test_a_file_where_the_directory_should_be_is_named(store: DirectoryStore, now: datetime) -> None:
    store.directory.touch()
    with pytest.raises(CertificateError, match="cannot be read: Not a directory"):
        store.ensure(now)


def test_a_leaf_is_renewed_under_the_same_ca_when_two_thirds_of_its_life_are_over(
    store: DirectoryStore, now: datetime
) -> None:
    store.ensure(now)
    before = _contents(store.directory)
    store.ensure(now + 243 * DAY)
    assert _contents(store.directory) == before
    renewed = store.ensure(now + 244 * DAY)
    after = _contents(store.directory)
    assert {name for name in after if after[name] != before[name]} == {"tls.crt"}
    assert renewed.path[0].not_after > now + 600 * DAY


def test_a_leaf_of_one_hour_is_served_for_its_hour(store: DirectoryStore, now: datetime) -> None:
    short = replace(store, lifetimes=Lifetimes(leaf=HOUR))
    first = short.ensure(now)
    assert first.warnings == ()
    assert short.ensure(now + timedelta(minutes=37)).pair == first.pair
    assert short.ensure(now + timedelta(minutes=39)).pair != first.pair


@pytest.mark.parametrize(("age", "extra"), [(400 * DAY, ()), (-2 * DAY, ()), (DAY, ("plugin.example.com",))], ids=str)
def test_a_leaf_that_ended_or_lacks_a_name_is_issued_again_for_its_key(
    age: timedelta, extra: tuple[str, ...], store: DirectoryStore, authority: KeyPair, put: Put, now: datetime
) -> None:
    key = make_key()
    old = issue_leaf(authority, key, store.names.issued, now + max(-age, 0 * DAY), 300 * DAY)
    put(store.directory, Material(authority.key, authority.certificate, key, old))
    named = replace(store, names=service_names("numafit", "numafit-system", extra))
    kept = named.ensure(now + max(age, 0 * DAY))
    assert kept.pair.certificate != old
    assert (kept.pair.key, kept.ca_cert, kept.warnings) == (key, authority.certificate, ())


def test_a_ca_that_was_brought_with_its_key_issues_the_leaf(
    store: DirectoryStore, authority: KeyPair, put: Put, now: datetime
) -> None:
    put(store.directory, Material(authority.key, authority.certificate))
    kept = store.ensure(now)
    assert kept.path[1] == read_certificates(authority.certificate)[0]


def test_a_ca_that_ended_is_explained_and_not_replaced(store: DirectoryStore, now: datetime) -> None:
    store.ensure(now)
    before = _contents(store.directory)
    with pytest.raises(CertificateError, match=r"ca.crt \(CN=numafit CA .*\) ended at "):
        store.ensure(now + 4000 * DAY)
    assert _contents(store.directory) == before


def test_a_leaf_that_ends_with_its_ca_is_not_issued_again_and_again(store: DirectoryStore, now: datetime) -> None:
    short = replace(store, lifetimes=Lifetimes(ca=10 * DAY, leaf=10 * DAY))
    first = short.ensure(now)
    late = short.ensure(now + 9 * DAY)
    assert late.pair == first.pair
    assert {defect.code for defect in late.warnings} == {Code.ENDING}


def _brought(directory: Path, version: str, material: Material, put: Put) -> None:
    """As kubelet mounts a Secret: files link to `..data`, and that to the version in force."""
    put(directory / version, material)
    pending = directory / "..data_tmp"
    pending.symlink_to(version)
    pending.replace(directory / "..data")
    for path in (directory / version).iterdir():
        if not (directory / path.name).is_symlink():
            (directory / path.name).symlink_to(f"..data/{path.name}")


def test_a_mounted_pair_is_served_as_it_is_and_never_issued_again(
    store: DirectoryStore, good: Material, put: Put, now: datetime
) -> None:
    store.directory.mkdir()
    _brought(store.directory, "..v1", replace(good, ca_key=None), put)
    assert store.ensure(now).pair == KeyPair(good.leaf_cert or b"", good.leaf_key or b"")
    assert [defect.code for defect in store.ensure(now + 330 * DAY).warnings] == [Code.ENDING]
    with pytest.raises(CertificateError, match=r"tls.crt \(CN=numafit\) ended at"):
        store.ensure(now + 366 * DAY)
    assert not (store.directory / ".lock").exists()


def test_a_pair_without_any_ca_is_served(store: DirectoryStore, good: Material, put: Put, now: datetime) -> None:
    put(store.directory, replace(good, ca_key=None, ca_cert=None))
    assert store.ensure(now).ca_cert is None


def test_a_renewal_that_cannot_be_written_is_a_warning_while_the_old_leaf_is_good(
    store: DirectoryStore, now: datetime
) -> None:
    first = store.ensure(now)

    def full(_path: Path, _content: bytes, _mode: int) -> None:
        raise OSError(28, "No space left on device")

    on_full_disk = replace(store, write=full)
    kept = on_full_disk.ensure(now + 250 * DAY)
    assert kept.pair == first.pair
    assert [str(defect) for defect in kept.warnings] == [
        "tls.crt cannot be written: No space left on device; give this user a directory to write in"
    ]
    with pytest.raises(CertificateError, match=r"tls\.crt cannot be written: No space"):
        on_full_disk.ensure(now + 370 * DAY)


def _first_start(directory: str, barrier: Barrier, now: datetime) -> bytes:
    barrier.wait(timeout=20)
    kept = DirectoryStore(Path(directory), service_names("numafit", "numafit-system")).ensure(now)
    return (kept.ca_cert or b"") + kept.pair.certificate


def test_two_processes_that_start_at_once_make_one_ca(store: DirectoryStore, now: datetime) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(2) as pool:
        call = (str(store.directory), manager.Barrier(2), now)
        first, second = pool.starmap(_first_start, [call, call], chunksize=1)
    assert first == second
    material = read_material(store.directory)
    assert first == (material.ca_cert or b"") + (material.leaf_cert or b"")


def test_a_leaf_whose_ca_in_the_bundle_ended_is_issued_again_under_the_ca_whose_key_is_there(
    store: DirectoryStore, authority: KeyPair, put: Put, now: datetime
) -> None:
    old_key, key = make_key(), make_key()
    old = KeyPair(make_authority(old_key, now, 20 * DAY), old_key)
    leaf = issue_leaf(old, key, store.names.issued, now, 20 * DAY)
    put(store.directory, Material(authority.key, old.certificate + authority.certificate, key, leaf))
    assert store.ensure(now).pair.certificate == leaf
    kept = store.ensure(now + 21 * DAY)
    assert (kept.path[-1], kept.warnings) == (read_certificates(authority.certificate)[0], ())


def test_a_ca_is_replaced_by_hand_without_a_moment_at_which_the_old_bundle_fails(
    store: DirectoryStore, authority: KeyPair, now: datetime
) -> None:
    old = store.ensure(now).ca_cert or b""
    ca_key, ca_cert = store.directory / File.CA_KEY, store.directory / File.CA_CERT
    ca_cert.write_bytes(old + authority.certificate)
    assert store.ensure(now).path[-1] == read_certificates(old)[0]
    ca_key.write_bytes(authority.key)
    assert store.ensure(now).path[-1] == read_certificates(old)[0]
    (store.directory / File.LEAF_CERT).unlink()
    assert store.ensure(now).path[-1] == read_certificates(authority.certificate)[0]
    ca_cert.write_bytes(authority.certificate)
    assert store.ensure(now).warnings == ()


def test_the_published_copy_is_readable_for_all_and_rewritten_only_when_it_differs(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    publish_ca(b"one", path)
    first = path.stat()
    publish_ca(b"one", path)
    assert (path.read_bytes(), _mode(path), path.stat().st_ino) == (b"one", 0o644, first.st_ino)
    publish_ca(b"two", path)
    assert path.read_bytes() == b"two"


@pytest.mark.parametrize(
    ("content", "place", "text"),
    [
        (None, "ca.crt", "ca.crt is missing, and it is to be published"),
        (b"one", "gone/ca.crt", "ca.crt cannot be written: No such file or directory"),
        (b"one", "", "cannot be written: is a directory or a device"),
    ],
)
def test_what_cannot_be_published_is_said(content: bytes | None, place: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match=text):
        publish_ca(content, tmp_path / place)
