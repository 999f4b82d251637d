"""Whether groups can start, what stands in their way, and what would help."""

import sys
from collections.abc import Sequence

import pytest

from policy.capacity.changes import Change, smallest_changes
from policy.capacity.greedy import Choice, big_first, place_in_turn
from policy.capacity.group import Feasibility, Group, emptied
from policy.capacity.mixed import Verdict, fits
from policy.capacity.shapes import Cluster, Limits, Locality, Member, NodeRoom, ZoneRoom
from policy.capacity.solver_cp import cp_sat
from tests.policy.capacity.build import node, nodes, shared, slices, worker, zone

YES, NO, UNKNOWN = Verdict.YES, Verdict.NO, Verdict.UNKNOWN
JUDGE = Feasibility()
SERVER = node(zone(0, 8, busy=2), zone(2, 8))


def kinds(*sizes: tuple[int, int], cpus: int = 0) -> tuple[Member, ...]:
    """Kinds of members, each so many of so many cards."""
    return tuple(worker(gpus, cpus, count, name=f"of-{gpus}") for count, gpus in sizes)


def test_identical_members_start_where_as_many_fit_as_still_have_to() -> None:
    three = nodes(*(node(zone(2, 16)),) * 3)
    assert JUDGE.judge(Group((worker(),)), three) is NO
    assert JUDGE.judge(Group((worker(),), minimum=3), three) is YES
    assert JUDGE.judge(Group((worker(),), running=1), three) is YES
    assert JUDGE.judge(Group((worker(),), minimum=3, limits=Limits(quota=2)), three) is NO
    assert JUDGE.judge(Group((worker(),), running=9), nodes()) is YES
    assert JUDGE.judge(Group((worker(count=2),), minimum=3), three) is NO
    assert JUDGE.judge(Group((), minimum=1), three) is NO
    assert JUDGE.judge(Group(()), three) is YES


def test_a_group_that_never_looks_back_misses_what_the_search_finds() -> None:
    members = kinds((1, 4), (2, 3), (3, 2))
    cluster = nodes(node(zone(8, 64)), node(zone(8, 64)))
    assert not place_in_turn(big_first(members), cluster, Choice.BEST_FIT)
    assert not place_in_turn(members, cluster, Choice.FIRST_FIT)
    assert JUDGE.judge(Group(members), cluster) is YES


def test_best_fit_leaves_large_places_to_large_members_and_first_fit_does_not() -> None:
    cluster = nodes(node(zone(4, 9)), node(zone(2, 9)))
    members = kinds((1, 2), (1, 4))
    assert place_in_turn(members, cluster, Choice.BEST_FIT)
    assert not place_in_turn(members, cluster, Choice.FIRST_FIT)


def test_totals_that_fit_prove_nothing() -> None:
    heavy, light = worker(2, 20, 2, name="heavy"), worker(2, 12, 2, name="light")
    cluster = nodes(node(zone(4, 20), zone(4, 44)))
    assert JUDGE.ladder(Group((heavy, light)), cluster) == {
        Locality.GPU_CPU_MEM: NO,
        Locality.GPU_CPU: NO,
        Locality.GPU: YES,
        Locality.NODE: YES,
    }


@pytest.mark.parametrize(
    ("minimum", "running", "verdict"), [(None, 0, NO), (3, 0, YES), (4, 0, NO), (4, 1, YES), (0, 0, YES)]
)
def test_of_unlike_members_any_that_reach_the_minimum_will_do(
    minimum: int | None, running: int, verdict: Verdict
) -> None:
    members = kinds((1, 4), (3, 1))
    assert JUDGE.judge(Group(members, minimum, running), nodes(node(zone(3, 9)))) is verdict


def test_too_many_ways_to_choose_the_minimum_are_not_all_tried() -> None:
    many = tuple(worker(1, 0, 4, name=f"kind-{number}") for number in range(6))
    assert JUDGE.judge(Group(many, minimum=12), nodes(node(zone(1, 9)))) is UNKNOWN


def test_unlike_members_that_must_share_a_domain_need_one_that_holds_them_all() -> None:
    members = kinds((1, 2), (1, 1))
    cluster = nodes(node(zone(2, 9)), node(zone(1, 9)))
    assert JUDGE.judge(Group(members), cluster) is YES
    assert JUDGE.judge(Group(members, limits=Limits(domains={"n0": "n0", "n1": "n1"})), cluster) is NO
    assert JUDGE.judge(Group(members, limits=Limits(domains={"n0": "rack", "n1": "rack"})), cluster) is YES
    assert JUDGE.judge(Group(members, limits=Limits(per_node=1)), nodes(node(zone(4, 9)))) is NO


def hard() -> tuple[Sequence[Member], Cluster]:
    """Cards to spare, and CPUs that do not come out: many placements, none complete."""
    members = [worker(1, cpus, 3, name=f"of-{cpus}") for cpus in (7, 11, 13, 17)]
    return members, nodes(*(node(zone(4, cpus)) for cpus in (27, 33, 32, 26, 29)))


