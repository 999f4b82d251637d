"""Cards that a namespace's quota can pay together, where those that come first cost too much.

HAMi takes cards in the pod's order as long as the quota holds. Cards can differ in price: a percentage is more of a
large card, and a card that another container of the pod uses at another time is paid already. A dear card in front
then leaves nothing for the others, and a request could fail because of one card more.
"""

from dataclasses import dataclass

from policy.facts import NOTHING, Device, Entry, Use
from policy.placement.rules import Budget


@dataclass(frozen=True, slots=True)
class _Way:
    """Some of the candidates and what they cost together."""

    price: Use
    devices: Entry

    def and_with(self, device: Device, price: Use) -> "_Way":
        return _Way(self.price + price, (*self.devices, device))

    def is_no_dearer(self, other: "_Way") -> bool:
        return self.price.memory <= other.price.memory and self.price.cores <= other.price.cores


def affordable(candidates: Entry, wanted: int, budget: Budget) -> Entry | None:
    """Return ``wanted`` of ``candidates`` that ``budget`` allows together, None if there are none.

    Of as many cards, only the sets that none is cheaper than are carried on, in memory and in cores; of equally cheap
    ones the first. Prices are few, so the sets are.

    Args:
        candidates: usable cards, best first by the pod's policy.
        wanted: how many.
        budget: the quota; what a card costs there does not depend on the other cards.
    """
    ways: list[list[_Way]] = [[_Way(NOTHING, ())], *([] for _ in range(wanted))]
    for device in candidates:
        price = budget.price(device)
        for count in reversed(range(wanted)):
            for way in ways[count]:
                _keep(ways[count + 1], way.and_with(device, price))
    return next((way.devices for way in ways[wanted] if budget.allows(way.devices)), None)


def _keep(ways: list[_Way], new: _Way) -> None:
    if not any(way.is_no_dearer(new) for way in ways):
        ways[:] = [*(way for way in ways if not new.is_no_dearer(way)), new]
