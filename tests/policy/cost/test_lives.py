"""Where the GPU time of pods went: each GPU under one cause at a time, until it is free."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.cost.attempts import Attempt
from policy.cost.lives import Life, by_group, run_of, spent

NOW = Fraction(100)


def life(
    name: str = "p", reserved: int | None = 0, started: int | None = None, released: int | None = None, **more: object
) -> Life:
    """A pod of two GPUs in a group that needs two."""
    made = Life("team", name, Fraction(2), "g", 2, reserved=_at(reserved), started=_at(started), released=_at(released))
    return replace(made, **more)  # type: ignore[arg-type] # any field


def _at(moment: int | None) -> Fraction | None:
    return None if moment is None else Fraction(moment)


def by_cause(*lives: Life) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in spent(lives, NOW):
        found[each.cause] = found.get(each.cause, 0) + int(each.gpu_seconds)
    return found


CASES: list[tuple[str, list[Life], dict[str, int]]] = [
    ("one waits for a member that never comes", [life(released=30)], {"waiting-for-members": 60}),
    ("one that still waits counts until now", [life()], {"waiting-for-members": 200}),
    (
        "the second comes later, then both start",
        [life("a", 0, 20, 50), life("b", 10, 30, 50)],
        {"waiting-for-members": 20, "starting": 80, "computing": 80},
    ),
    (
        "one that is done still counts for the other",
        [life("a", 0, 0, 40), life("b", 0, 0, 60)],
        {"computing": 200},
    ),
    (
        "one that failed does not, and is cleaned up",
        [life("a", 0, 10, 60, failed=Fraction(40)), life("b", 0, 10, 60)],
        {"starting": 40, "computing": 120, "waiting-for-members": 40, "clean-up": 40},
    ),
    (
        "one that left before it started leaves the other waiting",
        [life("a", 0, None, 10), life("b", 0, None, 30)],
        {"starting": 40, "waiting-for-members": 40},
    ),
    ("without a group it waits for itself alone", [life("a", 0, 20, 50, group="")], {"starting": 40, "computing": 60}),
    (
        "nobody says how many: as many as ever had a place at one time",
        [life("a", 0, 20, 50, members=None), life("b", 10, 30, 50, members=None)],
        {"waiting-for-members": 20, "starting": 80, "computing": 80},
    ),
    ("more members are needed than came", [life("a", 0, 10, 30, members=3)], {"waiting-for-members": 60}),
    ("no GPUs yet", [life(reserved=None)], {}),
    ("released at once", [life(released=0)], {}),
    ("a share of a card", [life(released=30, gpus=Fraction(1, 2))], {"waiting-for-members": 15}),
    (
        "failed before it started",
        [life("a", 0, None, 50, failed=Fraction(20), group="")],
        {"starting": 40, "clean-up": 60},
    ),
]


@pytest.mark.parametrize(("lives", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_gpu_seconds_fall_under_their_cause(lives: list[Life], expected: dict[str, int]) -> None:
    assert by_cause(*lives) == expected


moments = st.integers(0, 90)
lives_ = st.builds(
    lambda reserved, waits, runs, ends, fails: life(
        reserved=reserved,
        started=reserved + waits if runs else None,
        released=reserved + waits + 5 if ends else None,
        failed=Fraction(reserved + waits + 2) if fails else None,
    ),
    moments,
    st.integers(0, 20),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(lives_, min_size=1, max_size=5))
def test_causes_add_up_to_all_that_was_held(group: list[Life]) -> None:
    now = Fraction(200)
    held = sum(each.gpus * (each.left(now) - each.reserved) for each in group if each.reserved is not None)
    assert sum(each.gpu_seconds for each in spent(group, now)) == held
    assert all(each.gpu_seconds > 0 for each in spent(group, now))


def test_pods_of_one_group_and_namespace_start_together() -> None:
    lives = [life("a"), life("b"), replace(life("c"), namespace="other"), life("g", group="")]
    assert [[each.name for each in group] for group in by_group(lives)] == [["a", "b"], ["c"], ["g"]]


def test_a_run_is_timed_from_submission_to_the_last_release() -> None:
    run = run_of([life("a", 5, 20, 50, created=Fraction(1)), life("b", 10, 30, 60, created=Fraction(2))], NOW)
    assert (run.queue, run.execution, run.gpu_seconds) == (Fraction(29), Fraction(30), Fraction(100))
    assert not run.waits


@pytest.mark.parametrize(
    ("released", "queue", "waits"), [(None, 99, True), (40, 39, False)], ids=["waits still", "was given up"]
)
def test_a_run_that_never_started_has_waited_until_now_or_until_it_was_given_up(
    released: int | None, queue: int, waits: bool
) -> None:
    run = run_of([life(released=released, created=Fraction(1))], NOW)
    assert (run.queue, run.execution, run.waits) == (Fraction(queue), None, waits)


def test_each_time_without_a_break_in_what_is_held_is_an_attempt() -> None:
    first = [life("a", 0, None, 30, failed=Fraction(20)), life("b", 5, None, 25)]
    second = [life("c", 40, 45), life("d", 40, 45)]
    attempts = run_of([*first, *second], NOW).attempts
    assert attempts == (
        Attempt(Fraction(4), Fraction(0), Fraction(20), Fraction(30)),
        Attempt(Fraction(4), Fraction(40), None, None),
    )
    assert attempts[0].clean_up(NOW) == 10


def test_a_group_that_ran_to_its_end_was_tried_once() -> None:
    run = run_of([life("a", 0, 10, 50), life("b", 0, 10, 60)], NOW)
    assert run.attempts == (Attempt(Fraction(4), Fraction(0), None, Fraction(60)),)
