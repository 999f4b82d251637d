"""The levels in force for a namespace."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from policy.admission.finding import Level
from policy.admission.table import BY_CODE, RULES


@dataclass(frozen=True, slots=True)
class Levels:
    """What follows from each rule in one namespace.

    Attributes:
        by_code: every code's level.
        default_alignment: the mode that pods get where they can profit from it, empty for none.
        digest: a short hash of the two, for the mark on judged pods.
    """

    by_code: Mapping[str, Level]
    default_alignment: str
    digest: str


def resolve(overrides: Mapping[str, Level], *, static_cluster: bool, default_alignment: str = "") -> Levels:
    """Fill in the level of every rule.

    Args:
        overrides: code -> level where the operator says so.
        static_cluster: whether the cluster gets no new nodes: rules about room then refuse instead of warn.
        default_alignment: `best-effort`, `strict` or empty.
    """
    room = Level.ENFORCE if static_cluster else Level.WARN
    by_code = {rule.code: overrides.get(rule.code, rule.level or room) for rule in RULES}
    said = ",".join(f"{code}={level}" for code, level in sorted(by_code.items()))
    digest = hashlib.sha256(f"{default_alignment};{said}".encode()).hexdigest()[:12]
    return Levels(by_code, default_alignment, digest)


def unknown_codes(codes: Mapping[str, Level]) -> tuple[str, ...]:
    """The codes among ``codes`` that no rule has."""
    return tuple(code for code in codes if code not in BY_CODE)
