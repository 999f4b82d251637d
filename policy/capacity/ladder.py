"""What each relaxation would add: looser localities, one request left out, one request made smaller.

The first rung that reaches the group's size names the locality at fault; where none does, it is plain shortage.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from policy.capacity.count import most
from policy.capacity.shapes import NO_GPU, NO_LIMITS, Cluster, Limits, Locality, Member
from policy.hami.request import Request

_CPU: Final = 1000


class Ask(StrEnum):
    """What of a member's request can be left out or made smaller."""

    CPU = "cpu"
    MEMORY = "mem"
    GPU = "gpu"
    GPU_MEMORY = "gpu_mem"
    GPU_CORES = "gpu_cores"


def ladder(member: Member, cluster: Cluster, limits: Limits = NO_LIMITS) -> Mapping[Locality, int]:
    """Return how many members fit under each locality, the strictest first."""
    return {rung: most(replace(member, locality=rung), cluster, limits) for rung in Locality}


def without(member: Member, ask: Ask) -> Member:
    """Return the same member with one of its requests left out.

    Raises:
        ValueError: of cards a share is asked for that cannot be left out by itself.
    """
    if ask is Ask.CPU:
        return replace(member, cpus=0)
    if ask is Ask.MEMORY:
        return replace(member, memory=0)
    if ask is Ask.GPU:
        return replace(member, request=NO_GPU)
    raise ValueError(f"{ask} cannot be left out; leave out {Ask.CPU}, {Ask.MEMORY} or {Ask.GPU}, or ask for less of it")


def largest_requests(member: Member, cluster: Cluster, needed: int, limits: Limits = NO_LIMITS) -> Mapping[Ask, int]:
    """Return, of each request by itself, the largest amount below the one asked with which ``needed`` members fit.

    Amounts are CPUs in thousandths, MiB, cards, and percent. What helps nothing however small is left out.
    """
    found: dict[Ask, int] = {}
    for ask, asked in _asks(member).items():
        best = _largest(asked, cluster, needed, limits)
        if best is not None:
            found[ask] = best
    return found


@dataclass(frozen=True, slots=True)
class _Asked:
    """An amount asked, the unit in which it can be asked, the member that asks for another amount, and the least."""

    amount: int
    unit: int
    smaller: Callable[[int], Member]
    least: int = 0


def _largest(asked: _Asked, cluster: Cluster, needed: int, limits: Limits) -> int | None:
    """Return the largest amount that is enough, None for none; a smaller one is never worse."""
    low, high = asked.least - 1, (asked.amount - 1) // asked.unit
    while low < high:
        middle = (low + high + 1) // 2
        if most(asked.smaller(middle * asked.unit), cluster, limits) >= needed:
            low = middle
        else:
            high = middle - 1
    return None if low < asked.least else low * asked.unit


def _asks(member: Member) -> Mapping[Ask, _Asked]:
    """Return what can be made smaller. Of a card nothing is another rule than little: the least is 1."""
    request = member.request
    found = {
        Ask.CPU: _Asked(member.cpus, _cpu_unit(member), lambda much: replace(member, cpus=much)),
        Ask.MEMORY: _Asked(member.memory, 1, lambda much: replace(member, memory=much)),
        Ask.GPU: _of_cards(member, request.nums, lambda much: replace(request, nums=much)),
        Ask.GPU_MEMORY: _of_cards(member, request.memory, lambda much: replace(request, memory=much)),
        Ask.GPU_CORES: _of_cards(member, request.cores, lambda much: replace(request, cores=much)),
    }
    if member.takes_whole_cards:
        del found[Ask.GPU_CORES]
    return {ask: asked for ask, asked in found.items() if asked.amount}


def _of_cards(member: Member, amount: int, smaller: Callable[[int], Request]) -> _Asked:
    return _Asked(amount, 1, lambda much: replace(member, request=smaller(much)), least=1)


def _cpu_unit(member: Member) -> int:
    """Whole CPUs stay whole, and whole physical cores stay so."""
    if member.cpu_step > 1:
        return member.cpu_step
    return 1 if member.cpus % _CPU else _CPU
