"""What a node says about its cards: the annotations that HAMi's device plugin writes on it.

The values come from the node's own agents and are read with limits: what cannot be a card makes the whole value
unreadable, because half an inventory would be placed on as if it were whole.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

from policy.facts import UNKNOWN_NUMA, Card
from policy.hami.annotations import items
from policy.hami.errors import shown
from policy.hami.golang import MAX_INT32, MAX_INT64, go_bool, go_int
from policy.keys import PAIR_SCORES, REGISTER

MAX_TEXT: Final = 256 * 1024
"""Characters; Kubernetes stores no more than that in all annotations of an object together."""

MAX_CARDS: Final = 512
"""Cards of one node; a refit cannot name more either."""

_RESERVED: Final = frozenset(",:;")
_LEGACY_FIELDS: Final = (7, 9)
_REPLICA_DASHES: Final = 6


class RegisterError(ValueError):
    """A node's annotation cannot be read; the text names what was seen and what is allowed."""


def read_cards(text: str | None) -> tuple[Card, ...]:
    """Return the cards that a node registered, by index, then UUID.

    Args:
        text: the value of the register annotation, None where the node has none.

    Raises:
        RegisterError: there is no value, it cannot be read, or it names no card.
    """
    if text is None:
        raise RegisterError(f"the node has no annotation {REGISTER}; HAMi's device plugin has not registered it")
    cards = parse_cards(text)
    if not cards:
        raise RegisterError(f"{REGISTER} names no card; HAMi's device plugin found no GPU on the node")
    return cards


def parse_cards(text: str) -> tuple[Card, ...]:
    """Return the cards in a register value, none for `[]` and `null`, by index, then UUID.

    Fields are read as Go reads them: names in any case, absent or null is zero, health included; other fields
    are skipped. A missing NUMA node is node 0 and any negative one is unknown (docs/decisions.md 6).

    Raises:
        RegisterError: the value is too long, no JSON array of objects, or holds what cannot be a card.
    """
    return _inventory(_json_card(item, place) for place, item in enumerate(_objects(text, REGISTER)))


def read_pair_scores(text: str | None) -> Mapping[str, Mapping[str, int]]:
    """Return UUID -> UUID -> score of the link between two cards, nothing where the node has no such value.

    Raises:
        RegisterError: the value cannot be read.
    """
    if text is None:
        return {}
    found: dict[str, Mapping[str, int]] = {}
    for place, item in enumerate(_objects(text, PAIR_SCORES)):
        where = f"entry {place} of {PAIR_SCORES}"
        scores = item.get("score", {})
        if not isinstance(scores, dict):
            raise RegisterError(f"{where} has the score {shown(scores)}; it must be an object")
        found[_text(item, "uuid", where)] = {key: _integer(scores, key, where) for key in scores}
    return found


def read_legacy(text: str) -> tuple[Card, ...]:
    """Return the cards in a register value of old device plugins, by index, then UUID.

    A card is `id,count,devmem,devcore,type,numa,health` or the same with `,index,mode`, followed by `:`.

    Raises:
        RegisterError: the value is too long, has no `:`, or holds what cannot be a card.
    """
    _check_length(text, REGISTER)
    if ":" not in text:
        raise RegisterError(f"{REGISTER} is {shown(text)}; each card must be followed by `:`")
    return _inventory(_legacy_card(part) for part in text.split(":") if part)


def read_cordon(text: str) -> frozenset[str]:
    """Return the UUIDs that a node's cordon annotation takes out of use."""
    return frozenset(items(text))


def physical_id(replica: str) -> str:
    """Return the UUID of the card that kubelet's device ``replica`` is a share of (HAMi: replica ids)."""
    card, replicated, _ = replica.partition("::")
    if replicated:
        return card
    card, _, number = replica.rpartition("-")
    is_share = replica.count("-") == _REPLICA_DASHES and go_int(number, MAX_INT64) is not None
    return card if is_share else replica


