"""Makes a question on which judge and model disagree as small as it can be made by leaving things out."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.kubelet_judge.judge import Question

_KEPT = {("node", "numa"), ("node", "kubelet"), ("node", "devices"), ("pod", "containers"), ("node",), ("pod",)}
"""What every question has."""

_FIXED = {"name", "id", "socket", "cpus", "numa", "deviceHintDomain"}
"""Fields without which the rest means something else."""


def shrink(question: Question, disagrees: Callable[[Question], bool], tries: int = 150) -> dict[str, Any]:
    """Leave out field after field as long as ``disagrees`` still holds, asking at most ``tries`` times."""
    smallest, left = copy.deepcopy(dict(question)), tries
    shrunk = True
    while shrunk:
        shrunk = False
        for smaller in _smaller(smallest):
            if not left:
                return smallest
            left -= 1
            if disagrees(smaller):
                smallest, shrunk = smaller, True
                break
    return smallest


def _smaller(question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield copies without one part, large parts first."""
    for path in sorted(_paths(question, ()), key=lambda path: (len(path), str(path))):
        if path in _KEPT:
            continue
        smaller = copy.deepcopy(question)
        parent = smaller
        for step in path[:-1]:
            parent = parent[step]
        del parent[path[-1]]
        yield smaller


def _paths(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all parts that can be left out: fields of objects and members of lists of objects or words."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list) and not all(isinstance(item, int | bool) for item in value):
        items = list(enumerate(value))
    for key, part in items:
        if key not in _FIXED:
            yield (*path, key)
        yield from _paths(part, (*path, key))
