"""Which cards one container gets, and why it gets none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.facts import UNKNOWN_NUMA, Card, Entry, Quota, Use
from policy.hami.annotations import CardFilter
from policy.hami.request import Request
from policy.keys import GPU_POLICY, NOUSE_TYPE, NUMA_BIND, USE_UUID, VGPU_MODE
from policy.placement.fit import Fit, fit, fit_node
from policy.placement.order import Order
from policy.placement.rules import Budget, Layout
from tests.policy.placement.build import APP, INIT, card, device, rules


def letters(found: Fit) -> str:
    return "".join(pick.uuid[-1] for pick in found.picks or ())


ASKED = Request(1, memory=20000, cores=30)
FREE = Use()


@pytest.mark.parametrize(
    ("offered", "held", "asked", "annotations", "reason"),
    [
        (card("a"), FREE, ASKED, {}, ""),
        (card("a", healthy=False), FREE, ASKED, {}, "CardNotHealth"),
        (card("a"), FREE, ASKED, {NOUSE_TYPE: "a100"}, "CardTypeMismatch"),
        (card("a"), FREE, ASKED, {VGPU_MODE: "mps"}, "CardTypeMismatch"),
        (card("a", vendor="DCU"), FREE, ASKED, {}, "CardTypeMismatch"),
        (card("a"), FREE, ASKED, {USE_UUID: "GPU-b"}, "CardUuidMismatch"),
        (card("a"), Use(9), ASKED, {}, ""),
        (card("a"), Use(10), ASKED, {}, "CardTimeSlicingExhausted"),
        (card("a"), Use(1), ASKED, {GPU_POLICY: "mutex"}, "ExclusiveDeviceAllocateConflict"),
        (card("a"), Use(1), ASKED, {GPU_POLICY: "binpack,mutex"}, "ExclusiveDeviceAllocateConflict"),
        (card("a", cores=200), FREE, replace(ASKED, cores=101), {}, "CardInsufficientCore"),
        (card("a"), FREE, replace(ASKED, cores=-1), {}, "CardInsufficientCore"),
        (card("a", mode="mig"), FREE, ASKED, {}, "CardMigTopologyInfeasible"),
        (card("a", mode=""), FREE, ASKED, {VGPU_MODE: "mig"}, ""),
        (card("a"), Use(1, 20000), ASKED, {}, ""),
        (card("a"), Use(1, 20001), ASKED, {}, "CardInsufficientMemory"),
        (card("a"), Use(1, 1), Request(1, percent=100), {}, "CardInsufficientMemory"),
        (card("a"), Use(1, 0, 70), ASKED, {}, ""),
        (card("a"), Use(1, 0, 71), ASKED, {}, "CardInsufficientCore"),
        (card("a"), Use(1), replace(ASKED, cores=100), {}, "ExclusiveDeviceAllocateConflict"),
        (card("a", cores=200), Use(1), replace(ASKED, cores=100), {}, ""),
        (card("a"), Use(1, 0, 100), replace(ASKED, cores=0), {}, "CardComputeUnitsExhausted"),
        (card("a", cores=0), FREE, replace(ASKED, cores=0), {}, ""),
    ],
)
def test_a_card_is_taken_or_refused_in_hamis_words(
    offered: Card, held: Use, asked: Request, annotations: Mapping[str, str], reason: str
) -> None:
    found = fit(asked, [offered], {offered.uuid: held}, rules(annotations))
    assert found.text == (f"1/1 {reason}" if reason else "")
    assert found.reasons == ({"GPU-a": reason} if reason else {})


FAULTS: Sequence[tuple[str, str, Mapping[str, Any]]] = [
    ("CardNotHealth", "card", {"healthy": False}),
    ("CardCordoned", "rules", {"cordoned": frozenset({"GPU-a"})}),
    ("CardTypeMismatch", "card", {"vendor": "DCU"}),
    ("CardUuidMismatch", "rules", {"filter": CardFilter.of({USE_UUID: "GPU-b"})}),
    ("CardTimeSlicingExhausted", "card", {"slots": 1}),
    ("ExclusiveDeviceAllocateConflict", "rules", {"mutex": True}),
    ("CardInsufficientCore", "request", {"cores": 101}),
    ("CardMigTopologyInfeasible", "card", {"mode": "mig"}),
    ("ResourceQuotaNotFit", "rules", {"budget": Budget(Quota(memory=1), FREE, 1, Layout(((),), [APP]), 0)}),
    ("CardInsufficientMemory", "card", {"memory": 1}),
    ("CardInsufficientCore", "card", {"cores": 50}),
    ("ExclusiveDeviceAllocateConflict", "card", {}),
]
"""In HAMi's order: the word, and what to spoil for it in a case that is refused by the last."""


