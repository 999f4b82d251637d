"""Whether one container's request fits a row of cards, and if not, why each card is refused.

The checks, their order and their words are HAMi's (HAMi: fit of NVIDIA cards); `numa-bind` is judged by whole
NUMA nodes (docs/decisions.md 5).
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from policy.facts import NOTHING, Card, Device, Entry, Use
from policy.hami import reasons as words
from policy.hami.request import WHOLE_CARD, Request
from policy.keys import NVIDIA
from policy.placement.affordable import affordable
from policy.placement.linked import best_linked
from policy.placement.numabind import group_of, shortfall
from policy.placement.order import Order, arrange, memory_on
from policy.placement.rules import Rules

MIG_MODE: Final = "mig"
"""Of a card that is cut into instances. HAMi chooses those by profile; numafit places nothing there."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What came of fitting one container's request.

    Attributes:
        picks: the cards taken, in the order of taking; None if the request does not fit.
        reasons: UUID -> HAMi's word, of each card that was tried and not taken.
        candidates: how many cards there were to try.
        token: HAMi's word for a refusal before any card was tried, else empty.
    """

    picks: Entry | None
    reasons: Mapping[str, str] = field(default_factory=dict)
    candidates: int = 0
    token: str = ""

    @property
    def fits(self) -> bool:
        """Whether the request was served."""
        return self.picks is not None

    @property
    def counts(self) -> Mapping[str, int]:
        """HAMi's word -> number of cards."""
        return Counter(self.reasons.values())

    @property
    def text(self) -> str:
        """The refusal as HAMi writes it, e.g. `1/2 CardCordoned, 1/2 CardNotHealth`; empty if it fits."""
        if self.fits or self.token:
            return self.token
        return ", ".join(sorted(f"{count}/{self.candidates} {word}" for word, count in self.counts.items()))


def fit_node(request: Request, cards: Sequence[Card], use: Mapping[str, Use], rules: Rules, order: Order) -> Fit:
    """Fit ``request`` to the cards of a node, in the order of the pod's policy.

    Candidates are the cards that may be offered and whose type holds the vendor's word. ``use`` says by UUID what
    is already taken.
    """
    candidates = [card for card in cards if rules.offers(card.uuid) and NVIDIA in card.type.upper()]
    if rules.offered is not None and not candidates:
        return Fit(None, token=words.ALLOWED_DEVICE_SET_UNMATCHED)
    if request.nums > len(candidates):
        return Fit(None, candidates=len(candidates), token=words.NODE_INSUFFICIENT_DEVICE)
    return fit(request, arrange(request, candidates, use, rules, order), use, rules)


def fit(request: Request, cards: Sequence[Card], use: Mapping[str, Use], rules: Rules) -> Fit:
    """Fit ``request`` to ``cards``, tried in the order given, best first.

    ``use`` says by UUID what is already taken.
    """
    bound = rules.numa_bind and request.nums > 1
    groups: dict[Hashable, list[Device]] = {}
    usable: dict[str, Hashable] = {}
    refused: dict[str, str] = {}
    for card in cards:
        group = group_of(card) if bound else ""
        picks = groups.setdefault(group, [])
        device = Device(card.uuid, memory_on(card, request), request.cores)
        beside = () if rules.topology_aware else tuple(picks)
        reason = refusal(card, device, use.get(card.uuid, NOTHING), rules, beside)
        if reason:
            refused[card.uuid] = reason
            continue
        picks.append(device)
        usable[card.uuid] = group
        if len(picks) == request.nums and not rules.topology_aware:
            return Fit(tuple(picks), refused, len(cards))
    chosen, left = _choose(request.nums, groups, usable, rules)
    if chosen is None and words.RESOURCE_QUOTA_NOT_FIT in {*refused.values(), *left.values()}:
        return _afforded(request, cards, use, rules) or Fit(None, refused | left, len(cards))
    return Fit(chosen, refused | left, len(cards))


def _choose(
    nums: int, groups: Mapping[Hashable, Sequence[Device]], usable: Mapping[str, Hashable], rules: Rules
) -> tuple[Entry | None, dict[str, str]]:
    complete = [tuple(group) for group in groups.values() if rules.topology_aware and len(group) >= nums]
    if not complete:
        return None, shortfall(usable)
    sets = [best_linked(group, nums, rules.pair_scores, rules.affords) for group in complete]
    best = max((each for each in sets if each), key=lambda each: each.score, default=None)
    if best is None:
        return None, dict.fromkeys(usable, words.RESOURCE_QUOTA_NOT_FIT)
    return best.devices, {}


def _afforded(request: Request, cards: Sequence[Card], use: Mapping[str, Use], rules: Rules) -> Fit | None:
    """Take cards that the quota can pay together although it cannot pay the first ones; None if there are none."""
    groups: dict[Hashable, list[Device]] = {}
    reasons: dict[str, str] = {}
    for card in cards:
        device = Device(card.uuid, memory_on(card, request), request.cores)
        reason = refusal(card, device, use.get(card.uuid, NOTHING), rules)
        reasons[card.uuid] = reason or words.RESOURCE_QUOTA_NOT_FIT
        if not reason:
            groups.setdefault(group_of(card) if rules.numa_bind else "", []).append(device)
    for group in groups.values():
        found = rules.budget and affordable(tuple(group), request.nums, rules.budget)
        if found:
            taken = {device.uuid for device in found}
            return Fit(found, {uuid: why for uuid, why in reasons.items() if uuid not in taken}, len(cards))
    return None


def refusal(card: Card, device: Device, held: Use, rules: Rules, beside: Entry = ()) -> str:
    """Return HAMi's word for why ``card`` cannot give ``device``, empty if it can.

    ``held`` is what is already taken of the card, ``beside`` what the container gets of others.
    """
    return (
        _barred(card, rules)
        or _unfit(card, device, held, rules)
        or ("" if rules.affords((*beside, device)) else words.RESOURCE_QUOTA_NOT_FIT)
        or _short(card, device, held)
    )


def _barred(card: Card, rules: Rules) -> str:
    if not card.healthy:
        return words.CARD_NOT_HEALTH
    if card.uuid in rules.cordoned:
        return words.CARD_CORDONED
    allowed = rules.filter.allows_type(card.type) and rules.filter.allows_mode(card.mode)
    if not allowed or card.vendor != NVIDIA:
        return words.CARD_TYPE_MISMATCH
    return "" if rules.filter.allows_uuid(card.uuid) else words.CARD_UUID_MISMATCH


def _unfit(card: Card, device: Device, held: Use, rules: Rules) -> str:
    if card.slots <= held.slots:
        return words.CARD_TIME_SLICING_EXHAUSTED
    if rules.mutex and held.slots > 0:
        return words.EXCLUSIVE_DEVICE_ALLOCATE_CONFLICT
    if not 0 <= device.cores <= WHOLE_CARD:
        return words.CARD_INSUFFICIENT_CORE
    return words.CARD_MIG_TOPOLOGY_INFEASIBLE if card.mode == MIG_MODE else ""


def _short(card: Card, device: Device, held: Use) -> str:
    if card.memory - held.memory < device.memory:
        return words.CARD_INSUFFICIENT_MEMORY
    if card.cores - held.cores < device.cores:
        return words.CARD_INSUFFICIENT_CORE
    whole = card.cores == WHOLE_CARD == device.cores
    if whole and held.slots > 0:
        return words.EXCLUSIVE_DEVICE_ALLOCATE_CONFLICT
    exhausted = card.cores != 0 and held.cores == card.cores and device.cores == 0
    return words.CARD_COMPUTE_UNITS_EXHAUSTED if exhausted else ""
