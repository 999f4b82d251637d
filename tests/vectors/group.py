"""Answers about capacity, groups, and the policies and gates that they meet."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from policy.capacity.count import measure, most
from policy.capacity.greedy import Choice, big_first, place_in_turn
from policy.capacity.group import Feasibility, Group
from policy.capacity.ladder import Ask, ladder, without
from policy.capacity.mixed import Verdict
from policy.capacity.shapes import (
    ANY_CARD,
    NO_GPU,
    Alike,
    CardRoom,
    Cluster,
    Limits,
    Locality,
    Member,
    NodeRoom,
    ZoneRoom,
    group_alike,
    whole_cards,
)
from policy.facts import Card, Device, Use
from policy.hami.annotations import CardFilter
from policy.hami.request import PERCENT_UNSET, Request
from policy.hami.usage import effective
from policy.keys import USE_TYPE
from policy.pod import Phase
from tests.vectors.runner import Answer, Vector

Given = Mapping[str, Any]
"""A vector's input."""

_GIB: Final = 1024
_MILLI: Final = 1000
_MOST_COUNTED: Final = 64
"""The collection counts no further."""


def _card(source: Given) -> CardRoom:
    card = Card(
        uuid="",
        slots=source.get("slots", 10),
        memory=source.get("mem", 81920),
        cores=source.get("cores", 100),
        type=source.get("type", "NVIDIA"),
        healthy=source.get("healthy", True) and not source.get("cordoned", False),
    )
    if source.get("busy"):
        return CardRoom(card, Use(card.slots, card.memory, card.cores))
    return CardRoom(card, Use(source.get("used_slots", 0), source.get("used_mem", 0), source.get("used_cores", 0)))


def _zone(source: Given) -> ZoneRoom:
    cards = [_card(gpu) for gpu in source.get("gpus", ()) for _ in range(gpu.get("n", 1))]
    return ZoneRoom(tuple(cards), round(source["cpu"] * _MILLI), round(source["mem"] * _GIB))


def _node(source: Given) -> NodeRoom:
    zones = tuple(_zone(zone) for zone in source["zones"] for _ in range(zone.get("copies", 1)))
    cpu = round(source["cpu"] * _MILLI) if "cpu" in source else sum(zone.cpu or 0 for zone in zones)
    memory = round(source["mem"] * _GIB) if "mem" in source else sum(zone.memory or 0 for zone in zones)
    return NodeRoom(zones, cpu, memory)


def _member(source: Given) -> Member:
    return Member(
        name=source["name"],
        count=source["count"],
        request=_request(source),
        cpus=round(source["cpus"] * _MILLI),
        memory=round(source["mem"] * _GIB),
        locality=Locality(source["locality"]),
        cpu_step=source["cpu_align"] * _MILLI if "cpu_align" in source else 1,
        filter=CardFilter.of({USE_TYPE: source["type"]}) if source.get("type") else ANY_CARD,
        alone=bool(source.get("mutex")),
    )


def _request(source: Given) -> Request:
    if not source["gpus"]:
        return NO_GPU
    memory, percent = source.get("gpu_mem", 0), source.get("gpu_mem_pct", PERCENT_UNSET)
    if not memory and percent == PERCENT_UNSET:
        return whole_cards(source["gpus"])
    return Request(source["gpus"], memory, percent, source.get("gpu_cores", 0))


def _nodes(given: Given) -> list[tuple[str, str, NodeRoom]]:
    """Return each node's name, the domain that a group may be held to, and what it has left."""
    same = given.get("group", {}).get("same", "node")
    named = (
        (source, f"{place}-{copy}")
        for place, source in enumerate(given["nodes"])
        for copy in range(source.get("copies", 1))
    )
    return [(name, str(source.get(same, name)), _node(source)) for source, name in named]


def _group(given: Given, nodes: list[tuple[str, str, NodeRoom]]) -> Group:
    asked = given.get("group", {})
    limits = Limits(
        quota=asked.get("quota_workers"),
        per_node=asked.get("per_node"),
        domains={name: domain for name, domain, _ in nodes} if "same" in asked else None,
    )
    members = tuple(_member(role) for role in given["roles"])
    return Group(members, asked.get("min"), asked.get("running", 0), limits)


def _fit(vector: Vector) -> object:
    given: Given = vector.input
    nodes = _nodes(given)
    cluster = group_alike((name, room) for name, _, room in nodes)
    group = _group(given, nodes)
    feasible = Feasibility().judge(group, cluster)
    answer: dict[str, object] = {"feasible": "unknown" if feasible is Verdict.UNKNOWN else feasible is Verdict.YES}
    if len(group.members) == 1:
        answer |= _count(group, cluster)
    rungs = vector.expected.get("ladder", {})
    answer["ladder"] = {rung: much for rung, much in _ladder(group, cluster).items() if rung in rungs}
    asked = vector.expected.get("ladder_feasible", {})
    answer["ladder_feasible"] = {
        str(rung): verdict is Verdict.YES
        for rung, verdict in Feasibility().ladder(group, cluster).items()
        if rung in asked
    }
    return answer | _greedy(group.members, cluster)


def _count(group: Group, cluster: Cluster) -> dict[str, object]:
    (member,) = group.members
    found = measure(member, cluster, group.limits)
    return {
        "max_workers": min(found.members, _MOST_COUNTED),
        "free_gpus": found.free_gpus,
        "class_runnable_gpus": found.runnable_gpus,
        "group_runnable_gpus": found.group_runnable_gpus(group.needed),
        "stranded": {str(cause): shares for cause, shares in found.lost.items()},
    } | {
        f"without_{ask}": min(most(without(member, ask), cluster, group.limits), _MOST_COUNTED)
        for ask in (Ask.CPU, Ask.MEMORY, Ask.GPU)
    }


def _ladder(group: Group, cluster: Cluster) -> dict[str, int]:
    if len(group.members) > 1:
        return {}
    counted = ladder(group.members[0], cluster, group.limits)
    return {str(rung): min(much, _MOST_COUNTED) for rung, much in counted.items()}


def _greedy(members: Sequence[Member], cluster: Cluster) -> dict[str, object]:
    each = tuple(Alike(alike.room, (name,)) for alike in cluster for name in alike.names)
    orders = {"in_order": list(members), "big_first": big_first(members)}
    return {
        f"greedy_{order}_{choice}": place_in_turn(listed, each, choice)
        for order, listed in orders.items()
        for choice in Choice
    }


def _effective(given: Given) -> object:
    sizes = [*given.get("init", ()), *given["app"]]
    entries = [(Device("GPU-0", size, 0),) for size in sizes]
    phases = [Phase.INIT] * len(given.get("init", ())) + [Phase.APP] * len(given["app"])
    return {"effective_mem": effective(entries, phases)["GPU-0"].memory, "before_v2100": sum(sizes)}


def by_operation(answers: Mapping[str, Callable[[Given], object]]) -> Answer:
    """Ask the function that the question names."""

    def answered(vector: Vector) -> object:
        given: Given = vector.input
        return answers[given["op"]](given)

    return answered


def of_input(answer: Callable[[Given], object]) -> Answer:
    """Ask ``answer`` about a vector's input."""

    def answered(vector: Vector) -> object:
        return answer(vector.input)

    return answered


ANSWERS: Final[Mapping[str, Answer]] = {
    "group.fit": _fit,
    "group.request": of_input(_effective),
}
