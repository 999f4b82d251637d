"""Answers about which cards are taken: order, score, fit and refit."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from policy.facts import Card, Device, Entry, Facts, Node, Quota, Use, gather
from policy.hami.annotations import Weights
from policy.hami.request import HamiConfig, Request
from policy.hami.usage import reserve
from policy.keys import ASSIGNED_NODE, NVIDIA
from policy.placement.fit import Fit, fit, fit_node
from policy.placement.order import Order, Standing, score, visiting
from policy.placement.refit import Moved, RefitRequest, Refused, decide
from policy.placement.rules import Budget, Layout, Rules
from policy.pod import Container, Phase, Pod
from tests.vectors.classes import means, usual_name
from tests.vectors.runner import Answer, Vector

_FIT_TEXT: Final = re.compile(r"\d+/\d+ \w+(?:, \d+/\d+ \w+)*|AllowedDeviceSetUnmatched|NodeInsufficientDevice")


def cards(source: Sequence[Mapping[str, Any]]) -> tuple[Card, ...]:
    """Read the cards that a vector shows."""
    return tuple(
        Card(
            uuid=item["id"],
            index=item.get("index", 0),
            slots=item["count"],
            memory=item["totalmem"],
            cores=item["totalcore"],
            type=item["type"],
            numa=item.get("numa", 0),
            mode=item.get("mode", ""),
            healthy=item.get("health", True),
            vendor=item["vendor"],
        )
        for item in source
    )


def used(source: Sequence[Mapping[str, Any]]) -> dict[str, Use]:
    """Read what is taken of each card."""
    return {item["id"]: Use(item["used"], item["usedmem"], item["usedcores"]) for item in source}


def _request(source: Mapping[str, Any]) -> Request:
    return Request(source["nums"], source["mem"], source["pct"], source["cores"])


def _try_order(source: Mapping[str, Any]) -> object:
    standings = [
        Standing(Card(item["id"], index=item["index"], numa=item["numa"]), item["score"], item["used"])
        for item in source["devices"]
    ]
    return [card.uuid for card in visiting(standings, source["policy"], Order.HAMI, numa_bind=source["numaBind"])]


def _score(source: Mapping[str, Any]) -> object:
    device = source["device"]
    requests = [_request(item) for item in source["requests"] if item["type"] == device["vendor"]]
    (card,) = cards([device])
    return score(card, used([device])[card.uuid], requests, Weights(*source["weights"]), Order.HAMI)


def _rules(source: Mapping[str, Any], annotations: Mapping[str, str]) -> Rules:
    return replace(
        Rules.of(annotations, HamiConfig().default_gpu_policy),
        cordoned=frozenset(source.get("cordon", ())),
        pair_scores=source.get("pairs", {}),
        budget=_budget(source) if "quota" in source else None,
    )


def _budget(source: Mapping[str, Any]) -> Budget:
    prior = tuple(_entry(entry) for entry in source.get("prior", ()))
    init, app = source.get("ni", 0), source.get("na", 1)
    phases = [Phase.INIT] * init + [Phase.APP] * app
    blank = max(len(phases) - len(prior), 1)
    limits, taken = _quota(source["quota"])
    return Budget(limits, taken, 1, Layout(prior + ((),) * blank, phases), len(prior))


def _entry(source: Sequence[Mapping[str, Any]]) -> Entry:
    return tuple(Device(item["uuid"], item["mem"], item["cores"], item["type"]) for item in source)


def _quota(source: Mapping[str, Any]) -> tuple[Quota, Use]:
    memory, cores = source.get("mem", {}), source.get("cores", {})
    return Quota(memory.get("limit"), cores.get("limit")), Use(0, memory.get("used", 0), cores.get("used", 0))


def _fit_fields(found: Fit) -> dict[str, object]:
    picks = found.picks or ()
    return {
        "fit": found.fits,
        "uuids": [device.uuid for device in picks],
        "reason": found.text,
        "mem": [device.memory for device in picks],
    }


def fit_listed(source: Mapping[str, Any]) -> dict[str, object]:
    """Fit to cards that HAMi tries from the last to the first."""
    wanted = source["request"]["type"]
    tried = [
        replace(card, vendor=NVIDIA if card.vendor == wanted else "another")
        for card in reversed(cards(source["devicesInListOrder"]))
    ]
    rules = _rules(source, source.get("annos", {}))
    return _fit_fields(fit(_request(source["request"]), tried, used(source["devicesInListOrder"]), rules))


def fit_restricted(source: Mapping[str, Any]) -> dict[str, object]:
    """Fit to the cards of a node that are allowed."""
    rules = replace(_rules(source, source["annotations"]), offered=frozenset(source["allowed"]))
    devices = source["devices"]
    return _fit_fields(fit_node(_request(source["request"]), cards(devices), used(devices), rules, Order.HAMI))


def _container(name: str, phase: Phase, *, ended: bool) -> Container:
    return Container(name, phase, path="", limits={}, requests={}, ended=ended and phase is Phase.INIT)


def _pod(uid: str, source: Mapping[str, Any]) -> Pod:
    released, sidecars = source.get("released", False), source.get("sidecarIndexes", ())
    init = [
        _container(name, Phase.SIDECAR if place in sidecars else Phase.INIT, ended=released)
        for place, name in enumerate(source["init"])
    ]
    app = [_container(name, Phase.APP, ended=False) for name in source["app"]]
    return Pod(
        namespace=source["ns"],
        name=source["name"],
        uid=uid,
        annotations={ASSIGNED_NODE: source["node"], **source["annos"]},
        containers=(*init, *app),
    )


def facts(state: Mapping[str, Any]) -> Facts:
    """Build the cluster that a refit vector shows: one node, its cards, and the pods on it."""
    pods = [_pod(uid, source) for uid, source in state["pods"].items()]
    node = Node(
        pods[0].annotations[ASSIGNED_NODE],
        cards=cards(state["devices"]),
        cordoned=frozenset(state.get("cordon", ())),
        pair_scores=state.get("pairs", {}),
    )
    reservations = [held for held in (reserve(pod) for pod in pods) if held is not None]
    limits, taken = _quota(state.get("quota", {}))
    found = gather([node], reservations, {pods[0].namespace: limits}, {}, None)
    on_node = found.nodes[node.name]
    use = {uuid: amount + on_node.use.get(uuid, Use()) for uuid, amount in used(state["devices"]).items()}
    quota_use = {name: held.peak(taken) for name, held in found.quota_use.items()}
    return replace(found, nodes={node.name: replace(on_node, use={**on_node.use, **use})}, quota_use=quota_use)


def _refit(vector: Vector) -> object:
    asked = vector.input["request"]
    request = RefitRequest(
        pod_uid=asked.get("podUID", ""),
        pod_namespace=asked.get("podNamespace", ""),
        pod_name=asked.get("podName", ""),
        node_name=asked.get("nodeName", ""),
        container_index=asked.get("containerIndex", 0),
        container_name=asked.get("containerName", ""),
        device_type=asked.get("deviceType", ""),
        allowed=tuple(asked.get("allowedDeviceUUIDs") or ()),
    )
    found = decide(request, facts(vector.input["state"]), HamiConfig(), Order.HAMI)
    if isinstance(found, Refused):
        asserted = vector.expected.get("reason_class", "") if isinstance(vector.expected, dict) else ""
        return {"succeeded": False, "reason_class": _class_of(found, asserted)}
    moved = isinstance(found, Moved)
    written = {"annotations": dict(found.annotations)} if isinstance(found, Moved) else {}
    return {"succeeded": True, "containerDevices": found.container_devices, "patched": moved, **written}


def _class_of(found: Refused, expected: str) -> str:
    """The collection's name for a refusal, with HAMi's own words where it is about the fit; else numafit's code."""
    name = expected.partition(":")[0] if means(expected, [found.code]) else usual_name(found.code)
    text = _FIT_TEXT.search(found.reason)
    return f"{name}: {text[0]}" if name == "no_fit" and text else name


def _of_input(answer: Callable[[Mapping[str, Any]], object]) -> Answer:
    def answered(vector: Vector) -> object:
        return answer(vector.input)

    return answered


ANSWERS: Final[Mapping[str, Answer]] = {
    "policy.try_order": _of_input(_try_order),
    "policy.device_score": _of_input(_score),
    "fit.nvidia": _of_input(fit_listed),
    "fit.restricted": _of_input(fit_restricted),
    "refit": _refit,
}
