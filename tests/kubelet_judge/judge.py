"""Asks the Go program: questions in the format of the topology vectors, answers in the shape of their `expect`."""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.kubelet_judge.build import JudgeError

Question = Mapping[str, Any]
Answer = dict[str, Any]

_BATCH: Final = 400
"""Questions to one process: each leaves a goroutine of kubelet's behind, so a process is not kept for long."""

_ASKED: Final = ("node", "pod", "before")


class Judge:
    """The Go program, started anew for each batch."""

    def __init__(self, program: Path, patience: float = 10.0) -> None:
        """Take the program; ``patience`` is how many seconds one question may take before kubelet is said to stall."""
        self._command = [str(program), f"-patience={patience}s"]
        self._patience = patience

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """Answer the questions in their order.

        Raises:
            JudgeError: the program ended without an answer, or a question is none.
        """
        starts = range(0, len(questions), _BATCH)
        return [answer for start in starts for answer in self._batch(questions[start : start + _BATCH])]

    def runs(self, question: Question, times: int) -> list[Answer]:
        """Ask the same several times: Go walks maps in no order, and so kubelet's arbitrary picks differ."""
        return self.ask([question] * times)

    def _batch(self, questions: Sequence[Question]) -> Iterator[Answer]:
        left = list(questions)
        while left:
            answers = self._process(left)
            yield from answers
            left = left[len(answers) :]

    def _process(self, questions: Sequence[Question]) -> list[Answer]:
        lines = "".join(json.dumps({key: each[key] for key in _ASKED if key in each}) + "\n" for each in questions)
        with tempfile.TemporaryDirectory(prefix="nj-") as folder:  # Short: a Unix socket's path is limited.
            done = subprocess.run(
                [*self._command, f"-folder={folder}"], input=lines, capture_output=True, text=True, check=False
            )
        answers: list[Answer] = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode != 0 or not answers:
            where = json.dumps(questions[len(answers)]) if len(answers) < len(questions) else "its end"
            raise JudgeError(f"the judge ended with {done.returncode} at {where}:\n{done.stderr[-2000:]}")
        for question, answer in zip(questions, answers, strict=False):
            if "error" in answer:
                raise JudgeError(f"the judge cannot read {json.dumps(question)}: {answer['error']}")
        return answers
