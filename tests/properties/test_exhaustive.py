"""A brute-force judge: the fit serves a request exactly where some choice of cards could."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from policy.facts import NOTHING, UNKNOWN_NUMA, Card, Device, Node, Quota, Use
from policy.hami.annotations import numa_bind
from policy.hami.request import HamiConfig, Request
from policy.keys import GPU_POLICY, NOUSE_UUID, NUMA_BIND, USE_UUID
from policy.placement.fit import Fit, fit_node
from policy.placement.order import Order
from policy.placement.rules import Budget, Layout, Rules
from policy.pod import Phase
from tests.properties.exhaustive import choices, has_room, within
from tests.properties.ledger import UNLIMITED, Entries, held

CASES = 20 * settings().max_examples


@dataclass(frozen=True)
class Question:
    """One container's request to a tiny node, its pod's wishes, the pod's other containers and a quota."""

    request: Request
    cards: Sequence[Card]
    use: Mapping[str, Use]
    wishes: Mapping[str, str]
    cordoned: frozenset[str]
    entries: Entries
    phases: Sequence[Phase]
    position: int
    quota: Quota
    others: Use

    def answer(self, order: Order) -> Fit:
        """What the engine says."""
        budget = Budget(self.quota, self.others, 1, Layout(self.entries, self.phases), self.position)
        node = Node("node-1", cordoned=self.cordoned)
        rules = Rules.of(self.wishes, HamiConfig().default_gpu_policy).on(node).within(budget)
        return fit_node(self.request, self.cards, self.use, rules, order)

    def share(self, card: Card) -> Device:
        """What the request takes of a card."""
        memory = self.request.memory or card.memory * self.request.percent // 100
        return Device(card.uuid, memory, self.request.cores)

    def takes(self, card: Card) -> bool:
        """Whether a card can give its share."""
        pins, barred = (self.wishes[key].split(",") for key in (USE_UUID, NOUSE_UUID))
        if card.uuid in {*self.cordoned, *barred} or (any(pins) and card.uuid not in pins):
            return False
        share = self.share(card)
        beside, mutex = self.use.get(card.uuid, NOTHING), "mutex" in self.wishes[GPU_POLICY]
        fits = has_room(card, beside, Use(1, share.memory, share.cores), mutex=mutex)
        return fits and card.healthy and card.mode != "mig"

    def affords(self, cards: Sequence[Card]) -> bool:
        """Whether the quota holds with the request served by these cards."""
        entries = list(self.entries)
        entries[self.position] = tuple(map(self.share, cards))
        sidecars = frozenset(at for at, phase in enumerate(self.phases) if phase is Phase.SIDECAR)
        ordinary = [at for at, phase in enumerate(self.phases) if phase is Phase.INIT]
        need = sum(held(tuple(entries), len(entries), sidecars, ordinary, released=False).values(), NOTHING)
        memory, cores = (UNLIMITED.memory if one is None else one for one in (self.quota.memory, self.quota.cores))
        return within(Use(0, memory, cores), self.others, need)


UUIDS = [f"GPU-{letter}" for letter in "abcde"]
CARDS = st.sampled_from(
    [
        Card("", 0, slots, memory, cores, "NVIDIA A100", numa, mode, healthy)
        for slots, memory, numa in product([1, 3, 3], [4, 8], [0, 0, 3, UNKNOWN_NUMA])
        for cores, mode, healthy in [
            *[(100, "hami-core", True)] * 9,
            (50, "", True),
            (99, "mig", True),
            (100, "", False),
        ]
    ]
)
USES = st.sampled_from([*[NOTHING] * 8, Use(1, 2, 0), Use(1, 4, 50), Use(2, 3, 100), Use(3, 9, 120)])
ENTRIES = st.sampled_from(
    [
        tuple(Device(uuid, memory, cores) for uuid in uuids)
        for uuids in [(), (), (), (), ("GPU-a",), ("GPU-b",), ("GPU-c", "GPU-d")]
        for memory, cores in [(0, 30), (2, 0), (4, 30)]
    ]
)
REQUESTS = st.sampled_from(
    [
        Request(nums, memory, percent, cores)
        for nums, (memory, percent) in product([1, 2, 2, 2, 3], [(2, 101), (4, 101), (0, 25), *[(0, 50)] * 4, (0, 100)])
        for cores in (0, 0, 0, 30, 100)
    ]
)
WISHES = st.sampled_from(
    [
        {NUMA_BIND: bind, GPU_POLICY: policy, USE_UUID: pins, NOUSE_UUID: barred}
        for bind in ("", "", "", "true")
        for policy in ("spread", "binpack", "mutex", "numa,binpack", "topology-aware", "topology-aware,mutex")
        for pins, barred in [("", "")] * 4 + [("GPU-a,GPU-c,GPU-d", ""), ("", "GPU-c"), ("GPU-b,GPU-c,GPU-a", "GPU-a")]
    ]
)
QUOTAS = st.sampled_from([Quota(memory, cores) for memory in (None, 4, 4, 6, 6, 8) for cores in (None, None, 60)])
PHASES = st.sampled_from([*product([Phase.INIT, Phase.SIDECAR], [Phase.INIT, Phase.APP], [Phase.APP]), (Phase.APP,)])


@st.composite
def questions(draw: st.DrawFn) -> Question:
    cards = draw(st.lists(CARDS, min_size=2, max_size=5))
    named = [replace(card, uuid=uuid) for card, uuid in zip(cards, UUIDS, strict=False)]
    phases = draw(PHASES)
    return Question(
        request=draw(REQUESTS),
        cards=named,
        use={card.uuid: draw(USES) for card in named},
        wishes=draw(WISHES),
        cordoned=draw(st.sampled_from([*[frozenset[str]()] * 4, frozenset({"GPU-a"})])),
        entries=tuple(draw(ENTRIES) for _ in phases),
        phases=phases,
        position=draw(st.integers(0, len(phases) - 1)),
        quota=draw(QUOTAS),
        others=draw(st.sampled_from([NOTHING, NOTHING, NOTHING, Use(1, 2, 10)])),
    )


@given(questions(), st.sampled_from(Order))
@settings(max_examples=CASES)
def test_a_request_is_served_exactly_where_some_choice_of_cards_could(question: Question, order: Order) -> None:
    possible = set(
        choices(
            question.cards,
            question.request.nums,
            bind=numa_bind(question.wishes),
            takes=question.takes,
            affords=question.affords,
        )
    )
    found = question.answer(order)
    assert found.fits == bool(possible), found.text
    if found.picks is not None:
        assert frozenset(device.uuid for device in found.picks) in possible
        assert found.picks == tuple(question.share(card) for card in _named(found, question.cards))


def _named(found: Fit, cards: Sequence[Card]) -> list[Card]:
    by_uuid = {card.uuid: card for card in cards}
    return [by_uuid[device.uuid] for device in found.picks or ()]
