"""The values of the policy file: how each is written, and what it means."""

import difflib
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, Strict, WithJsonSchema

from policy.admission.finding import Level
from policy.admission.table import BY_CODE
from policy.hami.annotations import CARD_POLICY_WORDS, is_valid_policy

DAY: Final = 86_400.0
_SECONDS: Final = {"h": 3600, "m": 60, "s": 1}

_NAMESPACE: Final = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
_QUALIFIED: Final = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
_LABEL_VALUE: Final = r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"
_SUBDOMAIN_OR_NONE: Final = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$"
_NOT_BLANK: Final = r"\S"
_EXPIRY: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))?$"
_DURATION: Final = r"^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$"

MEANING: Final = {
    _NAMESPACE: "a namespace's whole name: lower-case letters, digits and `-`",
    _QUALIFIED: "a name as Kubernetes writes it, such as `example.com/name`",
    _LABEL_VALUE: "a label's value: letters, digits, `-`, `_` and `.`",
    _SUBDOMAIN_OR_NONE: "a name of lower-case letters, digits, `-` and `.`, or nothing in quotes",
    _NOT_BLANK: "some text",
    _EXPIRY: "a date such as 2027-03-31, or a time such as 2027-03-31T18:00:00Z",
    _DURATION: "a duration such as 30s, 5m or 1h30m",
}
"""For each pattern, what people write."""

_Item = TypeVar("_Item")
Many = Annotated[tuple[_Item, ...], Strict(False)]
"""A YAML list."""


_FEW: Final = 20
"""Known words that are all listed where none is near."""


def nearest(word: str, known: list[str]) -> str:
    """Name the known word that ``word`` was probably meant to be, or all of them if there are few."""
    near = difflib.get_close_matches(word, known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"known here are {', '.join(known)}" if len(known) <= _FEW else "`numafit codes` lists all"


def _known_code(code: str) -> str:
    if code not in BY_CODE:
        raise ValueError(f"no rule has this code; {nearest(code, list(BY_CODE))}")
    return code


def _off(value: object) -> object:
    """YAML 1.1 reads a bare `off` as false."""
    return Level.OFF.value if value is False else value


def _lower(level: Level) -> Level:
    if level is Level.ENFORCE:
        raise ValueError("an exemption only lowers; write warn, audit or off")
    return level


def _chain(text: str) -> str:
    if not is_valid_policy(text):
        raise ValueError(f"write a comma list of {', '.join(CARD_POLICY_WORDS)}")
    return text


def _existing(text: str) -> str:
    try:
        until(text)
    except ValueError:
        raise ValueError("no calendar has this moment; write an existing one") from None
    return text


def _with_unit(value: object) -> object:
    if isinstance(value, int | float):
        raise ValueError(f"write {MEANING[_DURATION]}")  # noqa: TRY004 - pydantic reads a ValueError
    return value


def _bounded(text: str) -> str:
    if not 1 <= seconds(text) <= DAY:
        raise ValueError("write at least 1s and at most 24h")
    return text


def seconds(duration: str) -> float:
    """The seconds of a `Duration`."""
    return float(sum(int(count) * _SECONDS[unit] for count, unit in re.findall("([0-9]+)([hms])", duration)))


def until(expiry: str) -> float:
    """The end of an `Expiry`, in seconds since the epoch: that moment, or when that day is over in UTC."""
    if "T" in expiry:
        return datetime.fromisoformat(expiry).timestamp()
    return datetime.fromisoformat(f"{expiry}T00:00:00Z").timestamp() + DAY


CODES: Final[Mapping[str, object]] = {"type": "string", "enum": sorted(BY_CODE)}
LEVELS: Final[Mapping[str, object]] = {"enum": [*Level, False]}
"""The false is what YAML 1.1 makes of a bare `off`."""

Code = Annotated[str, AfterValidator(_known_code), WithJsonSchema({**CODES})]
LevelWord = Annotated[Level, Strict(False), BeforeValidator(_off), WithJsonSchema({**LEVELS})]
LowerLevel = Annotated[
    Level,
    Strict(False),
    BeforeValidator(_off),
    AfterValidator(_lower),
    WithJsonSchema({"enum": [*(level for level in Level if level is not Level.ENFORCE), False]}),
]
CodeLevels = dict[Code, LevelWord]
Namespace = Annotated[str, Field(pattern=_NAMESPACE)]
LabelKey = Annotated[str, Field(pattern=_QUALIFIED, max_length=317)]
LabelValue = Annotated[str, Field(pattern=_LABEL_VALUE, max_length=63)]
Resource = Annotated[str, Field(pattern=_QUALIFIED, max_length=317)]
NameOrNone = Annotated[str, Field(pattern=_SUBDOMAIN_OR_NONE, max_length=253)]
Writer = Annotated[str, Field(pattern=_NOT_BLANK, max_length=1024)]
Prose = Annotated[str, Field(pattern=_NOT_BLANK)]
CardPolicies = Annotated[str, AfterValidator(_chain)]
Duration = Annotated[str, Field(pattern=_DURATION), AfterValidator(_bounded), BeforeValidator(_with_unit)]
Expiry = Annotated[str, Field(pattern=_EXPIRY), AfterValidator(_existing)]
