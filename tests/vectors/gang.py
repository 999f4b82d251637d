"""Answers about the policies, gates and marks that a group of pods meets on its way."""

from collections.abc import Mapping
from typing import Final

from policy.capacity.chains import last_zone_holds, read_chain, read_node_policy, some_zone_holds
from policy.capacity.exclusive import CpuSettings, is_admitted, is_exclusive
from policy.capacity.gate import REJECT_PERCENT, after_failure
from policy.cost.money import amount
from policy.facts import Card
from policy.hami.annotations import WeightsError, weights
from policy.membership import gangs, read_memberships, retries_bind
from policy.placement.order import Order, Standing, visiting
from tests.vectors.group import Given, by_operation, of_input
from tests.vectors.runner import Answer


def _parse(given: Given) -> object:
    found = read_chain(given["value"])
    return {
        "valid_after_2769": found.is_valid,
        "filters": list(found.filters),
        "keys_v2100": list(found.keys),
        "dead_keys": list(found.dead_keys),
    }


def _node_policy(given: Given) -> object:
    found = read_node_policy(given["value"], given.get("configured", "binpack"))
    return {"valid": found.is_valid, "v2100_acts_as": found.v2_10, "after_2769": found.later}


def _weights(given: Given) -> object:
    try:
        weights(given["value"])
    except WeightsError:
        return {"valid": False}
    return {"valid": True}


def _pick(given: Given) -> object:
    """Cards as index, NUMA node, score and users; `mutex` leaves out those that somebody uses."""
    policy = given["policy"]
    exclusive = "mutex" in read_chain(policy).filters
    standings = [
        Standing(Card(f"GPU-{index}", index, numa=numa), score, used)
        for index, numa, score, used in given["devices"]
        if not (exclusive and used)
    ]
    order = [card.index for card in visiting(standings, policy, Order.HAMI, numa_bind=False)]
    return {"by_code_first": order[0] if order else None, "by_code_order": order}


def _bound(given: Given) -> object:
    visits, cards = given["numa_visit_order"], given["gpus"]
    return {"by_code_fits": last_zone_holds(visits, cards), "really_fits": some_zone_holds(visits, cards)}


def _gate(given: Given) -> object:
    percent = given.get("reject_percentage", REJECT_PERCENT)
    found = after_failure(given["min_member"], given["assigned"], given["pods_existing"], percent)
    return {"outcome": str(found.outcome), "holds": found.holds}


def _membership(given: Given) -> object:
    pod = given["pod"]
    found = read_memberships(pod.get("annotations", {}), pod.get("labels", {}), pod.get("spec", {}))
    return {"systems": frozenset(each.system for each in gangs(found)), "hami_retry": retries_bind(found)}


def _cpu_class(given: Given) -> object:
    settings = CpuSettings(given["policy"], given.get("full_pcpus_only", False), given.get("threads_per_core", 1))
    cpus = amount(given["cpus"])
    return {
        "exclusive": is_exclusive(given["qos"], cpus, settings),
        "admitted": is_admitted(given["qos"], cpus, settings),
    }


ANSWERS: Final[Mapping[str, Answer]] = {
    "group.policy": by_operation(
        {"parse": _parse, "node": _node_policy, "weights": _weights, "pick": _pick, "topo_numa_bind": _bound}
    ),
    "group.gate": of_input(_gate),
    "group.membership": of_input(_membership),
    "group.cpuclass": of_input(_cpu_class),
}
