"""Answers about what HAMi reads and counts."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Final

from policy.facts import Card, Device, Entry, Quota, Use
from policy.hami import annotations, codec, mutation, nodelock, quota, register, request, usage
from policy.keys import NUMA_ALIGNMENT
from policy.pod import Container, Phase, Pod
from tests.vectors.runner import Answer, Vector

_SETTINGS: Final = {
    "defaultMemory": "default_memory",
    "defaultCores": "default_cores",
    "defaultGPUNum": "default_count",
    "memoryFactor": "memory_factor",
    "overwriteEnv": "overwrite_env",
    "gpuCorePolicy": "core_policy",
    "runtimeClassName": "runtime_class",
}

_OF_THE_WHOLE: Final = frozenset(
    {annotations.WeightsFault.PART_COUNT, annotations.WeightsFault.FORM, annotations.WeightsFault.ALL_ZERO}
)


def _or_error(refusal: type[ValueError], answer: Callable[[Any], object]) -> Answer:
    """Make an answer of a function of the vector's input; its refusal is the answer `error`."""

    @wraps(answer)
    def answered(vector: Vector) -> object:
        try:
            return answer(vector.input)
        except refusal:
            return "error"

    return answered


def _device(source: Mapping[str, Any]) -> Device:
    slots = max(source.get("slots", 1), 1)
    return Device(source["uuid"], source["mem"], source["cores"], source["type"], slots)


def _entry(source: Sequence[Mapping[str, Any]]) -> Entry:
    return tuple(_device(device) for device in source)


def _entries(source: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[Entry, ...]:
    return tuple(_entry(entry) for entry in source)


def _decode(value: str | None) -> object:
    if value is None:
        return None
    return [[_device_fields(device) for device in entry] for entry in codec.decode(value)]


def _device_fields(device: Device) -> dict[str, object]:
    fields = {"uuid": device.uuid, "type": device.type, "mem": device.memory, "cores": device.cores}
    return fields | ({"slots": device.slots} if device.slots > 1 else {})


def _card_fields(card: Card) -> dict[str, object]:
    return {
        "id": card.uuid,
        "index": card.index,
        "count": card.slots,
        "devmem": card.memory,
        "devcore": card.cores,
        "type": card.type,
        "numa": card.numa,
        "mode": card.mode,
        "health": card.healthy,
    }


def _cards(read: Callable[[str], Sequence[Card]]) -> Callable[[str], object]:
    return lambda text: [_card_fields(card) for card in read(text)]


def _lock(text: str) -> object:
    lock = nodelock.parse_lock(text)
    return {"time": lock.time, "ns": lock.namespace, "name": lock.name}


def _alignment(text: str | None) -> object:
    return annotations.alignment({} if text is None else {NUMA_ALIGNMENT: text})


def _weights(vector: Vector) -> object:
    try:
        found = annotations.weights(vector.input)
    except annotations.WeightsError as error:
        return {"error_class": str(error.fault) if error.fault in _OF_THE_WHOLE else f"{error.fault}:{error.key}"}
    return [found.slot, found.core, found.memory]


def config(source: Mapping[str, Any]) -> request.HamiConfig:
    """Read the settings that a vector names."""
    return request.HamiConfig(**{_SETTINGS[key]: value for key, value in source.items()})


def _container(source: Mapping[str, Any], phase: Phase = Phase.APP) -> Container:
    return Container(
        name=source.get("name", "c"),
        phase=phase,
        path="",
        limits=source.get("limits", {}),
        requests=source.get("requests", {}),
        env=tuple(source.get("env", ())),
    )


def _request(source: Mapping[str, Any]) -> object:
    found = request.read_request(_container(source["container"]), config(source["config"]))
    if found is None:
        return {"nums": 0, "mem": 0, "pct": 0, "cores": 0}
    return {"nums": found.nums, "mem": found.memory, "pct": found.percent, "cores": found.cores}


def _mutate(source: Mapping[str, Any]) -> object:
    container, settings = _container(source["container"]), config(source["config"])
    found = mutation.mutate(container, settings, settings.overwrite_env)
    before = [[entry["name"], entry["value"]] for entry in container.env]
    return {
        "hasResource": found.has_resource,
        "limits": {**container.limits, **found.limits},
        "env": before + [list(added) for added in found.env],
    }


def _quota(source: Mapping[str, Any]) -> object:
    settings = config(source.get("config", {}))
    init = [_container(item, _init_phase(item)) for item in source["init"]]
    app = [_container(item) for item in source["app"]]
    memory, cores = source["quota"].get("mem", {}), source["quota"].get("cores", {})
    return quota.fits(
        Quota(memory.get("limit"), cores.get("limit")),
        Use(0, memory.get("used", 0), cores.get("used", 0)),
        quota.webhook_need(Pod(containers=(*init, *app)), settings),
        settings.memory_factor,
    )


def _init_phase(source: Mapping[str, Any]) -> Phase:
    return Phase.SIDECAR if source.get("restartPolicy") == "Always" else Phase.INIT


def phases(source: Mapping[str, Any]) -> list[Phase]:
    """Return the phases of the containers that a vector counts."""
    init = range(source["numInit"])
    sidecars = source["sidecarIndexes"]
    return [Phase.SIDECAR if place in sidecars else Phase.INIT for place in init] + [Phase.APP] * source["numApp"]


def _counted(
    count: Callable[[Sequence[Entry], Sequence[Phase]], Mapping[str, Use]],
) -> Answer:
    def answered(vector: Vector) -> object:
        found = count(_entries(vector.input["entries"]), phases(vector.input))
        return [
            {"uuid": uuid, "mem": use.memory, "cores": use.cores, "slots": use.slots} for uuid, use in found.items()
        ]

    return answered


ANSWERS: Final[Mapping[str, Answer]] = {
    "codec.encode_container": _or_error(codec.CodecError, lambda source: codec.encode_entry(_entry(source))),
    "codec.encode_pod": _or_error(codec.CodecError, lambda source: codec.encode(_entries(source))),
    "codec.decode_pod": _or_error(codec.CodecError, _decode),
    "codec.decode_pod_edge": _or_error(codec.CodecError, _decode),
    "codec.after_device_plugin_allocate": _or_error(codec.CodecError, codec.consume_first),
    "codec.decode_node_legacy": _or_error(register.RegisterError, _cards(register.read_legacy)),
    "register.json_parse": _or_error(register.RegisterError, _cards(register.parse_cards)),
    "register.node_devices": _or_error(register.RegisterError, _cards(register.read_cards)),
    "pair_scores.parse": _or_error(register.RegisterError, register.read_pair_scores),
    "client.physical_id": lambda vector: register.physical_id(vector.input),
    "nodelock.parse": _or_error(nodelock.NodeLockError, _lock),
    "annotation.numa_alignment": _or_error(annotations.AnnotationError, _alignment),
    "annotation.scoring_weights": _weights,
    "annotation.gputype": lambda vector: annotations.allows_type(vector.input["annotations"], vector.input["type"]),
    "annotation.gpuuuid": lambda vector: annotations.allows_uuid(vector.input["annotations"], vector.input["uuid"]),
    "request.parse": _or_error(request.InvalidRequestError, _request),
    "webhook.mutate_container": _or_error(mutation.MutationError, _mutate),
    "webhook.quota": _or_error(request.InvalidRequestError, _quota),
    "accounting.collapse": _counted(usage.effective),
    "accounting.steady": _counted(usage.steady),
}