@pytest.mark.parametrize("first", range(len(FAULTS)))
def test_the_first_check_that_fails_gives_the_reason(first: int) -> None:
    changes: dict[str, dict[str, Any]] = {"card": {}, "rules": {}, "request": {"cores": 100}}
    for _, what, change in FAULTS[first:]:
        changes[what] |= change
    offered = replace(card("a"), **changes["card"])
    asked = replace(ASKED, **changes["request"])
    demanded = replace(rules(), **changes["rules"])
    found = fit(asked, [offered], {"GPU-a": Use(1)}, demanded)
    assert found.text == f"1/1 {FAULTS[first][0]}"


def test_reasons_are_sorted_as_text_and_counted_over_the_candidates() -> None:
    cards = [card("a", healthy=False), card("b", healthy=False), *(card(each) for each in "cdefghijkl")]
    found = fit(Request(1, memory=50000), cards, {}, rules())
    assert found.text == "10/12 CardInsufficientMemory, 2/12 CardNotHealth"
    assert found.counts == {"CardInsufficientMemory": 10, "CardNotHealth": 2}


def test_cards_are_taken_in_the_order_given_and_none_is_tried_after_the_last() -> None:
    cards = [card("c"), card("a", healthy=False), card("b"), card("d", healthy=False)]
    found = fit(Request(2, percent=50, cores=5), cards, {}, rules())
    assert found.picks == (device("c", 20000, 5), device("b", 20000, 5))
    assert found.fits
    assert found.reasons == {"GPU-a": "CardNotHealth"}


def test_usable_cards_that_are_too_few_are_said_to_be_so() -> None:
    found = fit(Request(3), [card("a"), card("b"), card("c", healthy=False)], {}, rules())
    assert found.text == "1/3 CardNotHealth, 2/3 AllocatedCardsInsufficientRequest"


@pytest.mark.parametrize(
    ("cards", "offered", "nums", "token"),
    [
        ([], None, 1, "NodeInsufficientDevice"),
        ([card("a")], None, 2, "NodeInsufficientDevice"),
        ([card("a"), card("b", type="Tesla-T4")], None, 2, "NodeInsufficientDevice"),
        ([card("a"), card("b")], {"GPU-a"}, 2, "NodeInsufficientDevice"),
        ([card("a")], {"GPU-a-0"}, 1, "AllowedDeviceSetUnmatched"),
        ([card("a", type="Tesla-T4")], {"GPU-a"}, 1, "AllowedDeviceSetUnmatched"),
    ],
)
def test_a_node_without_enough_candidates_is_refused_as_a_whole(
    cards: Sequence[Card], offered: set[str] | None, nums: int, token: str
) -> None:
    demanded = replace(rules(), offered=None if offered is None else frozenset(offered))
    found = fit_node(Request(nums), cards, {}, demanded, Order.NUMAFIT)
    assert (found.text, found.picks, found.reasons) == (token, None, {})


@pytest.mark.parametrize(
    ("policy", "taken"),
    [("spread", "c"), ("binpack", "a"), ("mutex", ""), ("numa,spread", "b")],
)
def test_the_policy_survives_a_choice_among_few(policy: str, taken: str) -> None:
    """Cards of two NUMA nodes, all of them used."""
    use = {"GPU-a": Use(9, 36000, 60), "GPU-b": Use(5, 20000, 50), "GPU-c": Use(1, 4000, 10)}
    cards = [card("a", numa=0), card("b", numa=0), card("c", numa=1)]
    found = fit_node(Request(1, memory=1000), cards, use, rules({GPU_POLICY: policy}), Order.NUMAFIT)
    assert letters(found) == taken


