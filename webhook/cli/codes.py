"""`numafit codes`: what each code means and what to do about it."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Final

import typer

from webhook.cli import screen
from webhook.cli.catalogue import Entry, entries, unmarked
from webhook.cli.errors import InputError
from webhook.cli.examples import beginning_with

app = typer.Typer(rich_markup_mode=None, add_completion=False)

TITLES: Final = {
    "admission": "Admission",
    "refit": "Refit",
    "caller": "Callers of the refit",
    "card": "HAMi's words for cards and nodes",
}


FACTS: Final = "Those with FACTS are judged only where the cluster's nodes and cards are known, and lately enough."


class Form(StrEnum):
    """In what form the codes are listed."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


def _matching(incomplete: str) -> list[str]:
    return [entry.code for entry in entries() if entry.code.startswith(incomplete)]


@app.command(
    help=beginning_with(
        ["numafit codes", "numafit codes pinned-fewer-than-requested", "numafit codes -o json"],
        "List every code that numafit gives, in refusals, warnings, answers, events, logs and metrics, and HAMi's "
        "words for cards; or say of one when it is given, what follows and what to do. FACTS marks rules that are "
        "judged only where the cluster's nodes and cards are known.",
    )
)
def codes(
    code: Annotated[str | None, typer.Argument(help="a code or a word", autocompletion=_matching)] = None,
    output: Annotated[Form, typer.Option("--output", "-o", help="for people, programs or documents")] = Form.TABLE,
) -> None:
    """List codes, or describe one."""
    known = entries()
    wanted = known if code is None else (_named(code, known),)
    if output is Form.JSON:
        screen.document("Codes", {"codes": [as_json(entry) for entry in wanted]})
    elif output is Form.MARKDOWN:
        screen.put(markdown(wanted))
    elif code is None:
        _list(known)
    else:
        screen.table((), _described(wanted[0]))


def _list(known: Sequence[Entry]) -> None:
    """Write a table for each source."""
    for source, title in TITLES.items():
        chosen = [entry for entry in known if entry.source == source]
        rows = [(entry.code, _level(entry), _facts(entry), unmarked(entry.meaning)) for entry in chosen]
        if chosen[0].level:
            screen.put(f"{title}. {FACTS}")
            screen.table(("CODE", "LEVEL", "FACTS", "MEANING"), rows)
        else:
            screen.put(f"\n{title}.")
            screen.table(("CODE", "MEANING"), [(row[0], row[-1]) for row in rows])


def _named(code: str, known: Sequence[Entry]) -> Entry:
    for entry in known:
        if entry.code == code:
            return entry
    near = difflib.get_close_matches(code, [entry.code for entry in known], n=1)
    hint = f"did you mean {near[0]}?" if near else "`numafit codes` lists all"
    raise InputError(f"{code!r} is no code that numafit gives; {hint}")


def _described(entry: Entry) -> Iterator[tuple[str, str]]:
    yield "code", entry.code
    yield "given by", TITLES[entry.source]
    yield "meaning", unmarked(entry.meaning)
    if entry.remedy:
        yield "remedy", unmarked(entry.remedy)
    if entry.level:
        yield "level", _level(entry)
        yield "needs facts", "yes" if entry.needs_facts else "no"
        yield "judged on", "every pod" if entry.any_pod else "pods that ask for a GPU"


def _level(entry: Entry) -> str:
    if entry.level == entry.level_if_static:
        return entry.level
    return f"{entry.level}, {entry.level_if_static} where static"


def _facts(entry: Entry) -> str:
    return "yes" if entry.needs_facts else ""


def as_json(entry: Entry) -> dict[str, object]:
    """One code for programs; what does not apply to it is left out."""
    said: dict[str, object] = {"code": entry.code, "source": entry.source, "meaning": entry.meaning}
    if entry.source != "admission":
        return said
    return said | {
        "remedy": entry.remedy,
        "level": entry.level,
        "levelIfStatic": entry.level_if_static,
        "needsFacts": entry.needs_facts,
        "anyPod": entry.any_pod,
    }


def markdown(wanted: Iterable[Entry]) -> str:
    """The codes as a document; `docs/codes.md` is this of all of them."""
    listed = list(wanted)
    lines = ["# Codes", "", "Made by `numafit codes -o markdown`.", ""]
    lines += [
        "A code keeps its meaning for ever (docs/stability.md). Levels are those of a cluster without a policy file"
    ]
    lines += ["(docs/levels.md); \\* marks rules that are judged on every pod, not only on those that ask for a GPU."]
    for source, title in TITLES.items():
        chosen = [entry for entry in listed if entry.source == source]
        if chosen:
            lines += ["", f"## {title}", "", *_rows(chosen)]
    return "\n".join(lines)


def _rows(chosen: Sequence[Entry]) -> Iterator[str]:
    if not chosen[0].level:
        yield from ("| code | meaning |", "|---|---|")
        yield from (f"| `{entry.code}` | {_escaped(entry.meaning)} |" for entry in chosen)
        return
    yield from ("| code | level | facts | meaning | remedy |", "|---|---|---|---|---|")
    for entry in chosen:
        mark = " \\*" if entry.any_pod else ""
        cells = (f"`{entry.code}`{mark}", _level(entry), _facts(entry), entry.meaning, entry.remedy)
        yield f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
