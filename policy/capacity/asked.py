"""What one pod asks for, as a member of a group, and how many like it the namespace's quota still pays."""

from fractions import Fraction
from math import ceil

from policy import quantity
from policy.capacity.offers import accepts
from policy.capacity.shapes import NO_GPU, Cluster, Locality, Member
from policy.facts import NOTHING, Facts
from policy.hami.annotations import CardFilter, alignment, numa_bind
from policy.hami.errors import shown
from policy.hami.request import PERCENT_UNSET, WHOLE_CARD, HamiConfig, InvalidRequestError, Request, read_request
from policy.placement.order import memory_on
from policy.placement.rules import Rules
from policy.pod import Container, Phase, Pod

_MILLI = 1000
_MIB = 1024**2


class UnmodelledPodError(ValueError):
    """A pod asks for cards in a way that cannot be counted as one shape; the text says which and what can be."""


def member_of(pod: Pod, config: HamiConfig, name: str = "", count: int = 1) -> Member:
    """Read ``pod`` as ``count`` members called ``name``, or as the pod is.

    The locality is what the pod's annotations ask: GPUs and CPUs together under `strict`, GPUs under `numa-bind`.

    Raises:
        InvalidRequestError: its amounts cannot be read.
        AnnotationError: its annotations cannot be read.
        UnmodelledPodError: several containers ask for shares of cards.
    """
    request = _request(pod, config)
    return Member(
        name=name or pod.name or "member",
        count=count,
        request=request,
        cpus=ceil(together(pod, "cpu") * _MILLI),
        memory=ceil(together(pod, "memory") / _MIB),
        locality=_locality(pod),
        filter=CardFilter.of(pod.annotations),
        alone=Rules.of(pod.annotations, config.default_gpu_policy).mutex,
    )


def _request(pod: Pod, config: HamiConfig) -> Request:
    found = [(container.phase, request) for container in pod.containers if (request := read_request(container, config))]
    running = [_as_counted(request, config) for phase, request in found if phase is not Phase.INIT]
    early = [_as_counted(request, config) for phase, request in found if phase is Phase.INIT]
    if not running:
        running, early = early[:1], early[1:]
    if not running:
        return NO_GPU
    whole = all(_is_whole(request) for request in running)
    if len(running) > 1 and not whole:
        raise UnmodelledPodError(
            f"{len(running)} containers of {pod.title} ask for shares of cards, which may lie on one or on several; "
            "only one may, or all must ask for whole cards: ask about the pod with `numafit explain`"
        )
    together = (
        running[0] if len(running) == 1 else Request(sum(each.nums for each in running), 0, WHOLE_CARD, WHOLE_CARD)
    )
    if any(not _covers(together, each) for each in early):
        raise UnmodelledPodError(
            f"an init container of {pod.title} asks for more than its other containers; "
            "only what the others hold anyway can be counted: ask about the pod with `numafit explain`"
        )
    return together


def _as_counted(request: Request, config: HamiConfig) -> Request:
    """A whole card's memory is its cores too: the webhook adds them (HAMi: mutating webhook)."""
    takes_all = request.percent == WHOLE_CARD and not request.memory and not request.cores and not config.default_cores
    return Request(request.nums, request.memory, request.percent, WHOLE_CARD) if takes_all else request


def _is_whole(request: Request) -> bool:
    return request.percent == WHOLE_CARD and request.cores == WHOLE_CARD


def _covers(held: Request, asked: Request) -> bool:
    if _is_whole(held):
        return asked.nums <= held.nums
    same_unit = (held.percent == PERCENT_UNSET) == (asked.percent == PERCENT_UNSET)
    pairs = (
        (asked.nums, held.nums),
        (asked.memory, held.memory),
        (asked.percent, held.percent),
        (asked.cores, held.cores),
    )
    return same_unit and all(need <= have for need, have in pairs)


def _locality(pod: Pod) -> Locality:
    if alignment(pod.annotations) == "strict":
        return Locality.GPU_CPU
    return Locality.GPU if numa_bind(pod.annotations) else Locality.NODE


def together(pod: Pod, resource: str) -> Fraction:
    """Return the most of ``resource`` that the pod has at one time (Kubernetes: pod requests).

    Raises:
        InvalidRequestError: an amount cannot be read.
    """
    running = peak = Fraction(0)
    for container in pod.containers:
        need = _amount(container, resource)
        if container.phase is Phase.INIT:
            peak = max(peak, running + need)
        else:
            running += need
    return max(peak, running)


def _amount(container: Container, resource: str) -> Fraction:
    value = container.requests.get(resource, container.limits.get(resource))
    amount = Fraction(0) if value is None else quantity.parse(value)
    if amount is None or amount < 0:
        raise InvalidRequestError(
            f'{resource} of container "{container.name}" is {shown(value)}; '
            "it must be a quantity from 0, such as 16 or 500m"
        )
    return amount


def quota_members(member: Member, namespace: str, facts: Facts, config: HamiConfig, cluster: Cluster) -> int | None:
    """Return how many more members the quota of ``namespace`` pays, None where it sets no bound.

    A percentage is priced by the smallest card that the member may use: no quota is said to bind that may not.
    """
    quota, used = facts.quotas.get(namespace), facts.quota_use.get(namespace, NOTHING)
    if quota is None or not member.gpus:
        return None
    memory = None if quota.memory is None else quota.memory * max(config.memory_factor, 1)
    bounds = [
        max(limit - taken, 0) // need
        for limit, taken, need in (
            (memory, used.memory, member.gpus * least_memory(member, cluster)),
            (quota.cores, used.cores, member.gpus * member.request.cores),
        )
        if limit is not None and need
    ]
    return min(bounds, default=None)


def least_memory(member: Member, cluster: Cluster) -> int:
    """Return the MiB that ``member`` takes of the smallest card that it may use."""
    cards = (card for alike in cluster for card in alike.room.cards if accepts(member, card))
    return min((memory_on(room.card, member.request) for room in cards), default=member.request.memory)
