"""Figures of decisions inside the process."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.bench import inside
from tests.bench.figures import Figure, ratio
from tests.bench.sampling import Run, at, interleaved

DECISION_GOAL_MICROS = 150
REFIT_GOAL_MICROS = 1000

GATE = "1,000 nodes"
"""The decision that is held to its goal: the cluster is large, and the pod names no card that would narrow it."""


def figures(directory: Path, repetitions: int, calls: int) -> Iterator[Figure]:
    """Decisions, whole answers, refits, and what a generic library would take for the patch alone."""
    world = inside.world(directory)
    found = interleaved(inside.decisions(world), repetitions, calls)
    yield from _decisions(found)
    yield from _answers(world, repetitions, calls)
    yield from _refits(interleaved(inside.refits(world), repetitions, calls))
    for name, runs in interleaved(inside.moves(world), repetitions, calls).items():
        yield Figure("Refit, from request to committed answer", f"{name}, p50", "µs", _wall(runs, 50), note=_own(runs))


def _decisions(found: Mapping[str, list[Run]]) -> Iterator[Figure]:
    group = "Decide and patch a 9.5 KB pod, all rules judged, from decoded review to encoded answer"
    for name, runs in found.items():
        goal = DECISION_GOAL_MICROS if name == GATE else None
        yield Figure(group, f"{name}, p99", "µs", _wall(runs, 99), goal, _own(runs))
        yield Figure(group, f"{name}, p50", "µs", _wall(runs, 50))


def _answers(world: inside.World, repetitions: int, calls: int) -> Iterator[Figure]:
    group = "From the bytes of a review to the bytes of its answer, and jsonpatch.make_patch alone on the same pod"
    answers = interleaved(inside.answers(world), repetitions, calls)
    differences = interleaved(inside.differences(world), repetitions, max(20, calls // 20))
    for size, runs in answers.items():
        yield Figure(group, f"{size} pod, p50", "µs", _wall(runs, 50), note=_own(runs))
        times = ratio(_cpu(differences[size], 50), _cpu(runs, 50))
        note = f"{times} times numafit's whole answer"
        yield Figure(group, f"{size} pod, make_patch, p50", "µs", _wall(differences[size], 50), note=note)


def _refits(found: Mapping[str, list[Run]]) -> Iterator[Figure]:
    group = "Refit decision, 8 cards a node, 5 pods a node"
    large, small = found["1,000 nodes"], found["10 nodes"]
    times = ratio(_cpu(large, 50), _cpu(small, 50))
    note = f"{times} times that of 10 nodes; {_own(large)}"
    yield Figure(group, "1,000 nodes, p99", "µs", _wall(large, 99), REFIT_GOAL_MICROS, note)
    yield Figure(group, "10 nodes, p99", "µs", _wall(small, 99))


def _wall(runs: Sequence[Run], percent: float) -> list[float]:
    return [at(run.wall, percent) for run in runs]


def _cpu(runs: Sequence[Run], percent: float) -> list[float]:
    return [at(run.cpu, percent) for run in runs]


def _own(runs: Sequence[Run]) -> str:
    """The same without the turns of other processes, for a busy machine."""
    return f"CPU alone: p50 {_middle(runs, 50):.0f}, p99 {_middle(runs, 99):.0f}"


def _middle(runs: Sequence[Run], percent: float) -> float:
    found = sorted(_cpu(runs, percent))
    return found[len(found) // 2]
