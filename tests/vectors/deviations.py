"""Where numafit answers otherwise than HAMi, each as one rule by the shape of the question.

A rule covers every vector of its shape, also those that nobody has seen yet, and says what numafit promises
there instead, so that it can fail. The functions of an area stand above `DEVIATIONS` under its name.
"""

import json
from collections import Counter
from typing import Any, Final

from policy import quantity
from policy.facts import UNKNOWN_NUMA
from policy.hami.golang import MAX_INT32
from tests.vectors import promises, webhook_promises
from tests.vectors.runner import Deviation, Vector, matches

_SEPARATORS: Final = frozenset(",:;")


def _refused(_: Vector, got: object) -> bool:
    return got == "error"


# Old releases.


def _sound(vector: Vector, got: object) -> bool:
    """Refused, or the same form of answer without a number below zero, as a cast to 32 bits leaves it."""
    if got == "error":
        return True
    if isinstance(vector.expect, dict) and isinstance(got, dict):
        return vector.expect.keys() <= got.keys() and not any(_is_negative(value) for value in got.values())
    return type(got) is type(vector.expect)


def _is_negative(value: object) -> bool:
    return isinstance(value, int) and value < 0


# Codec.


def _cannot_be_read_back(vector: Vector) -> bool:
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


# Registered cards.


def _registered(vector: Vector) -> list[Any]:
    """The cards that a register value speaks of, without judging them; none where it cannot be read at all."""
    if vector.group == "codec.decode_node_legacy":
        names = ("id", "count", "devmem", "devcore", "type", "numa", "health", "index", "mode")
        cards = [dict(zip(names, part.split(","), strict=False)) for part in vector.input.split(":") if part]
        return [{name: quantity.whole(text) or text for name, text in card.items()} for card in cards]
    try:
        found = json.loads(vector.input)
    except (TypeError, ValueError):
        return []
    return found if isinstance(found, list) else []


def _holds_no_card(vector: Vector) -> bool:
    cards = _registered(vector)
    if not all(isinstance(card, dict) for card in cards):
        return True
    names = Counter(str(card.get("id", "")) for card in cards)
    amounts = [card.get(key) for card in cards for key in ("count", "devmem", "devcore")]
    return not all(_is_name(name) and times == 1 for name, times in names.items()) or any(
        _is_negative(amount) for amount in amounts
    )


def _in_other_order_or_below_unknown(vector: Vector) -> bool:
    cards = vector.expected
    return isinstance(cards, list) and cards != _canonical(cards)


