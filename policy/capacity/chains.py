"""How two HAMi releases read a pod's policies for cards and nodes, and what in them can never act.

The release v2.10 takes an unknown word for `spread` without a word of its own; later ones drop a policy with a wrong
part and use the configured one (HAMi: resolve GPU policy). How a policy is followed is `policy.placement.order`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from policy.hami.annotations import is_valid_policy
from policy.hami.golang import parts, trim

KEYS: Final = ("binpack", "spread", "numa")
"""Words that order cards."""

FILTERS: Final = ("mutex", "topology-aware")
"""Words that leave cards out, wherever they stand."""

NODE_POLICIES: Final = ("binpack", "spread")

NUMA_TIEBREAK: Final = "numa*"
"""What breaks ties where a policy is one word and not `numa` itself."""

BUSY_FIRST: Final = "busy-first"
"""The sort key of `mutex` alone; cards are tried from the end of the list, the least shared first."""

_SAME_SCORE: Final = frozenset({"binpack", "spread"})


@dataclass(frozen=True, slots=True)
class Chain:
    """A policy for cards.

    Attributes:
        is_valid: whether releases after v2.10 follow it.
        filters: the words that leave cards out, as written.
        keys: by what v2.10 sorts, in this order.
        dead_keys: sort keys that never decide: they compare the score that a key before them compared.
    """

    is_valid: bool
    filters: tuple[str, ...]
    keys: tuple[str, ...]
    dead_keys: tuple[str, ...]


def read_chain(text: str) -> Chain:
    """Read a policy for cards as it is written on a pod."""
    words = parts(text)
    keys = _chain_keys(words) if "," in text or text == "numa" else _single_keys(text)
    scored = [key for key in keys if key in _SAME_SCORE]
    return Chain(
        is_valid=is_valid_policy(text),
        filters=tuple(dict.fromkeys(word for word in words if word in FILTERS)),
        keys=keys,
        dead_keys=tuple(scored[1:]),
    )


def _chain_keys(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in words if word in KEYS)) or ("spread",)


def _single_keys(text: str) -> tuple[str, ...]:
    """A single word is compared untrimmed, and every other word acts as `spread`."""
    if text == "mutex":
        return BUSY_FIRST, NUMA_TIEBREAK
    return (text if text == "binpack" else "spread"), NUMA_TIEBREAK


@dataclass(frozen=True, slots=True)
class NodePolicy:
    """A policy for nodes.

    Attributes:
        is_valid: whether it is one of the two words; it takes no list.
        v2_10: what v2.10 does.
        later: what later releases do, which fall back to the configured policy.
    """

    is_valid: bool
    v2_10: str
    later: str


def read_node_policy(text: str, configured: str) -> NodePolicy:
    """Read a policy for nodes where the cluster is configured for ``configured``."""
    is_valid = trim(text) in NODE_POLICIES
    return NodePolicy(
        is_valid=is_valid,
        v2_10="spread" if text == "spread" else "binpack",
        later=trim(text) if is_valid else configured,
    )


def last_zone_holds(numa_nodes: Sequence[int], cards: int) -> bool:
    """Tell whether v2.10 finds room under `numa-bind` with `topology-aware`: only the last NUMA node's cards count.

    Args:
        numa_nodes: of the usable cards, in the order of the visit.
        cards: how many are wanted.
    """
    runs = [len(list(run)) for _, run in groupby(numa_nodes)]
    return bool(runs) and runs[-1] >= cards


def some_zone_holds(numa_nodes: Sequence[int], cards: int) -> bool:
    """Tell whether any NUMA node has room (docs/decisions.md 5)."""
    return any(numa_nodes.count(numa) >= cards for numa in set(numa_nodes))
