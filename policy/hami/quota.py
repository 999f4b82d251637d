"""Namespace quotas as HAMi keeps them: limits on memory in MiB and on percent of cards.

Kubernetes itself only counts the number of cards; memory and cores are HAMi's own count.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from policy import quantity
from policy.facts import NOTHING, Quota, Use
from policy.hami.golang import MAX_INT64
from policy.hami.request import HamiConfig, read_request
from policy.pod import Container, MalformedObjectError, Phase, Pod

_NO_NEED: Final = (0, 0)


def read_quotas(objects: Iterable[Mapping[str, Any]], config: HamiConfig) -> Mapping[str, Quota]:
    """Return namespace -> the strictest limits of its ResourceQuota ``objects``.

    Only `limits.<memory>` and `limits.<cores>` count, where they are whole numbers; quotas with a scope do not
    (HAMi: resource quota).

    Raises:
        MalformedObjectError: an object lacks the shape of a ResourceQuota.
    """
    found: dict[str, Quota] = {}
    for source in objects:
        namespace = _mapping(source, "metadata").get("namespace")
        spec = _mapping(source, "spec")
        if not isinstance(namespace, str) or spec.get("scopes") or spec.get("scopeSelector"):
            continue
        quota = _read(_mapping(spec, "hard"), config)
        if quota != Quota():
            found[namespace] = _strictest(found.get(namespace, Quota()), quota)
    return found


def webhook_need(pod: Pod, config: HamiConfig) -> Use:
    """Return the most that ``pod`` will hold at one time, as far as that is known before a card is chosen.

    Memory asked for in percent counts 0. `Use.slots` counts the cards (HAMi: quota in the webhook).

    Raises:
        InvalidRequestError: a container's amounts cannot be read.
    """
    running = peak = NOTHING
    for container in pod.containers:
        need = _need(container, config)
        if container.phase is Phase.INIT:
            peak = peak.peak(running + need)
        else:
            running += need
    return peak.peak(running)


def fits(quota: Quota | None, used: Use, need: Use, memory_factor: int) -> bool:
    """Tell whether a namespace that holds ``used`` may take ``need`` more; reaching a limit is allowed.

    A need of nothing always fits, also where more than the limit is held already (HAMi: FitQuota and its caller
    in the webhook).

    Args:
        quota: the namespace's limits, None if it has none.
        used: what its pods hold.
        need: what is asked for; `Use.slots` is not limited.
        memory_factor: what a container's memory amount, and so the limit, is multiplied with.
    """
    if quota is None or (need.memory, need.cores) == _NO_NEED:
        return True
    memory = None if quota.memory is None else quota.memory * max(memory_factor, 1)
    return _within(memory, used.memory + need.memory) and _within(quota.cores, used.cores + need.cores)


def _within(limit: int | None, amount: int) -> bool:
    return limit is None or amount <= limit


def _need(container: Container, config: HamiConfig) -> Use:
    request = read_request(container, config)
    if request is None:
        return NOTHING
    return Use(request.nums, request.memory * request.nums, request.cores * request.nums)


def _read(hard: Mapping[str, Any], config: HamiConfig) -> Quota:
    return Quota(_limit(hard, config.memory), _limit(hard, config.cores))


def _limit(hard: Mapping[str, Any], resource: str) -> int | None:
    value = quantity.whole(hard.get(f"limits.{resource}"))
    return value if value is not None and abs(value) <= MAX_INT64 else None


def _strictest(one: Quota, other: Quota) -> Quota:
    return Quota(_lower(one.memory, other.memory), _lower(one.cores, other.cores))


def _lower(one: int | None, other: int | None) -> int | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


def _mapping(source: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = source.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MalformedObjectError(f"{key} of a ResourceQuota must be an object, not {type(value).__name__}")
    return value
