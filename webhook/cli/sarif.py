"""A review as SARIF 2.1.0, which code hosts show beside the lines of a change."""

import json
from pathlib import PurePath
from typing import Final, TextIO
from urllib.parse import quote

from policy.admission.finding import Level
from webhook.cli.catalogue import Entry, entries
from webhook.cli.judging import Judged, Located
from webhook.cli.manifests import Cause, Note
from webhook.cli.reports import Review
from webhook.cli.version import number

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {Level.ENFORCE: "error", Level.WARN: "warning", Level.AUDIT: "note", Level.OFF: "none"}


def write_sarif(review: Review, stream: TextIO) -> None:
    """Write findings as results, and what could not be judged as notifications."""
    given = {located.finding.code for _, located in review.findings()}
    rules = [entry for entry in entries() if entry.code in given]
    index = {entry.code: position for position, entry in enumerate(rules)}
    run = {
        "tool": {"driver": {"name": "numafit", "version": number(), "rules": [_rule(entry) for entry in rules]}},
        "invocations": [
            {
                "executionSuccessful": not review.unread,
                "toolExecutionNotifications": [_notification(note) for note in review.notes],
            }
        ],
        "results": [_result(judged, located, index) for judged, located in review.findings()],
    }
    json.dump({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, stream, indent=2, ensure_ascii=False)
    stream.write("\n")


def _rule(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.code,
        "shortDescription": {"text": entry.meaning},
        "help": {"text": entry.remedy},
        "defaultConfiguration": {"level": _LEVELS[Level(entry.level)]},
    }


def _result(judged: Judged, located: Located, index: dict[str, int]) -> dict[str, object]:
    finding = located.finding
    name = f"{judged.title}{judged.workload.path}"
    logical = [{"fullyQualifiedName": f"{name} {located.container}".strip(), "kind": "object"}]
    return {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": _LEVELS[finding.level],
        "message": {"text": finding.message},
        "locations": [{**_place(judged.document.file, located.line), "logicalLocations": logical}],
    }


def _notification(note: Note) -> dict[str, object]:
    return {
        "level": "error" if note.cause is Cause.UNREADABLE else "note",
        "message": {"text": note.text},
        "locations": [_place(note.file, note.line)],
    }


def _place(file: str, line: int) -> dict[str, object]:
    uri = quote(PurePath(file).as_posix())
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}}
