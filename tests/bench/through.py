"""What a review costs through the server: TLS, HTTP, application, decision, answer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench import clusters, inside
from tests.bench.figures import Figure, ratio
from tests.bench.reviews import review
from tests.bench.serving import Load, Server

CPU_GOAL_MS = 0.58
READY_GOAL_SECONDS = 1.5
MEMORY_GOAL_MIB = 80
PACED = 200
FRESH = 50

HAMI = {
    "CPU": "HAMi's webhook 1.15 ms",
    "rate": "HAMi's webhook 730 to 790 on one core",
    "p50": "HAMi's webhook 2.0 ms",
    "p99": "HAMi's webhook 6.5 ms",
    "fresh p50": "HAMi's webhook 5.4 ms",
    "fresh p99": "HAMi's webhook 11 ms",
    "memory": "HAMi's scheduler 54 MB",
}
"""Measured of HAMi 2.10 on a machine of 2 cores, server and client on a core each; not measured again here."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Both servers, and what the load needs to reach them."""

    directory: Path
    numafit: Server
    empty: Server

    @property
    def ca(self) -> Path:
        """What the clients verify with."""
        return self.directory / "ca.crt"

    def body(self, pod_bytes: int) -> Path:
        """The file of a review."""
        path = self.directory / f"review-{pod_bytes}.json"
        path.write_bytes(review(pod_bytes))
        return path


@contextmanager
def running(directory: Path) -> Iterator[Servers]:
    """Start both servers, on one core each other's rest; stop them afterwards."""
    levels = clusters.write_levels(directory)
    numafit = Server.numafit(directory, clusters.RECORDED, levels)
    try:
        certs = directory / "certs"
        empty = Server.empty(directory, certs / "tls.crt", certs / "tls.key")
        try:
            numafit.pin()
            empty.pin()
            yield Servers(directory, numafit, empty)
        finally:
            empty.stop()
    finally:
        numafit.stop()


def starts(directory: Path, repetitions: int) -> Figure:
    """From the start of the command to the ready file, key pairs made anew each time."""
    seconds = []
    for number in range(repetitions):
        own = directory / f"start-{number}"
        own.mkdir()
        server = Server.numafit(own, clusters.RECORDED, clusters.write_levels(own))
        server.stop()
        seconds.append(server.seconds_to_ready)
    return Figure("Start and memory", "start to ready, with new key pairs", "s", seconds, READY_GOAL_SECONDS)


def reviews(servers: Servers, repetitions: int, seconds: float) -> Iterator[Figure]:
    """Load of every kind on both servers in turn."""
    runs = _runs(servers, seconds)
    found: dict[str, list[Load]] = {name: [] for name in runs}
    for _ in range(repetitions):
        for name, run in runs.items():
            found[name].append(run())
    yield from _saturated(found)
    yield from _paced(found)
    yield from _others(found)


def _runs(servers: Servers, seconds: float) -> dict[str, Callable[[], Load]]:
    normal, large = servers.body(inside.POD_BYTES), servers.body(inside.LARGE_POD_BYTES)
    numafit, empty, ca = servers.numafit, servers.empty, servers.ca
    return {
        "numafit saturated": lambda: numafit.load(ca, normal, "saturated", seconds),
        "empty saturated": lambda: empty.load(ca, normal, "saturated", seconds),
        "numafit paced": lambda: numafit.load(ca, normal, "paced", seconds, rate=PACED),
        "empty paced": lambda: empty.load(ca, normal, "paced", seconds, rate=PACED),
        "large": lambda: numafit.load(ca, large, "saturated", seconds),
        "empty large": lambda: empty.load(ca, large, "saturated", seconds),
        "fresh": lambda: numafit.load(ca, normal, "fresh", seconds, rate=FRESH),
        "empty fresh": lambda: empty.load(ca, normal, "fresh", seconds, rate=FRESH),
    }


def _saturated(found: dict[str, list[Load]]) -> Iterator[Figure]:
    group = "Saturated: 8 keep-alive connections over TLS, a 9.5 KB pod each"
    cpu, base = [run.cpu for run in found["numafit saturated"]], [run.cpu for run in found["empty saturated"]]
    note = f"{ratio(cpu, base)} times the empty application; {HAMI['CPU']}"
    yield Figure(group, "CPU of a review", "ms", cpu, CPU_GOAL_MS, note)
    yield Figure(group, "CPU of a review, empty application", "ms", base)
    yield Figure(group, "reviews", "/s", [run.rate for run in found["numafit saturated"]], note=HAMI["rate"])
    yield Figure(group, "reviews, empty application", "/s", [run.rate for run in found["empty saturated"]])


def _paced(found: dict[str, list[Load]]) -> Iterator[Figure]:
    group = f"Paced: {PACED} reviews a second on 8 keep-alive connections"
    yield from _latencies(group, found["numafit paced"], (HAMI["p50"], HAMI["p99"]))
    yield from _latencies(group, found["empty paced"], ("", ""), ", empty application")


def _others(found: dict[str, list[Load]]) -> Iterator[Figure]:
    group = "Saturated with 74 KB pods"
    cpu, base = [run.cpu for run in found["large"]], [run.cpu for run in found["empty large"]]
    yield Figure(group, "CPU of a review", "ms", cpu, note=f"{ratio(cpu, base)} times the empty application")
    yield Figure(group, "reviews", "/s", [run.rate for run in found["large"]])
    group = f"A new connection for each of {FRESH} reviews a second"
    yield from _latencies(group, found["fresh"], (HAMI["fresh p50"], HAMI["fresh p99"]))
    yield Figure(group, "CPU of handshake and review", "ms", [run.cpu for run in found["fresh"]])
    yield from _latencies(group, found["empty fresh"], ("", ""), ", empty application")


def _latencies(group: str, runs: list[Load], notes: tuple[str, str], suffix: str = "") -> Iterator[Figure]:
    yield Figure(group, f"latency, p50{suffix}", "ms", [run.p50 for run in runs], note=notes[0])
    yield Figure(group, f"latency, p99{suffix}", "ms", [run.p99 for run in runs], note=notes[1])


def memory(servers: Servers) -> Iterator[Figure]:
    """What the processes hold after all that load."""
    group = "Start and memory"
    used = servers.numafit.memory()
    yield Figure(group, "worker, resident", "MiB", [used["rss"]], MEMORY_GOAL_MIB, HAMI["memory"])
    yield Figure(group, "both processes, shared pages counted once", "MiB", [used["pss"]])
    yield Figure(group, "both processes, their own pages alone", "MiB", [used["uss"]])
