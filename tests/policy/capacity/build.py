"""Small clusters by hand: whole cards of one type, CPUs in whole numbers, memory in GiB."""

from collections.abc import Iterable
from typing import Any

from policy.capacity.shapes import CardRoom, Cluster, Locality, Member, NodeRoom, ZoneRoom, group_alike, whole_cards
from policy.facts import Card, Use
from policy.hami.request import Request

A100 = "NVIDIA A100"
IDLE = CardRoom(Card("", memory=40000, type=A100))
BUSY = CardRoom(Card("", memory=40000, type=A100), Use(10, 40000, 100))


def shared(memory: int, cores: int = 0, slots: int = 1) -> CardRoom:
    """A card of 40,000 MiB of which so much is taken."""
    return CardRoom(Card("", memory=40000, type=A100), Use(slots, memory, cores))


def zone(idle: int, cpus: int | None = None, memory: int | None = None, busy: int = 0) -> ZoneRoom:
    cpu = None if cpus is None else cpus * 1000
    return ZoneRoom((*(IDLE,) * idle, *(BUSY,) * busy), cpu, None if memory is None else memory * 1024)


def node(*zones: ZoneRoom, **fields: Any) -> NodeRoom:
    """A node that has what its zones have together, unless told otherwise."""
    sums: dict[str, Any] = {"cpu": _sum(z.cpu for z in zones), "memory": _sum(z.memory for z in zones)}
    return NodeRoom(zones, **(sums | fields))


def _sum(amounts: Iterable[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def nodes(*rooms: NodeRoom) -> Cluster:
    """Nodes called n0, n1 and so on."""
    return group_alike((f"n{place}", room) for place, room in enumerate(rooms))


def worker(gpus: int = 2, cpus: int = 16, count: int = 4, **fields: Any) -> Member:
    """A member that takes whole cards, with its CPUs beside them."""
    made: dict[str, Any] = {"name": "worker", "locality": Locality.GPU_CPU, "request": whole_cards(gpus)}
    return Member(count=count, cpus=cpus * 1000, **(made | fields))


def slices(gpus: int = 1, memory: int = 10000, cores: int = 25, count: int = 4, **fields: Any) -> Member:
    """A member that takes a share of each of its cards."""
    made: dict[str, Any] = {"name": "slice", "locality": Locality.GPU, "request": Request(gpus, memory, cores=cores)}
    return Member(count=count, **(made | fields))
