"""What waiting costs: the article's figures exactly, and the edges of each quantity."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from policy.cost.attempts import Attempt, Retries, retries
from policy.cost.fragmentation import NodeLeft, Task, fragmentation
from policy.cost.goodput import Goodput
from policy.cost.holds import Hold, held, share
from policy.cost.idle import Idle, Period, ledger
from policy.cost.money import HOUR, MINUTE, amount, cost, money
from policy.cost.queue import Method, percentile
from policy.cost.turnaround import Comparison, Run, net
from policy.cost.waiting import Charge, waiting
from policy.facts import Card, Device, Use
from policy.pod import Pod
from tests.policy.placement.build import card, cluster, pod

F = Fraction
THREE_DOLLARS = F(3)


def minutes(members: int, gpus: int, begin: int, end: int) -> Hold:
    return Hold(members, F(gpus), F(begin * MINUTE), F(end * MINUTE))


def test_three_members_of_two_gpus_that_wait_twelve_minutes() -> None:
    """The article's 72 GPU-minutes, 1.2 GPU-hours and $3.60; twenty a day are 24 GPU-hours and $72."""
    once = held([minutes(3, 2, 0, 12)])
    assert (once / MINUTE, once / HOUR, money(cost(once, THREE_DOLLARS))) == (F(72), F("1.2"), "3.60")
    day = 20 * once
    assert (day / HOUR, money(cost(day, THREE_DOLLARS))) == (F(24), "72.00")
    assert money(cost(30 * day, THREE_DOLLARS)) == "2160.00"


def test_an_execution_that_got_shorter_and_a_turnaround_that_got_longer() -> None:
    """The article's 40 to 36 minutes on 8 GPUs, with a queue of 2 and then 8 minutes."""
    found = Comparison(Run(F(2), F(40)), Run(F(8), F(36)), F(8))
    assert (found.saved, found.saved_percent) == (F(32), F(10))
    assert money(cost(found.saved * MINUTE, THREE_DOLLARS)) == "1.60"
    assert (found.before.turnaround, found.after.turnaround, found.break_even_queue) == (F(42), F(44), F(6))
    assert found.longer_percent == F(100, 21)
    assert net(F(72), F(32), F(48)) == 56


def test_nothing_cannot_be_compared_in_percent() -> None:
    found = Comparison(Run(F(0), F(0)), Run(F(1), F(1)), F(8))
    assert (found.saved_percent, found.longer_percent) == (None, None)


@pytest.mark.parametrize(
    ("holds", "expected"),
    [
        ([], 0),
        ([minutes(3, 2, 5, 5)], 0),
        ([minutes(3, 2, 5, 4)], 0),
        ([minutes(1, 2, 0, 12), minutes(1, 2, 4, 12), minutes(1, 2, 10, 12)], 44),
    ],
)
def test_a_hold_lasts_from_its_reservation_to_its_end(holds: Sequence[Hold], expected: int) -> None:
    assert held(holds) == expected * MINUTE


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("3.588", "3.59"),
        ("0.125", "0.12"),
        ("0.135", "0.14"),
        ("-1.5", "-1.50"),
        ("-0.001", "0.00"),
        ("1e3", "1000.00"),
    ],
)
def test_money_is_rounded_once_half_to_the_even_cent(value: str, shown: str) -> None:
    assert money(amount(value)) == shown


def test_an_amount_is_what_was_written_and_not_the_nearest_binary_number() -> None:
    assert amount(2.99) == F(299, 100)
    assert amount(F(1, 3)) == F(1, 3)
    assert amount(7) == 7


@pytest.mark.parametrize("value", ["dear", "", "nan", float("inf")])
def test_what_is_no_amount_is_refused_with_the_value(value: Any) -> None:
    with pytest.raises(ValueError, match=r"is no amount; write a decimal number such as 2\.99"):
        amount(value)


def test_a_share_is_charged_by_the_part_that_is_named() -> None:
    found = share(Use(1, 20480, 50), Card("GPU-a", memory=81920))
    assert (found.memory, found.cores, found.dominant) == (F(1, 4), F(1, 2), F(1, 2))
    assert share(Use(1, 5, 5), Card("GPU-a", memory=0, cores=0)).dominant == 0


def test_every_idle_gpu_has_one_cause_and_the_causes_add_up() -> None:
    found = ledger(
        [
            Period(F(720), free=8),
            Period(F(60), free=8, runnable=6),
            Period(F(60), free=8, runnable=8, group_runnable=8),
            Period(F(60), free=8, runnable=9, group_runnable=10, held=F(6)),
            Period(F(100), free=3, demand=False),
        ]
    )
    assert found == {
        Idle.STRANDED: 8 * 720 + 2 * 60,
        Idle.BLOCKED: 6 * 60,
        Idle.STARTABLE: 8 * 60 * 2,
        Idle.HELD: 6 * 60,
        Idle.NO_DEMAND: 300,
    }
    assert ledger([]) == dict.fromkeys(Idle, 0)


