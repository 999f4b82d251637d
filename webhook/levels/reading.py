"""From text to a policy file in force, or to all that is wrong with it, one line each."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from certs.files import read_whole
from policy.hami.errors import shown
from webhook.levels.document import Document
from webhook.levels.groups import Group
from webhook.levels.values import MEANING, nearest
from webhook.yaml_text import YamlError, parse

_Place = tuple[int | str, ...]

_LINES: Final = 100
"""How many mistakes are listed."""

_PLAIN: Final = re.compile(r"[\w-]{1,80}", re.ASCII)
_KEY_ITSELF: Final = "[key]"
"""Pydantic's last step to a key that is wrong itself."""

_ALLOWED: Final = {
    "string_type": "text, in quotes where YAML would read something else",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "too_short": "at least one item",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "greater_than_equal": "{ge} or more",
    "less_than_equal": "{le} or less",
    "string_too_long": "at most {max_length} characters",
}
"""What is allowed, by pydantic's word for the mistake."""


class LevelsError(Exception):
    """A policy file that cannot be used. `problems` has one line for each mistake, which says how to mend it."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load(path: Path) -> Document:
    """Read the policy file at ``path``.

    Raises:
        LevelsError: it cannot be read, or not be used; each line begins with the path.
    """
    try:
        return read(_text(path))
    except LevelsError as error:
        raise LevelsError(tuple(f"{path}: {problem}" for problem in error.problems)) from None


def _text(path: Path) -> str:
    try:
        content = read_whole(path)
        text = None if content is None else content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LevelsError((f"cannot be read: {error}",)) from None
    if text is None:
        raise LevelsError(("does not exist; put the policy file there, or leave the setting out",))
    return text


def read(text: str) -> Document:
    """Read the text of a policy file.

    Raises:
        LevelsError: it cannot be used.
    """
    try:
        return Document.model_validate(_mapping(text))
    except ValidationError as error:
        mistakes = [each for each in error.errors(include_url=False) if not _is_echo(each)]
        more = (f"and {len(mistakes) - _LINES} more",) if len(mistakes) > _LINES else ()
        raise LevelsError((*(_line(mistake) for mistake in mistakes[:_LINES]), *more)) from None


def _is_echo(mistake: ErrorDetails) -> bool:
    """Pydantic calls a list too short when its items are wrong, and says so beside what is wrong with them."""
    return mistake["type"] == "too_short" and bool(mistake["input"])


def _mapping(text: str) -> object:
    try:
        documents = [document for document in parse(text) if document is not None]
    except YamlError as error:
        raise LevelsError((f"is no YAML that numafit reads: {error}",)) from None
    if len(documents) != 1 or not isinstance(documents[0], dict):
        seen = f"{len(documents)} documents" if len(documents) != 1 else shown(documents[0])
        raise LevelsError((f"holds {seen}; write one mapping that begins with `version: numafit.io/v1`",))
    return documents[0]


def _line(mistake: ErrorDetails) -> str:
    place, seen, kind = mistake["loc"], mistake["input"], mistake["type"]
    if kind == "missing":
        return f"{_path(place)} is missing: {_fields(place[:-1])[str(place[-1])].description}"
    if kind == "extra_forbidden":
        return f"{_path(place)} is no key of the policy file; {nearest(str(place[-1]), list(_fields(place[:-1])))}"
    if place[-1] == _KEY_ITSELF:
        return f"{_path(place[:-1])}: {_advice(mistake)}"
    if kind == "value_error" and isinstance(seen, dict):
        return f"{_path(place)}: {_advice(mistake)}"
    return f"{_path(place)} is {_shown(seen)}; {_advice(mistake)}"


def _advice(mistake: ErrorDetails) -> str:
    kind, context = mistake["type"], mistake.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_pattern_mismatch":
        return f"write {MEANING[context['pattern']]}"
    return f"write {_ALLOWED[kind].format_map(context)}" if kind in _ALLOWED else mistake["msg"]


def _fields(place: _Place) -> Mapping[str, FieldInfo]:
    """The keys of the group at ``place``, as they are written."""
    group: type[Group] = Document
    for step in place:
        if isinstance(step, str):
            group = next(_groups_in(_written(group)[step].annotation))
    return _written(group)


def _written(group: type[Group]) -> Mapping[str, FieldInfo]:
    return {field.alias or name: field for name, field in group.model_fields.items()}


def _groups_in(annotation: Any) -> Iterator[type[Group]]:
    if isinstance(annotation, type) and issubclass(annotation, Group):
        yield annotation
    for part in get_args(annotation):
        yield from _groups_in(part)


def _path(place: _Place) -> str:
    """Write a place as people do: `namespaces[2].levels.pin-blank`."""
    path = ""
    for step in place:
        if isinstance(step, str) and _PLAIN.fullmatch(step):
            path += f".{step}" if path else step
        else:
            path += f"[{shown(step)}]"
    return path


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return shown(value)
