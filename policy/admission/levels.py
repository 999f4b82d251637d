"""The levels in force for a namespace."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from policy.admission.finding import Level, Rule
from policy.admission.table import ANY_POD, BY_CODE, PARTLY_UNKNOWN, ROOM, RULES, WITH_FACTS, WITHOUT_FACTS, subject

Asked = tuple[tuple[str, tuple[tuple[Rule, Level], ...]], ...]
"""Rules to be asked, each with what follows from it, by the annotation that they are about."""


@dataclass(frozen=True, slots=True)
class Levels:
    """What follows from each rule in one namespace.

    Attributes:
        by_code: every code's level.
        default_alignment: the mode that pods get where they can profit from it, empty for none.
        opted_out: whether the namespace stays out: its pods are neither filled in nor marked.
        digest: a short hash of levels and mode, for the mark on judged pods.
        any_pod: the rules of that part of the table that are not off, each with its level; so for the others.
    """

    by_code: Mapping[str, Level]
    default_alignment: str
    opted_out: bool
    digest: str
    any_pod: Asked
    without_facts: Asked
    room: Asked
    partly_unknown: Asked
    with_facts: Asked


def resolve(
    overrides: Mapping[str, Level], *, static_cluster: bool, default_alignment: str = "", opted_out: bool = False
) -> Levels:
    """Fill in the level of every rule.

    Args:
        overrides: code -> level where the operator says so.
        static_cluster: whether the cluster gets no new nodes: rules about room then refuse instead of warn.
        default_alignment: `best-effort`, `strict` or empty.
        opted_out: whether pods are neither filled in nor marked.
    """
    room = Level.ENFORCE if static_cluster else Level.WARN
    by_code = {rule.code: overrides.get(rule.code, rule.level or room) for rule in RULES}
    said = ",".join(f"{code}={level}" for code, level in sorted(by_code.items()))
    digest = hashlib.sha256(f"{default_alignment};{said}".encode()).hexdigest()[:12]
    return Levels(
        by_code=by_code,
        default_alignment=default_alignment,
        opted_out=opted_out,
        digest=digest,
        any_pod=asked(ANY_POD, by_code),
        without_facts=asked(WITHOUT_FACTS, by_code),
        room=asked(ROOM, by_code),
        partly_unknown=asked((PARTLY_UNKNOWN,), by_code),
        with_facts=asked(WITH_FACTS, by_code),
    )


def asked(rules: Iterable[Rule], by_code: Mapping[str, Level]) -> Asked:
    """The rules among ``rules`` that are not off, in their order."""
    wanted = ((rule, by_code[rule.code]) for rule in rules if by_code[rule.code] is not Level.OFF)
    return tuple((key, tuple(alike)) for key, alike in groupby(wanted, lambda each: subject(each[0].code)))


def unknown_codes(codes: Mapping[str, Level]) -> tuple[str, ...]:
    """The codes among ``codes`` that no rule has."""
    return tuple(code for code in codes if code not in BY_CODE)