def test_failed_starts_cost_what_they_held_until_they_were_cleaned_up() -> None:
    attempts = [
        Attempt(F(6), begin=F(0), failed=F(60), released=F(90)),
        Attempt(F(6), begin=F(100), failed=F(130)),
        Attempt(F(8), begin=F(200)),
    ]
    assert retries(attempts, now=F(150)) == Retries(2, F(50), F(30), F(6 * 90 + 6 * 50))
    assert retries([], now=F(0)) == Retries(0, F(0), F(0), F(0))


@pytest.mark.parametrize(
    ("values", "percent", "nearest", "linear"),
    [
        (range(1, 11), 50, 5, F("5.5")),
        (range(1, 11), 90, 9, F("9.1")),
        (range(1, 11), 95, 10, F("9.55")),
        (range(1, 11), 0, 1, 1),
        (range(1, 11), 100, 10, 10),
        ([90, 3, 2, 60, 4], 50, 4, 4),
        ([7], 99, 7, 7),
        ([], 50, None, None),
    ],
)
def test_a_percentile_is_read_by_the_method_that_is_named(
    values: Sequence[int], percent: int, nearest: object, linear: object
) -> None:
    waits = [F(value) for value in values]
    assert percentile(waits, F(percent)) == nearest
    assert percentile(waits, F(percent), Method.LINEAR) == linear


@pytest.mark.parametrize("percent", [-1, 101])
def test_a_percentile_beyond_a_hundred_is_refused(percent: int) -> None:
    with pytest.raises(ValueError, match=f"percentile {percent} is not from 0 to 100"):
        percentile([F(1)], F(percent))


def test_allocation_is_not_goodput() -> None:
    found = Goodput(F(384), F(300), {"partial gang": F(24), "restart": F(12)})
    assert (found.productive, found.allocation) == (F(264), F("0.78125"))
    assert (found.of_capacity, found.of_allocated) == (F("0.6875"), F("0.88"))
    nothing = Goodput(F(0), F(0), {"restart": F(1)})
    assert nothing.productive == 0
    assert (nothing.allocation, nothing.of_capacity, nothing.of_allocated) == (None, None, None)


@pytest.mark.parametrize(
    ("tasks", "fragment"),
    [
        ([Task(F(1), 1, 1000, F(16))], 1500),
        ([Task(F(1), 1, 1000, memory=F(9))], 1500),
        ([Task(F(1), 1, 600)], 500),
        ([Task(F(1, 2), 1, 600), Task(F(1, 2), 2)], 1000),
        ([Task(F(1), 2, 100)], 1500),
        ([Task(F(1), 1, 400, F(8))], 0),
        ([Task(F(1, 5), 0, 0)], 300),
        ([], 0),
    ],
)
def test_a_fragment_is_what_the_usual_work_cannot_use(tasks: Sequence[Task], fragment: int) -> None:
    found = fragmentation([NodeLeft((1000, 500), F(8), F(8))], tasks)
    assert (found.fragment, found.left, found.ratio) == (F(fragment), 1500, F(fragment, 1500))


def test_a_full_node_and_one_of_unknown_cpus_have_their_fragments_too() -> None:
    assert fragmentation([NodeLeft((0, 0))], [Task(F(1), 1)]).ratio == 0
    assert fragmentation([NodeLeft((1000,))], [Task(F(1), 1, cpu=F(99))]).fragment == 0


def holder(name: str, **fields: Any) -> Pod:
    stamped: dict[str, str] = fields.pop("annotations", {"hami.io/vgpu-time": "1000"})
    made = pod([(Device("GPU-a", 10000, 50),)], annotations=stamped)
    return replace(made, uid=name, name=name, **fields)


def test_a_placed_pod_that_does_not_run_holds_its_cards_since_they_were_reserved() -> None:
    facts = cluster(
        [card("a")],
        holder("booked"),
        holder("bound", node_name="node-1", status_phase="Pending", annotations={"hami.io/vgpu-time": "900"}),
        holder("running", node_name="node-1", status_phase="Running"),
        holder("ageless", annotations={"hami.io/vgpu-time": "soon"}),
    )
    found = waiting(facts)
    assert [(each.reservation.pod.name, each.bound, each.since) for each in found] == [
        ("bound", True, 900),
        ("booked", False, 1000),
        ("ageless", False, None),
    ]
    assert [each.hold(F(1060)) for each in found] == [
        Hold(1, F(1, 2), F(900), F(1060)),
        Hold(1, F(1, 2), F(1000), F(1060)),
        None,
    ]


@pytest.mark.parametrize(
    ("charge", "cards"), [(Charge.MEMORY, F(1, 4)), (Charge.CORES, F(1, 2)), (Charge.DOMINANT, F(1, 2))]
)
def test_a_waiting_share_counts_as_the_part_that_is_charged(charge: Charge, cards: Fraction) -> None:
    (found,) = waiting(cluster([card("a")], holder("booked")), charge)
    assert found.cards == cards
    assert waiting(cluster([card("b")], holder("booked")), charge)[0].cards == 0
