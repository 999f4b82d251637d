"""The command line, called in this process: its exit code, what it answers and what it says."""

import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from webhook.cli import main

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "tests" / "data" / "manifests"
RECORDED = ROOT / "webhook" / "demo" / "cluster.json"
PROGRAM = [sys.executable, "-m", "webhook.cli"]
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


Numafit = Callable[..., Answer]


@pytest.fixture
def numafit(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Numafit:
    for name in [name for name in os.environ if name.startswith("NUMAFIT_")]:
        monkeypatch.delenv(name)

    def call(*arguments: object, stdin: str = "") -> Answer:
        monkeypatch.setattr(sys, "argv", ["numafit", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Answer(ended.value.code, out, err)

    return call


def run(
    *arguments: object, environment: Mapping[str, str] | None = None, program: Sequence[str] = PROGRAM
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=ENVIRONMENT | dict(environment or {}),
    )


def on_a_terminal(*arguments: object, **environment: str) -> str:
    """Run a command where stdout is a terminal, and return what it shows there: a page at most."""
    master, slave = os.openpty()
    subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        stdout=slave,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=60,
        env=ENVIRONMENT | {"TERM": "xterm", "COLUMNS": "200"} | environment,
    )
    os.close(slave)
    shown = os.read(master, 100_000).decode()
    os.close(master)
    return shown
