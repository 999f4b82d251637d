"""Servers as processes of their own: how soon they are ready, what they use, and the load that is put on them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.bench.machine import CLIENT_CORE, SERVER_CORE

ROOT = Path(__file__).parents[2]
LOOK_SECONDS = 0.001
START_SECONDS = 30
STOP_SECONDS = 15
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Load:
    """What one run of the load found.

    Attributes:
        rate: requests a second.
        p50: milliseconds, as p99.
        cpu: milliseconds of the worker's CPU time a request, user and system.
    """

    rate: float
    p50: float
    p99: float
    cpu: float


class Server:
    """One running server."""

    def __init__(self, directory: Path, module: str, arguments: Iterable[str]) -> None:
        ready = directory / f"ready-{module}"
        ready.unlink(missing_ok=True)
        self._log = directory / f"log-{module}"
        began = time.perf_counter()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=ROOT,
                env={name: value for name, value in os.environ.items() if not name.startswith("NUMAFIT_")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait(ready)
        self.seconds_to_ready = time.perf_counter() - began
        self.port: int = json.loads(ready.read_text(encoding="utf-8"))["port"]
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        (self.worker,) = map(int, children.read_text(encoding="ascii").split())

    @classmethod
    def numafit(cls, directory: Path, cluster: Path, levels: Path) -> Self:
        """The real one."""
        flags: Mapping[str, object] = {
            "cluster": cluster,
            "levels": levels,
            "tls-directory": directory / "certs",
            "tls-publish": directory / "ca.crt",
            "ready-file": directory / "ready-webhook.cli",
            "listen-host": "127.0.0.1",
            "listen-port": 0,
            "listen-ops-port": 0,
            "drain-seconds": 0,
        }
        return cls(directory, "webhook.cli", ["serve", *(f"--{name}={value}" for name, value in flags.items())])

    @classmethod
    def empty(cls, directory: Path, certificate: Path, key: Path) -> Self:
        """The one with an empty application."""
        ready = directory / "ready-tests.bench.empty"
        return cls(directory, "tests.bench.empty", map(str, (certificate, key, ready)))

    def _wait(self, ready: Path) -> None:
        until = time.monotonic() + START_SECONDS
        while not ready.exists():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                said = self._log.read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"the server did not start: {said}")
            time.sleep(LOOK_SECONDS)

    def pin(self) -> None:
        """Keep all its threads on one core, away from the client's."""
        for pid in (self._process.pid, self.worker):
            for task in Path(f"/proc/{pid}/task").iterdir():
                os.sched_setaffinity(int(task.name), {SERVER_CORE})

    def cpu_seconds(self) -> float:
        """CPU time of the worker so far."""
        fields = Path(f"/proc/{self.worker}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> dict[str, float]:
        """MiB: the worker's resident set, and of both processes what they do not share and their part of the rest."""
        both = [_rollup(self._process.pid), _rollup(self.worker)]
        return {
            "rss": both[1]["Rss"],
            "pss": sum(each["Pss"] for each in both),
            "uss": sum(each["Private_Clean"] + each["Private_Dirty"] for each in both),
        }

    def load(self, ca: Path, body: Path, kind: str, seconds: float, connections: int = 8, rate: float = 0) -> Load:
        """Put a load on, from another process on another core."""
        arguments = [str(self.port), str(ca), str(body), kind, str(seconds), str(connections), str(rate)]
        before = self.cpu_seconds()
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.load", *arguments],
            cwd=ROOT,
            check=True,
            stdout=subprocess.PIPE,
            timeout=seconds + 60,
            preexec_fn=lambda: os.sched_setaffinity(0, {CLIENT_CORE}),
        )
        used = self.cpu_seconds() - before
        found = json.loads(done.stdout)
        requests = found["requests"]
        return Load(requests / found["seconds"], found["p50"], found["p99"], 1000 * used / requests)

    def stop(self) -> None:
        """End it, by force if need be."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()


def _rollup(pid: int) -> dict[str, float]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    return {name: int(amount.split()[0]) / 1024 for name, _, amount in (line.partition(":") for line in lines)}
