"""Random machines: NUMA nodes with gaps, sockets, threads, devices in every state, memory groups."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Final

GPU: Final = "nvidia.com/gpu"
NIC: Final = "example.com/nic"
HUGEPAGES: Final = "hugepages-2Mi"


def often(random: Random, chance: float) -> bool:
    """Tell whether something that happens with ``chance`` happens now."""
    return random.random() < chance


def some(random: Random, items: Sequence[Any], chance: float) -> list[Any]:
    """Return each item with ``chance``, in their order."""
    return [item for item in items if often(random, chance)]


def listed(cpus: Iterable[int]) -> str:
    """Write a set of CPUs as kubelet reads it."""
    return ",".join(str(cpu) for cpu in sorted(cpus))


def machine(random: Random, nodes: int | None = None) -> dict[str, Any]:
    """Draw a machine with CPUs and GPUs, of ``nodes`` NUMA nodes or a few."""
    count = nodes or random.choice([1, 2, 2, 2, 3, 4, 4])
    ids = sorted(random.sample(range(12), count)) if often(random, 0.15) else list(range(count))
    node: dict[str, Any] = {"numa": ids, **_cpus(random, ids), "devices": {GPU: devices(random, ids, "g")}}
    if often(random, 0.25):
        node["devices"][NIC] = devices(random, ids, "n")
    return node


def _cpus(random: Random, ids: Sequence[int]) -> dict[str, Any]:
    threads = random.choice([1, 1, 2])
    cores = random.choice([1, 2, 4, 4, 8])
    even = often(random, 0.8)
    sizes = {number: threads * (cores if even else random.randint(1, 5)) for number in ids}
    if len(ids) > 1 and often(random, 0.1):
        sizes = dict(list(sizes.items())[: random.randint(1, len(ids) - 1)])
    apart, found = often(random, 0.5), {}
    total, taken = sum(sizes.values()), 0
    for place, (number, size) in enumerate(sizes.items()):
        own = size // threads
        if apart:  # siblings are numbered far apart, as on most servers
            cpus = [taken + core + thread * total // threads for thread in range(threads) for core in range(own)]
        else:
            cpus = list(range(taken * threads, taken * threads + size))
        found[str(number)] = {"socket": place, "cpus": listed(cpus)}
        taken += own
    _share_sockets(random, found)
    return {"smt": threads, "cpu": found}


def _share_sockets(random: Random, places: dict[str, Any]) -> None:
    share = random.choice([1, 1, 1, 2, 4])
    for place, area in enumerate(places.values()):
        area["socket"] = place // share


def cpus_of(node: dict[str, Any]) -> list[int]:
    """List the CPUs of a machine that this module has drawn."""
    return sorted(int(cpu) for area in node["cpu"].values() for cpu in area["cpus"].split(","))


def devices(random: Random, ids: Sequence[int], letter: str) -> list[dict[str, Any]]:
    """Draw devices of one resource, most of them on one NUMA node each."""
    shape = random.choice(["even", "even", "even", "few", "mixed"])
    places: list[list[int] | None] = []
    if shape == "even":
        places = [[number] for number in ids for _ in range(random.choice([1, 2]))]
    elif shape == "few":
        places = [[number] for number in some(random, ids, 0.5) for _ in range(random.randint(1, 3))]
    else:
        places = [_place(random, ids) for _ in range(random.randint(1, 5))]
    busy = random.choice([0.0, 0.2, 0.5])
    found = []
    for index, place in enumerate(places[:10]):
        device: dict[str, Any] = {"id": f"{letter}{index}", "numa": place}
        if often(random, busy):
            device["in_use"] = True
        found.append(device)
    return found


def _place(random: Random, ids: Sequence[int]) -> list[int] | None:
    shape = random.choice(["one", "one", "several", "none"])
    if shape == "none":
        return None
    return sorted(random.sample(list(ids), 1 if shape == "one" else random.randint(1, min(3, len(ids)))))


def memory(random: Random, ids: Sequence[int], kinds: Sequence[str]) -> dict[str, Any]:
    """Draw what the memory manager remembers: amounts, and nodes that are used alone, together or not at all."""
    groups = _groups(random, ids)
    found = {}
    for number in ids:
        group = next((group for group in groups if number in group), None)
        used = group is not None
        found[str(number)] = {
            "types": {kind: _amount(random, used) for kind in kinds},
            "assignments": random.randint(1, 3) if used else 0,
            "cells": group or [number],
        }
    return found


def _groups(random: Random, ids: Sequence[int]) -> list[list[int]]:
    left, groups = list(ids), []
    random.shuffle(left)
    while left:
        size = random.choice([1, 1, 2])
        group, left = sorted(left[:size]), left[size:]
        if often(random, 0.5):
            groups.append(group)
    return groups


def _amount(random: Random, used: bool) -> dict[str, int]:
    total = random.choice([16, 16, 16, 32, 8])
    return {"allocatable": total, "free": random.randint(0, total) if used else total}


def distances(random: Random, count: int) -> list[list[int]]:
    """Draw a symmetric matrix of NUMA distances."""
    rows = [[10] * count for _ in range(count)]
    for one in range(count):
        for other in range(one):
            rows[one][other] = rows[other][one] = random.choice([11, 12, 20, 21, 32])
    return rows