def test_the_search_says_when_it_gives_up_and_a_solver_may_be_asked_then() -> None:
    members, cluster = hard()
    assert fits(members, cluster, work=20) is UNKNOWN
    asked: list[int] = []

    def solver(kinds_: Sequence[Member], _cluster: Cluster) -> Verdict:
        asked.append(len(kinds_))
        return NO

    assert Feasibility(work=20).judge(Group(tuple(members)), cluster) is UNKNOWN
    assert Feasibility(20, solver).judge(Group(tuple(members)), cluster) is NO
    assert asked == [4]


def test_a_crowd_that_needs_a_search_is_left_to_a_solver() -> None:
    """They would fit by number and by CPUs in all, but only the larger nodes take one of five."""
    crowd = [worker(1, cpus, 101, name=f"of-{cpus}") for cpus in (3, 5)]
    rows = nodes(*(node(zone(2, cpus)) for cpus in [7] * 50 + [9] * 51))
    assert fits(crowd, rows) is UNKNOWN
    few = [worker(1, cpus, 7, name=f"of-{cpus}") for cpus in (3, 5)]
    assert fits(few, nodes(*(node(zone(2, cpus)) for cpus in [7] * 3 + [9] * 4))) is NO


def test_without_the_extra_there_is_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools", None)
    assert cp_sat() is None


def test_cp_sat_answers_where_the_search_gave_up() -> None:
    solve = cp_sat()
    assert solve is not None
    members, cluster = hard()
    assert solve(members, cluster) is fits(members, cluster, work=10**6)


def test_cp_sat_without_time_does_not_pretend_to_know() -> None:
    hurried = cp_sat(seconds=0)
    assert hurried is not None
    assert hurried(*hard()) is UNKNOWN


def test_who_fails_is_named_and_nobody_who_could_start() -> None:
    group = Group((*kinds((1, 2)), worker(4, 0, 1, name="large"), worker(0, 1, 1, name="launcher")))
    assert JUDGE.failing(group, nodes(node(zone(3, 9)))) == ("large",)
    assert JUDGE.failing(group, nodes(node(zone(4, 9)))) == ("of-2", "large")
    assert JUDGE.failing(group, nodes(node(zone(6, 9)))) == ()


@pytest.mark.parametrize(
    ("group", "server", "changes"),
    [
        (Group((worker(),)), SERVER, [{Change.REMOTE_CPU}, {Change.NO_CPU}, {Change.SPAN_NUMA}]),
        (Group((worker(),)), node(zone(2, 8)), [{Change.NO_CPU}]),
        (Group((worker(),)), node(zone(1, 16, busy=1), zone(1, 16, busy=1)), [{Change.SPAN_NUMA}]),
        (Group((worker(),), limits=Limits(quota=3)), node(zone(2, 16)), [{Change.QUOTA}]),
        (Group((worker(),), limits=Limits(quota=3)), node(zone(2, 8)), [{Change.NO_CPU, Change.QUOTA}]),
        (Group((worker(),), limits=Limits(domains={"n0": "n0"})), node(zone(2, 16)), [{Change.SPREAD}]),
        (Group((worker(1, 1),), limits=Limits(per_node=0)), node(zone(2, 16)), [{Change.STACK}]),
        (Group((worker(3),)), node(zone(2, 16)), []),
        (
            Group((worker(1, 1, memory=2048, locality=Locality.GPU_CPU_MEM),)),
            node(zone(1, 16, 1), zone(0, 0, 1)),
            [{Change.REMOTE_MEMORY}, {Change.REMOTE_CPU}, {Change.SPAN_NUMA}, {Change.NO_MEMORY}],
        ),
    ],
)
def test_the_smallest_sets_of_changes_that_help_are_all_named(
    group: Group, server: NodeRoom, changes: list[set[Change]]
) -> None:
    found = smallest_changes(group, nodes(*(server,) * 4))
    assert set(found) == {frozenset(change) for change in changes}


def test_who_does_not_fit_empty_nodes_never_will() -> None:
    full = nodes(node(zone(0, 0, busy=4)), NodeRoom((ZoneRoom((shared(1000), shared(1000))),)))
    assert JUDGE.judge(Group((worker(2),)), full) is NO
    assert JUDGE.judge(Group((worker(2, count=3),)), emptied(full)) is YES
    assert JUDGE.judge(Group((worker(5),)), emptied(full)) is NO


def test_members_that_want_an_unused_card_come_first_in_some_order() -> None:
    first, second = slices(alone=True, count=1, name="alone"), slices(count=1)
    assert fits([second, first], nodes(node(zone(1)))) is YES
    assert (
        fits([slices(cores=100, memory=1, count=1), slices(cores=0, count=1, name="free")], nodes(node(zone(1)))) is NO
    )
    assert (
        fits([slices(cores=25, count=4), slices(cores=0, memory=0, count=1, name="free")], nodes(node(zone(1)))) is YES
    )


def test_a_group_that_asks_for_nobody_fits_everywhere() -> None:
    assert fits([], ()) is YES
    assert fits([worker(count=0), worker(count=0, name="other")], ()) is YES


def test_two_that_each_want_an_unused_card_need_two_of_them() -> None:
    pair = [slices(alone=True, count=1, name=name, cores=cores) for name, cores in (("one", 10), ("two", 20))]
    solve = cp_sat()
    for cards, verdict in ((1, NO), (2, YES)):
        assert fits(pair, nodes(node(zone(cards)))) is verdict
        assert solve is None or solve(pair, nodes(node(zone(cards)))) is verdict
