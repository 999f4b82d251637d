"""How many members a namespace's quota still pays where members are unlike."""

from collections.abc import Sequence

from policy.capacity.asked import least_memory, quota_members
from policy.capacity.shapes import Cluster, Member
from policy.facts import NOTHING, Facts
from policy.hami.request import HamiConfig


def group_quota(
    members: Sequence[Member], namespace: str, facts: Facts, config: HamiConfig, cluster: Cluster
) -> int | None:
    """Return how many of ``members`` the quota of ``namespace`` pays at most, None where it pays them all.

    Exact for identical members. Of unlike ones the cheapest are counted first, so that no group is said to be kept
    back by a quota that need not; who is chosen of members that may stay behind is not priced.
    """
    if len(members) == 1:
        return quota_members(members[0], namespace, facts, config, cluster)
    quota, used = facts.quotas.get(namespace), facts.quota_use.get(namespace, NOTHING)
    if quota is None:
        return None
    memory = None if quota.memory is None else quota.memory * max(config.memory_factor, 1)
    paid = [
        _paid(limit - taken, prices)
        for limit, taken, prices in (
            (memory, used.memory, [(each.gpus * least_memory(each, cluster), each.count) for each in members]),
            (quota.cores, used.cores, [(each.gpus * each.request.cores, each.count) for each in members]),
        )
        if limit is not None
    ]
    return min(paid, default=None)


def _paid(left: int, prices: Sequence[tuple[int, int]]) -> int:
    """Return how many can be paid, the cheapest first; who costs nothing always can."""
    paid = 0
    for price, count in sorted(prices):
        payable = count if not price else min(count, max(left, 0) // price)
        paid += payable
        left -= payable * price
    return paid
