"""Plain Kubernetes objects, read field by field: the value in the shape that Kubernetes gives it, or an error."""

from collections.abc import Mapping
from typing import Any, Final

_EMPTY: Final[Mapping[str, Any]] = {}
_OBJECTS: Final = frozenset({dict})
_TEXTS: Final = frozenset({str})
_SHOWN: Final = 80
_MOST_BITS: Final = 1024
"""Python refuses to write out much larger integers, which YAML can hold."""


class MalformedObjectError(ValueError):
    """An object lacks the shape that Kubernetes gives it; the text names the path and what was seen."""


def mapping(value: object, where: str) -> Mapping[str, Any]:
    """Return an object, empty where there is none.

    Raises:
        MalformedObjectError: ``value`` is something else; so for the functions below.
    """
    if isinstance(value, dict):
        return value
    if value is None:
        return _EMPTY
    raise _wrong(where, "an object", value)


def mappings(value: object, where: str) -> tuple[Mapping[str, Any], ...]:
    """Return a list of objects, empty where there is none."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _wrong(where, "a list", value)
    if not set(map(type, value)) <= _OBJECTS:
        position = next(at for at, item in enumerate(value) if type(item) is not dict)
        raise _wrong(f"{where}[{position}]", "an object", value[position])
    return tuple(value)


def strings(value: object, where: str) -> Mapping[str, str]:
    """Return an object that holds text only, as annotations and labels do."""
    found = mapping(value, where)
    if not {*map(type, found), *map(type, found.values())} <= _TEXTS:
        key = next(key for key, item in found.items() if type(key) is not str or type(item) is not str)
        raise _wrong_entry(where, key, "text", found[key])
    return found


def amounts(value: object, where: str) -> Mapping[str, object]:
    """Return quantities as written: what cannot be one is refused, what is a wrong one is for others to judge."""
    found = mapping(value, where)
    for key, item in found.items():
        if type(key) is not str or not (type(item) is str or _is_number(item)):
            raise _wrong_entry(where, key, "a quantity", item)
    return found


def text(source: Mapping[str, Any], key: str, where: str) -> str:
    """Return the text under ``key`` of the object at ``where``, empty where there is none."""
    value = source.get(key)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise _wrong(f"{where}.{key}" if where else key, "text", value)


def _is_number(value: object) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= _MOST_BITS)


def _wrong_entry(where: str, key: object, wanted: str, seen: object) -> MalformedObjectError:
    if isinstance(key, str):
        return _wrong(f"{where}[{key[:_SHOWN]}]", wanted, seen)
    return _wrong(f"{where} has a key that", "text", key)


def _wrong(where: str, wanted: str, seen: object) -> MalformedObjectError:
    quotes = "; write it in quotes" if wanted == "text" and isinstance(seen, bool | int | float) else ""
    return MalformedObjectError(f"{where} must be {wanted}, not {_shown(seen)}{quotes}")


def _shown(value: object) -> str:
    """A value for an error text, however long or deep it is."""
    if isinstance(value, str):
        return repr(value[:_SHOWN])
    if value is None:
        return "null"
    if _is_number(value):
        return str(value).lower()[:_SHOWN]
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return "something else"
