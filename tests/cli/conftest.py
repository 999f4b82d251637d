"""The command line, called in this process: its exit code, what it answers and what it says."""

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from webhook.cli import main

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "tests" / "data" / "manifests"
RECORDED = ROOT / "webhook" / "demo" / "cluster.json"


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
