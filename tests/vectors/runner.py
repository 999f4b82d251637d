"""Reads files of vectors, asks numafit, and compares.

An area is a module of this package with `ANSWERS`, group -> function from a vector to an answer in the shape of
the vector's `expect`. An answer that differs may still pass under a named deviation (`deviations.py`).
"""

import importlib
import importlib.util
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

AREAS: Final = ("hami", "placement", "caller", "admission", "topology", "group", "gang", "waiting", "webhook")
"""Modules of this package that answer groups of vectors."""

ADMISSION: Final = "admission"
"""The group of vectors that hold a whole pod, nodes and settings."""

TOPOLOGY: Final = "topology"
"""The group of vectors that hold a pod and one node with its kubelet."""

NOT_JUDGED: Final = "area not judged yet"

_TOLERANCE: Final = 1e-3
"""HAMi's scores are 32-bit floats."""


class VectorFileError(ValueError):
    """A file holds no vectors; the text names the file and what is wrong."""


@dataclass(frozen=True, slots=True)
class Vector:
    """One question.

    Attributes:
        id: its name in the file.
        group: what is asked, the key of the answering function.
        versions: which HAMi answered so.
        input: what is asked about.
        expect: the right answer.
    """

    id: str
    group: str
    versions: str
    input: Any
    expect: Any

    @property
    def expected(self) -> Any:
        """The answer to be met: of the newer HAMi where two are given."""
        return self.expect["newer"] if self.versions.startswith("both given") else self.expect


Answer = Callable[[Vector], object]


@dataclass(frozen=True, slots=True)
class Deviation:
    """A rule by which numafit answers otherwise than HAMi, for all vectors of one shape.

    Attributes:
        name: kebab case.
        reason: why numafit's answer is the better one.
        decision: where that was decided.
        groups: prefixes of the groups that it speaks of.
        applies: whether a vector's question has the shape.
        holds: whether an answer keeps what numafit promises for that shape.
    """

    name: str
    reason: str
    decision: str
    groups: tuple[str, ...]
    applies: Callable[[Vector], bool]
    holds: Callable[[Vector, object], bool]

    def covers(self, vector: Vector) -> bool:
        """Tell whether this rule speaks of ``vector``."""
        return vector.group.startswith(self.groups) and self.applies(vector)


@dataclass(frozen=True, slots=True)
class Judgement:
    """How one vector went.

    Attributes:
        vector: the question.
        passed: whether the answer is right, or right under a rule.
        got: the answer.
        rule: the deviation under which it passed, None if it is plainly right or wrong.
    """

    vector: Vector
    passed: bool
    got: object
    rule: Deviation | None = None


def read(path: Path) -> list[Vector]:
    """Read the vectors of a file, whatever its area.

    Raises:
        VectorFileError: the file cannot be read or is no file of vectors.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return [_vector(item, document.get("codes", "")) for item in document["vectors"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise VectorFileError(f"{path} is no file of vectors: {error!r}") from error


def _vector(item: Mapping[str, Any], codes: str) -> Vector:
    if "group" in item:
        return Vector(item["id"], item["group"], item["versions"], item["input"], item["expect"])
    if "kind" in item:
        return Vector(item["id"], f"group.{item['kind']}", "all", item["input"], item["expect"])
    question = {"codes": codes, **{key: value for key, value in item.items() if key != "expect"}}
    return Vector(item["id"], _group(item), "all", question, _expect(item))


def _group(item: Mapping[str, Any]) -> str:
    if {"pod", "nodes", "config"} <= item.keys():
        return ADMISSION
    return TOPOLOGY if {"pod", "node"} <= item.keys() else NOT_JUDGED


def _expect(item: Mapping[str, Any]) -> Any:
    """Return the right answer; what arbitrary picks can lead to stands beside it where there is more than one end."""
    return {**item["expect"], "outcomes": sorted(item["outcomes"])} if "outcomes" in item else item["expect"]


def load_answers() -> dict[str, Answer]:
    """Gather the answering functions of every area that exists."""
    found: dict[str, Answer] = {}
    for area in AREAS:
        name = f"{__package__}.{area}"
        if importlib.util.find_spec(name) is not None:
            found.update(importlib.import_module(name).ANSWERS)
    return found


def judge(vector: Vector, answers: Mapping[str, Answer], deviations: Iterable[Deviation]) -> Judgement:
    """Ask ``vector`` and compare the answer."""
    answer = answers.get(vector.group)
    if answer is None:
        return Judgement(vector, passed=False, got=f"nothing: {_unanswered(vector.group)}")
    try:
        got = answer(vector)
    except Exception as error:  # noqa: BLE001 - whatever an answer does, the other vectors are still asked
        return Judgement(vector, passed=False, got=f"raised {error!r}")
    if matches(vector.expected, got):
        return Judgement(vector, passed=True, got=got)
    rule = next((rule for rule in deviations if rule.covers(vector) and rule.holds(vector, got)), None)
    return Judgement(vector, passed=rule is not None, got=got, rule=rule)


def _unanswered(group: str) -> str:
    return group if group == NOT_JUDGED else f"no module of tests.vectors answers {group}"


def matches(expected: object, got: object) -> bool:
    """Compare an answer: the keys that an expected object names, and all else exactly."""
    if isinstance(expected, dict) and expected and isinstance(got, dict):
        return all(key in got and _equals(value, got[key]) for key, value in expected.items())
    return _equals(expected, got)


def _equals(expected: object, got: object) -> bool:
    if isinstance(expected, str) and expected.startswith("error"):
        return isinstance(got, str) and got.startswith("error")
    if isinstance(expected, list):
        return _equal_lists(expected, got)
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(_equals(expected[key], got[key]) for key in expected)
    if isinstance(expected, int | float) and isinstance(got, int | float) and float in {type(expected), type(got)}:
        return math.isclose(expected, got, abs_tol=_TOLERANCE)
    return type(expected) is type(got) and expected == got


def _equal_lists(expected: Sequence[object], got: object) -> bool:
    if isinstance(got, set | frozenset):
        return set(expected) == got
    if not isinstance(got, list | tuple) or len(expected) != len(got):
        return False
    return all(_equals(one, other) for one, other in zip(expected, got, strict=True))
