"""What kubelet answers to a pod.

Where kubelet picks arbitrarily, every pick that could matter later is followed; the first path followed, with the
lowest ids, is the one that a prediction describes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from policy.kubelet.admission import Path, paths
from policy.kubelet.demand import Demand
from policy.kubelet.held import Held
from policy.kubelet.outcome import End, Panic, Prediction, Refusal, Verdict
from policy.kubelet.settings import StartError
from policy.kubelet.start import Kubelet

MOST_PATHS: Final = 256
"""Paths of arbitrary picks that are followed for one pod."""


def predict(kubelet: Kubelet | StartError, held: Held, demand: Demand, before: Sequence[Demand] = ()) -> Prediction:
    """Predict what kubelet answers to a pod.

    Args:
        kubelet: as `start` made it.
        held: what pods hold already.
        demand: what the pod asks for.
        before: pods that are admitted on the way, first ones first.
    """
    return predict_all(kubelet, held, (*before, demand))[-1]


def predict_all(kubelet: Kubelet | StartError, held: Held, demands: Sequence[Demand]) -> tuple[Prediction, ...]:
    """Predict what kubelet answers to each of several pods that come one after the other."""
    if isinstance(kubelet, StartError):
        never = Prediction(Verdict.NO_START, message=kubelet.text, outcomes=frozenset({Verdict.NO_START.value}))
        return tuple(replace(never, qos=demand.qos) for demand in demands)
    predictions = []
    states: list[Held] = [held]
    for place, demand in enumerate(demands):
        last = place == len(demands) - 1
        walked = [path for state in states for path in islice(paths(kubelet, state, demand, last=last), MOST_PATHS + 1)]
        predictions.append(_prediction(walked[: MOST_PATHS * len(states)], demand, complete=len(walked) <= MOST_PATHS))
        states = _distinct(path.held for path in walked)[:MOST_PATHS]
    return tuple(predictions)


def _distinct(states: Iterable[Held]) -> list[Held]:
    found: list[Held] = []
    for state in states:
        if state not in found:
            found.append(state)
    return found


def _prediction(walked: Sequence[Path], demand: Demand, *, complete: bool) -> Prediction:
    first = walked[0]
    verdict, reason, message = _words(first.end)
    return Prediction(
        verdict,
        demand.qos,
        reason,
        message,
        first.containers,
        first.hints,
        first.merged,
        frozenset(reason or verdict.value for verdict, reason, _ in (_words(path.end) for path in walked)),
        complete,
        _cards(walked),
    )


def _cards(walked: Iterable[Path]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for path in walked:
        for container in path.containers:
            for name, choice in container.devices.items():
                found[name] = found.get(name, frozenset()) | choice.possible_cards
    return found


def _words(end: End | None) -> tuple[Verdict, str, str]:
    if end is None:
        return Verdict.ADMIT, "", ""
    if isinstance(end, Refusal):
        return Verdict.REJECT, end.reason, end.message
    return (Verdict.PANIC if isinstance(end, Panic) else Verdict.STALL), "", end.text
