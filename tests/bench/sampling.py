"""Repeated measurements: several cases take turns, so that a noisy moment hits all of them alike."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """One repetition of one case, in microseconds per call, ascending.

    Attributes:
        wall: on the clock; where other processes want the same core, their turns are in it.
        cpu: of this thread alone, so the same on a busy machine as on a quiet one, caches aside.
    """

    wall: Sequence[float]
    cpu: Sequence[float]


def at(ascending: Sequence[float], percent: float) -> float:
    """The value that this share of them stays within."""
    return ascending[min(len(ascending) - 1, int(len(ascending) * percent / 100))]


def timed(call: Callable[[], object], calls: int) -> Run:
    """Call again and again, each call by itself on both clocks."""
    clock, own = time.perf_counter_ns, time.thread_time_ns
    wall, cpu = [], []
    for _ in range(calls):
        began, began_own = clock(), own()
        call()
        ended_own, ended = own(), clock()
        wall.append((ended - began) / 1000)
        cpu.append((ended_own - began_own) / 1000)
    return Run(sorted(wall), sorted(cpu))


def interleaved(cases: Mapping[str, Callable[[], object]], repetitions: int, calls: int) -> dict[str, list[Run]]:
    """Measure all cases in turn, ``repetitions`` times, after a short warm-up of each."""
    for call in cases.values():
        timed(call, max(10, calls // 10))
    found: dict[str, list[Run]] = {name: [] for name in cases}
    for _ in range(repetitions):
        for name, call in cases.items():
            found[name].append(timed(call, calls))
    return found
