"""How many identical members fit, and what keeps the other cards from use."""

import pytest

from policy.capacity.count import Cause, measure, most
from policy.capacity.offers import UNBOUNDED, most_on_different_cards, offer
from policy.capacity.shapes import CardRoom, Limits, Locality, Member, NodeRoom
from policy.facts import Card, Use
from policy.hami.annotations import CardFilter
from policy.hami.request import Request
from policy.keys import USE_TYPE, USE_UUID, VGPU_MODE
from tests.policy.capacity.build import A100, BUSY, IDLE, node, nodes, shared, slices, worker, zone

SERVER = node(zone(0, 8, 512, busy=2), zone(2, 8, 512))
"""A server of the article: an idle pair beside eight cores, eight more on the other side."""


def test_eight_free_gpus_run_nothing_where_each_pair_lacks_local_cores() -> None:
    found = measure(worker(), nodes(*(SERVER,) * 4))
    assert (found.free_gpus, found.members, found.runnable_gpus, found.lost) == (8, 0, 0, {Cause.CPU: 8})
    assert [place.binding for place in found.nodes[0].places] == [{"gpu", "cpu"}, {"cpu"}]
    assert found.nodes[0].names == ("n0", "n1", "n2", "n3")


@pytest.mark.parametrize(
    ("room", "member", "members", "lost"),
    [
        (node(zone(3, 64)), worker(cpus=1), 1, {Cause.GRANULARITY: 1}),
        (node(zone(4, 16)), worker(), 1, {Cause.CPU: 2}),
        (node(zone(4, 64, 100)), worker(memory=64 * 1024, locality=Locality.GPU_CPU_MEM), 1, {Cause.MEMORY: 2}),
        (node(zone(4, 16, 64)), worker(memory=64 * 1024, locality=Locality.GPU_CPU_MEM), 1, {Cause.SEVERAL: 2}),
        (node(zone(2, 16), zone(2, 16), cpu=20000), worker(), 1, {Cause.NODE_CAP: 2}),
        (node(zone(2, 16), zone(2, 16), seats=1), worker(), 1, {Cause.NODE_CAP: 2}),
        (node(zone(2, 16), barred=frozenset({"worker"})), worker(), 0, {Cause.BARRED: 2}),
        (node(zone(1, 16), zone(1, 16)), worker(), 0, {Cause.GRANULARITY: 2}),
        (node(zone(1, 16), zone(1, 16)), worker(locality=Locality.NODE), 1, {}),
        (node(zone(2, 15)), worker(cpus=15, cpu_step=2000), 0, {Cause.CPU: 2}),
        (node(zone(2, None)), worker(), 1, {}),
        (node(zone(2, -3)), worker(), 0, {Cause.CPU: 2}),
        (node(), worker(), 0, {}),
    ],
)
def test_what_is_lost_is_said_by_cause_and_adds_up(
    room: NodeRoom, member: Member, members: int, lost: dict[Cause, int]
) -> None:
    found = measure(member, nodes(room, room))
    assert (found.members, found.lost) == (2 * members, {cause: 2 * shares for cause, shares in lost.items()})
    assert found.free_gpus == found.runnable_gpus + sum(found.lost.values())


def test_a_quota_and_a_common_domain_take_their_part_of_what_would_fit() -> None:
    cluster = nodes(node(zone(4, 64)), node(zone(2, 64)))
    by_name = {"n0": "n0", "n1": "n1"}
    assert measure(worker(), cluster, Limits(quota=1)).lost == {Cause.QUOTA: 4}
    assert measure(worker(), cluster, Limits(quota=-1)).members == 0
    assert measure(worker(), cluster, Limits(domains=by_name)).lost == {Cause.DOMAIN: 2}
    assert most(worker(), cluster, Limits(domains={"n1": "rack"})) == 1
    assert most(worker(), cluster, Limits(domains={})) == 0
    assert most(worker(), cluster, Limits(per_node=1)) == 2


def test_a_member_without_gpus_is_bound_by_its_cpus_and_one_that_asks_nothing_by_nothing() -> None:
    launcher = worker(gpus=0, cpus=4)
    assert measure(launcher, nodes(node(zone(0, 10)))).members == 2
    assert most(worker(gpus=0, cpus=4, locality=Locality.GPU), nodes(node(cpu=10000))) == 2
    assert most(worker(gpus=0, cpus=0), nodes(node(zone(0)))) == UNBOUNDED


def test_all_or_nothing_runs_no_gpu_until_the_minimum_fits() -> None:
    found = measure(worker(count=4), nodes(*(node(zone(2, 16)),) * 3))
    assert (found.runnable_gpus, found.group_runnable_gpus(4), found.group_runnable_gpus(3)) == (6, 0, 6)


@pytest.mark.parametrize(
    ("card", "member", "shares"),
    [
        (IDLE, slices(), 4),
        (BUSY, slices(), 0),
        (IDLE, slices(memory=1, cores=1), 10),
        (shared(35000), slices(), 0),
        (shared(1000, cores=80), slices(), 0),
        (shared(1000), slices(cores=100), 0),
        (IDLE, slices(cores=100), 1),
        (shared(1000, cores=100), slices(cores=0), 0),
        (shared(1000, cores=99), slices(cores=0), 3),
        (shared(0), slices(alone=True), 0),
        (IDLE, slices(alone=True), 1),
        (shared(41000), slices(memory=0), 0),
        (shared(0, cores=101), slices(cores=0), 0),
        (IDLE, slices(request=Request(1, percent=33, cores=10)), 3),
        (CardRoom(Card("", memory=40000, cores=200, type=A100), Use(1, 0, 0)), slices(cores=100), 2),
        (CardRoom(Card("", memory=40000, type=A100, healthy=False)), slices(), 0),
        (CardRoom(Card("", memory=40000, type=A100, mode="mig")), slices(), 0),
        (CardRoom(Card("", memory=40000, type="MLU", vendor="MLU")), slices(), 0),
        (IDLE, slices(filter=CardFilter.of({USE_TYPE: "H100"})), 0),
        (IDLE, slices(filter=CardFilter.of({USE_TYPE: "a100"})), 4),
        (IDLE, slices(filter=CardFilter.of({USE_UUID: "GPU-a"})), 0),
        (CardRoom(Card("GPU-a", memory=40000, type=A100)), slices(filter=CardFilter.of({USE_UUID: "GPU-a"})), 4),
        (CardRoom(Card("", memory=40000, type=A100, mode="mps")), slices(filter=CardFilter.of({VGPU_MODE: "x"})), 0),
    ],
)
def test_a_card_offers_what_hamis_checks_leave(card: CardRoom, member: Member, shares: int) -> None:
    assert offer(member, card) == shares


@pytest.mark.parametrize(
    ("offers", "cards", "members"),
    [
        ([4, 1, 1], 2, 2),
        ([3, 3], 2, 3),
        ([9], 2, 0),
        ([], 2, 0),
        ([2, 2, 2], 3, 2),
        ([5, 4, 3, 2], 2, 7),
        ([1, 1, 1, 1, 1], 2, 2),
        ([4, 3], 1, 7),
        ([], 0, UNBOUNDED),
    ],
)
def test_members_need_different_cards_so_a_card_serves_each_of_them_once(
    offers: list[int], cards: int, members: int
) -> None:
    assert most_on_different_cards(offers, cards) == members
