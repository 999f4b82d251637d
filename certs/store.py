"""A directory that keeps certificates: made when empty, kept when good, never taken over from others."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from certs.files import exclusive, fingerprint, read_whole, temporary_prefix, write_atomically
from certs.material import CertificateError, Code, Defect, File, Material
from certs.names import Names
from certs.pair import Lifetimes
from certs.plan import Refuse, Serve, Write, as_it_is, plan

_LOCK = ".lock"
_CA = (File.CA_KEY, File.CA_CERT)
_MODES = {File.CA_KEY: 0o600, File.CA_CERT: 0o644, File.LEAF_KEY: 0o600, File.LEAF_CERT: 0o644}


@dataclass(frozen=True, slots=True)
class DirectoryStore:
    """Keeps `ca.key`, `ca.crt`, `tls.key` and `tls.crt` in `directory`.

    `write` puts a file there, whole or not at all, with the mode that it is given.
    """

    directory: Path
    names: Names
    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    write: Callable[[Path, bytes, int], None] = write_atomically

    @property
    def place(self) -> str:
        """The directory, as texts name it."""
        return str(self.directory)

    def fingerprint(self) -> Hashable:
        """A value that changes when a file may have changed. Cheap, and never an error."""
        return tuple(fingerprint(self.directory / file) for file in File)

    def ensure(self, now: datetime, *, begin: bool = True) -> Serve:
        """What is to be served, after what was missing was made and what nears its end was issued again.

        `begin` says whether a CA may be made. A server that already serves must not: clients trust the one it had,
        and files that vanish may come back.

        Any number of processes may do this in one directory at once: one writes, all get the same. A renewal
        that cannot be written is a warning for as long as the old leaf is good.

        Raises:
            CertificateError: the files are not good to serve and not ours to change, or cannot be written.
        """
        step = self._planned(now, begin)
        if isinstance(step, Write):
            step = self._completed(now, begin)
        if isinstance(step, Refuse):
            raise CertificateError(self.directory, *step.defects)
        return step

    def _planned(self, now: datetime, begin: bool) -> Write | Serve | Refuse:
        material = read_material(self.directory)
        stranger = _stranger(self.directory) if material == Material() else None
        if stranger is not None:
            text = f"is there and none of {', '.join(File)} is; name a directory that is meant for them alone"
            return Refuse((Defect(stranger, Code.FOREIGN_FILES, text),))
        step = plan(material, self.names, self.lifetimes, now)
        if isinstance(step, Write) and step.file in _CA and not begin:
            text = "is gone; put the files back, or restart the server to begin anew with another CA"
            return Refuse((Defect(step.file, Code.MISSING, text),))
        return step

    def _completed(self, now: datetime, begin: bool) -> Serve | Refuse:
        try:
            return self._complete(now, begin)
        except CertificateError as error:
            left = as_it_is(read_material(self.directory), self.names, now)
            if isinstance(left, Refuse):
                raise
            return replace(left, warnings=(*left.warnings, *error.defects))

    def _complete(self, now: datetime, begin: bool) -> Serve | Refuse:
        with ExitStack() as held:
            with self._writing(_LOCK):
                self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                held.enter_context(exclusive(self.directory / _LOCK))
                _sweep(self.directory)
            for _ in range(len(File) + 1):
                step = self._planned(now, begin)
                if not isinstance(step, Write):
                    return step
                with self._writing(step.file):
                    self.write(self.directory / step.file, step.pem, _MODES[step.file])
        text = "was held, and the files changed all the same; stop the other program that writes here"
        raise CertificateError(self.directory, Defect(_LOCK, Code.NOT_WRITABLE, text))

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            text = f"cannot be written: {error.strerror or error}; give this user a directory to write in"
            raise CertificateError(self.directory, Defect(name, Code.NOT_WRITABLE, text)) from error


def read_material(directory: Path) -> Material:
    """The files as they are, nothing judged.

    They are read against the order in which they are written: what another process has begun looks begun,
    never torn. (A mounted Secret that kubelet swaps in between looks torn once, and is read again soon.)

    Raises:
        CertificateError: one of them is there and cannot be read.
    """
    found = [_read(directory, file) for file in reversed(File)]
    return Material(*reversed(found))


def _read(directory: Path, file: File) -> bytes | None:
    try:
        return read_whole(directory / file)
    except OSError as error:
        text = f"cannot be read: {error.strerror or error}; put a file there that this user can read"
        raise CertificateError(directory, Defect(file, Code.UNREADABLE, text)) from error


def _stranger(directory: Path) -> str | None:
    """Something that somebody keeps here; a volume's own files are nobody's."""
    if not directory.is_dir():
        return None
    try:
        names = [entry.name for entry in directory.iterdir() if entry.name != "lost+found"]
    except OSError as error:
        text = f"cannot be listed: {error.strerror}; name a directory that this user can read"
        raise CertificateError(directory, Defect(".", Code.UNREADABLE, text)) from error
    return min((name for name in names if not name.startswith(".")), default=None)


def _sweep(directory: Path) -> None:
    """Takes away what a write that never ended has left: it may hold a key."""
    for file in File:
        for left in directory.glob(f"{temporary_prefix(file)}*"):
            left.unlink()
