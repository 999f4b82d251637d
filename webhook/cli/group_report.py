"""What `numafit group` answers, as people and programs read it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from policy.capacity.gate import Gate, Outcome
from policy.capacity.mixed import Verdict
from webhook.cli import screen, words
from webhook.cli.grouped import Grouped, Role

_SAID: Final[Mapping[Verdict, str]] = {
    Verdict.YES: "can start now",
    Verdict.NO: "cannot start now",
    Verdict.UNKNOWN: "nobody knows: the search was given up",
}
_ON_EMPTY: Final[Mapping[Verdict, str]] = {
    Verdict.YES: "it fits these nodes where enough of their cards, CPUs and memory are free",
    Verdict.NO: "it never fits the cards of these nodes, even if nobody held any",
    Verdict.UNKNOWN: "whether it fits these nodes when they are empty is not known",
}
_GATES: Final[Mapping[Outcome, str]] = {
    Outcome.REJECTED: "Coscheduling sends the members that find a place back at once; they hold nothing",
    Outcome.WAITING: "Coscheduling lets the members that find a place wait for its time-out",
    Outcome.TOO_FEW_PODS: "Coscheduling does not try it: fewer pods exist than it needs",
    Outcome.SATISFIED: "Coscheduling has enough members already",
}


def as_json(answer: Grouped) -> Mapping[str, Any]:
    """The answer for programs."""
    gang = answer.gang
    return {
        "title": gang.title,
        "system": gang.system,
        "needed": answer.needed,
        "running": answer.running,
        "canStart": str(answer.verdict),
        "problem": answer.problem,
        "members": [_member(role) for role in answer.roles],
        "onEmptyNodes": str(answer.on_empty) if answer.ladder is not None else None,
        "ladder": [
            {"locality": str(rung), "canStart": str(verdict)} for rung, verdict in (answer.ladder or {}).items()
        ],
        "changes": [sorted(map(str, changes)) for changes in answer.changes],
        "search": words.search_json(answer.search),
        "gate": _gate(answer.gate),
        "unknown": words.unknown_json(answer.unknown),
        "notes": list(gang.notes),
    }


def _member(role: Role) -> Mapping[str, Any]:
    return {
        "name": role.member.name,
        "count": role.member.count,
        "asks": words.member_json(role.member),
        "fitAlone": words.bounded(role.alone.members),
        "failing": role.failing,
        "bindings": words.bindings_json(role.bindings),
    }


def _gate(gate: Gate | None) -> Mapping[str, Any] | None:
    return None if gate is None else {"outcome": str(gate.outcome), "holds": gate.holds}


def write_text(answer: Grouped) -> None:
    """Write the answer for people."""
    gang = answer.gang
    running = f", {answer.running} run already" if answer.running else ""
    screen.put(f"{gang.title} ({gang.system}): {_SAID[answer.verdict]}; {answer.needed} must start{running}")
    rows = list(_rows(answer))
    if rows:
        screen.table((), rows)
    if answer.roles:
        screen.put("")
        screen.table(("MEMBER", "COUNT", "ASKS FOR", "FIT ALONE", "", "BOUND BY"), map(_cells, answer.roles))


def _rows(answer: Grouped) -> Iterator[tuple[str, str]]:
    if answer.problem:
        yield "because", answer.problem
    failing = [role.member.name for role in answer.roles if role.failing]
    if failing:
        yield "cannot start", f"{' with '.join(failing)}"
    if answer.ladder is not None:
        yield "emptied", _ON_EMPTY[answer.on_empty]
        yield from (("would start", " and ".join(sorted(map(str, changes)))) for changes in answer.changes)
    if answer.search is not None:
        yield "moving", words.moved(answer.search)
    if answer.gate is not None:
        yield "meanwhile", _GATES[answer.gate.outcome]
    yield from words.unknown_rows(answer.unknown)
    yield from (("note", note) for note in answer.gang.notes)


def _cells(role: Role) -> tuple[str, ...]:
    return (
        role.member.name,
        str(role.member.count),
        words.asked_for(role.member),
        words.many(role.alone.members),
        "fails" if role.failing else "",
        words.bound_by(role.bindings),
    )
