"""Manifests as people keep them: files, directories and stdin, YAML and JSON, any number of documents."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec

from policy.hami.errors import shown
from webhook.cli.positions import Lines
from webhook.yaml_text import YamlError
from webhook.yaml_text import parse as parse_yaml

STDIN: Final = "-"
ENDINGS: Final = (".yaml", ".yml", ".json")
DEEPEST: Final = 200
"""Levels of a document. Manifests have some twenty; libraries that write YAML give up at a few hundred."""


_TEMPLATED: Final = re.compile(r"(?m)(?:^|\s)\{\{")
"""How Helm begins what is to be replaced; within quotes it is YAML still."""

_LINE: Final = re.compile(r"line (\d+)")
_BYTE: Final = re.compile(r"byte (\d+)")


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file, with a Kubernetes object or a list of them in it.

    Attributes:
        file: as it was named, `stdin` for standard input.
        number: its position in the file, from 1.
        value: what it holds.
        is_json: whether it is written in JSON.
        lines: tells where its parts stand.
    """

    file: str
    number: int
    value: dict[str, Any] | list[Any]
    is_json: bool
    lines: Lines

    def line(self, steps: Sequence[str | int] = ()) -> int:
        """The line of what ``steps`` lead to, or of the last step that is there."""
        return self.lines.of(self.number, steps)


class Cause(StrEnum):
    """Why something was not judged."""

    UNREADABLE = "unreadable"
    """It is broken, or not there."""
    UNRENDERED = "unrendered"
    """What it says is not known before a template is rendered."""
    FOREIGN = "foreign"
    """It is no manifest."""
    UNKNOWN = "unknown"
    """It asks for a GPU where numafit knows no pod and no template of pods."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something that was not judged; `text` goes on after file and line."""

    file: str
    line: int
    cause: Cause
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def read(names: Iterable[str]) -> Iterator[Document | Note]:
    """Read all that ``names`` lead to. What cannot be read is noted and never hides the rest."""
    for name in names:
        paths = _expanded(name)
        if not paths:
            yield Note(name, 1, Cause.FOREIGN, f"holds no file that ends with {', '.join(ENDINGS)}")
        for path in paths:
            yield from _read(path)


def _expanded(name: str) -> list[str]:
    if name == STDIN or not Path(name).is_dir():
        return [name]
    found = []
    for folder, folders, files in os.walk(name):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        found += [os.path.join(folder, file) for file in sorted(files) if file.endswith(ENDINGS)]  # noqa: PTH118 - keeps a leading `./` as it was given
    return found


def _read(path: str) -> Iterator[Document | Note]:
    name = "stdin" if path == STDIN else path
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        reason = f"cannot be read: {error.strerror}; name a file or a directory that exists"
        yield Note(name, 1, Cause.UNREADABLE, reason)
        return
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        yield Note(name, line, Cause.UNREADABLE, "is not UTF-8 text; save it as UTF-8")
        return
    yield from _documents(text, name)


def _documents(text: str, name: str) -> Iterator[Document | Note]:
    try:
        values, is_json = _parsed(text, name)
    except ValueError as error:
        yield _broken(text, name, error)
        return
    lines = Lines(text)
    present = [(number, value) for number, value in enumerate(values, 1) if value is not None]
    if not present:
        yield Note(name, 1, Cause.FOREIGN, "holds nothing but blanks and comments")
    for number, value in present:
        document = Document(name, number, value, is_json, lines)
        objection = _objection(value)
        yield document if objection is None else Note(name, document.line(), *objection)


def _parsed(text: str, name: str) -> tuple[list[Any], bool]:
    """The documents, and whether they are JSON. Flow mappings and templates begin as JSON does, and are none."""
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return [msgspec.json.decode(text)], True
        except (msgspec.MsgspecError, RecursionError) as error:
            if name.endswith(".json"):
                raise ValueError(_json_place(text, error)) from None
    return parse_yaml(text), False


def _json_place(text: str, error: Exception) -> str:
    found = _BYTE.search(str(error))
    line = text.encode()[: int(found[1])].count(b"\n") + 1 if found else 1
    return f"{'nested too deeply' if isinstance(error, RecursionError) else error}, line {line}"


def _broken(text: str, name: str, error: ValueError) -> Note:
    mark = _TEMPLATED.search(text)
    if mark:
        line = text[: mark.end()].count("\n") + 1
        advice = "is a template; render it first, as in `helm template . | numafit review -`"
        return Note(name, line, Cause.UNRENDERED, advice)
    lines = _LINE.findall(str(error))
    kind = "YAML" if isinstance(error, YamlError) else "JSON"
    reason = str(error).replace('in "<unicode string>", ', "at ")
    return Note(name, int(lines[-1]) if lines else 1, Cause.UNREADABLE, f"is not {kind}: {reason}")


def _objection(value: object) -> tuple[Cause, str] | None:
    """Why a document is no manifest that can be judged, None if it is one."""
    if _is_deep(value):
        return Cause.UNREADABLE, f"is nested more than {DEEPEST} levels deep; no manifest is"
    if _is_manifest(value):
        return None
    seen = "kind and apiVersion are missing" if isinstance(value, dict) else shown(value)
    return Cause.FOREIGN, f"is no Kubernetes object ({seen})"


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [part for each in level for part in _parts(each)]
        if not level:
            return False
    return True


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _is_manifest(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(_is_manifest(item) for item in value)
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("kind", "apiVersion"))
