"""Events kept in memory, folded as Kubernetes folds them and bounded."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from webhook.cluster.interface import Event

DISTINCT: Final = 10
"""From this many different messages of one kind about one pod on, they share one record (Kubernetes: the event
correlator's limit)."""

LIMIT: Final = 1000
"""Records kept; the one that was seen longest ago goes first."""

COMBINED: Final = "(combined from similar events): "


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event with how often it was seen, and when first and last, in seconds since the epoch."""

    event: Event
    count: int
    first: float
    last: float


class EventLog:
    """A bounded memory of events. Recording costs the same however many were recorded before."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._records: OrderedDict[Event, Recorded] = OrderedDict()
        self._distinct: Counter[Event] = Counter()

    def record(self, event: Event) -> None:
        """Keep ``event``: by itself, as a repetition, or as one of many similar ones."""
        now = self._clock()
        with self._lock:
            key = self._key(event)
            shown = event if key == event else replace(event, message=COMBINED + event.message)
            known = self._records.get(key)
            if known is None:
                self._distinct[_kind(event)] += 1
                self._records[key] = Recorded(shown, 1, now, now)
            else:
                self._records[key] = replace(known, event=shown, count=known.count + 1, last=now)
                self._records.move_to_end(key)
            if len(self._records) > LIMIT:
                self._forget_oldest()

    def records(self) -> tuple[Recorded, ...]:
        """What was recorded, the one seen last at the end."""
        with self._lock:
            return tuple(self._records.values())

    def _key(self, event: Event) -> Event:
        kind = _kind(event)
        full = self._distinct[kind] >= DISTINCT - 1
        return kind if full and event not in self._records else event

    def _forget_oldest(self) -> None:
        key, _ = self._records.popitem(last=False)
        kind = _kind(key)
        self._distinct[kind] -= 1
        if not self._distinct[kind]:
            del self._distinct[kind]


def _kind(event: Event) -> Event:
    return replace(event, message="")
