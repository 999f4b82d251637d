"""A review as JUnit XML: a suite for each file, a case for each pod or template in it."""

from collections.abc import Iterable
from itertools import chain
from typing import TextIO
from xml.etree import ElementTree as ET

from policy.admission.finding import Level
from webhook.cli.judging import Judged
from webhook.cli.manifests import Cause, Note
from webhook.cli.reports import Review
from webhook.cli.screen import printable


def write_junit(review: Review, stream: TextIO) -> None:
    """Write failures for refusals, output for the rest, errors for what could not be read."""
    root = ET.Element("testsuites", name="numafit review")
    files = dict.fromkeys(chain((j.document.file for j in review.judged), (note.file for note in review.notes)))
    for file in files:
        judged = [each for each in review.judged if each.document.file == file]
        root.append(_suite(file, judged, [note for note in review.notes if note.file == file]))
    ET.indent(root)
    stream.write(f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n')


def _suite(file: str, judged: Iterable[Judged], notes: Iterable[Note]) -> ET.Element:
    cases = [*(_case(file, each) for each in judged), *(_note(note) for note in notes)]
    counts = {
        name: str(sum(case.find(tag) is not None for case in cases))
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    }
    suite = ET.Element("testsuite", {"name": printable(file), "tests": str(len(cases)), **counts})
    suite.extend(cases)
    return suite


def _case(file: str, judged: Judged) -> ET.Element:
    case = ET.Element("testcase", classname=printable(file), name=printable(f"{judged.title}{judged.workload.path}"))
    refusals = [found for found in judged.found if found.finding.level is Level.ENFORCE]
    others = [found for found in judged.found if found.finding.level is not Level.ENFORCE]
    if refusals:
        codes = ", ".join(found.finding.code for found in refusals)
        failure = ET.SubElement(case, "failure", type="enforce", message=codes)
        failure.text = "\n".join(printable(f"{file}:{found.line}: {found.finding.text}") for found in refusals)
    if others:
        lines = (printable(f"{file}:{each.line}: {each.finding.level}: {each.finding.text}") for each in others)
        ET.SubElement(case, "system-out").text = "\n".join(lines)
    return case


def _note(note: Note) -> ET.Element:
    case = ET.Element("testcase", classname=printable(note.file), name=f"line {note.line}")
    ET.SubElement(case, "error" if note.cause is Cause.UNREADABLE else "skipped", message=printable(str(note)))
    return case
