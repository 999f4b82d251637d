"""In which order the cards of a node are tried: a policy's word or list of words, best card first.

The policies are HAMi's; what breaks a tie is a parameter (docs/decisions.md 4).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Final

from policy.facts import NOTHING, UNKNOWN_NUMA, Card, Use
from policy.hami.annotations import Weights
from policy.hami.golang import parts
from policy.hami.request import PERCENT_UNSET, Request
from policy.placement.rules import Rules


class Order(StrEnum):
    """Whose habits decide where a policy leaves a choice.

    `hami`: cards that a policy holds equal are tried from the highest NUMA node and the highest index down,
    `numa-bind` puts NUMA nodes before the policy, and a request counts as one share, however many cards it
    asks for. `numafit`: equal cards are tried from the lowest NUMA node and the lowest index up, the policy
    alone decides, and each card that is asked for counts.
    """

    HAMI = "hami"
    NUMAFIT = "numafit"


def memory_on(card: Card, request: Request) -> int:
    """Return the MiB that ``request`` takes of ``card``; a percentage is rounded down (HAMi: fit)."""
    if request.memory or request.percent == PERCENT_UNSET:
        return request.memory
    return card.memory * request.percent // 100


def score(card: Card, use: Use, requests: Sequence[Request], weights: Weights, order: Order = Order.HAMI) -> float:
    """Return how full ``card`` would be with ``requests``, weighted, 10 for each kind that is full.

    HAMi adds up rounded quotients in single precision, where cards that are equally full may differ in the last
    bit; one quotient of whole numbers makes them equal. A card that lacks shares, memory or cores altogether
    scores 0 (HAMi: card score).
    """
    whole = card.slots * card.cores * card.memory
    if not whole:
        return 0.0
    slots = use.slots + (len(requests) if order is Order.HAMI else sum(each.nums for each in requests))
    cores = use.cores + sum(each.cores for each in requests)
    memory = use.memory + sum(memory_on(card, each) for each in requests)
    taken = (
        weights.slot * slots * card.cores * card.memory
        + weights.core * cores * card.slots * card.memory
        + weights.memory * memory * card.slots * card.cores
    )
    return 10 * taken / whole


@dataclass(frozen=True, slots=True)
class Standing:
    """A card as a policy sees it: its score and the shares of it that are taken."""

    card: Card
    score: float
    used: int


def arrange(
    request: Request, cards: Iterable[Card], use: Mapping[str, Use], rules: Rules, order: Order
) -> tuple[Card, ...]:
    """Return ``cards`` in the order in which the pod's policy tries them for ``request``."""
    standings = []
    for card in cards:
        held = use.get(card.uuid, NOTHING)
        standings.append(Standing(card, score(card, held, (request,), rules.weights, order), held.slots))
    return visiting(standings, rules.policy, order, numa_bind=rules.numa_bind)


def visiting(standings: Iterable[Standing], policy: str, order: Order, *, numa_bind: bool) -> tuple[Card, ...]:
    """Return the cards of ``standings``, best first. Their own order does not matter."""
    listed = sorted(standings, key=lambda each: (each.card.index, each.card.uuid))
    words = parts(policy)
    keys = _hami_keys(words, numa_bind=numa_bind) if order is Order.HAMI else _numafit_keys(words)
    listed.sort(key=lambda each: tuple(key(each) for key in keys), reverse=order is Order.NUMAFIT)
    return tuple(each.card for each in (reversed(listed) if order is Order.HAMI else listed))


_Key = Callable[[Standing], float]
"""What a policy wants much of."""


def _fullest(standing: Standing) -> float:
    return standing.score


def _emptiest(standing: Standing) -> float:
    return -standing.score


def _least_shared(standing: Standing) -> int:
    return -standing.used


def _highest_numa(standing: Standing) -> int:
    return standing.card.numa


def _lowest_numa(standing: Standing) -> int:
    return -standing.card.numa


def _lowest_known_numa(standing: Standing) -> float:
    return -inf if standing.card.numa == UNKNOWN_NUMA else -standing.card.numa


_HAMI_CHAIN: Final[Mapping[str, _Key]] = {
    "binpack": _fullest,
    "spread": _emptiest,
    "numa": _highest_numa,
}
_HAMI_SINGLE: Final[Mapping[tuple[str, bool], tuple[_Key, ...]]] = {
    ("binpack", False): (_fullest, _highest_numa),
    ("binpack", True): (_lowest_numa, _fullest),
    ("spread", False): (_emptiest, _highest_numa),
    ("spread", True): (_highest_numa, _emptiest),
    ("mutex", False): (_least_shared, _highest_numa),
    ("mutex", True): (_least_shared, _highest_numa),
}
_NUMAFIT: Final[Mapping[str, _Key]] = {**_HAMI_CHAIN, "numa": _lowest_known_numa}


def _hami_keys(words: Sequence[str], *, numa_bind: bool) -> tuple[_Key, ...]:
    if len(words) == 1 and words[0] != "numa":
        single = _HAMI_SINGLE.get((words[0], numa_bind))
        return single or _HAMI_SINGLE["spread", numa_bind]
    chain = _chain(words)
    return tuple(_HAMI_CHAIN[word] for word in (["numa", *chain] if numa_bind else chain))


def _numafit_keys(words: Sequence[str]) -> tuple[_Key, ...]:
    if tuple(words) == ("mutex",):
        return (_least_shared, _lowest_known_numa)
    return (*(_NUMAFIT[word] for word in _chain(words)), _lowest_known_numa)


def _chain(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word for word in words if word in _HAMI_CHAIN)) or ["spread"]
