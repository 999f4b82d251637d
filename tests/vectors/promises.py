"""What numafit promises where it takes other cards than HAMi, as far as a vector's question decides it."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Final

from policy.hami.codec import decode
from policy.hami.golang import go_bool
from policy.keys import ALLOCATED, GPU_POLICY, NUMA_BIND
from tests.vectors.placement import ANSWERS
from tests.vectors.runner import Vector

_PLACING: Final = frozenset({"fit.nvidia", "fit.restricted", "refit"})

_Json = Any
_Share = tuple[str, int, int]
"""UUID, MiB and percent of cores."""


def _pod(vector: Vector) -> _Json:
    return vector.input["state"]["pods"].get(vector.input["request"].get("podUID"), {"annos": {}})


def _annotations(vector: Vector) -> _Json:
    if vector.group == "refit":
        return _pod(vector)["annos"]
    return vector.input.get("annos", vector.input.get("annotations", {}))


def _devices(vector: Vector) -> _Json:
    if vector.group == "refit":
        return vector.input["state"]["devices"]
    return vector.input.get("devicesInListOrder", vector.input.get("devices"))


def _fits(got: _Json) -> bool:
    return got.get("fit", got.get("succeeded")) is True


def _picks(got: _Json) -> list[str]:
    entry = got.get("containerDevices")
    return got["uuids"] if entry is None else [device.uuid for device in decode(entry)[0]]


def _among(vector: Vector, uuids: set[str], annotations: _Json) -> _Json:
    """Return the answer to the same question where there are only the cards ``uuids``."""
    asked = dict(vector.input)
    if vector.group == "fit.nvidia":
        asked |= {"annos": annotations}
        asked["devicesInListOrder"] = [item for item in _devices(vector) if item["id"] in uuids]
    elif vector.group == "fit.restricted":
        asked |= {"annotations": annotations, "allowed": [item for item in asked["allowed"] if item in uuids]}
    else:
        request = asked["request"]
        pods = asked["state"]["pods"]
        pod = {**_pod(vector), "annos": annotations}
        allowed = [item for item in request["allowedDeviceUUIDs"] if item in uuids]
        asked["request"] = request | {"allowedDeviceUUIDs": allowed}
        asked["state"] = asked["state"] | {"pods": pods | {request["podUID"]: pod}}
    answer = ANSWERS[vector.group](Vector(vector.id, vector.group, vector.versions, asked, None))
    assert isinstance(answer, dict)
    return answer


# Whole NUMA nodes.


def binds_several_cards(vector: Vector) -> bool:
    """Tell whether several cards of one NUMA node are wanted."""
    if vector.group not in _PLACING or go_bool(_annotations(vector).get(NUMA_BIND, "")) is not True:
        return False
    if vector.group == "refit":
        return any(len(entry) > 1 for entry in decode(_annotations(vector).get(ALLOCATED, "")))
    return bool(vector.input["request"]["nums"] > 1)


def one_known_numa_node_or_none_can(vector: Vector, got: object) -> bool:
    """Tell whether the cards are what one NUMA node gives by itself, or no node gives enough."""
    if not isinstance(got, dict):
        return False
    annotations = {key: value for key, value in _annotations(vector).items() if key != NUMA_BIND}
    nodes: dict[int, set[str]] = {}
    for item in _devices(vector):
        if item["numa"] >= 0:
            nodes.setdefault(item["numa"], set()).add(item["id"])
    alone = [_among(vector, uuids, annotations) for uuids in nodes.values()]
    able = [_picks(answer) for answer in alone if _fits(answer)]
    return _picks(got) in able if _fits(got) else not able


# Quota.


def counts_several_entries(vector: Vector) -> bool:
    """Tell whether a quota is asked where other devices of the pod, or more than are taken, could be counted."""
    if vector.group not in _PLACING:
        return False
    if vector.group == "refit":
        return "quota" in vector.input["state"]
    several = vector.input.get("prior") or "topology-aware" in _annotations(vector).get(GPU_POLICY, "")
    return bool(several) and "quota" in vector.input


def quota_of_the_pod_as_it_runs(vector: Vector, got: object) -> bool:
    """Tell whether the limits hold for what the pod holds at one time, or would not with some of the cards."""
    if not isinstance(got, dict):
        return False
    if _fits(got):
        return not _exceeds(vector, _picks(got))
    refused = str(got.get("reason", got.get("reason_class")))
    return "ResourceQuotaNotFit" in refused and any(_exceeds(vector, cards) for cards in _choices(vector))


def _choices(vector: Vector) -> Iterator[tuple[str, ...]]:
    request, uuids = vector.input["request"], [item["id"] for item in _devices(vector)]
    return combinations(uuids, request["nums"] if "nums" in request else len(_moved(vector)))


def _moved(vector: Vector) -> Sequence[_Share]:
    return _entries(_pod(vector)["annos"][ALLOCATED])[vector.input["request"].get("containerIndex", 0)]


def _entries(value: str) -> list[list[_Share]]:
    return [[(device.uuid, device.memory, device.cores) for device in entry] for entry in decode(value)]


def _exceeds(vector: Vector, uuids: Sequence[str]) -> bool:
    quota, entries, init = _with_cards(vector, uuids)
    memory, cores = _need(entries, init)
    others = _need(_entries(_pod(vector)["annos"][ALLOCATED]), init) if vector.group == "refit" else (0, 0)
    for name, need, own in (("mem", memory, others[0]), ("cores", cores, others[1])):
        limit = quota.get(name, {}).get("limit")
        if limit is not None and max(quota[name].get("used", 0) - own, 0) + need > limit:
            return True
    return False


def _with_cards(vector: Vector, uuids: Sequence[str]) -> tuple[_Json, list[list[_Share]], int]:
    if vector.group == "refit":
        entries = _entries(_pod(vector)["annos"][ALLOCATED])
        (_, memory, cores), *_ = _moved(vector)
        entries[vector.input["request"].get("containerIndex", 0)] = [(uuid, memory, cores) for uuid in uuids]
        return vector.input["state"]["quota"], entries, len(_pod(vector)["init"])
    request, sizes = vector.input["request"], {item["id"]: item["totalmem"] for item in _devices(vector)}
    devices = [
        (uuid, request["mem"] or sizes[uuid] * (request["pct"] % 101) // 100, request["cores"]) for uuid in uuids
    ]
    chosen = vector.input.get("prior", ())
    prior = [[(item["uuid"], item["mem"], item["cores"]) for item in entry] for entry in chosen]
    return vector.input["quota"], [*prior, devices], vector.input.get("ni", 0)


def _need(entries: Sequence[Sequence[_Share]], init: int) -> tuple[int, int]:
    """Return memory and cores, each card at the larger of its largest init container and all app containers."""
    memory = cores = 0
    for uuid in {share[0] for entry in entries for share in entry}:
        mine = [[share for share in entry if share[0] == uuid] for entry in entries]
        memory += _peak([sum(share[1] for share in entry) for entry in mine], init)
        cores += _peak([sum(share[2] for share in entry) for entry in mine], init)
    return memory, cores


def _peak(amounts: Sequence[int], init: int) -> int:
    return max([*amounts[:init], sum(amounts[init:])])


# MIG.


def offers_mig_cards(vector: Vector) -> bool:
    """Tell whether some card is in MIG mode."""
    return any(item.get("mode") == "mig" for item in _devices(vector))


def as_if_without_mig_cards(vector: Vector, got: object) -> bool:
    """Tell whether the same is taken as if the cards in MIG mode were not there."""
    if not isinstance(got, dict):
        return False
    others = {item["id"] for item in _devices(vector) if item.get("mode") != "mig"}
    alone = _among(vector, others, _annotations(vector))
    return _fits(alone) == _fits(got) and _picks(alone) == _picks(got)
