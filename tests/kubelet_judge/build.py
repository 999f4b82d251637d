"""Builds the Go program, once for each state of its sources, into the user's cache."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_SOURCES: Final = Path(__file__).parent
_NEEDED: Final = "Go 1.26 or newer (Debian: golang-go; else the archive from the Go project), with `go` on the PATH"


class JudgeError(RuntimeError):
    """The judge cannot be built or asked; the text says what to do."""


def judge_program(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the built program, building it first where these sources were never built.

    Raises:
        JudgeError: Go is missing or the build failed.
    """
    cache = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    program = cache / "numafit" / f"kubelet-judge-{_key()}"
    if not program.exists():
        _build(program)
    return program


def _key() -> str:
    digest = hashlib.sha256()
    for path in sorted(_SOURCES.glob("*")):
        if path.suffix in {".go", ".mod", ".s", ".sum"}:
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _build(program: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise JudgeError(
            f"the judge is kubelet's own code and is built with Go, but there is no `go`: install {_NEEDED}"
        )
    print(
        "building kubelet's managers for the judge: 4 to 15 minutes the first time, seconds after that ...",
        file=sys.stderr,
        flush=True,
    )
    program.parent.mkdir(parents=True, exist_ok=True)
    # Written beside and moved, so that an interrupted build leaves no half program.
    unfinished = program.with_suffix(f".{os.getpid()}")
    command = [go, "build", "-p=1", "-trimpath", "-ldflags=-s -w", "-o", str(unfinished), "."]
    settings = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
    done = subprocess.run(command, cwd=_SOURCES, env=settings, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise JudgeError(f"the judge does not build; Go says:\n{done.stderr.strip()}\nNeeded is {_NEEDED}.")
    unfinished.replace(program)
