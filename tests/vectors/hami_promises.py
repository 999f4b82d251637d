"""The shapes in which numafit reads or counts otherwise than HAMi, and what it promises there."""

import json
from collections import Counter
from typing import Any, Final

from policy import quantity
from policy.facts import UNKNOWN_NUMA
from policy.hami.golang import MAX_INT32
from policy.hami.register import MAX_CARDS
from tests.vectors.runner import Vector, matches

_SEPARATORS: Final = frozenset(",:;")
_LEGACY: Final = ("id", "count", "devmem", "devcore", "type", "numa", "health", "index", "mode")
_NUMBERS: Final = frozenset({"count", "devmem", "devcore", "numa", "index"})
_COUNT: Final = "nvidia.com/gpu"
_AMOUNTS: Final = ("nvidia.com/gpumem-percentage", "nvidia.com/gpucores")
_NAMED: Final = (*_AMOUNTS, "nvidia.com/gpumem")


def is_refused(_: Vector, got: object) -> bool:
    """The answer is an error."""
    return got == "error"


def is_sound(vector: Vector, got: object) -> bool:
    """Refused, or the same form of answer without a number below zero, as a cast to 32 bits leaves it."""
    if got == "error":
        return True
    if isinstance(vector.expect, dict) and isinstance(got, dict):
        return vector.expect.keys() <= got.keys() and not any(_is_negative(value) for value in got.values())
    return type(got) is type(vector.expect)


def cannot_be_read_back(vector: Vector) -> bool:
    """Some device to be written has a name or an amount that no reader accepts."""
    entries = [vector.input] if vector.group == "codec.encode_container" else vector.input
    return any(
        not _is_name(device["uuid"])
        or not _is_name(device["type"])
        or not all(0 <= device[amount] <= MAX_INT32 for amount in ("mem", "cores"))
        for entry in entries
        for device in entry
    )


def _is_name(text: str) -> bool:
    return bool(text) and not _SEPARATORS.intersection(text)


def _is_negative(value: object) -> bool:
    return isinstance(value, int) and value < 0


def holds_no_card(vector: Vector) -> bool:
    """The value speaks of something that cannot be a card, of one twice, or of too many."""
    cards = _registered(vector)
    if len(cards) > MAX_CARDS or not all(isinstance(card, dict) for card in cards):
        return True
    names = Counter(str(card.get("id") or "") for card in cards)
    amounts = [card.get(key) for card in cards for key in ("count", "devmem", "devcore")]
    return not all(_is_name(name) and name.isprintable() and times == 1 for name, times in names.items()) or any(
        _is_negative(amount) for amount in amounts
    )


def _registered(vector: Vector) -> list[Any]:
    """The cards that a register value speaks of, without judging them; none where it cannot be read at all."""
    if vector.group == "codec.decode_node_legacy":
        return [_legacy(part) for part in vector.input.split(":") if part]
    try:
        found = json.loads(vector.input)
    except (TypeError, ValueError):
        return []
    return found if isinstance(found, list) else []


def _legacy(text: str) -> dict[str, object]:
    fields = dict(zip(_LEGACY, text.split(","), strict=False))
    return {name: quantity.whole(field) if name in _NUMBERS else field for name, field in fields.items()}


def is_not_canonical(vector: Vector) -> bool:
    """The cards stand in another order than by index and UUID, or one is on a NUMA node below -1."""
    found = [card for card in _registered(vector) if isinstance(card, dict)]
    cards = [(_number(card, "index"), str(card.get("id")), _number(card, "numa")) for card in found]
    return cards != sorted(cards) or any(numa < UNKNOWN_NUMA for _, _, numa in cards)


def _number(card: dict[str, Any], name: str) -> int:
    value = card.get(name)
    return value if isinstance(value, int) else 0


def is_canonical(vector: Vector, got: object) -> bool:
    """The same cards by index and UUID, every negative NUMA node as -1."""
    if not isinstance(vector.expected, list):
        return False
    known = [card | {"numa": max(card["numa"], UNKNOWN_NUMA)} for card in vector.expected]
    return matches(sorted(known, key=lambda card: (card["index"], card["id"])), got)


def names_wrong_amount(vector: Vector) -> bool:
    """A percentage or cores in limits or requests is not whole or not 0 to 100."""
    container = vector.input["container"]
    given = [container.get(kind, {}) for kind in ("limits", "requests")]
    return any(name in amounts and not _is_percent(amounts[name]) for amounts in given for name in _AMOUNTS)


def _is_percent(value: object) -> bool:
    amount = quantity.whole(value)
    return amount is not None and 0 <= amount <= 100


def names_count_among_requests_only(vector: Vector) -> bool:
    """The count is requested, and only amounts are limited."""
    container = vector.input["container"]
    limits = container.get("limits", {})
    return _COUNT in container.get("requests", {}) and _COUNT not in limits and any(name in limits for name in _NAMED)


def adds_no_count(_: Vector, got: object) -> bool:
    """The container is HAMi's business, and its count stays where it is."""
    return isinstance(got, dict) and got["hasResource"] is True and _COUNT not in got["limits"]


def has_variables(vector: Vector) -> bool:
    """The container has environment variables already."""
    return bool(vector.input["container"].get("env"))


def repeats_no_variable(vector: Vector, got: object) -> bool:
    """All else as HAMi answers, and each variable once."""
    expected = vector.expected
    if not isinstance(got, dict) or not isinstance(expected, dict):
        return False
    env = [tuple(variable) for variable in got["env"]]
    same = all(matches({key: expected[key]}, got) for key in ("hasResource", "limits"))
    return same and set(env) == {tuple(variable) for variable in expected["env"]} and len(env) == len(set(env))


def only_ended_init_containers_hold(vector: Vector) -> bool:
    """The value has an entry for every container, and only ordinary init containers have devices."""
    entries, init = vector.input["entries"], vector.input["numInit"]
    complete = len(entries) > init + vector.input["numApp"]
    sidecars = vector.input["sidecarIndexes"]
    return complete and not any(entry for place, entry in enumerate(entries) if place >= init or place in sidecars)


def nothing_is_held(_: Vector, got: object) -> bool:
    """The answer names no card."""
    return got == []
