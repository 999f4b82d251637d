"""The history of a cluster: a file with one JSON object in each line, each an event of a pod or a sample of idle GPUs.

```
{"at": "2026-11-02T10:00:00Z", "event": "reserved", "namespace": "research", "pod": "train-0", "gpus": 2,
 "group": "train", "members": 4, "class": "training"}
{"at": "2026-11-02T10:00:00Z", "event": "sample", "free": 8, "runnable": 0, "groupRunnable": 0, "waiting": true}
```
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from policy.cost.idle import Period
from policy.cost.lives import Life
from policy.cost.money import amount
from policy.hami.errors import shown
from webhook.cli.errors import InputError
from webhook.cluster.moments import moment

EVENTS: Final = ("created", "reserved", "started", "failed", "released")
SAMPLE: Final = "sample"


class _UnreadableLineError(ValueError):
    """A line is none of a history; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Idle GPUs at one moment, and until the next sample.

    Attributes:
        free: GPUs that nobody has.
        runnable: of those, GPUs on which waiting pods could run, each by itself.
        group_runnable: of those, GPUs on which whole groups could start.
        waiting: whether any work waits.
    """

    at: Fraction
    free: int
    runnable: int
    group_runnable: int
    waiting: bool


@dataclass(slots=True)
class History:
    """What files say.

    Attributes:
        lives: UID, or namespace and name -> the pod.
        until: the last moment that is spoken of; None if none is.
        problems: lines that could not be read.
    """

    lives: dict[str, Life] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    begin: Fraction | None = None
    until: Fraction | None = None
    problems: list[str] = field(default_factory=list)

    def periods(self) -> list[Period]:
        """Return the times between samples, the last one up to the end of the history."""
        ordered = sorted(self.samples, key=lambda sample: sample.at)
        ends = [*(sample.at for sample in ordered[1:]), self.until or Fraction(0)]
        return [
            Period(end - each.at, each.free, each.runnable, each.group_runnable, demand=each.waiting)
            for each, end in zip(ordered, ends, strict=False)
        ]

    def reach(self, at: Fraction) -> None:
        """Note that something was seen ``at`` a moment."""
        self.begin = at if self.begin is None else min(self.begin, at)
        self.until = at if self.until is None else max(self.until, at)


def read_history(paths: Iterable[Path]) -> History:
    """Read histories, in any order of their lines; an event that is told twice counts once, the first time.

    Raises:
        InputError: a file cannot be read.
    """
    history, told = History(), dict[str, dict[str, Any]]()
    for path in paths:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise InputError(f"{path}: cannot be read: {reason}") from None
        for number, line in enumerate(lines, start=1):
            try:
                if line.strip():
                    _take(_decoded(line), history, told)
            except _UnreadableLineError as error:
                history.problems.append(f"{path}:{number}: {error}; the line is left out")
    for key, one in told.items():
        history.lives[key] = Life(**one)
    return history


def _decoded(line: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _UnreadableLineError(f"is no JSON ({error})") from None
    if not isinstance(found, dict):
        raise _UnreadableLineError(f"is {shown(found)}; each line must be a JSON object")
    return found


def _take(line: Mapping[str, Any], history: History, told: dict[str, dict[str, Any]]) -> None:
    at, event = _at(line), line.get("event")
    if event == SAMPLE:
        history.samples.append(_sample(line, at))
    elif event in EVENTS:
        _tell(line, str(event), at, told)
    else:
        raise _UnreadableLineError(f"event is {shown(event)}; it must be one of {', '.join((*EVENTS, SAMPLE))}")
    history.reach(at)


def _at(line: Mapping[str, Any]) -> Fraction:
    at = moment(line.get("at"))
    if at is None or not 0 <= at < _YEAR_10000:
        raise _UnreadableLineError(f"at is {shown(line.get('at'))}; it must be a time such as 2026-11-02T10:00:00Z")
    return amount(at)


_YEAR_10000: Final = 253_402_300_800
"""Neither clusters nor Python's calendar go on from there."""


def _sample(line: Mapping[str, Any], at: Fraction) -> Sample:
    free, runnable, whole = (_number(line, key) for key in ("free", "runnable", "groupRunnable"))
    waiting = line.get("waiting", True)
    if not isinstance(waiting, bool):
        raise _UnreadableLineError(f"waiting is {shown(waiting)}; it must be true or false")
    return Sample(at, free, runnable, whole, waiting)


def _number(line: Mapping[str, Any], key: str) -> int:
    value = line.get(key, 0)
    if type(value) is not int or not 0 <= value < _MOST:
        raise _UnreadableLineError(f"{key} is {shown(value)}; it must be a whole number from 0 to {_MOST - 1}")
    return value


_MOST: Final = 10**9


def _tell(line: Mapping[str, Any], event: str, at: Fraction, told: dict[str, dict[str, Any]]) -> None:
    namespace, name = (_text(line, key) for key in ("namespace", "pod"))
    if not namespace or not name:
        raise _UnreadableLineError("an event of a pod names its namespace and pod")
    known = {field: read(line, key) for key, (field, read) in _FIELDS.items() if key in line}
    new = {"namespace": namespace, "name": name, "gpus": Fraction(0)}
    one = told.setdefault(_text(line, "uid") or f"{namespace}/{name}", new)
    one |= known
    one[event] = min(one.get(event, at), at)


def _text(line: Mapping[str, Any], key: str) -> str:
    value = line.get(key, "")
    if not isinstance(value, str):
        raise _UnreadableLineError(f"{key} is {shown(value)}; it must be text")
    return value


def _gpus(line: Mapping[str, Any], key: str) -> Fraction:
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        raise _UnreadableLineError(f"{key} is {shown(value)}; it must be a number of GPUs such as 2 or 0.5")
    return amount(value)


_FIELDS: Final[Mapping[str, tuple[str, Callable[[Mapping[str, Any], str], object]]]] = {
    "gpus": ("gpus", _gpus),
    "group": ("group", _text),
    "members": ("members", _number),
    "class": ("kind", _text),
}
"""What a line may say of its pod beside the event: key -> field, and how it is read."""
