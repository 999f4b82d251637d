"""`numafit review`: what admission would say of manifests, before they are applied."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TextIO

import typer

from policy.admission.finding import Level
from webhook.cli import screen
from webhook.cli.errors import FINDINGS, USAGE
from webhook.cli.examples import beginning_with
from webhook.cli.inputs import Levels, read_facts, read_levels
from webhook.cli.judging import REFUSED, Judge, Judged
from webhook.cli.junit import write_junit
from webhook.cli.manifests import Cause, Document, Note, read
from webhook.cli.reports import Review, write_json, write_table
from webhook.cli.sarif import write_sarif

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class Report(StrEnum):
    """In what form findings are reported."""

    TABLE = "table"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"


class FailOn(StrEnum):
    """From which level a finding fails the review."""

    ENFORCE = "enforce"
    WARN = "warn"


_WRITERS: Final[Mapping[Report, Callable[[Review, TextIO], None]]] = {
    Report.TABLE: write_table,
    Report.JSON: write_json,
    Report.JUNIT: write_junit,
    Report.SARIF: write_sarif,
}


_PASSED_OVER: Final = frozenset({Cause.UNRENDERED, Cause.FOREIGN})


@app.command(
    help=beginning_with(
        [
            "numafit review pod.yaml",
            "numafit review manifests/ --cluster cluster.json --levels levels.yaml",
            "helm template . | numafit review - -o sarif",
            "numafit review pod.yaml --show | kubectl apply -f -",
        ],
        "Judge pods, and the pod templates of workloads of every kind, as admission would. Without --cluster nothing "
        "is judged that depends on a cluster. --show leaves out what is refused. Exit codes: 0 clean or warnings only, "
        "1 refusals, 2 a file cannot be read (the others are judged) or nothing was found that could be judged.",
    )
)
def review(  # noqa: PLR0913, PLR0917 - one parameter for each flag
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="files, directories, - for stdin")],
    cluster: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="the cluster that they are for")] = None,
    levels: Levels = None,
    output: Annotated[Report, typer.Option("--output", "-o", help="form of the findings")] = Report.TABLE,
    show: Annotated[bool, typer.Option("--show", help="print what would be stored, findings on stderr")] = False,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="of manifests that name none")] = "default",
    fail_on: Annotated[FailOn, typer.Option(help="least level that ends with exit code 1")] = FailOn.ENFORCE,
) -> None:
    """Judge manifests and report."""
    policy = read_levels(levels)
    judge = Judge(policy, read_facts(cluster or [], policy), namespace, time.time())
    documents, found = _judge(files, judge)
    if show:
        from webhook.cli.stored import stored  # noqa: PLC0415 - only this needs libraries that write patches and YAML

        sys.stdout.write(stored(documents, found.judged))
    _WRITERS[output](found, sys.stderr if show else sys.stdout)
    if output is Report.TABLE:
        _say_all(_filled(found))
    if show:
        _say_all(_left_out(found))
    _say_all(f"{note} (passed over)" if note.cause in _PASSED_OVER else str(note) for note in found.notes)
    screen.say(found.summary)
    raise typer.Exit(_exit_code(documents, found, fail_on))


def _say_all(lines: Iterable[str]) -> None:
    for line in lines:
        screen.say(screen.printable(line))


def _filled(found: Review) -> Iterator[str]:
    for judged in found.judged:
        if judged.filled.names:
            yield f"{judged.document.file}:{judged.line}: {judged.title}: filled in: {', '.join(judged.filled.names)}"


def _left_out(found: Review) -> Iterator[str]:
    for judged in found.judged:
        if judged.verdict == REFUSED:
            yield f"{judged.document.file}:{judged.line}: {judged.title}: refused, so left out"


def _judge(files: list[str], judge: Judge) -> tuple[list[Document], Review]:
    documents: list[Document] = []
    judged: list[Judged] = []
    notes: list[Note] = []
    for read_in in read(files):
        if isinstance(read_in, Note):
            notes.append(read_in)
            continue
        documents.append(read_in)
        for each in judge.judge(read_in):
            (judged if isinstance(each, Judged) else notes).append(each)  # type: ignore[arg-type]  # each goes to its own
    return documents, Review(judged, notes)


def _exit_code(documents: list[Document], found: Review, fail_on: FailOn) -> int:
    """Manifests without any pod are clean; what was not found or not rendered is not."""
    unrendered = any(note.cause is Cause.UNRENDERED for note in found.notes)
    if found.unread or (not found.judged and (unrendered or not documents)):
        return USAGE
    failing = (Level.ENFORCE,) if fail_on is FailOn.ENFORCE else (Level.ENFORCE, Level.WARN)
    return FINDINGS if found.has(*failing) else 0
