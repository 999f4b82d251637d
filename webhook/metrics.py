"""What the server counts. `docs/metrics.md` says how to read each."""

import platform
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Seconds. A decision takes well under a millisecond; the device plugin gives up after two seconds."""

OTHER = "other"
"""The path label of everything that is no operation, so that a caller cannot make labels."""


class Metrics:
    """One registry and the few ways in which the rest of the server adds to it.

    Label values come from closed sets: paths of operations, verdicts, finding codes and levels. The child of each
    combination is looked up once.
    """

    def __init__(self, version: str) -> None:
        self.registry = CollectorRegistry()
        self._requests = self._counter("requests", "Requests answered", "path", "verdict")
        self._findings = self._counter("findings", "Findings on pods", "code", "level")
        self._refits = self._counter("refits", "Refits answered", "result", "code")
        self._shed = self._counter("shed", "Requests turned away because too much was in hand", "path")
        self._handshakes = self._counter("tls_handshake_failures", "TLS handshakes that failed", "reason")
        self._duration = Histogram(
            "numafit_request_duration_seconds",
            "From the whole request in memory to its answer",
            ["path"],
            registry=self.registry,
            buckets=BUCKETS,
        )
        self._in_flight = self._gauge("in_flight", "Requests being decided")
        self._facts_age = self._gauge("facts_age_seconds", "Age of the facts about the cluster")
        self.certificate_expiry = self._gauge(
            "certificate_expiry_timestamp_seconds", "When the served certificate ends, Unix time"
        )
        self.certificate_problem = self._gauge(
            "certificate_problem", "1 while a newer key pair was refused and the last good one is served"
        )
        self.levels_problem = self._gauge(
            "levels_problem", "1 while a newer policy file was refused and the last good one counts"
        )
        self.exemptions_expired = self._gauge(
            "exemptions_expired", "Exemptions of the policy file whose end has come, so that they no longer count"
        )
        build = Gauge("numafit_build_info", "Version", ["version", "python"], registry=self.registry)
        build.labels(version, platform.python_version()).set(1)
        self._children: dict[tuple[object, ...], Counter] = {}
        self._durations: dict[str, Histogram] = {}

    def answered(self, path: str, verdict: str, seconds: float) -> None:
        """A request on an operation was answered, `seconds` after it had arrived whole."""
        self._child(self._requests, path, verdict).inc()
        duration = self._durations.get(path)
        if duration is None:
            duration = self._durations[path] = self._duration.labels(path)
        duration.observe(seconds)

    def turned_down(self, path: str, verdict: str) -> None:
        """A request was answered by the shell alone: no such path, wrong method, not HTTP."""
        self._child(self._requests, path, verdict).inc()

    def shed(self, path: str) -> None:
        """A request was turned away because too much was in hand."""
        self._child(self._shed, path).inc()

    def handshake_failed(self, reason: str) -> None:
        """A TLS handshake failed: timeout, certificate-refused, closed or protocol."""
        self._child(self._handshakes, reason).inc()

    def finding(self, code: str, level: str) -> None:
        """A rule had something to say about a pod."""
        self._child(self._findings, code, level).inc()

    def refit(self, result: str, code: str) -> None:
        """A refit was answered; `code` is empty where the result says it all."""
        self._child(self._refits, result, code).inc()

    def in_flight_from(self, count: Callable[[], float]) -> None:
        """Read the number of requests in hand from here."""
        self._in_flight.set_function(count)

    def facts_age_from(self, age: Callable[[], float]) -> None:
        """Read the age of the facts, in seconds, from here."""
        self._facts_age.set_function(age)

    def text(self) -> bytes:
        """All of it in Prometheus' text format 0.0.4."""
        return generate_latest(self.registry)

    def _child(self, counter: Counter, *labels: str) -> Counter:
        key = (counter, *labels)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = counter.labels(*labels)
        return child

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"numafit_{name}", meaning, labels, registry=self.registry)

    def _gauge(self, name: str, meaning: str) -> Gauge:
        return Gauge(f"numafit_{name}", meaning, registry=self.registry)
