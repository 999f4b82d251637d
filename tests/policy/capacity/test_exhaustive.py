"""Counting, search and solver against trying everything, on random small clusters.

The default profile takes some hundred cases, the long one thousands (`make test-long`).
"""

import os
from collections import Counter
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from policy.capacity.count import most
from policy.capacity.ladder import Ask, largest_requests
from policy.capacity.missing import additions
from policy.capacity.mixed import Verdict, fits
from policy.capacity.shapes import Locality, Member, NodeRoom, ZoneRoom
from policy.capacity.solver_cp import cp_sat
from tests.conftest import PROFILE_VARIABLE
from tests.policy.capacity.cases import cluster, member, room, single
from tests.policy.capacity.exhaustive import Judge

LONG = os.environ.get(PROFILE_VARIABLE) == "long"
BATCHES = range(60 if LONG else 6)
BATCH = 100


def rooms(random: Random, *, shared: bool) -> list[NodeRoom]:
    return [room(random, 3, shared=shared) for _ in range(random.randint(0, 3))]


@pytest.mark.parametrize("batch", BATCHES)
def test_identical_members_are_counted_as_trying_everything_counts_them(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        random = Random(seed)
        shared = random.random() < 0.5
        nodes = rooms(random, shared=shared)
        asked = replace(member(random, 0, 3, shared=shared), count=random.randint(1, 4))
        counted = min(most(asked, cluster(nodes)), asked.count)
        assert counted == Judge(nodes, [asked]).most(), (seed, asked, nodes)


@pytest.mark.parametrize("batch", BATCHES)
def test_unlike_members_fit_where_trying_everything_finds_a_way(batch: int) -> None:
    verdicts: Counter[Verdict] = Counter()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        random = Random(seed)
        shared = random.random() < 0.5
        nodes = rooms(random, shared=shared)
        members = [member(random, number, 2, shared=shared) for number in range(random.randint(2, 3))]
        verdict = fits(members, cluster(nodes))
        expected = Verdict.YES if Judge(nodes, members).fits() else Verdict.NO
        assert verdict is expected, (seed, members, nodes)
        verdicts[verdict] += 1
    assert verdicts[Verdict.YES] >= 5


@pytest.mark.parametrize("batch", BATCHES)
def test_the_solver_says_what_the_search_says(batch: int) -> None:
    solve = cp_sat()
    assert solve is not None
    for seed in range(batch * BATCH, batch * BATCH + BATCH // 2):
        random = Random(seed)
        shared = random.random() < 0.5
        nodes = cluster(rooms(random, shared=shared))
        members = [member(random, number, 2, shared=shared) for number in range(random.randint(2, 4))]
        assert solve(members, nodes) is fits(members, nodes), (seed, members, nodes)


def with_more(nodes: NodeRoom, ask: Ask, more: tuple[int, ...]) -> NodeRoom:
    """The node with more of one resource in its zones, and so on it."""
    cpu, memory = (more, (0,) * len(more)) if ask is Ask.CPU else ((0,) * len(more), more)
    zones = tuple(
        ZoneRoom(zone.cards, plus(zone.cpu, cpu[place]), plus(zone.memory, memory[place]))
        for place, zone in enumerate(nodes.zones)
    )
    return replace(nodes, zones=zones, cpu=plus(nodes.cpu, sum(cpu)), memory=plus(nodes.memory, sum(memory)))


def plus(amount: int | None, more: int) -> int | None:
    return None if amount is None else amount + more


def cheapest(asked: Member, nodes: NodeRoom, needed: int, ask: Ask) -> int | None:
    costs = (
        sum(more)
        for more in product(range(9), repeat=len(nodes.zones))
        if most(asked, single(with_more(nodes, ask, more))) >= needed
    )
    return min(costs, default=None)


@pytest.mark.parametrize("ask", [Ask.CPU, Ask.MEMORY])
def test_no_fewer_units_would_do_than_those_said_to_be_missing(ask: Ask) -> None:
    helped = 0
    for seed in range(600 if LONG else 150):
        random = Random(seed)
        nodes = room(random, 3, shared=False)
        asked = replace(member(random, 0, 1, shared=False), cpu_step=1, locality=random.choice(list(Locality)))
        needed = most(asked, single(nodes)) + 1
        said = {addition.resource: addition.amount for addition in additions(asked, single(nodes), needed)}
        tried = cheapest(asked, nodes, needed, ask)
        if tried is not None or said.get(ask, 9) <= 8:
            assert said.get(ask) == tried, (seed, asked, nodes)
            helped += 1
    assert helped >= 10


def smaller(asked: Member, ask: Ask, much: int) -> Member:
    return replace(asked, cpus=much) if ask is Ask.CPU else replace(asked, memory=much)


@pytest.mark.parametrize("ask", [Ask.CPU, Ask.MEMORY])
def test_the_largest_request_that_would_do_is_the_largest(ask: Ask) -> None:
    helped = 0
    for seed in range(300):
        random = Random(seed)
        shared = random.random() < 0.5
        nodes = single(room(random, 3, shared=shared))
        asked = member(random, 0, 2, shared=shared)
        needed = most(asked, nodes) + 1
        amount, unit = (asked.cpus, asked.cpu_step) if ask is Ask.CPU else (asked.memory, 1)
        enough = [much for much in range(0, amount, unit) if most(smaller(asked, ask, much), nodes) >= needed]
        assert largest_requests(asked, nodes, needed).get(ask) == max(enough, default=None), (seed, asked, nodes)
        helped += bool(enough)
    assert helped >= 10
