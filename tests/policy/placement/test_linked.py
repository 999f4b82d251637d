"""Cards that are linked fast."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.facts import Device, Entry, Quota, Use
from policy.hami.request import Request
from policy.keys import GPU_POLICY
from policy.placement.fit import fit
from policy.placement.linked import EXACT_PAIRS, best_linked
from policy.placement.rules import Budget, Layout
from tests.policy.placement.build import APP, card, device, rules

Scores = Mapping[str, Mapping[str, int]]


def anything(_: Entry) -> bool:
    return True


def entry(letters: str) -> Entry:
    return tuple(device(letter) for letter in letters)


def letters(devices: Entry) -> str:
    return "".join(each.uuid[-1] for each in devices)


TRIANGLE: Scores = {
    "GPU-a": {"GPU-b": 100, "GPU-c": 200},
    "GPU-b": {"GPU-b": 900, "GPU-a": 100, "GPU-c": 150},
    "GPU-c": {"GPU-a": 200, "GPU-b": 150},
}


@pytest.mark.parametrize(
    ("wanted", "taken", "score"), [(1, "b", 0), (2, "ac", 200), (3, "abc", 450)], ids=["one", "two", "all"]
)
def test_one_card_is_taken_where_it_is_missed_least_and_several_where_they_are_closest(
    wanted: int, taken: str, score: int
) -> None:
    found = best_linked(entry("abc"), wanted, TRIANGLE, anything)
    assert found is not None
    assert (letters(found.devices), found.score) == (taken, score)


def test_the_first_of_equal_sets_is_taken_and_a_pair_is_read_from_its_earlier_card() -> None:
    one_way: Scores = {"GPU-b": {"GPU-a": 500}, "GPU-a": {"GPU-c": 10}, "GPU-c": {"GPU-b": 10}}
    found = best_linked(entry("abc"), 2, one_way, anything)
    assert found is not None
    assert letters(found.devices) == "ac"
    found = best_linked(entry("dcba"), 2, {}, anything)
    assert found is not None
    assert letters(found.devices) == "dc"


def test_a_set_that_is_not_allowed_gives_way_to_the_next_best() -> None:
    found = best_linked(entry("abc"), 2, TRIANGLE, lambda devices: letters(devices) != "ac")
    assert found is not None
    assert letters(found.devices) == "bc"
    assert best_linked(entry("abc"), 2, TRIANGLE, lambda _: False) is None


def test_a_quota_that_no_set_meets_is_the_reason_of_every_usable_card() -> None:
    budget = Budget(Quota(memory=30000), Use(), 1, Layout(((),), [APP]), 0)
    wanted = replace(rules({GPU_POLICY: "topology-aware"}), budget=budget)
    cards = [card("a"), card("b"), card("c", healthy=False)]
    found = fit(Request(2, memory=20000), cards, {}, wanted)
    assert found.text == "1/3 CardNotHealth, 2/3 ResourceQuotaNotFit"
    assert fit(Request(2, memory=15000), cards, {}, wanted).fits


def many(count: int) -> tuple[Entry, Scores]:
    devices = tuple(Device(f"GPU-{place:02}", 1, 1) for place in range(count))
    scores = {
        one.uuid: {other.uuid: (place * 7 + at * 13) % 101 for at, other in enumerate(devices) if at != place}
        for place, one in enumerate(devices)
    }
    return devices, scores


def test_sixteen_cards_are_always_compared_in_full() -> None:
    assert max(comb(16, wanted) * comb(wanted, 2) for wanted in range(17)) <= EXACT_PAIRS


def test_many_cards_are_grown_into_a_set_that_is_no_worse_than_the_first() -> None:
    devices, scores = many(40)
    found = best_linked(devices, 20, scores, anything)
    assert found is not None
    first = sum(scores[one.uuid][other.uuid] for one, other in combinations(devices[:20], 2))
    assert found.score > first
    assert len({each.uuid for each in found.devices}) == 20
    assert list(found.devices) == sorted(found.devices, key=devices.index)
    assert best_linked(devices, 20, scores, anything) == found


@given(
    st.lists(st.integers(0, 200), min_size=15, max_size=15),
    st.integers(2, 6),
)
@settings(max_examples=40)
def test_the_set_taken_has_the_highest_score_of_all(links: list[int], wanted: int) -> None:
    devices = entry("abcdef")
    scores: dict[str, dict[str, int]] = {each.uuid: {} for each in devices}
    for link, (one, other) in zip(links, combinations(devices, 2), strict=True):
        scores[one.uuid][other.uuid] = link
    found = best_linked(devices, wanted, scores, anything)
    assert found is not None
    assert found.score == max(
        sum(scores[one.uuid][other.uuid] for one, other in combinations(chosen, 2))
        for chosen in combinations(devices, wanted)
    )
