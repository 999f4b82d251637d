"""Small random clusters and groups, the same for the same seed."""

from random import Random

from policy.capacity.shapes import (
    ANY_CARD,
    Alike,
    CardRoom,
    Cluster,
    Locality,
    Member,
    NodeRoom,
    ZoneRoom,
    group_alike,
    whole_cards,
)
from policy.facts import Card, Use
from policy.hami.annotations import CardFilter
from policy.hami.request import Request
from policy.keys import USE_TYPE

TYPES = ("NVIDIA A100", "NVIDIA H100")
ONLY_H100 = CardFilter.of({USE_TYPE: "H100"})


def card(random: Random, *, shared: bool) -> CardRoom:
    made = Card(
        uuid="",
        slots=random.choice([2, 3]),
        memory=random.choice([8, 16]),
        type=random.choice(TYPES),
        healthy=random.random() < 0.9,
    )
    busy = random.random() < (0.5 if shared else 0.2)
    taken = Use(random.randint(1, 2), random.randint(0, made.memory), random.choice([0, 30, 50, 100]))
    return CardRoom(made, taken if busy else Use())


def room(random: Random, most_cards: int, *, shared: bool) -> NodeRoom:
    """A node, half of them with so much that only the cards decide."""
    much = random.choice([0, 12])
    zones = tuple(
        ZoneRoom(
            tuple(card(random, shared=shared) for _ in range(random.randint(0, most_cards))),
            _perhaps(random, much + random.randint(0, 12)),
            _perhaps(random, much + random.randint(0, 12)),
        )
        for _ in range(random.randint(1, 2))
    )
    return NodeRoom(
        zones,
        _perhaps(random, 2 * much + random.randint(0, 20)),
        _perhaps(random, 2 * much + random.randint(0, 20)),
        random.choice([None, None, None, None, 1, 2]),
        random.choice([frozenset(), frozenset(), frozenset(), frozenset(), frozenset({"m0"})]),
    )


def _perhaps(random: Random, amount: int) -> int | None:
    return None if random.random() < 0.1 else amount


def member(random: Random, number: int, most_gpus: int, *, shared: bool) -> Member:
    gpus = random.randint(0, most_gpus)
    return Member(
        name=f"m{number}",
        count=random.randint(1, 2),
        request=_request(random, gpus) if shared and gpus else whole_cards(gpus) if gpus else Request(0),
        cpus=random.choice([0, 0, 2, 3, 5, 8]),
        memory=random.choice([0, 0, 2, 5, 8]),
        locality=random.choice(list(Locality)),
        cpu_step=random.choice([1, 1, 1, 1, 1, 1, 2]),
        filter=random.choice([ANY_CARD, ANY_CARD, ANY_CARD, ONLY_H100]),
        alone=shared and random.random() < 0.15,
    )


def _request(random: Random, gpus: int) -> Request:
    cores = random.choice([0, 20, 30, 50, 100])
    if random.random() < 0.3:
        return Request(gpus, percent=random.choice([25, 33, 50, 100]), cores=cores)
    return Request(gpus, memory=random.choice([2, 4, 5, 8]), cores=cores)


def cluster(rooms: list[NodeRoom]) -> Cluster:
    return group_alike((f"n{place}", each) for place, each in enumerate(rooms))


def single(room_: NodeRoom) -> Cluster:
    return (Alike(room_, ("n0",)),)