@pytest.mark.parametrize(
    ("position", "entries", "limit", "fits"),
    [
        (1, [(device("a", 1500),), (), (), ()], 2048, True),
        (1, [(device("b", 1500),), (), (), ()], 2048, False),
        (1, [(device("b", 1500),), (), (), ()], 3000, True),
        (2, [(device("a", 1500),), (device("a", 1500),), (), ()], 2048, True),
        (3, [(device("a", 1500),), (device("a", 1500),), (device("a", 500),), ()], 2048, True),
        (3, [(), (), (device("a", 1500),), ()], 2048, False),
    ],
)
def test_a_quota_is_asked_for_what_runs_at_one_time(
    position: int, entries: list[Entry], limit: int, *, fits: bool
) -> None:
    """Two ordinary init containers and two app containers, 1,500 MiB more on card a."""
    layout = Layout(tuple(entries), [INIT, INIT, APP, APP])
    budget = Budget(Quota(memory=limit), FREE, 1, layout, position)
    found = fit(Request(1, memory=1500), [card("a")], {}, rules().within(budget))
    assert found.text == ("" if fits else "1/1 ResourceQuotaNotFit")


def test_a_quota_counts_the_cards_taken_before() -> None:
    budget = Budget(Quota(cores=50), Use(0, 0, 10), 1, Layout(((),), [APP]), 0)
    found = fit(Request(3, cores=20), [card("a"), card("b"), card("c")], {}, rules().within(budget))
    assert found.text == "1/3 ResourceQuotaNotFit, 2/3 AllocatedCardsInsufficientRequest"


@dataclass(frozen=True)
class Situation:
    """A request, a node, and the pod's wishes but for numa-bind."""

    asked: Request
    cards: Sequence[Card]
    use: Mapping[str, Use]
    policy: str
    order: Order

    def fit(self, cards: Sequence[Card], *, bind: bool) -> Fit:
        wanted = rules({GPU_POLICY: self.policy, NUMA_BIND: str(bind).lower()})
        return fit_node(self.asked, cards, self.use, wanted, self.order)


CARD_FIELDS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "healthy": st.integers(0, 5).map(bool),
        "numa": st.sampled_from([UNKNOWN_NUMA, 0, 1, 7]),
        "mode": st.sampled_from(["hami-core", "hami-core", "", "mig"]),
        "slots": st.integers(1, 4),
    }
)


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True))
    cards = [replace(card(name), **draw(CARD_FIELDS)) for name in names]
    uses = st.builds(Use, st.integers(0, 4), st.integers(0, 40000), st.integers(0, 100))
    return Situation(
        asked=Request(
            draw(st.integers(1, 4)),
            memory=draw(st.sampled_from([0, 1, 20000])),
            percent=50,
            cores=draw(st.sampled_from([0, 30, 100])),
        ),
        cards=cards,
        use={each.uuid: draw(uses) for each in cards},
        policy=draw(st.sampled_from(["spread", "binpack", "mutex", "numa", "topology-aware", "numa,mutex"])),
        order=draw(st.sampled_from(Order)),
    )


@given(situations(), st.booleans())
@settings(max_examples=80)
def test_picks_are_different_cards_with_room(situation: Situation, bind: bool) -> None:
    found = situation.fit(situation.cards, bind=bind)
    by_uuid = {each.uuid: each for each in situation.cards}
    picks = found.picks or ()
    assert len({pick.uuid for pick in picks}) == len(picks) == (situation.asked.nums if found.fits else 0)
    for pick in picks:
        taken, held = by_uuid[pick.uuid], situation.use[pick.uuid]
        assert taken.healthy
        assert held.slots + 1 <= taken.slots
        assert held.memory + pick.memory <= taken.memory
        assert held.cores + pick.cores <= taken.cores
    if bind and len(picks) > 1:
        (numa,) = {by_uuid[pick.uuid].numa for pick in picks}
        assert numa != UNKNOWN_NUMA


@given(situations(), st.booleans(), st.randoms())
@settings(max_examples=60)
def test_the_verdict_does_not_depend_on_the_order_of_the_cards(
    situation: Situation, bind: bool, random: Random
) -> None:
    shuffled = random.sample(situation.cards, len(situation.cards))
    assert situation.fit(shuffled, bind=bind) == situation.fit(situation.cards, bind=bind)


@given(situations(), st.booleans())
@settings(max_examples=80)
def test_more_cards_never_make_a_fit_fail(situation: Situation, bind: bool) -> None:
    if situation.fit(situation.cards[1:], bind=bind).fits:
        assert situation.fit(situation.cards, bind=bind).fits


@given(situations())
@settings(max_examples=80)
def test_numa_bind_never_allows_more(situation: Situation) -> None:
    if situation.fit(situation.cards, bind=True).fits:
        assert situation.fit(situation.cards, bind=False).fits
