"""Rules about the amounts of GPU resources (HAMi reads them as policy/hami/request.py says)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from policy.admission.capacity import every_reachable
from policy.admission.case import Case, amount
from policy.admission.spelling import quoted
from policy.facts import NOTHING
from policy.hami.golang import MAX_INT32
from policy.hami.quota import webhook_need
from policy.hami.request import InvalidRequestError
from policy.pod import Container
from policy.quantity import parse, whole

_PERCENT: Final = range(101)


def _asked(case: Case, resource: str) -> Iterator[tuple[Container, object]]:
    """Every container that names ``resource``, once for its limits and once for its requests where they differ."""
    for container in case.pod.containers:
        limit, request = container.limits.get(resource), container.requests.get(resource)
        if limit is not None:
            yield container, limit
        if request is not None and request != limit:
            yield container, request


def _says(container: Container, resource: str, value: object) -> str:
    return f"container {quoted(container.name)} asks for {resource} {quoted(str(value))}"


def _out_of_percent(case: Case, resource: str) -> str | None:
    for container, value in _asked(case, resource):
        number = whole(value)
        if number is not None and number not in _PERCENT:
            return f"{_says(container, resource, value)}; it is a percentage of one card, 0 to 100."
    return None


def cores_out_of_range(case: Case) -> str | None:
    """Cores are a percentage of one card."""
    return _out_of_percent(case, case.operator.hami.cores)


def percent_out_of_range(case: Case) -> str | None:
    """The memory percentage is one of each card."""
    return _out_of_percent(case, case.operator.hami.percent)


def quantity_not_whole(case: Case) -> str | None:
    """An amount of GPUs, memory, cores or a priority is no whole number, negative, or larger than HAMi can count."""
    hami = case.operator.hami
    limits = {hami.count: MAX_INT32, hami.memory: MAX_INT32 // max(hami.memory_factor, 1)}
    for resource in (hami.count, hami.memory, hami.percent, hami.cores, hami.priority):
        for container, value in _asked(case, resource):
            number = whole(value)
            if number is None:
                return f"{_says(container, resource, value)}; write a whole number."
            if not 0 <= number <= limits.get(resource, number):
                unit = " in MiB" if resource == hami.memory else ""
                return f"{_says(container, resource, value)}; write a whole number{unit} up to {limits[resource]}."
    return None


def memory_given_twice(case: Case) -> str | None:
    """A container names its memory in MiB and in percent; MiB win."""
    hami = case.operator.hami
    for gpu in case.gpus:
        if whole(amount(gpu.container, hami.memory)) and whole(amount(gpu.container, hami.percent)):
            name = quoted(gpu.container.name)
            return f"container {name} names {hami.memory} and {hami.percent}; the amount in MiB wins, remove the other."
    return None


def _zero(case: Case, resource: str, meaning: str) -> str | None:
    for container, value in _asked(case, resource):
        if parse(value) == 0:
            return f"{_says(container, resource, value)}, {meaning}."
    return None


def count_zero(case: Case) -> str | None:
    """A container asks for 0 GPUs: it gets none, whatever else it names."""
    return _zero(case, case.operator.hami.count, "which is no GPU at all; ask for 1 or remove it")


def percent_zero(case: Case) -> str | None:
    """0 percent of memory is read as the default, not as nothing."""
    return _zero(
        case, case.operator.hami.percent, f"which is read as {_default_memory(case)}; remove it or say how much"
    )


def memory_zero(case: Case) -> str | None:
    """0 MiB are read as the default, not as nothing."""
    return _zero(
        case, case.operator.hami.memory, f"which is read as {_default_memory(case)}; remove it or say how much"
    )


def _default_memory(case: Case) -> str:
    default = case.operator.hami.default_memory
    return f"the default of {default} MiB" if default else "the whole card"


def memory_exceeds_every_card(case: Case) -> str | None:
    """A container asks for more memory on a card than any card that the pod can reach has."""
    gpu = max(case.gpus, key=lambda gpu: gpu.memory)
    if not every_reachable(case, lambda spot: all(card.memory < gpu.memory for card in spot.candidates)):
        return None
    largest = max(card.memory for spot in case.room.reachable for card in spot.candidates)
    name = quoted(gpu.container.name)
    return f"container {name} asks for {gpu.memory} MiB on a card, the largest has {largest}; ask for less."


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a pod asks of something that its namespace's quota limits."""

    resource: str
    asked: int
    taken: int
    limit: int


def _claims(case: Case) -> list[_Claim]:
    namespace, hami = case.pod.namespace, case.operator.hami
    quota = case.facts.quotas.get(namespace) if case.facts else None
    if case.facts is None or quota is None:
        return []
    try:
        need = webhook_need(case.pod, hami)
    except InvalidRequestError:
        # An amount that cannot be read is the business of its own rule.
        return []
    used = case.facts.quota_use.get(namespace, NOTHING)
    if not need.memory and not need.cores:
        return []
    memory = None if quota.memory is None else quota.memory * max(hami.memory_factor, 1)
    found = (hami.memory, need.memory, used.memory, memory), (hami.cores, need.cores, used.cores, quota.cores)
    return [_Claim(name, asked, taken, limit) for name, asked, taken, limit in found if limit is not None]


def quota_never_fits(case: Case) -> str | None:
    """The pod alone asks for more than the quota of its namespace."""
    claim = next((claim for claim in _claims(case) if claim.asked > claim.limit), None)
    if claim is None:
        return None
    return (
        f"the pod asks for {claim.asked} of {claim.resource}, the quota of namespace {case.pod.namespace} "
        f"is {claim.limit}; ask for less."
    )


def quota_full(case: Case) -> str | None:
    """The pod does not fit into what is left of its namespace's quota now."""
    if quota_never_fits(case):
        return None
    claim = next((claim for claim in _claims(case) if claim.asked + claim.taken > claim.limit), None)
    if claim is None:
        return None
    return (
        f"the pod asks for {claim.asked} of {claim.resource}, namespace {case.pod.namespace} holds {claim.taken} "
        f"of {claim.limit}; wait, or ask for less."
    )