def _canonical(cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    known = [card | {"numa": max(card["numa"], UNKNOWN_NUMA)} for card in cards]
    return sorted(known, key=lambda card: (card["index"], card["id"]))


def _is_canonical(vector: Vector, got: object) -> bool:
    return matches(_canonical(vector.expected), got)


# Containers.


def _names_wrong_amount(vector: Vector) -> bool:
    container = vector.input["container"]
    given = [container.get(kind, {}) for kind in ("limits", "requests")]
    names = ("nvidia.com/gpumem-percentage", "nvidia.com/gpucores")
    return any(name in amounts and not _is_percent(amounts[name]) for amounts in given for name in names)


def _is_percent(value: object) -> bool:
    amount = quantity.whole(value)
    return amount is not None and 0 <= amount <= 100


def _has_variables(vector: Vector) -> bool:
    return bool(vector.input["container"].get("env"))


def _repeats_no_variable(vector: Vector, got: object) -> bool:
    expected = vector.expected
    if not isinstance(got, dict) or not isinstance(expected, dict):
        return False
    env = [tuple(variable) for variable in got["env"]]
    same = all(matches({key: expected[key]}, got) for key in ("hasResource", "limits"))
    return same and set(env) == {tuple(variable) for variable in expected["env"]} and len(env) == len(set(env))


# Accounting.


def _only_ended_init_containers_hold(vector: Vector) -> bool:
    entries, init = vector.input["entries"], vector.input["numInit"]
    complete = len(entries) > init + vector.input["numApp"]
    sidecars = vector.input["sidecarIndexes"]
    return complete and not any(entry for place, entry in enumerate(entries) if place >= init or place in sidecars)


def _nothing_is_held(_: Vector, got: object) -> bool:
    return got == []


DEVIATIONS: Final[tuple[Deviation, ...]] = (
    Deviation(
        name="old-release",
        reason="What only v2.10 does is done as newer releases do it: refused or counted, never cut to 32 bits.",
        decision="docs/decisions.md 2",
        groups=("",),
        applies=lambda vector: vector.versions == "v2.10",
        holds=_sound,
    ),
    Deviation(
        name="unreadable-never-written",
        reason="A device that no reader could read back is not written: the pod would drop out of HAMi's accounting.",
        decision="docs/decisions.md 2",
        groups=("codec.encode_",),
        applies=_cannot_be_read_back,
        holds=_refused,
    ),
    Deviation(
        name="register-holds-no-card",
        reason="Null, nameless, doubled or negative cards make the value unreadable; null ends HAMi's scheduler.",
        decision="docs/decisions.md 2",
        groups=("register.", "codec.decode_node_legacy"),
        applies=_holds_no_card,
        holds=_refused,
    ),
    Deviation(
        name="register-is-canonical",
        reason="Device plugins write cards in random order: they are sorted, and every negative NUMA node is unknown.",
        decision="docs/decisions.md 4 and 6",
        groups=("register.", "codec.decode_node_legacy"),
        applies=_in_other_order_or_below_unknown,
        holds=_is_canonical,
    ),
    Deviation(
        name="amount-is-refused",
        reason="Percentages and cores that are not whole or not 0 to 100 are refused wherever they stand, not rounded.",
        decision="docs/decisions.md 2",
        groups=("webhook.mutate_container",),
        applies=_names_wrong_amount,
        holds=_refused,
    ),
    Deviation(
        name="variable-once",
        reason="A variable that is there already is not added again, so that a second call adds nothing.",
        decision="docs/decisions.md 13",
        groups=("webhook.mutate_container",),
        applies=_has_variables,
        holds=_repeats_no_variable,
    ),
    Deviation(
        name="ended-init-is-free",
        reason="A complete value says that only init containers held cards; once they have ended nothing is held.",
        decision="docs/decisions.md 8",
        groups=("accounting.steady",),
        applies=_only_ended_init_containers_hold,
        holds=_nothing_is_held,
    ),
    Deviation(
        name="numa-node-judged-whole",
        reason="Cards of one container come from a known NUMA node that has enough; a useless card loses none of them.",
        decision="docs/decisions.md 5 and 6",
        groups=("fit.", "refit"),
        applies=promises.binds_several_cards,
        holds=promises.one_known_numa_node_or_none_can,
    ),
    Deviation(
        name="quota-keeps-positions",
        reason="A quota is compared with what the pod holds at one time: each entry in its place, no card twice.",
        decision="docs/decisions.md 8",
        groups=("fit.", "refit"),
        applies=promises.counts_several_entries,
        holds=promises.quota_of_the_pod_as_it_runs,
    ),
    Deviation(
        name="mig-card-not-placed",
        reason="HAMi cuts MIG cards by profile; numafit does not, and takes what it would take without them.",
        decision="policy/placement/fit.py, MIG_MODE",
        groups=("fit.",),
        applies=promises.offers_mig_cards,
        holds=promises.as_if_without_mig_cards,
    ),
    Deviation(
        name="only-gpu-pods-are-judged",
        reason="A misspelt alignment on a pod that asks for no GPU harms nobody: it is allowed with a warning.",
        decision="docs/decisions.md 1",
        groups=("webhook.decision",),
        applies=webhook_promises.misspells_on_a_pod_without_gpus,
        holds=webhook_promises.is_allowed_unchanged,
    ),
    Deviation(
        name="owned-keys-have-listed-writers",
        reason="HAMi protects fewer keys and trusts every service account; numafit trusts the accounts it is told.",
        decision="docs/decisions.md 12",
        groups=("webhook.decision",),
        applies=webhook_promises.writes_owned_keys,
        holds=webhook_promises.only_listed_writers_pass,
    ),
    Deviation(
        name="judged-pods-are-marked",
        reason="A GPU pod that HAMi leaves alone still gets the mark that shows it was judged, and nothing else.",
        decision="docs/admission.md, Defaults",
        groups=("webhook.decision",),
        applies=webhook_promises.leaves_the_pod_as_it_is,
        holds=webhook_promises.only_marks_it,
    ),
)
