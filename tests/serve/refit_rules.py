"""What HAMi's answers mean in numafit's codes, and where numafit answers otherwise, each as one rule by shape."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from policy.facts import Device
from policy.hami.codec import decode
from policy.keys import ALLOCATED, NOUSE_UUID, USE_UUID
from tests.serve.exchanges import MIB, Exchange
from tests.serve.rounds import NODES, annotations_of

LIVE_TOKENS: Final = frozenset(f"Bearer <pod-bound token{of}>" for of in ("", " gpu-2", " gpu-3", " audience numafit"))
"""What device plugins present that run; here they all share one token."""

MEANINGS: Final = (
    ("incomplete refit request", "refit-incomplete"),
    ("empty allowed device set", "refit-allowed-empty"),
    ("unknown device type", "refit-vendor-unknown"),
    ("is not supported by the NUMA refit", "refit-vendor-unsupported"),
    ("no caller credentials", "caller-no-token"),
    ("is not tracked by the scheduler", "refit-pod-unknown"),
    ("does not match", "refit-identity-mismatch"),
    ("is tracked on node", "refit-node-mismatch"),
    ("outside the pod's containers", "refit-container-index"),
    (r'container index \d+ is "', "refit-container-name"),
    (r"cannot decode .* annotation", "refit-annotation-unreadable"),
    ("has no pending", "refit-nothing-pending"),
    ("has no recorded", "refit-nothing-recorded"),
    ("differing amounts", "refit-uneven-reservation"),
    ("node .* unavailable", "refit-node-unavailable"),
    ("AllowedDeviceSetUnmatched", "refit-allowed-unmatched"),
    ("ResourceQuotaNotFit", "refit-quota"),
    ("no allowed device fits", "refit-no-fit"),
    ("EOF|invalid character|cannot unmarshal", "refit-malformed"),
)
"""HAMi's words in a refusal -> numafit's code, the first that occur."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What numafit answered."""

    status: int
    body: bytes
    location: str | None = None

    @property
    def _said(self) -> Any:
        return json.loads(self.body) if self.status == 200 else {}

    @property
    def code(self) -> str:
        """The code of a refusal, empty for a success."""
        return str(self._said.get("failureReason", "")).partition(": ")[0]

    @property
    def reason(self) -> str:
        """All that is said of a refusal."""
        return str(self._said.get("failureReason", ""))

    @property
    def devices(self) -> str:
        """The container's entry, empty for a refusal."""
        return str(self._said.get("containerDevices", "")) if self._said.get("succeeded") else ""


def is_same(exchange: Exchange, answer: Answered) -> bool:
    """Tell whether the device plugin sees what it saw from HAMi, but for the words of a refusal."""
    if answer.status != exchange.response["status"]:
        return False
    if not exchange.reason:
        return answer.devices == exchange.devices
    code = next((code for words, code in MEANINGS if re.search(words, exchange.reason)), "")
    _, fitting, causes = exchange.reason.partition("no allowed device fits: ")
    return answer.code == code and (not fitting or causes in answer.reason)


@dataclass(frozen=True, slots=True)
class Rule:
    """A deviation: exchanges of one shape, and what numafit promises there."""

    name: str
    reason: str
    decision: str
    applies: Callable[[Exchange], bool]
    holds: Callable[[Exchange, Answered], bool]


def _presents_live_token(exchange: Exchange) -> bool:
    return len(exchange.tokens) == 1 and exchange.tokens[0] in LIVE_TOKENS


def _devices(text: str) -> tuple[Device, ...]:
    return decode(text)[0]


def _usable(exchange: Exchange) -> set[str]:
    """The allowed cards that the node has and the pod's own lists leave."""
    given = annotations_of(exchange.asked.get("podUID", ""))
    cards = {uuid for cards in NODES.values() for uuid, _ in cards}
    pinned, excluded = (set(given.get(key, "").split(",")) - {""} for key in (USE_UUID, NOUSE_UUID))
    return (set(exchange.asked["allowedDeviceUUIDs"]) & cards & (pinned or cards)) - excluded


def _moves_within_allowed(exchange: Exchange, answer: Answered) -> bool:
    """The same shares as before, on allowed cards."""
    old = _devices(str((exchange.before or {})[ALLOCATED]).split(";")[exchange.asked.get("containerIndex", 0)])
    new = _devices(answer.devices) if answer.devices else ()
    shares = [[(one.memory, one.cores) for one in devices] for devices in (old, new)]
    return shares[0] == shares[1] and {one.uuid for one in new} <= _usable(exchange)


