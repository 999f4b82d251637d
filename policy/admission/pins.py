"""Rules about the number of pinned cards, which need no facts (docs/admission.md, "The combination table")."""

from policy import keys
from policy.admission.case import SIBLING_MAKERS, Case
from policy.admission.spelling import has_malformed_pins, quoted


def gpus(number: int) -> str:
    """A number of GPUs in words."""
    return "1 GPU" if number == 1 else f"{number} GPUs"


def has_too_few_pins(case: Case) -> bool:
    """Tell whether one of the three rules about too few pins holds."""
    return bool(pinned_fewer_than_requested(case) or pinned_and_excluded(case) or pinned_fewer_than_whole_cards(case))


def _lacks_pins(case: Case) -> bool:
    return bool(case.pins) and not case.is_mig and case.most > len(case.pins)


def _lacks_left_pins(case: Case) -> bool:
    return bool(case.pins) and not case.is_mig and len(case.left) < case.most <= len(case.pins)


def pinned_fewer_than_requested(case: Case) -> str | None:
    """A container asks for more GPUs than `nvidia.com/use-gpuuuid` names."""
    if not _lacks_pins(case):
        return None
    name, most, pins = case.first_of_most.container.name, case.most, len(case.pins)
    return (
        f"container {quoted(name)} asks for {gpus(most)}, {keys.USE_UUID} names {pins}; name {most} or ask for {pins}."
    )


def pinned_and_excluded(case: Case) -> str | None:
    """Enough GPUs are pinned, but `nvidia.com/nouse-gpuuuid` excludes so many of them that too few are left."""
    if not _lacks_left_pins(case):
        return None
    name, left, pins = case.first_of_most.container.name, len(case.left), len(case.pins)
    return (
        f"container {quoted(name)} asks for {gpus(case.most)}, {keys.NOUSE_UUID} leaves {left} of the {pins} in "
        f"{keys.USE_UUID}; name each card in one of them."
    )


def pinned_fewer_than_whole_cards(case: Case) -> str | None:
    """The containers that run together take more whole cards than are pinned; whole cards are not shared."""
    if not case.pins or case.is_mig or len(case.left) < case.most or case.at_once <= len(case.left):
        return None
    left = len(case.left)
    return f"the containers take {gpus(case.at_once)} at once, {keys.USE_UUID} leaves {left}; pin as many or share."


def pin_also_excluded(case: Case) -> str | None:
    """A GPU is pinned and excluded, so it is not used; enough others are left."""
    if len(case.left) == len(case.pins) or _lacks_left_pins(case):
        return None
    left = frozenset(case.left)
    both = next(pin for pin in case.pins if pin not in left)
    return f"{quoted(both)} is in {keys.NOUSE_UUID} too and not used; drop one."


def pinned_no_room_to_refit(case: Case) -> str | None:
    """A refit moves only within the pins, and no pinned GPU is to spare.

    If kubelet's choice differs, it cannot be repaired.
    """
    if not case.refits or not case.pins or case.is_mig or len(case.left) > case.most:
        return None
    if has_malformed_pins(case) or has_too_few_pins(case):
        return None
    outcome = "the container may fail" if case.mode == "strict" else "kubelet's choice stands"
    return f"{keys.USE_UUID} has no spare card to refit to: {outcome}; pin one more."


def pinned_whole_card_replicated(case: Case) -> str | None:
    """A controller makes pods alike that each take pinned GPUs whole; there are not enough pins for two."""
    if not case.pins or case.pod.owner_kind not in SIBLING_MAKERS or not any(gpu.whole_card for gpu in case.gpus):
        return None
    if 2 * case.at_once <= len(case.left):
        return None
    cards, left = case.at_once, len(case.left)
    return (
        f"each replica takes {cards} of {left} pinned cards whole, a second stays Pending; pin {2 * cards} or run one."
    )
