"""Reading plain objects that may have any shape: what is not of the expected one is taken as absent."""

from collections.abc import Mapping
from typing import Any, Final

_EMPTY: Final[Mapping[str, Any]] = {}


def mapping(value: object) -> Mapping[str, Any]:
    """Return ``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else _EMPTY


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the objects in ``value`` if it is a list, else none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def title(source: Mapping[str, Any]) -> str:
    """Return kind, namespace and name of an object for people."""
    metadata = mapping(source.get("metadata"))
    name = metadata.get("name") or metadata.get("generateName") or "without a name"
    namespace = metadata.get("namespace")
    return f"{source.get('kind') or 'object'} {f'{namespace}/{name}' if namespace else name}"
