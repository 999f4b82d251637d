"""Answers about waiting and what it costs."""

from collections.abc import Mapping
from fractions import Fraction
from math import prod
from typing import Final

from policy.cost.fragmentation import NodeLeft, Task, fragmentation
from policy.cost.goodput import Goodput
from policy.cost.holds import Hold, held, share
from policy.cost.idle import Idle, Period, ledger
from policy.cost.money import HOUR, MINUTE, amount, cost, money
from policy.cost.queue import Method, percentile
from policy.cost.turnaround import Comparison, Run, net
from policy.facts import Card, Use
from policy.hami.request import WHOLE_CARD
from tests.vectors.group import Given, by_operation, of_input
from tests.vectors.runner import Answer


def _hold(given: Given) -> object:
    """Whatever else stands beside the holds and their price says how often they happen."""
    holds = [
        Hold(each.get("n", 1), amount(each["gpus"]), amount(each["from_min"]), amount(each["until_min"]))
        for each in given["holds"]
    ]
    times = prod(amount(value) for key, value in given.items() if key not in {"op", "holds", "price"})
    minutes = held(holds) * times
    return {
        "gpu_minutes": float(minutes),
        "gpu_hours": float(minutes * MINUTE / HOUR),
        "cost": money(cost(minutes * MINUTE, amount(given.get("price", 0)))),
    }


def _execution(given: Given) -> object:
    nothing = Fraction(0)
    before, after = Run(nothing, amount(given["before_min"])), Run(nothing, amount(given["after_min"]))
    found = Comparison(before, after, amount(given["gpus"]))
    return {
        "saved_gpu_minutes": float(found.saved),
        "saved_pct": None if found.saved_percent is None else float(found.saved_percent),
        "saved_cost": money(cost(found.saved * MINUTE, amount(given.get("price", 0)))),
    }


def _stranded(given: Given) -> object:
    free, runnable, lent = given["free_gpus"], given["runnable_gpus"], amount(given.get("held_gpus", 0))
    spent = ledger([Period(amount(given["minutes"]) * MINUTE, free, runnable, runnable, lent)])
    return {
        "stranded_gpu_seconds": float(spent[Idle.STRANDED]),
        "held_gpu_seconds": float(spent[Idle.HELD]),
    }


def _fraction(given: Given) -> object:
    taken = Use(1, given["mem"], given["cores"])
    part = share(taken, Card("GPU-0", memory=given["mem_total"], cores=given.get("cores_total", WHOLE_CARD)))
    minutes = given["workers"] * amount(given["minutes"])
    return {
        "memory_gpu_minutes": float(part.memory * minutes),
        "cores_gpu_minutes": float(part.cores * minutes),
        "dominant_gpu_minutes": float(part.dominant * minutes),
    }


def _net(given: Given) -> object:
    gained = net(amount(given["hold_saved"]), amount(given["exec_saved"]), amount(given["extra_stranded"]))
    return {"net_gpu_minutes": float(gained)}


def _queue(given: Given) -> object:
    waits = list(map(amount, given["started"]))
    if given.get("include_pending"):
        waits += map(amount, given.get("pending", ()))
    found: dict[str, object] = {"n": len(waits)}
    for percent in given["p"]:
        for method in given.get("methods", ["nearest"]):
            value = percentile(waits, amount(percent), Method(method))
            found[f"p{percent}_{method}"] = None if value is None else float(value)
    return found


def _goodput(given: Given) -> object:
    lost = {cause: amount(hours) for cause, hours in given.get("lost_gpu_h", {}).items()}
    found = Goodput(amount(given["capacity_gpu_h"]), amount(given["allocated_gpu_h"]), lost)
    return {
        "productive_gpu_h": float(found.productive),
        "allocation_pct": _percent(found.allocation),
        "goodput_of_capacity_pct": _percent(found.of_capacity),
        "goodput_of_allocated_pct": _percent(found.of_allocated),
    }


def _percent(part: Fraction | None) -> float | None:
    return None if part is None else float(part * 100)


def _fragmentation(given: Given) -> object:
    nodes = [
        NodeLeft(tuple(node["gpu_milli_left"]), _known(node, "cpu_left"), _known(node, "mem_left"))
        for node in given["nodes"]
    ]
    tasks = [
        Task(amount(t["p"]), t["gpus"], t["gpu_milli"], amount(t.get("cpu", 0)), amount(t.get("mem", 0)))
        for t in given["tasks"]
    ]
    found = fragmentation(nodes, tasks)
    return {"fragment_milli": float(found.fragment), "left_milli": found.left, "ratio": float(found.ratio)}


def _known(source: Given, key: str) -> Fraction | None:
    return amount(source[key]) if key in source else None


ANSWERS: Final[Mapping[str, Answer]] = {
    "group.cost": by_operation(
        {"hold": _hold, "exec": _execution, "stranded": _stranded, "fraction": _fraction, "net": _net}
    ),
    "group.queue": of_input(_queue),
    "group.goodput": of_input(_goodput),
    "group.fragmentation": of_input(_fragmentation),
}
