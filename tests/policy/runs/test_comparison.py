"""Two sets of runs compared: percentiles, intervals, verdicts, and what makes the answer doubtful."""

import random
import statistics
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.runs.bootstrap import RESAMPLES, Interval, intervals, quantile, resamples
from policy.runs.comparison import Measure, Statistic, Verdict, compare
from policy.runs.run import Run

TIMES = st.lists(st.floats(0, 1e6), min_size=2, max_size=12)


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=40), st.integers(1, 99))
def test_percentiles_are_those_of_the_standard_library(values: list[float], percent: int) -> None:
    expected = statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
    assert quantile(sorted(values), percent / 100) == pytest.approx(expected)


def test_percentiles_of_ten_and_of_one() -> None:
    ten = list(range(1, 11))
    assert [quantile(ten, part) for part in (0.5, 0.9, 0.95)] == pytest.approx([5.5, 9.1, 9.55])
    assert quantile([7], 0.99) == 7


@settings(max_examples=6)
@given(TIMES)
def test_a_set_does_not_differ_from_itself(values: list[float]) -> None:
    sample = [[value] for value in values]
    (interval,) = intervals(sample, sample, [0.5])
    assert interval is not None
    assert interval.low <= 0 <= interval.high


@settings(max_examples=6)
@given(TIMES, TIMES)
def test_intervals_are_the_same_each_time(one: list[float], other: list[float]) -> None:
    samples = [[value] for value in one], [[value] for value in other]
    assert intervals(*samples, [0.5, 0.95]) == intervals(*samples, [0.5, 0.95])


def test_intervals_hold_the_true_difference_about_as_often_as_they_say() -> None:
    draws, held = random.Random(1), 0
    for _ in range(20):
        one, other = ([[draws.gauss(mean, 5)] for _ in range(20)] for mean in (100, 110))
        (interval,) = intervals(one, other, [0.5])
        assert interval is not None
        held += interval.low <= 10 <= interval.high
    assert 17 <= held <= 20


def test_steps_of_one_run_count_as_one_observation() -> None:
    """Two sets of three runs whose means jump from run to run: a thousand steps each do not make them sure."""
    one, other = ([[mean] * 1000 for mean in means] for means in ((100.0, 110.0, 120.0), (105.0, 115.0, 125.0)))
    (interval,) = intervals(one, other, [0.5])
    assert interval is not None
    assert not interval.excludes_zero


def test_one_run_does_not_tell_how_much_runs_vary() -> None:
    assert intervals([[1.0]], [[2.0], [3.0]], [0.5, 0.95]) == (None, None)


def test_large_sets_are_drawn_less_often() -> None:
    assert resamples([[0.0] * 10], [[0.0]]) == RESAMPLES
    assert resamples([[0.0] * 20_000], [[0.0] * 20_000]) == 500
    assert resamples([[0.0] * 10_000_000], []) == 200


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        (None, Verdict.UNKNOWN),
        (Interval(-1, 1), Verdict.SAME),
        (Interval(0, 1), Verdict.SAME),
        (Interval(0.1, 1), Verdict.HIGHER),
        (Interval(-1, -0.1), Verdict.LOWER),
    ],
)
def test_a_verdict_needs_an_interval_without_zero(interval: Interval | None, verdict: Verdict) -> None:
    assert Statistic("median", 1, 2, interval).verdict is verdict


def runs(queue: float, run: float, at: Sequence[int], gpus: float = 8) -> list[Run]:
    """Runs of an hour's distance, at these places in the order."""
    return [Run(f"r{place}", place * 3600, queue, run, gpus) for place in at]


A, B = runs(120, 2400, range(0, 10, 2)), runs(480, 2160, range(1, 10, 2))
"""Local placement: forty minutes become thirty-six on eight cards, and two minutes of queue become eight."""


def test_execution_gets_better_and_turnaround_worse() -> None:
    found = compare(A, B)
    medians = {one.measure: (one.median.a, one.median.b, one.median.percent) for one in found.measures}
    assert medians == {
        Measure.QUEUE: (120, 480, 300),
        Measure.RUN: (2400, 2160, -10),
        Measure.TURNAROUND: (2520, 2640, pytest.approx(4.76, abs=0.01)),
        Measure.GPU_MINUTES: (320, 288, -10),
    }
    assert {one.measure: set(one.differing) for one in found.differing} == {
        Measure.QUEUE: {Verdict.HIGHER},
        Measure.RUN: {Verdict.LOWER},
        Measure.TURNAROUND: {Verdict.HIGHER},
        Measure.GPU_MINUTES: {Verdict.LOWER},
    }
    (caution,) = found.cautions
    assert caution.code == "faster-but-later"
    assert caution.text.startswith(
        "in B runs take 240 s less and are completed 120 s later; with a queue of at most 360 s"
    )


def codes(a: Sequence[Run], b: Sequence[Run]) -> list[str]:
    return [caution.code for caution in compare(a, b).cautions]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([0, 2, 4, 6, 8], [1, 3, 5, 7, 9], []),
        ([0, 3, 4, 7, 8], [1, 2, 5, 6, 9], []),
        ([0, 1, 2, 3, 4], [5, 6, 7, 8, 9], ["order-not-alternated"]),
        ([0, 1, 2, 7, 8], [3, 4, 5, 6, 9], ["order-not-alternated"]),
        ([0, 2, 4, 6], [1, 3, 5, 7], ["too-few-runs"]),
        ([0, 1], [2, 3], ["too-few-runs", "order-not-alternated"]),
    ],
)
def test_order_and_number_of_runs_are_judged(a: list[int], b: list[int], expected: list[str]) -> None:
    assert codes(runs(1, 1, a), runs(1, 1, b)) == expected


def test_an_unalternated_order_is_shown() -> None:
    (caution,) = compare(runs(1, 1, range(5)), runs(1, 1, range(5, 10))).cautions
    assert "in the order AAAAABBBBB" in caution.text


def test_times_that_are_missing_and_other_numbers_of_cards_are_said() -> None:
    undated = [Run("x", queue=1, run=1, gpus=8)] * 5
    assert codes(undated, undated) == ["order-unknown"]
    waiting = [*A[:4], Run("w", 8 * 3600, gpus=8)]
    assert [caution.text.partition(";")[0] for caution in compare(waiting, A).cautions[:2]] == [
        "queue_seconds is told by 4 of 5 runs of A alone",
        "run_seconds is told by 4 of 5 runs of A alone",
    ]
    assert codes(runs(1, 1, range(0, 10, 2)), runs(1, 1, range(1, 10, 2), gpus=4)) == ["different-gpus"]


def test_what_only_one_set_tells_is_not_compared() -> None:
    found = compare([Run("a", steps=(1, 2))], [Run("b", run=5)])
    assert found.measures == ()
    assert [one.text for one in found.cautions if one.code == "not-compared"] == [
        "step time is not compared: no run of B tells step_seconds; record it in both",
        "run time is not compared: no run of A tells run_seconds; record it in both",
    ]
    assert compare([], []).measures == ()
