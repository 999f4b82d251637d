"""Allow-lists over plain objects: a rule says what of a value stays, and whatever no rule names is gone."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from policy import quantity
from webhook.cluster.documents import parse
from webhook.cluster.interface import UnreadableFileError

Rule = Callable[[Any], Any]
"""What stays of a value, `GONE` if nothing does."""

GONE: Final = object()
_NOTHING: Final[tuple[object, ...]] = (GONE, {}, [])
UNREADABLE: Final = "unreadable, left out"


def nothing(_: Any) -> Any:
    """Keep nothing."""
    return GONE


def text(value: Any) -> Any:
    """Keep text."""
    return value if isinstance(value, str) else GONE


def number(value: Any) -> Any:
    """Keep a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else GONE


def flag(value: Any) -> Any:
    """Keep a boolean."""
    return value if isinstance(value, bool) else GONE


def amount(value: Any) -> Any:
    """Keep a Kubernetes quantity."""
    return GONE if quantity.parse(value) is None else value


def presence(value: Any) -> Any:
    """Keep that there was something, not what."""
    return UNREADABLE if value else GONE


def fields(rules: Mapping[str, Rule]) -> Rule:
    """Keep of an object the fields that ``rules`` name, each by its rule, and drop those that end up empty."""

    def keep(value: Any) -> Any:
        if not isinstance(value, dict):
            return GONE
        kept = {key: rule(value[key]) for key, rule in rules.items() if key in value}
        return {key: found for key, found in kept.items() if found not in _NOTHING}

    return keep


def entries(wanted: Callable[[str], bool], rule: Rule = text) -> Rule:
    """Keep of an object with open keys the ``wanted`` ones, each by ``rule``."""

    def keep(value: Any) -> Any:
        if not isinstance(value, dict):
            return GONE
        kept = {key: rule(found) for key, found in value.items() if wanted(key)}
        return {key: found for key, found in kept.items() if found not in _NOTHING}

    return keep


def values(rule: Rule) -> Rule:
    """Keep of an object with open keys all values, each by ``rule``."""
    return entries(lambda _: True, rule)


def each(rule: Rule) -> Rule:
    """Keep of a list what ``rule`` keeps of each item; items of which nothing stays keep their place."""

    def keep(value: Any) -> Any:
        if not isinstance(value, list):
            return GONE
        return [kept for item in value if (kept := rule(item)) is not GONE]

    return keep


def named(names: frozenset[str], rule: Rule) -> Rule:
    """Keep of a list of objects those whose `name` is one of ``names``, each by ``rule``."""

    def keep(value: Any) -> Any:
        if not isinstance(value, list):
            return GONE
        return [rule(item) for item in value if isinstance(item, dict) and str(item.get("name")) in names]

    return keep


def written(rule: Rule) -> Rule:
    """Keep by ``rule`` what a text of JSON or YAML holds, written as JSON; of other text only that it was there."""

    def keep(value: Any) -> Any:
        if not isinstance(value, str):
            return GONE
        try:
            found = rule(parse(value.encode(), "text")[0])
        except (UnreadableFileError, UnicodeEncodeError):
            return UNREADABLE
        return UNREADABLE if found is GONE else msgspec.json.encode(found).decode()

    return keep
