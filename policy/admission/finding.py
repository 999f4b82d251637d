"""What a rule says about a pod."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policy.admission.case import Case


class Level(StrEnum):
    """What follows from a finding."""

    ENFORCE = "enforce"
    """The pod is refused."""
    WARN = "warn"
    """The pod is allowed and the client is warned."""
    AUDIT = "audit"
    """The finding is logged and counted; the client sees nothing."""
    OFF = "off"
    """The rule is not judged."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that holds for a pod: what was seen, what is allowed, what to do."""

    code: str
    level: Level
    message: str

    @property
    def text(self) -> str:
        """One line for people."""
        return f"{self.code}: {self.message}"


class Mild(str):
    """A message of a rule that in this case warns at most, whatever the rule's level."""

    __slots__ = ()


Check = Callable[["Case"], str | None]
"""A rule: the message if it holds for the case, None if it does not."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table.

    Attributes:
        code: its name, kebab-case, for ever (docs/stability.md).
        level: what follows where nobody says otherwise; None means enforce on a cluster that is declared static and
            warn elsewhere, for a cluster that grows may get a node that fits.
        check: the rule; its docstring says for people when it holds and why that matters.
        remedy: what to do.
        needs_facts: whether it is judged on fresh facts only.
        any_pod: whether it is judged on pods that ask for no GPU too.
    """

    code: str
    level: Level | None
    check: Check
    remedy: str
    needs_facts: bool = False
    any_pod: bool = False

    @property
    def meaning(self) -> str:
        """When the rule holds and why that matters."""
        return " ".join((self.check.__doc__ or "").split())