def _has_choice(exchange: Exchange) -> bool:
    return bool(exchange.devices) and exchange.moves and len(_usable(exchange)) > len(_devices(exchange.devices))


def _moves_several(exchange: Exchange) -> bool:
    return bool(exchange.devices) and exchange.moves and len(_devices(exchange.devices)) > 1


def _same_cards(exchange: Exchange, answer: Answered) -> bool:
    return sorted(map(str, _devices(answer.devices))) == sorted(map(str, _devices(exchange.devices)))


RULES: Final = (
    Rule(
        name="one-token-for-all-nodes",
        reason="A shared token does not say on which node its bearer runs: the pod's own node decides alone.",
        decision="webhook/caller.py, TokenFile",
        applies=lambda exchange: "caller pod" in exchange.reason and _presents_live_token(exchange),
        holds=lambda exchange, answer: answer.code == "refit-node-mismatch" or _moves_within_allowed(exchange, answer),
    ),
    Rule(
        name="callers-are-known-by-one-token",
        reason="Without an API server nobody says whose a token is: every other one is not the expected one.",
        decision="webhook/caller.py, TokenFile",
        applies=lambda exchange: (
            "caller authentication failed: " in exchange.reason and "no caller credentials" not in exchange.reason
        ),
        holds=lambda _, answer: answer.code == "caller-token-invalid",
    ),
    Rule(
        name="two-tokens-are-none",
        reason="Which of two Authorization headers counts is guesswork, so neither does.",
        decision="docs/decisions.md 2",
        applies=lambda exchange: len(exchange.tokens) > 1,
        holds=lambda _, answer: answer.code == "caller-token-invalid",
    ),
    Rule(
        name="no-redirects",
        reason="The device plugin refuses redirects, so a path that is not served says so.",
        decision="docs/decisions.md 11",
        applies=lambda exchange: exchange.response["status"] == 307,
        holds=lambda _, answer: (answer.status, answer.location) == (404, None),
    ),
    Rule(
        name="host-header-is-not-needed",
        reason="Nothing depends on the Host header, so a request without one is answered.",
        decision="docs/decisions.md 11",
        applies=lambda exchange: exchange.response["status"] == 400,
        holds=lambda _, answer: answer.devices.startswith("GPU-"),
    ),
    Rule(
        name="too-large-is-called-so",
        reason="HAMi cuts a long body and then finds no JSON; the length is what its sender can mend.",
        decision="docs/decisions.md 14",
        applies=lambda exchange: len(exchange.body) > MIB,
        holds=lambda _, answer: answer.code == "refit-too-large",
    ),
    Rule(
        name="unreadable-pods-stay-known",
        reason="A pod whose annotation cannot be read is not forgotten: the refusal says what is wrong with it.",
        decision="docs/decisions.md 7",
        applies=lambda exchange: "is not tracked" in exchange.reason and bool((exchange.before or {}).get(ALLOCATED)),
        holds=lambda _, answer: answer.code == "refit-annotation-unreadable",
    ),
    Rule(
        name="conflicts-are-decided-anew",
        reason="Another write to the pod is no reason to refuse: the refit is decided again on what is there now.",
        decision="docs/decisions.md 9",
        applies=lambda exchange: "the object has been modified" in exchange.reason,
        holds=_moves_within_allowed,
    ),
    Rule(
        name="own-writes-pass",
        reason="HAMi's webhook refuses HAMi's own patch on a pod of another scheduler; numafit's passes its own.",
        decision="docs/decisions.md 12",
        applies=lambda exchange: "admission webhook" in exchange.reason,
        holds=_moves_within_allowed,
    ),
    Rule(
        name="one-of-several-cards",
        reason="Which of several allowed cards is taken depends on what others hold there, which was not recorded.",
        decision="docs/decisions.md 4",
        applies=_has_choice,
        holds=_moves_within_allowed,
    ),
    Rule(
        name="cards-in-own-order",
        reason="The lowest card index comes first, where HAMi walks its list from the end.",
        decision="docs/decisions.md 4",
        applies=_moves_several,
        holds=_same_cards,
    ),
)
"""In this order; the first whose shape an exchange has speaks for it."""


def rule_of(exchange: Exchange, rules: Iterable[Rule] = RULES) -> Rule | None:
    """The rule that speaks for ``exchange``, None where numafit is to answer as HAMi did."""
    return next((rule for rule in rules if rule.applies(exchange)), None)
