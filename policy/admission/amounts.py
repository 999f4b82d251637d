"""Rules about the amounts of GPU resources (HAMi reads them as policy/hami/request.py says)."""

from dataclasses import dataclass
from typing import Final

from policy.admission.capacity import every_reachable
from policy.admission.case import Case, amount
from policy.admission.spelling import quoted
from policy.facts import NOTHING, Use
from policy.hami.golang import MAX_INT32
from policy.pod import Container, Phase
from policy.quantity import whole

_PERCENT: Final = range(101)


def _asked(case: Case, resource: str) -> list[tuple[Container, object]]:
    """Every container that names ``resource``, once for its limits and once for its requests where they differ."""
    return [(ask.container, ask.value) for ask in case.asks if ask.resource == resource]


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
    """An amount of GPUs, memory, percent, cores or a priority is no whole number.

    Or the number of GPUs, or the memory, is below 0 or larger than HAMi can count.
    """
    hami = case.operator.hami
    largest = {hami.count: MAX_INT32, hami.memory: MAX_INT32 // max(hami.memory_factor, 1)}
    for container, resource, value in case.asks:
        number = whole(value)
        if number is None:
            return f"{_says(container, resource, value)}; write a whole number."
        if resource in largest and not 0 <= number <= largest[resource]:
            unit = " of MiB" if resource == hami.memory else ""
            return f"{_says(container, resource, value)}; write a whole number{unit}, 0 to {largest[resource]}."
    return None


def memory_given_twice(case: Case) -> str | None:
    """A container names its memory in MiB and in percent; MiB win."""
    hami = case.operator.hami
    for gpu in case.gpus:
        if whole(amount(gpu.container, hami.memory)) and whole(amount(gpu.container, hami.percent)):
            name = quoted(gpu.container.name)
            return f"container {name} names {hami.memory} and {hami.percent}; MiB win, drop the other."
    return None


def _with_zero(case: Case, resource: str) -> Container | None:
    return next((container for container, value in _asked(case, resource) if whole(value) == 0), None)


def count_zero(case: Case) -> str | None:
    """A container asks for 0 GPUs: it gets none, whatever else it names."""
    resource = case.operator.hami.count
    container = _with_zero(case, resource)
    if container is None:
        return None
    return f"container {quoted(container.name)} asks for {resource} 0, which is no GPU at all; ask for 1 or remove it."


def percent_zero(case: Case) -> str | None:
    """0 percent of memory is read as if it were not there, not as nothing."""
    hami = case.operator.hami
    return _zero_memory(case, hami.percent, hami.memory)


def memory_zero(case: Case) -> str | None:
    """0 MiB are read as if they were not there, not as nothing."""
    hami = case.operator.hami
    return _zero_memory(case, hami.memory, hami.percent)


def _zero_memory(case: Case, resource: str, other: str) -> str | None:
    container = _with_zero(case, resource)
    if container is None:
        return None
    default = case.operator.hami.default_memory
    read = f"the default of {default} MiB" if default else "the whole card"
    if whole(amount(container, other)):
        read = other
    return f"container {quoted(container.name)} asks for {resource} 0, read as {read}; say how much."


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
    """What the quota counts of the pod as filled in; a pod that asks for nothing of it always passes (HAMi: quota)."""
    namespace, hami = case.pod.namespace, case.operator.hami
    quota = case.facts.quotas.get(namespace) if case.facts else None
    if case.facts is None or quota is None:
        return []
    need, used = _need(case), case.facts.quota_use.get(namespace, NOTHING)
    if not need.memory and not need.cores:
        return []
    memory = None if quota.memory is None else quota.memory * max(hami.memory_factor, 1)
    found = (hami.memory, need.memory, used.memory, memory), (hami.cores, need.cores, used.cores, quota.cores)
    return [_Claim(name, asked, taken, limit) for name, asked, taken, limit in found if limit is not None]


def _need(case: Case) -> Use:
    """The most that the pod will hold at one time; memory in percent counts 0, for the card is not known yet."""
    running = peak = NOTHING
    for gpu in case.gpus:
        need = Use(gpu.need, gpu.memory * gpu.need, gpu.cores * gpu.need)
        if gpu.container.phase is Phase.INIT:
            peak = peak.peak(running + need)
        else:
            running += need
    return peak.peak(running)


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
    claims = _claims(case)
    if any(claim.asked > claim.limit for claim in claims):
        return None
    claim = next((claim for claim in claims if claim.asked + claim.taken > claim.limit), None)
    if claim is None:
        return None
    return (
        f"the pod asks for {claim.asked} of {claim.resource}, namespace {case.pod.namespace} holds {claim.taken} "
        f"of {claim.limit}; wait, or ask for less."
    )
