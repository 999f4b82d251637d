"""Plain objects by identity, numbered as an API server numbers them. Objects are replaced, never changed in place."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from webhook.cluster.interface import RejectedObjectError
from webhook.cluster.shapes import mapping, title

Object = dict[str, Any]
Key = tuple[str, str, str, str]
"""apiVersion, kind, namespace and name."""

_NAMESPACED: Final = frozenset({"Pod", "ResourceQuota", "ConfigMap"})
_HAND_WRITTEN: Final = uuid.UUID("5f0cf3c5-2b0f-4d3e-9a53-6f1f3a1c7f0e")
"""Name space of the UIDs of objects in files that have none: the same file gives the same ones."""

_VERSION_DIGITS: Final = 19


class Store:
    """The objects of a cluster. Not safe to change from several threads at once."""

    def __init__(self) -> None:
        self._objects: dict[Key, Object] = {}
        self._keys: dict[str, Key] = {}
        self._version = 0

    def fill(self, objects: Iterable[Object]) -> list[str]:
        """Put ``objects`` in; return what is odd about them, one sentence each."""
        problems = []
        given = list(objects)
        self._version = max(map(_version, given), default=0)
        for position, source in enumerate(given):
            made = self._filled(source, _lasting_uid) if _name(source) else source
            key = _key(made) if _name(made) else ("", "", "", f"#{position}")
            if key in self._objects:
                problems.append(f"{title(made)}: given twice; the last one counts")
            self._put(key, made)
        return problems

    def objects(self) -> tuple[Object, ...]:
        """All objects, in the order in which they came."""
        return tuple(self._objects.values())

    def get(self, uid: str) -> Object | None:
        """The object with this UID."""
        key = self._keys.get(uid)
        return None if key is None else self._objects[key]

    def pod_uid(self, namespace: str, name: str) -> str:
        """The UID of a pod, empty if there is none of that name."""
        found = self._objects.get(("v1", "Pod", namespace, name))
        return "" if found is None else str(found["metadata"]["uid"])

    def next_version(self) -> str:
        """A resourceVersion that nothing had before."""
        self._version += 1
        return str(self._version)

    def replace(self, made: Object) -> None:
        """Put ``made`` in the place of the object with its identity."""
        self._put(_key(made), made)

    def create(self, source: Object) -> Object:
        """Put a new object in and return it with what an API server fills in: namespace, name, UID, version.

        Raises:
            RejectedObjectError: it has no name, or its name or UID is taken.
        """
        named = source if _name(source) else self._with_generated_name(source)
        metadata = {**named["metadata"], "resourceVersion": ""}
        made = self._filled({**named, "metadata": metadata}, _fresh_uid)
        if _key(made) in self._objects:
            raise RejectedObjectError(f"{title(made)} exists already; delete it first or give another name")
        if str(made["metadata"]["uid"]) in self._keys:
            raise RejectedObjectError(f"{title(made)} has the UID of another object; leave it out")
        self._put(_key(made), made)
        return made

    def update(self, source: Object) -> Object:
        """Put a changed object in the place of the old one and return it with its new version.

        Raises:
            RejectedObjectError: it does not exist, or was replaced or changed meanwhile.
        """
        old = self._objects.get(_key(_placed(source))) if _name(source) else None
        if old is None:
            raise RejectedObjectError(f"{title(source)} does not exist; create it first")
        kept = old["metadata"]
        for field in ("uid", "resourceVersion"):
            given = source["metadata"].get(field)
            if given and given != kept[field]:
                raise RejectedObjectError(
                    f"{title(old)} has {field} {kept[field]}, not {given}; read it again and repeat the change"
                )
        metadata = {**_placed(source)["metadata"], "uid": kept["uid"], "resourceVersion": self.next_version()}
        made = {**source, "metadata": metadata}
        self.replace(made)
        return made

    def delete(self, uid: str) -> Object:
        """Take the object with this UID out and return it.

        Raises:
            RejectedObjectError: there is none.
        """
        key = self._keys.pop(uid, None)
        if key is None:
            raise RejectedObjectError(f"no object has the UID {uid!r}")
        return self._objects.pop(key)

    def _put(self, key: Key, made: Object) -> None:
        self._objects[key] = made
        uid = mapping(made.get("metadata")).get("uid")
        if isinstance(uid, str):
            self._keys[uid] = key

    def _filled(self, source: Object, new_uid: Callable[[Key], str]) -> Object:
        placed = _placed(source)
        metadata = dict(placed["metadata"])
        metadata["uid"] = metadata.get("uid") or new_uid(_key(placed))
        metadata["resourceVersion"] = metadata.get("resourceVersion") or self.next_version()
        return {**placed, "metadata": metadata}

    def _with_generated_name(self, source: Object) -> Object:
        metadata = mapping(source.get("metadata"))
        prefix = metadata.get("generateName")
        if not isinstance(prefix, str) or not prefix:
            raise RejectedObjectError(f"{title(source)}: metadata.name or metadata.generateName must be given")
        return {**source, "metadata": {**metadata, "name": f"{prefix}{self.next_version()}"}}


def _placed(source: Object) -> Object:
    metadata = source["metadata"]
    if str(source.get("kind")) not in _NAMESPACED or metadata.get("namespace"):
        return source
    return {**source, "metadata": {**metadata, "namespace": "default"}}


def _lasting_uid(key: Key) -> str:
    return str(uuid.uuid5(_HAND_WRITTEN, "/".join(key)))


def _fresh_uid(_: Key) -> str:
    return str(uuid.uuid4())


def _key(source: Mapping[str, Any]) -> Key:
    metadata = source["metadata"]
    return (
        str(source.get("apiVersion") or "v1"),
        str(source.get("kind")),
        str(metadata.get("namespace") or ""),
        str(metadata["name"]),
    )


def _name(source: Mapping[str, Any]) -> str:
    name = mapping(source.get("metadata")).get("name")
    return name if isinstance(name, str) else ""


def _version(source: Mapping[str, Any]) -> int:
    text = mapping(source.get("metadata")).get("resourceVersion")
    digits = isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= _VERSION_DIGITS
    return int(str(text)) if digits else 0