def _inventory(found: Iterable[Card]) -> tuple[Card, ...]:
    cards: dict[str, Card] = {}
    for card in found:
        if not card.uuid or _RESERVED.intersection(card.uuid) or not card.uuid.isprintable():
            raise RegisterError(
                f"{REGISTER} names a card {shown(card.uuid)}; a UUID is printable text without `,`, `:`, `;`"
            )
        if card.uuid in cards:
            raise RegisterError(f"{REGISTER} names the card {shown(card.uuid)} twice")
        if len(cards) == MAX_CARDS:
            raise RegisterError(f"{REGISTER} names more than {MAX_CARDS} cards")
        cards[card.uuid] = card
    return tuple(sorted(cards.values(), key=lambda card: (card.index, card.uuid)))


def _json_card(item: Mapping[str, Any], place: int) -> Card:
    where = f"card {place} of {REGISTER}"
    return Card(
        uuid=_text(item, "id", where),
        index=_integer(item, "index", where, smallest=0),
        slots=_integer(item, "count", where, smallest=0, largest=MAX_INT32),
        memory=_integer(item, "devmem", where, smallest=0, largest=MAX_INT32),
        cores=_integer(item, "devcore", where, smallest=0, largest=MAX_INT32),
        type=_text(item, "type", where),
        numa=max(_integer(item, "numa", where), UNKNOWN_NUMA),
        mode=_text(item, "mode", where),
        healthy=_flag(item, "health", where),
    )


def _legacy_card(text: str) -> Card:
    fields = text.split(",")
    if len(fields) not in _LEGACY_FIELDS:
        raise RegisterError(f"card {shown(text)} has {len(fields)} fields; it must have 7 or 9")
    uuid, count, memory, cores, kind, numa, health = fields[:7]
    index, mode = fields[7:] or ("0", "hami-core")
    healthy = go_bool(health)
    if healthy is None:
        raise RegisterError(f"card {shown(text)} has the health {shown(health)}; it must be true or false")
    return Card(
        uuid=uuid,
        index=_number(index, text, "index", MAX_INT64),
        slots=_number(count, text, "count", MAX_INT32),
        memory=_number(memory, text, "memory", MAX_INT32),
        cores=_number(cores, text, "cores", MAX_INT32),
        type=kind,
        numa=max(_number(numa, text, "NUMA node", MAX_INT64, smallest=-MAX_INT64), UNKNOWN_NUMA),
        mode=mode,
        healthy=healthy,
    )


def _number(text: str, card: str, name: str, largest: int, *, smallest: int = 0) -> int:
    value = go_int(text, largest)
    if value is None or value < smallest:
        raise RegisterError(
            f"card {shown(card)} has the {name} {shown(text)}; it must be a whole number from {smallest} to {largest}"
        )
    return value


def _check_length(text: str, key: str) -> None:
    if len(text) > MAX_TEXT:
        raise RegisterError(f"{key} has {len(text)} characters; at most {MAX_TEXT} are read")


def _objects(text: str, key: str) -> list[Mapping[str, Any]]:
    """Return the objects of a JSON array, field names in lower case, null fields left out."""
    _check_length(text, key)
    try:
        found = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise RegisterError(f"{key} is {shown(text)}; it must be JSON ({error})") from error
    if not isinstance(found, list | None):
        raise RegisterError(f"{key} is {shown(text)}; it must be a JSON array")
    return [_named(item, place, key) for place, item in enumerate(found or ())]


def _named(item: object, place: int, key: str) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        raise RegisterError(f"entry {place} of {key} is {shown(item)}; it must be an object")
    return {name.lower(): value for name, value in item.items() if value is not None}


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


def _integer(
    item: Mapping[str, Any], name: str, where: str, *, smallest: int = -MAX_INT64, largest: int = MAX_INT64
) -> int:
    value = item.get(name, 0)
    if type(value) is not int or not smallest <= value <= largest:
        raise RegisterError(
            f"{where} has the {name} {shown(value)}; it must be a whole number from {smallest} to {largest}"
        )
    return value


def _text(item: Mapping[str, Any], name: str, where: str) -> str:
    """Return a text field; halves of characters are replaced, so that it can be sent on as UTF-8."""
    value = item.get(name, "")
    if not isinstance(value, str):
        raise RegisterError(f"{where} has the {name} {shown(value)}; it must be text")
    return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _flag(item: Mapping[str, Any], name: str, where: str) -> bool:
    value = item.get(name, False)
    if not isinstance(value, bool):
        raise RegisterError(f"{where} has the {name} {shown(value)}; it must be true or false")
    return value
