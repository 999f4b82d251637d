"""Plain Kubernetes objects from JSON and YAML text: single ones, lists, lists of lists, many documents."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from policy.hami.errors import shown
from webhook.cluster.interface import UnreadableFileError

TAKEN_AT: Final = "numafit.io/taken-at"
"""Annotation on the list in a snapshot: when the cluster was read, RFC 3339."""

_YAML_ENDINGS: Final = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Content:
    """What files hold.

    Attributes:
        objects: the objects, lists taken apart, in order.
        taken_at: what the lists say of when they were taken, as written.
        problems: what is no object, one sentence each.
    """

    objects: tuple[dict[str, Any], ...]
    taken_at: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def load(paths: Iterable[Path]) -> Content:
    """Read all objects of ``paths``.

    Raises:
        UnreadableFileError: one of them cannot be read; the text names it and says why.
    """
    reader = _Reader()
    for path in paths:
        reader.take(parse(_bytes(path), str(path)), str(path))
    return Content(tuple(reader.objects), tuple(reader.taken_at), tuple(reader.problems))


def parse(data: bytes, name: str) -> list[Any]:
    """Return the documents in ``data``: one if it is JSON, any number if it is YAML, none of them empty.

    Args:
        data: the text, UTF-8 with or without a byte order mark.
        name: what to call it in errors; its ending says what it is where its first character does not.

    Raises:
        UnreadableFileError: it is neither.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFileError(f"{name}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    if text.lstrip()[:1] not in {"{", "["}:
        return _yaml(text, name)
    try:
        return [msgspec.json.decode(text)]
    except (msgspec.MsgspecError, RecursionError) as error:
        if name.endswith(_YAML_ENDINGS):
            return _yaml(text, name)
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise UnreadableFileError(f"{name}: not JSON: {reason}") from None


def _yaml(text: str, name: str) -> list[Any]:
    from webhook.yaml_text import YamlError  # noqa: PLC0415 - JSON needs no YAML library
    from webhook.yaml_text import parse as parse_yaml  # noqa: PLC0415 - the same

    try:
        found = [document for document in parse_yaml(text) if document is not None]
    except YamlError as error:
        raise UnreadableFileError(f"{name}: not YAML: {error}") from None
    if not found:
        raise UnreadableFileError(f"{name}: empty; Kubernetes objects in JSON or YAML were expected")
    return found


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableFileError(f"{path}: cannot be read: {error.strerror}") from None


class _Reader:
    """Takes lists apart."""

    def __init__(self) -> None:
        self.objects: list[dict[str, Any]] = []
        self.taken_at: list[str] = []
        self.problems: list[str] = []

    def take(self, documents: Sequence[Any], name: str) -> None:
        for document in documents:
            if not isinstance(document, dict | list):
                raise UnreadableFileError(
                    f"{name}: holds {shown(document)}; Kubernetes objects in JSON or YAML were expected"
                )
            self._take(document, name)

    def _take(self, value: Any, where: str) -> None:
        if isinstance(value, list):
            for position, item in enumerate(value):
                self._take(item, f"{where}[{position}]")
        elif not isinstance(value, dict):
            self.problems.append(f"{where}: {shown(value)} is no Kubernetes object")
        elif is_list(value):
            self._note_taken_at(value.get("metadata"))
            self._take(list(items(value)), where)
        else:
            self.objects.append(value)

    def _note_taken_at(self, metadata: object) -> None:
        annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
        if isinstance(annotations, dict) and TAKEN_AT in annotations:
            self.taken_at.append(str(annotations[TAKEN_AT]))


def is_list(document: dict[str, Any]) -> bool:
    """Tell whether ``document`` is a list of objects, such as `List` or `PodList`."""
    kind = document.get("kind")
    return isinstance(kind, str) and kind.endswith("List") and isinstance(document.get("items"), list)


def items(document: dict[str, Any]) -> Iterator[Any]:
    """Yield what a list holds. Items of an API server's typed lists name no kind; they get that of the list."""
    kind, version = document["kind"].removesuffix("List"), document.get("apiVersion")
    for item in document["items"]:
        if kind and isinstance(item, dict) and "kind" not in item:
            yield {"apiVersion": version, "kind": kind, **item}
        else:
            yield item
