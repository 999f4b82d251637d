"""Every code that numafit gives, and HAMi's words for cards, with what they mean. `docs/codes.md` is made of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from policy.admission.finding import Level, Rule
from policy.admission.table import RULES
from policy.hami import reasons
from policy.placement.refit import REFIT_CODES
from webhook.caller import CALLER_CODES
from webhook.refit import ALL_CODES

CARD_WORDS: Final[Mapping[str, str]] = {
    reasons.CARD_NOT_HEALTH: "The card is not healthy.",
    reasons.CARD_CORDONED: "The card is closed to new reservations by the node's annotation `hami.io/device-cordon`.",
    reasons.CARD_TYPE_MISMATCH: "The card's type or mode is not one that the pod's annotations allow.",
    reasons.NUMA_NOT_FIT: "The card would do, but its NUMA node was given up for another one.",
    reasons.CARD_UUID_MISMATCH: "The pod pins other cards, or excludes this one.",
    reasons.CARD_TIME_SLICING_EXHAUSTED: "All shares of the card are taken.",
    reasons.EXCLUSIVE_DEVICE_ALLOCATE_CONFLICT: "The card is wanted whole, and others hold shares of it.",
    reasons.RESOURCE_QUOTA_NOT_FIT: "The namespace's quota does not hold with it.",
    reasons.CARD_INSUFFICIENT_MEMORY: "The card has less memory left than is asked for.",
    reasons.CARD_INSUFFICIENT_CORE: "The card has fewer cores left than are asked for.",
    reasons.CARD_COMPUTE_UNITS_EXHAUSTED: "All cores of the card are taken.",
    reasons.CARD_MIG_TOPOLOGY_INFEASIBLE: "The card is in MIG mode; numafit places nothing there.",
    reasons.ALLOCATED_CARDS_INSUFFICIENT_REQUEST: "The card would do, but too few others do.",
    reasons.NODE_INSUFFICIENT_DEVICE: "The node has fewer cards than the container asks for.",
    reasons.ALLOWED_DEVICE_SET_UNMATCHED: "None of the allowed cards is on the node.",
}
"""HAMi's word for why a card or a node does not serve -> what it means. Dashboards look for the words."""


def unmarked(text: str) -> str:
    """A meaning or a remedy without the marks that documents have around code."""
    return text.replace("`", "")


@dataclass(frozen=True, slots=True)
class Entry:
    """One code.

    Attributes:
        code: the code itself.
        source: who gives it: `admission`, `refit`, `caller` or `card`.
        meaning: when it is given.
        remedy: what to do, empty where the message says it or nobody can do anything.
        level: what follows by default, empty where a code is a refusal by itself.
        level_if_static: what follows on a cluster that is declared static.
        needs_facts: whether it is judged on fresh facts of the cluster only.
        any_pod: whether it is judged on pods that ask for no GPU too.
    """

    code: str
    source: str
    meaning: str
    remedy: str = ""
    level: str = ""
    level_if_static: str = ""
    needs_facts: bool = False
    any_pod: bool = False


def entries() -> tuple[Entry, ...]:
    """All of them: admission's in the order of its table, then the refit's, the callers', HAMi's words."""
    return (
        *(_of(rule) for rule in RULES),
        *(Entry(code, _source(code), meaning) for code, meaning in ALL_CODES.items()),
        *(Entry(word, "card", meaning) for word, meaning in CARD_WORDS.items()),
    )


def _of(rule: Rule) -> Entry:
    return Entry(
        code=rule.code,
        source="admission",
        meaning=rule.meaning,
        remedy=rule.remedy,
        level=rule.level or Level.WARN,
        level_if_static=rule.level or Level.ENFORCE,
        needs_facts=rule.needs_facts,
        any_pod=rule.any_pod,
    )


def _source(code: str) -> str:
    return "caller" if code in CALLER_CODES and code not in REFIT_CODES else "refit"
