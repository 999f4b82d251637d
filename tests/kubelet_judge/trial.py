"""Random cases of every profile, asked of judge and model; disagreements are confirmed, shrunk and shown."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.kubelet_judge.compare import ARBITRARY, common, disagreements, outcome, predicted
from tests.kubelet_judge.judge import Answer, Judge, Question
from tests.kubelet_judge.profiles import question
from tests.kubelet_judge.shrink import shrink

_CHUNK = 200
_RUNS = 2
_CONFIRMING_RUNS = 40
_SHRINKING_RUNS = 12
_SHOWN = 20
"""Disagreements after which a run ends."""


class Trial:
    """One run over profiles.

    Attributes:
        tally: profile -> how many cases, and how often kubelet ended how.
    """

    def __init__(self, judge: Judge, seed: int, profiles: Sequence[str]) -> None:
        self._judge = judge
        self._seed = seed
        self._profiles = profiles
        self.tally: dict[str, tuple[int, Counter[str]]] = {name: (0, Counter()) for name in profiles}

    def run(self, cases: int) -> list[dict[str, Any]]:
        """Compare ``cases`` cases, the profiles taking turns; return a vector for each disagreement."""
        found: list[dict[str, Any]] = []
        for first in range(0, cases, _CHUNK):
            numbers = range(first, min(first + _CHUNK, cases))
            drawn = [self._draw(number) for number in numbers]
            asked = [case for _, case in drawn for _ in range(_RUNS)]
            answers = self._judge.ask(asked)
            for place, (name, case) in enumerate(drawn):
                runs = answers[place * _RUNS : (place + 1) * _RUNS]
                self._count(name, runs[0])
                if disagreements(runs, predicted(case)) and self._kinds(case):
                    found.append(self._vector(name, numbers[place], case))
                    if len(found) == _SHOWN:
                        return found
        return found

    def _draw(self, number: int) -> tuple[str, dict[str, Any]]:
        name = self._profiles[number % len(self._profiles)]
        return name, question(Random(f"{self._seed} {number}"), name)

    def _count(self, name: str, answer: Answer) -> None:
        cases, ends = self.tally[name]
        ends[outcome(answer)] += 1
        self.tally[name] = (cases + 1, ends)

    def _kinds(self, case: Question, times: int = _CONFIRMING_RUNS) -> set[str]:
        """Name the places of an answer where the two differ, asked often enough that every arbitrary pick was seen."""
        try:
            found = disagreements(self._judge.runs(case, times), predicted(case))
        except Exception:  # noqa: BLE001 - shrinking left out a part that is needed: whatever breaks, it is no case
            return set()
        return {re.sub(r"\[\d+\]", "", text.partition(":")[0]) for text in found}

    def _vector(self, name: str, number: int, case: dict[str, Any]) -> dict[str, Any]:
        kinds = self._kinds(case)
        small = shrink(case, lambda smaller: bool(kinds & self._kinds(smaller, _SHRINKING_RUNS)))
        runs = self._judge.runs(small, _CONFIRMING_RUNS)
        model = predicted(small)
        differences = disagreements(runs, model)
        vector = {
            "id": f"judged-{name}-{self._seed}-{number}",
            "title": f"{name}, answered by kubelet",
            **small,
            "expect": _steady(common(runs)),
            "outcomes": sorted({outcome(run) for run in runs}),
        }
        print("\n".join(["disagreement:", *(f"  {text}" for text in differences), json.dumps(vector)]), flush=True)
        return vector


def _steady(answer: Any) -> Any:
    """Leave out of an answer what is arbitrary, what one run picked, and what vectors do not say: an empty amount."""
    if isinstance(answer, dict):
        named = {key: value for key, value in answer.items() if value is not ARBITRARY and key != "picked"}
        shared = {key for key in ("cpus", "memory_nodes") if not named.get(key, True)}
        return {key: _steady(value) for key, value in named.items() if key not in shared}
    return [_steady(item) for item in answer] if isinstance(answer, list) else answer
