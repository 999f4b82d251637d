"""What the figures were taken on: without it they say nothing."""

import os
import platform
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORE = CORES[0], CORES[-1]
"""Server and client on a core each, where there are two."""

PACKAGES = ("gunicorn", "flask", "werkzeug", "msgspec", "cryptography", "jsonpatch")


def describe() -> dict[str, str]:
    """Machine and versions, for people."""
    return {
        "cpu": _first(Path("/proc/cpuinfo"), "model name") or platform.machine(),
        "cores": str(len(CORES)),
        "kernel": platform.release(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "openssl": ssl.OPENSSL_VERSION,
        **{name: metadata.version(name) for name in PACKAGES},
    }


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keep this process where it is, so that it finds its caches again."""
    os.sched_setaffinity(0, {CLIENT_CORE})
    try:
        yield
    finally:
        os.sched_setaffinity(0, CORES)


def load() -> float:
    """How many processes wanted a core during the last minute, on average."""
    return os.getloadavg()[0]


def _first(file: Path, key: str) -> str:
    lines = file.read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")
