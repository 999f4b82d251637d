"""Bodies that nobody in their right mind sends, for every operation."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.serve.objects import asking, refit, review

MEGABYTE: Final = 1 << 20
DEEP: Final = 100_000
UUID: Final = "GPU-7ea055a8-fdc5-fd61-756e-1bba8d570f8a"

LISTS: Final = (
    "nvidia.com/use-gpuuuid",
    "nvidia.com/nouse-gpuuuid",
    "nvidia.com/use-gputype",
    "nvidia.com/nouse-gputype",
    "hami.io/gpu-scheduler-policy",
    "hami.io/device-scoring-weights",
)
WORDS: Final = (
    "hami.io/numa-alignment",
    "nvidia.com/numa-bind",
    "nvidia.com/vgpu-mode",
    "hami.io/node-scheduler-policy",
    "hami.io/overwrite-env-containers",
)

VALUES: Final = {
    "100,000 items": ",".join(f"i{number}" for number in range(DEEP)),
    "100,000 times one item": "GPU-0," * DEEP,
    "1 MB of commas": "," * MEGABYTE,
    "1 MB of one letter": "a" * MEGABYTE,
    "1 MB of blanks": " " * MEGABYTE,
    "1 MB of digits": "1" * MEGABYTE,
    "25,000 UUIDs": f"{UUID}," * (DEEP // 4),
    "1 MB of weights": "slot=1," * (MEGABYTE // 7),
    "1 MB of brackets": "[" * MEGABYTE,
}

LITERALS: Final = {
    "1e400": "1e400",
    "5,000 digits": "9" * 5000,
    "-0": "-0",
    "2^63": str(2**63),
    "NaN": "NaN",
    "NUL": '"\\u0000"',
    "half a surrogate pair": '"\\ud800"',
    "a list": "[]",
    "an object": "{}",
    "null": "null",
    "true": "true",
    "raw NUL": '"\0"',
    "deep lists": "[" * DEEP + "]" * DEEP,
    "deep objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "deep, never closed": "[" * DEEP,
}

RAW: Final = {
    "nothing": b"",
    "invalid UTF-8": b'{"kind":"\xff\xfe","podUID":"\xc3\x28"}',
    "UTF-16": '{"kind":"AdmissionReview"}'.encode("utf-16"),
    "BOM": b"\xef\xbb\xbf{}",
    "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    "random": bytes(range(256)) * 16,
    "blanks": b" " * MEGABYTE,
    "quotes": b'"' * MEGABYTE,
    "a million keys": b"{" + b",".join(b'"a":1' for _ in range(DEEP)) + b"}",
    "keys given twice": b'{"kind":1,"kind":"AdmissionReview","request":null,"request":{},"podUID":1,"podUID":"u"}',
}

_PLACE: Final = "PUT IT HERE"


def requests() -> Mapping[str, Any]:
    """A good request of each operation."""
    return {
        "/webhook": review(asking("p")),
        "/refit": refit("p", "n", [0]),
        "/filter": {"pod": asking("p"), "nodenames": ["n"]},
        "/bind": {"podName": "p", "podNamespace": "default", "podUID": "uid-p", "node": "n"},
    }


def with_literals() -> Iterator[tuple[str, str, bytes]]:
    """Each leaf of each good request in turn replaced by each literal."""
    for path, request in requests().items():
        for place, changed in _each_leaf(request):
            for name, literal in LITERALS.items():
                body = json.dumps(changed).replace(json.dumps(_PLACE), literal)
                yield f"{path} {place} {name}", path, body.encode()


def _each_leaf(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from ((where, {**value, key: changed}) for where, changed in _each_leaf(item, f"{place}.{key}"))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            changes = _each_leaf(item, f"{place}[{at}]")
            yield from ((where, [*value[:at], changed, *value[at + 1 :]]) for where, changed in changes)
    yield place, _PLACE


def large_pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """Pods that are long in one respect."""
    for key in (*LISTS, *WORDS):
        for name, value in VALUES.items():
            yield f"{key}: {name}", asking("p", annotations={key: value})
    yield "50,000 keys a slip away", asking("p", annotations={f"nvidia.com/use-gpuuui{n}": "1" for n in range(50_000)})
    yield "a key of 1 MB", asking("p", annotations={"nvidia.com/use-gpuuuid" * 50_000: "1"})
    yield "3,000 keys of 1 kB", asking("p", annotations={f"{'n' * 1000}{n}": "1" for n in range(3000)})
    yield "10,000 containers", _with_containers(10_000)
    yield "10,000 init containers", _with_containers(10_000, "initContainers")
    yield (
        "10,000 unsound containers",
        _with_containers(10_000, **{"nvidia.com/gpu": "1.5", "nvidia.com/gpucores": "101"}),
    )
    yield "5,000 init containers and 50,000 types", _with_types(_with_containers(5000, "initContainers"))
    yield "50,000 tolerations", _with_spec(tolerations=[{"key": f"k{n}", "operator": "Exists"} for n in range(50_000)])
    yield (
        "5,000 affinity terms",
        _with_spec(affinity={"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": _TERMS * 5000}}}),
    )
    yield "a quantity of 1 MB", _with_containers(1, **{"nvidia.com/gpu": "1" * MEGABYTE})
    yield "a name of 1 MB", {**asking("p"), "metadata": {**asking("p")["metadata"], "name": "n" * MEGABYTE}}


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS: Final = [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"] * 50}]}]


def _with_containers(count: int, field: str = "containers", **limits: str) -> dict[str, Any]:
    asked = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1", "nvidia.com/gpucores": "0", **limits}
    return _with_spec(**{field: [{"name": f"c{n}", "resources": {"limits": asked}} for n in range(count)]})


def _with_types(source: dict[str, Any]) -> dict[str, Any]:
    types = ",".join([*(f"t{number}" for number in range(50_000)), "A100"])
    return {**source, "metadata": {**source["metadata"], "annotations": {"nvidia.com/use-gputype": types}}}


def _with_spec(**fields: Any) -> dict[str, Any]:
    source = asking("p")
    return {**source, "spec": {**source["spec"], **fields}}
