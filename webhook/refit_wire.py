"""HAMi's refit on the wire, read as Go's decoder reads it and answered as the device plugin expects.

The first JSON value of a body counts and what follows it does not; keys match in any case and the last of several
wins; null leaves a field empty.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from policy.placement.refit import RefitRequest

_MAX_INT64: Final = 2**63 - 1
_BLANK: Final = " \t\r\n"


class MalformedRefitError(ValueError):
    """A body is no refit request; the text says what was read and what is expected."""


class _Pairs(tuple[tuple[str, Any], ...]):
    """A JSON object with its keys in order, repeated ones too."""

    __slots__ = ()


def _no_constant(text: str) -> NoReturn:
    raise MalformedRefitError(f"{text} is not JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_Pairs, parse_constant=_no_constant)
_FIELDS: Final = (
    "podUID",
    "podNamespace",
    "podName",
    "nodeName",
    "containerIndex",
    "containerName",
    "deviceType",
    "allowedDeviceUUIDs",
)
_BY_FOLDED: Final = {name.casefold(): name for name in _FIELDS}


def read_request(body: bytes) -> RefitRequest:
    """Read a refit request.

    Raises:
        MalformedRefitError: the body is empty, no JSON, or a field has another type than the device plugin sends.
    """
    fields = _fields(_first_value(body))
    return RefitRequest(
        pod_uid=_text(fields, "podUID"),
        pod_namespace=_text(fields, "podNamespace"),
        pod_name=_text(fields, "podName"),
        node_name=_text(fields, "nodeName"),
        container_index=_integer(fields, "containerIndex"),
        container_name=_text(fields, "containerName"),
        device_type=_text(fields, "deviceType"),
        allowed=_texts(fields, "allowedDeviceUUIDs"),
    )


def _first_value(body: bytes) -> object:
    text = body.decode("utf-8", "replace").lstrip(_BLANK)
    if not text:
        raise MalformedRefitError("the body is empty; send the request as one JSON object")
    try:
        value, _ = _DECODER.raw_decode(text)
    except RecursionError:
        raise MalformedRefitError("the body is nested too deeply; send the request as one JSON object") from None
    except json.JSONDecodeError as error:
        raise MalformedRefitError(f"the body is no JSON: {error.msg} at character {error.pos}") from None
    except ValueError as error:  # a number with more digits than Python reads
        raise MalformedRefitError(f"the body is no JSON that can be read: {error}") from None
    return value


def _fields(value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, _Pairs):
        raise MalformedRefitError(f"the body is {_kind(value)}; send the request as one JSON object")
    found = {}
    for key, item in value:
        name = _BY_FOLDED.get(key.casefold())
        if name is not None and item is not None:
            found[name] = item
    return found


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise MalformedRefitError(f"{name} is {_kind(value)}; it must be text")
    return _whole_characters(value)


def _whole_characters(text: str) -> str:
    """Replace halves of surrogate pairs, which no answer and no log line could carry."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _integer(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name, 0)
    if type(value) is not int or not -_MAX_INT64 - 1 <= value <= _MAX_INT64:
        raise MalformedRefitError(f"{name} is {_kind(value)}; it must be a whole number")
    return value


def _texts(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name, [])
    if not isinstance(value, list):
        raise MalformedRefitError(f"{name} is {_kind(value)}; it must be a list of UUIDs")
    wrong = next((item for item in value if not isinstance(item, str | None)), None)
    if wrong is not None:
        raise MalformedRefitError(f"{name} holds {_kind(wrong)}; it must be a list of UUIDs")
    return tuple(_whole_characters(item or "") for item in value)


def _kind(value: object) -> str:
    if isinstance(value, _Pairs):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "text"
    return f"the number {value}" if type(value) is not int or abs(value) <= 10 * _MAX_INT64 else "a huge number"


def succeeded(container_devices: str) -> bytes:
    """Write the answer of a refit that was made, or was not needed."""
    return _dump({"succeeded": True, "containerDevices": container_devices})


def failed(code: str, reason: str) -> bytes:
    """Write the answer of a refit that was refused; the code in front is what numafit adds to HAMi's wire."""
    return _dump({"succeeded": False, "failureReason": f"{code}: {reason}"})


def _dump(answer: Mapping[str, object]) -> bytes:
    return json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode()
