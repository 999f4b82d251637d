"""Compares what kubelet answered with what the model predicts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tests.kubelet_judge.judge import Answer, Question
from tests.vectors.topology import predictions, shown

ARBITRARY: Final = object()
"""Stands in an answer for what differs between runs: kubelet walks a Go map there."""


def predicted(question: Question) -> Answer:
    """Ask the model, and write its answer in the words of the vectors."""
    pods = predictions(question)
    answer = shown(pods[-1])
    answer["before"] = [{"admit": each.admitted, "reason": each.reason or None} for each in pods[:-1]]
    for container in answer["containers"]:
        container["cpus"] = container["cpus"] or ""
        container["devices"] = {name: choice for name, choice in container["devices"].items() if choice["size"]}
    return answer


def common(runs: Sequence[Answer]) -> Answer:
    """Keep what all runs agree in, and ARBITRARY in the place of what differs between them."""
    shared: Answer = runs[0]
    for run in runs[1:]:
        shared = _common(shared, run)
    return shared


def _common(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: _common(one.get(key, ARBITRARY), other.get(key, ARBITRARY)) for key in {**one, **other}}
    if _are_objects(one) and _are_objects(other) and len(one) == len(other):
        return [_common(left, right) for left, right in zip(one, other, strict=True)]
    return one if one == other else ARBITRARY


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def outcome(answer: Answer) -> str:
    """Name how a run ended: admit, the reason of a refusal, panic, stall or no-start."""
    if "panic" in answer:
        return "panic"
    if "stalls" in answer:
        return "stall"
    if "start_error" in answer:
        return "no-start"
    return "admit" if answer["admit"] else str(answer["reason"])


def disagreements(runs: Sequence[Answer], model: Answer) -> list[str]:
    """List where kubelet's runs and the model differ; the model must name every end that was seen."""
    ends = sorted({outcome(run) for run in runs})
    strange = [end for end in ends if end not in model["outcomes"]]
    if strange:
        return [f"outcomes: kubelet ended in {', '.join(strange)}, the model knows {', '.join(model['outcomes'])}"]
    steady = {key: value for key, value in common(runs).items() if key != "stalls"}
    found = list(_differences(steady, model, ""))
    # What pods before it picked arbitrarily, an answer does not tell; after them the bounds are those of one path.
    apart = [] if "before" in steady else [text for run in runs for text in _outside(run, model)]
    return found + apart[:1]


def _differences(kubelet: Any, model: Any, path: str) -> Iterator[str]:
    if kubelet is ARBITRARY or path.endswith(".picked"):
        return  # What is picked is held against the bounds, run by run.
    if isinstance(kubelet, Mapping) and isinstance(model, Mapping):
        named = {**kubelet, **model} if path.endswith(_CLOSED) else kubelet
        for key in named:
            inner = f"{path}.{key}" if path else key
            yield from _differences(kubelet.get(key, "nothing"), model.get(key, "nothing"), inner)
    elif _are_objects(kubelet) and isinstance(model, list) and len(kubelet) == len(model):
        for place, (one, other) in enumerate(zip(kubelet, model, strict=True)):
            yield from _differences(one, other, f"{path}[{place}]")
    elif kubelet != model:
        yield f"{path}: kubelet {kubelet!r}, model {model!r}"


_CLOSED: Final = ("hints", "devices")
"""Objects in which the model may name nothing that kubelet does not."""


def _outside(run: Answer, model: Answer) -> Iterator[str]:
    """Name bounds of the model that a run disproves, as long as both went the same way."""
    for place, (real, foreseen) in enumerate(zip(run.get("containers", ()), model["containers"], strict=False)):
        pairs = {name: (choice, foreseen["devices"].get(name)) for name, choice in real.get("devices", {}).items()}
        for name, (choice, bounds) in pairs.items():
            if bounds is None or bounds["call"] != choice["call"]:
                return  # An earlier arbitrary pick led this run elsewhere.
            if _breaks(choice, bounds):
                yield f"containers[{place}].devices.{name}: kubelet {choice}, outside of {bounds}"
        if any(choice["picked"] != bounds["picked"] for choice, bounds in pairs.values()):
            return


def _breaks(choice: Mapping[str, Any], bounds: Mapping[str, Any]) -> bool:
    call, forced, allowed = choice["call"], set(bounds["forced"]), set(bounds["allowed"])
    if call is not None:
        # The plugin is offered all that may be picked, and told what must be.
        must = call["available"] if len(call["available"]) == choice["size"] else call["must_include"]
        if allowed != set(call["available"]) or forced != set(must):
            return True
    return not forced <= set(choice["picked"]) <= allowed
