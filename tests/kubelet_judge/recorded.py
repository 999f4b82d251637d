"""Vectors in files: asked of the judge, and written where judge and model disagreed."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tests.kubelet_judge.compare import outcome
from tests.kubelet_judge.judge import Answer, Judge

_RUNS: Final = 20

_BOUNDS: Final = frozenset({"forced", "allowed", "decided_by", "distinct_sets", "aligned", "unaligned"})
"""What a vector says of all runs together; of one run kubelet tells what it picked."""

_OLDER: Final = "releases before 1.36 list hints of devices over all NUMA nodes; the one compiled in does not"


def check(judge: Judge, files: Sequence[Path]) -> int:
    """Ask the judge all vectors of ``files``; print where its answer is not the expected one, return 1 if any."""
    vectors = [vector for path in files for vector in json.loads(path.read_text(encoding="utf-8"))["vectors"]]
    vectors = [vector for vector in vectors if {"node", "pod"} <= vector.keys()]
    older = [vector for vector in vectors if is_of_older_release(vector)]
    for vector in older:
        print(f"{vector['id']}: not asked, {_OLDER}")
    asked = [vector for vector in vectors if vector not in older]
    answers = judge.ask([vector for vector in asked for _ in range(_RUNS)])
    failed = 0
    for place, vector in enumerate(asked):
        differences = list(_judged(vector, answers[place * _RUNS : (place + 1) * _RUNS]))
        failed += bool(differences)
        for text in differences:
            print(f"{vector['id']}: {text}")
    print(f"{len(asked) - failed} as expected, {failed} otherwise, {len(older)} not asked")
    return 1 if failed else 0


def is_of_older_release(vector: dict[str, Any]) -> bool:
    """Tell whether a vector is about hints on NUMA nodes that have no device of the resource."""
    node = vector["node"]
    if node["kubelet"].get("deviceHintDomain", "all") != "all" or node["kubelet"]["topologyManagerPolicy"] == "none":
        return False
    asked = {
        name
        for kind in ("initContainers", "containers")
        for container in vector["pod"].get(kind, ())
        for name in container.get("limits", {})
    }
    nodes = set(node["numa"])
    return any(
        name in asked and (places := {n for device in devices for n in device["numa"] or ()}) and places < nodes
        for name, devices in node["devices"].items()
    )


def _judged(vector: dict[str, Any], runs: Sequence[Answer]) -> Iterator[str]:
    ends = sorted({outcome(run) for run in runs})
    possible = sorted(vector.get("outcomes", ends))
    if ends != possible:
        yield f"ended in {ends}, expected {possible}"
    # The expectation shows one run: at least one must be it.
    yield from min((list(_differences(vector["expect"], _whole(run), "")) for run in runs), key=len)


def _whole(answer: Answer) -> Answer:
    """Add what vectors derive from an answer: counts of hints and their preferred masks."""
    for part in (answer, *answer.get("containers", ())):
        if "hints" in part:
            known = {name: hints for name, hints in part["hints"].items() if hints is not None}
            part["hint_count"] = {name: len(hints) for name, hints in known.items()}
            part["preferred_masks"] = {
                name: [mask for mask, preferred in hints if preferred] for name, hints in known.items()
            }
    return answer


def _differences(expected: Any, got: Any, path: str) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(got, dict):
        for key, value in expected.items():
            if key not in _BOUNDS:
                yield from _differences(value, got.get(key), f"{path}.{key}" if path else key)
        yield from _outside(expected, got, path)
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for place, (one, other) in enumerate(zip(expected, got, strict=True)):
            yield from _differences(one, other, f"{path}[{place}]")
    elif expected != got:
        yield f"{path}: expected {expected!r}, kubelet {got!r}"


def _outside(expected: dict[str, Any], got: dict[str, Any], path: str) -> Iterator[str]:
    """Name picked devices outside of the bounds that a vector gives."""
    if "forced" in expected and "picked" in got:
        picked = set(got["picked"])
        if not set(expected["forced"]) <= picked <= set(expected.get("allowed", picked)):
            yield f"{path}: kubelet picked {sorted(picked)}"


def write(path: Path, vectors: Sequence[dict[str, Any]]) -> None:
    """Add ``vectors`` to a file of vectors, which is made if need be."""
    document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"vectors": []}
    document["vectors"] += vectors
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
