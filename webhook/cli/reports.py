"""A review as people and programs read it: a table, or one JSON document."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TextIO

from policy.admission.finding import Level
from webhook.cli import screen
from webhook.cli.catalogue import entries
from webhook.cli.judging import Judged, Located, rank
from webhook.cli.manifests import Cause, Note


@dataclass(frozen=True, slots=True)
class Review:
    """What came of all manifests.

    Attributes:
        judged: every pod and template that was judged.
        notes: what was not, and why.
    """

    judged: Sequence[Judged]
    notes: Sequence[Note]

    def has(self, *levels: Level) -> bool:
        """Whether a finding of one of these levels is there."""
        return any(located.finding.level in levels for _, located in self.findings())

    def findings(self) -> Iterator[tuple[Judged, Located]]:
        """All findings, file by file, refusals first, those of a level by line."""
        for _, of_file in groupby(self.judged, lambda judged: judged.document.file):
            found = [(judged, located) for judged in of_file for located in judged.found]
            yield from sorted(found, key=lambda pair: rank(pair[1]))

    @property
    def unread(self) -> tuple[Note, ...]:
        """What should have been judged and could not be read."""
        return tuple(note for note in self.notes if note.cause is Cause.UNREADABLE)

    @property
    def summary(self) -> str:
        """One line for people."""
        if not self.judged:
            return "nothing was judged: no pod and no template of pods was found that can be read"
        verdicts = [judged.verdict for judged in self.judged]
        counts = ", ".join(f"{verdicts.count(word)} {word}" for word in ("refused", "warned", "allowed"))
        pods = "1 pod or template" if len(verdicts) == 1 else f"{len(verdicts)} pods and templates"
        unread = f", {len(self.unread)} could not be read" if self.unread else ""
        return f"{pods} judged: {counts}{unread}"


def write_table(review: Review, stream: TextIO) -> None:
    """Write a line for each finding; nothing where there is none."""
    rows = [
        (f"{judged.document.file}:{located.line}", judged.title, located.finding.level, located.finding.text)
        for judged, located in review.findings()
    ]
    if rows:
        screen.table(("PLACE", "WHAT", "LEVEL", "FINDING"), rows, stream)


def write_json(review: Review, stream: TextIO) -> None:
    """Write everything that is known, for programs."""
    remedies = {entry.code: entry.remedy for entry in entries()}
    content = {
        "pods": [_pod(judged, remedies) for judged in review.judged],
        "notes": [
            {"file": note.file, "line": note.line, "cause": note.cause, "text": note.text} for note in review.notes
        ],
    }
    screen.document("Review", content, stream)


def _pod(judged: Judged, remedies: dict[str, str]) -> dict[str, object]:
    return {
        "file": judged.document.file,
        "document": judged.document.number,
        "line": judged.line,
        "kind": judged.workload.kind,
        "namespace": judged.namespace,
        "name": judged.workload.name,
        "path": judged.workload.path,
        "controller": judged.workload.maker,
        "verdict": judged.verdict,
        "findings": [_finding(located, remedies) for located in judged.found],
        "filledIn": list(judged.filled.names),
    }


def _finding(located: Located, remedies: dict[str, str]) -> dict[str, object]:
    finding = located.finding
    return {
        "code": finding.code,
        "level": finding.level,
        "message": finding.message,
        "remedy": remedies[finding.code],
        "container": located.container,
        "line": located.line,
    }
