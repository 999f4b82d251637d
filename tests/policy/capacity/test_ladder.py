"""What each relaxation adds, and what is missing, on the article's cluster."""

import pytest

from policy.capacity.ladder import Ask, ladder, largest_requests, without
from policy.capacity.missing import Addition, additions
from policy.capacity.shapes import Limits, Locality, Member, NodeRoom, whole_cards
from tests.policy.capacity.build import node, nodes, slices, worker, zone

SPARE = node(zone(0, 8, 512, busy=2), zone(2, 8, 512))
TIGHT = node(zone(0, 0, 512, busy=2), zone(2, 8, 512))


@pytest.mark.parametrize(
    ("server", "memory", "rungs"),
    [
        (SPARE, 0, [0, 0, 4, 4]),
        (TIGHT, 0, [0, 0, 0, 0]),
        (node(zone(1, 16, busy=1), zone(1, 16, busy=1)), 0, [0, 0, 0, 4]),
        (node(zone(2, 16, 1), zone(0, 0, 1)), 2048, [0, 4, 4, 4]),
    ],
)
def test_the_first_rung_that_reaches_the_group_names_the_locality_at_fault(
    server: NodeRoom, memory: int, rungs: list[int]
) -> None:
    assert list(ladder(worker(memory=memory), nodes(*(server,) * 4)).values()) == rungs


def test_without_its_cpus_the_article_runs_and_without_its_memory_it_does_not() -> None:
    cluster = nodes(*(SPARE,) * 4)
    assert ladder(without(worker(), Ask.CPU), cluster)[Locality.GPU_CPU] == 4
    assert ladder(without(worker(), Ask.MEMORY), cluster)[Locality.GPU_CPU] == 0
    assert without(worker(), Ask.GPU).gpus == 0
    with pytest.raises(ValueError, match="gpu_mem cannot be left out; leave out cpu, mem or gpu"):
        without(worker(), Ask.GPU_MEMORY)


def test_less_of_one_request_would_do_where_that_request_binds() -> None:
    assert largest_requests(worker(), nodes(*(SPARE,) * 4), 4) == {Ask.CPU: 8000}
    assert largest_requests(worker(), nodes(node(zone(2, 16), zone(2, 16))), 4) == {}
    assert largest_requests(worker(3), nodes(node(zone(2, 16))), 1) == {Ask.GPU: 2}


@pytest.mark.parametrize(
    ("member", "room", "needed", "expected"),
    [
        (slices(memory=45000, cores=30), node(zone(2)), 2, {Ask.GPU_MEMORY: 40000}),
        (slices(memory=10000, cores=60), node(zone(2)), 4, {Ask.GPU_CORES: 50}),
        (worker(1, 3, cpu_step=2000), node(zone(2, 8)), 2, {Ask.CPU: 2000}),
    ],
)
def test_amounts_of_cards_and_whole_cores_can_be_asked_for_less(
    member: Member, room: NodeRoom, needed: int, expected: dict[Ask, int]
) -> None:
    assert largest_requests(member, nodes(room), needed) == expected


def test_part_of_a_cpu_is_cut_to_a_thousandth() -> None:
    asked = Member("half", request=whole_cards(1), cpus=1500, locality=Locality.GPU_CPU)
    assert largest_requests(asked, nodes(node(zone(3, 4))), 3)[Ask.CPU] == 1333


def test_what_is_missing_is_the_cheapest_by_each_resource_alone() -> None:
    uneven = nodes(SPARE, node(zone(2, 15)), node(zone(2, 16)))
    assert additions(worker(), uneven, 2) == (Addition(Ask.CPU, 1000, (("n1", 1000),)),)
    assert additions(worker(), uneven, 3) == (Addition(Ask.CPU, 9000, (("n1", 1000), ("n0", 8000))),)
    assert additions(worker(), uneven, 4) == ()
    assert additions(worker(), uneven, 1) == ()


def test_missing_cards_are_counted_whole_where_members_take_them_whole() -> None:
    cluster = nodes(node(zone(1, 32), zone(1, 32)))
    assert additions(worker(), cluster, 1) == (Addition(Ask.GPU, 1, (("n0", 1),)),)
    assert additions(worker(), cluster, 3) == (Addition(Ask.GPU, 4, (("n0", 4),)),)
    assert additions(slices(2, cores=100), nodes(node(zone(1))), 1) == ()


def test_nothing_helps_against_a_quota_a_bar_or_an_odd_number_of_threads() -> None:
    short = node(zone(2, 15))
    assert additions(worker(), nodes(short), 2, Limits(quota=1)) == ()
    assert additions(worker(), nodes(node(zone(2, 15), barred=frozenset({"worker"}))), 1) == ()
    assert additions(worker(cpus=15, cpu_step=2000), nodes(node(zone(2, 14))), 1) == ()


def test_a_group_that_must_share_a_node_gets_its_cheapest_there() -> None:
    cluster = nodes(node(zone(2, 1)), node(zone(2, 9)))
    (found,) = additions(worker(), cluster, 1, Limits(domains={"n0": "n0", "n1": "n1"}))
    assert found == Addition(Ask.CPU, 7000, (("n1", 7000),))
