"""What Coscheduling does with a gang whose next member found no place, and how many members it holds meanwhile.

The gate of the scheduler plugin, by its defaults (Coscheduling: PreFilter, Permit, PostFilter). HAMi's own book may
hold more: cards are reserved when a pod is filtered and stay so when it is rejected (HAMi: filter).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

REJECT_PERCENT: Final = 10
"""A gap of more than this part of the minimum rejects the waiting members at once (Coscheduling)."""


class Outcome(StrEnum):
    """What becomes of the gang."""

    TOO_FEW_PODS = "prefilter-unschedulable"
    SATISFIED = "group-satisfied"
    REJECTED = "reject-waiting"
    WAITING = "wait-for-timeout"


@dataclass(frozen=True, slots=True)
class Gate:
    """What happened, and how many members hold what they were assigned until the time-out."""

    outcome: Outcome
    holds: int = 0


def after_failure(minimum: int, assigned: int, existing: int, reject_percent: int = REJECT_PERCENT) -> Gate:
    """Return what the failure of one more member brings.

    Args:
        minimum: `minMember` of the group.
        assigned: members that have a node, the waiting ones included.
        existing: pods of the group that there are.
        reject_percent: `podGroupRejectPercentage`.
    """
    if existing < minimum:
        return Gate(Outcome.TOO_FEW_PODS)
    if assigned >= minimum:
        return Gate(Outcome.SATISFIED)
    if (minimum - assigned) * 100 > reject_percent * minimum:
        return Gate(Outcome.REJECTED)
    return Gate(Outcome.WAITING, assigned)
