"""Files that are read whole or not at all, and written whole or not at all."""

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LARGEST = 1 << 20


def read_whole(path: Path) -> bytes | None:
    """The content of a regular file; None where there is nothing.

    Raises:
        OSError: it is something else (a directory, a link to nothing), too large, or not readable.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise OSError(f"is a symbolic link to {path.readlink()}, which does not exist") from None
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError("is a directory or a device: a regular file is needed")
    if status.st_size > _LARGEST:
        raise OSError(f"has {status.st_size} bytes: {_LARGEST} are allowed")
    return path.read_bytes()


def fingerprint(path: Path) -> tuple[int, ...]:
    """Numbers that change when the content may have changed. Cheap, and never an error."""
    try:
        status = path.stat()
    except OSError as error:
        return (error.errno or 0,)
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def write_atomically(path: Path, content: bytes, mode: int) -> None:
    """Puts `content` at `path`: a reader, and a crash, finds the old file or the new one, never a part.

    Raises:
        OSError: it could not be written; what was there before is still there.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=temporary_prefix(path.name))
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def temporary_prefix(name: str) -> str:
    """How the names of the files begin that a write of `name` may leave behind when the machine stops."""
    return f".{name}.new-"


@contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Lets one process in at a time. The kernel opens the lock when its holder ends, however it ends."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
