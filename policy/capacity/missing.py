"""The fewest units of one resource that would make a group of identical members run, the rest as it is.

Within a NUMA node the first member more costs what is missing to it and each further one all that it asks for, so
prices only rise, and taking the cheapest first over the whole cluster is exact.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import accumulate, islice, pairwise
from typing import Final

from policy.capacity.count import PlaceCount, measure, most, node_cap, places
from policy.capacity.ladder import Ask, without
from policy.capacity.offers import offer
from policy.capacity.shapes import NO_LIMITS, Alike, Cluster, Limits, Member, NodeRoom

_ADDABLE: Final = (Ask.CPU, Ask.MEMORY, Ask.GPU)


@dataclass(frozen=True, slots=True)
class Addition:
    """What would have to become free.

    Attributes:
        resource: thousandths of a CPU, MiB of memory, or whole cards.
        amount: in all.
        nodes: node name -> how much of it there.
    """

    resource: Ask
    amount: int
    nodes: tuple[tuple[str, int], ...]


def additions(member: Member, cluster: Cluster, needed: int, limits: Limits = NO_LIMITS) -> tuple[Addition, ...]:
    """Return, of each resource by itself, the fewest units with which ``needed`` members fit.

    A resource that helps nothing by itself is left out; cards are counted for members that take them whole.
    """
    if limits.quota is not None and needed > limits.quota:
        return ()
    found = []
    for ask in _ADDABLE:
        if ask is Ask.GPU and not (member.gpus and member.takes_whole_cards):
            continue
        ways = [way for part in limits.split(cluster) if (way := _cheapest(member, part, needed, ask)) is not None]
        if ways:
            found.append(min(ways, key=lambda way: way.amount))
    return tuple(found)


def _cheapest(member: Member, cluster: Cluster, needed: int, ask: Ask) -> Addition | None:
    short = needed - most(member, cluster)
    if short <= 0:
        return None
    steps = []
    for alike in cluster:
        prices = _prices(member, alike.room, ask, short)
        steps += [[(price, name) for price in prices] for name in alike.names[:short]]
    taken = list(islice(merge(*steps), short))
    if len(taken) < short:
        return None
    nodes: dict[str, int] = {}
    for price, name in taken:
        nodes[name] = nodes.get(name, 0) + price
    return Addition(ask, sum(nodes.values()), tuple(nodes.items()))


def _prices(member: Member, room: NodeRoom, ask: Ask, most_wanted: int) -> list[int]:
    """Return what each member more on the node would cost, in rising order, as far as the other resources go."""
    (now,) = measure(member, (Alike(room, ("",)),)).nodes
    if member.name in room.barred or not member.is_aligned:
        return []
    need = {Ask.CPU: member.cpus, Ask.MEMORY: member.memory, Ask.GPU: member.gpus}[ask]
    margins = merge(
        *(
            _margins(left, need, place.members, _others(place, ask))
            for left, place in zip(_lefts(member, room, ask), now.places, strict=True)
            if left is not None
        )
    )
    base = sum(place.members for place in now.places)
    totals = [0, *accumulate(islice(margins, most_wanted))]
    cap = node_cap(room, member if ask is Ask.GPU else without(member, ask))
    counts = range(now.members, min(now.members + most_wanted, cap) + 1)
    costs = [_cost(count, base, totals, _on_node(room, ask), need) for count in counts]
    return [after - before for before, after in pairwise(costs) if after is not None and before is not None]


def _others(place: PlaceCount, ask: Ask) -> int:
    """Return how many members the place's other resources hold."""
    holds = {Ask.GPU: place.by_gpu, Ask.CPU: place.by_cpu, Ask.MEMORY: place.by_memory}
    return min(holds[other] for other in holds if other is not ask)


def _cost(count: int, base: int, totals: Sequence[int], left: int | None, need: int) -> int | None:
    """Return what ``count`` members on the node cost: in its NUMA nodes, and on it as a whole."""
    beyond = max(count - base, 0)
    if beyond >= len(totals):
        return None
    return max(totals[beyond], 0 if left is None else need * count - left)


def _margins(left: int, need: int, members: int, most_members: int) -> Iterator[int]:
    for count in range(members + 1, most_members + 1):
        yield max(need * count - left, 0) if count == members + 1 else need


def _lefts(member: Member, room: NodeRoom, ask: Ask) -> list[int | None]:
    """Return what each place has left of a resource, None where it is not counted there."""
    found = list(places(room, member.place))
    if ask is Ask.GPU:
        return [sum(offer(member, card) for card in cards) for cards, _, _ in found]
    return [cpu if ask is Ask.CPU else memory for _, cpu, memory in found]


def _on_node(room: NodeRoom, ask: Ask) -> int | None:
    return {Ask.CPU: room.cpu, Ask.MEMORY: room.memory}.get(ask)
