"""Members, amounts and constraints as people and programs read them."""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

from policy.capacity.constraints import Binding
from policy.capacity.ladder import Ask
from policy.capacity.missing import Addition
from policy.capacity.moves import Search
from policy.capacity.offers import UNBOUNDED
from policy.capacity.shapes import Member
from policy.hami.request import PERCENT_UNSET
from webhook.cli.room import NEEDED

_MILLI: Final = 1000
_SHOWN: Final = 4

ASKS: Final[Mapping[Ask, str]] = {
    Ask.CPU: "cpus",
    Ask.MEMORY: "memory",
    Ask.GPU: "gpus",
    Ask.GPU_MEMORY: "gpuMemory",
    Ask.GPU_CORES: "gpuCores",
}
"""Requests by the fields that name them in JSON."""

_UNITS: Final[Mapping[Ask, str]] = {
    Ask.CPU: "CPUs",
    Ask.MEMORY: "MiB of memory",
    Ask.GPU: "cards",
    Ask.GPU_MEMORY: "MiB on each card",
    Ask.GPU_CORES: "% of each card's cores",
}


def much(ask: Ask, value: int) -> int | float:
    """Return an amount in the unit that people use: CPUs are counted in thousandths inside."""
    return plain(Fraction(value, _MILLI)) if ask is Ask.CPU else value


def plain(value: Fraction) -> int | float:
    """Return a fraction as JSON writes numbers."""
    return int(value) if value.denominator == 1 else float(value)


def amount(ask: Ask, value: int) -> str:
    """Write an amount with its unit."""
    return f"{much(ask, value)} {_UNITS[ask]}"


def many(count: int) -> str:
    """Write how many fit; where nothing that is known bounds them, that."""
    return "any" if count >= UNBOUNDED else str(count)


def bounded(count: int) -> int | None:
    """Return how many fit for programs, None where nothing that is known bounds them."""
    return None if count >= UNBOUNDED else count


def listed(names: Iterable[str]) -> str:
    """Write names, the first few of many."""
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return f"{', '.join(every[:_SHOWN])}{more}"


def asked_for(member: Member) -> str:
    """Write what one member asks for."""
    parts = [_cards(member)] if member.gpus else []
    parts += [amount(ask, value) for ask, value in ((Ask.CPU, member.cpus), (Ask.MEMORY, member.memory)) if value]
    return f"{', '.join(parts) or 'nothing'}; {member.locality}"


def _cards(member: Member) -> str:
    request = member.request
    noun = "card" if member.gpus == 1 else "cards"
    if member.takes_whole_cards:
        return f"{member.gpus} whole {noun}"
    memory = f"{request.memory} MiB" if request.percent == PERCENT_UNSET else f"{request.percent} % of the memory"
    return f"{member.gpus} {noun} with {memory} and {request.cores} % of the cores each"


def member_json(member: Member) -> Mapping[str, Any]:
    """A member for programs: CPUs, MiB, percent."""
    request = member.request
    return {
        "gpus": member.gpus,
        "gpuMemory": request.memory or None,
        "gpuMemoryPercent": None if request.percent == PERCENT_UNSET else request.percent,
        "gpuCores": request.cores,
        "cpus": much(Ask.CPU, member.cpus),
        "memory": member.memory,
        "locality": str(member.locality),
    }


def bindings_json(bindings: Iterable[Binding]) -> list[Mapping[str, Any]]:
    """Constraints for programs."""
    return [{"constraint": str(each.constraint), "cards": each.shares} for each in bindings]


def bound_by(bindings: Iterable[Binding]) -> str:
    """Write constraints, the one that keeps most cards from use first."""
    return ", ".join(f"{each.constraint} ({each.shares})" if each.shares else str(each.constraint) for each in bindings)


def additions_json(additions: Iterable[Addition]) -> list[Mapping[str, Any]]:
    """What would have to become free, for programs."""
    return [
        {
            "resource": ASKS[each.resource],
            "amount": much(each.resource, each.amount),
            "nodes": [{"name": name, "amount": much(each.resource, part)} for name, part in each.nodes],
        }
        for each in additions
    ]


def added(addition: Addition) -> str:
    """Write what would have to become free."""
    where = listed(f"{much(addition.resource, part)} on {name}" for name, part in addition.nodes)
    return f"{amount(addition.resource, addition.amount)} more free ({where})"


def search_json(search: Search | None) -> Mapping[str, Any] | None:
    """The cheapest move for programs, None where none is needed."""
    if search is None:
        return None
    move = search.move
    found = (
        None
        if move is None
        else {
            "pod": move.pod.pod.title,
            "from": move.pod.node,
            "onto": move.onto,
            "cards": plain(move.cards),
        }
    )
    return {"move": found, "complete": search.complete}


def moved(search: Search) -> str:
    """Write the cheapest move."""
    move = search.move
    if move is None:
        return "no move of one pod" if search.complete else "not known: not every move was tried"
    onto = f"other cards of {move.onto}" if move.onto == move.pod.node else move.onto
    return f"move {move.pod.pod.title} from {move.pod.node} to {onto} ({plain(move.cards)} cards)"


def unknown_json(unknown: Iterable[str]) -> list[Mapping[str, str]]:
    """What is not known, and what would tell it, for programs."""
    return [{"what": str(what), "needs": NEEDED[what]} for what in unknown]


def unknown_rows(unknown: Iterable[str]) -> list[tuple[str, str]]:
    """The same for people."""
    return [("not known", f"{what}: refused nothing here; give {NEEDED[what]}") for what in unknown]


def when_said(taken_at: float | None, write: Callable[[float], str]) -> str | None:
    """Return when the facts were taken, None where nobody says."""
    return None if taken_at is None else write(taken_at)
