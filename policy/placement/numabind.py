"""Cards of one container from one NUMA node: the nodes are judged whole (docs/decisions.md 5).

HAMi walks the cards once and starts anew at each change of NUMA node, so that one card in between, even one that
nobody could use, loses the cards found before it. Here each NUMA node collects its own cards, and the first that
is complete, in the order of the pod's policy, serves the request.
"""

from collections.abc import Hashable, Mapping
from itertools import takewhile

from policy.facts import UNKNOWN_NUMA, Card
from policy.hami.reasons import ALLOCATED_CARDS_INSUFFICIENT_REQUEST, NUMA_NOT_FIT


def group_of(card: Card) -> Hashable:
    """Return what cards of one NUMA node have in common; a card of unknown node has it alone."""
    return card.uuid if card.numa == UNKNOWN_NUMA else card.numa


def shortfall(usable: Mapping[str, Hashable]) -> dict[str, str]:
    """Say of each usable card why it was not taken, in the words and numbers of HAMi's walk.

    Args:
        usable: UUID -> group, in the order of trying. The cards at the end that share a group were too few;
            those before were given up for another NUMA node.
    """
    uuids, groups = list(usable), list(usable.values())
    run = len(list(takewhile(lambda group: group == groups[-1], reversed(groups))))
    given_up = len(uuids) - run
    return dict.fromkeys(uuids[:given_up], NUMA_NOT_FIT) | dict.fromkeys(
        uuids[given_up:], ALLOCATED_CARDS_INSUFFICIENT_REQUEST
    )
