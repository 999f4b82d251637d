"""Manifests as they would be stored: with what admission fills in, in the format that they came in."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import jsonpatch
import yaml

from webhook.cli.judging import Judged
from webhook.cli.manifests import Document

_UNMISTAKABLE: Final = re.compile(r"(?![yYnN]$)[A-Za-z/][^\n]*")
"""Text that every YAML reader takes for text if PyYAML does; what begins like a number is not read alike by all."""


def stored(documents: Sequence[Document], judged: Iterable[Judged]) -> str:
    """Write ``documents`` with everything that was filled in."""
    patched = [json.loads(json.dumps(document.value)) for document in documents]
    places = {id(document): position for position, document in enumerate(documents)}
    for each in judged:
        _apply(patched[places[id(each.document)]], each)
    if all(document.is_json for document in documents):
        return "\n".join(json.dumps(value, indent=2, ensure_ascii=False) for value in patched)
    return "---\n".join(map(_yaml, patched)).removesuffix("\n")


def _apply(value: Any, judged: Judged) -> None:
    workload = judged.workload
    for step in (*workload.base, *workload.steps):
        value = value[step]
    if judged.filled.operations:
        value["metadata"] = value.get("metadata") or {}
        operations: list[Any] = list(judged.filled.operations)
        jsonpatch.apply_patch(value, operations, in_place=True)


class _Dumper(yaml.SafeDumper):
    """Block style, texts quoted where readers disagree, lists indented as people do, no anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - asked for each value
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - lists too
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None if _UNMISTAKABLE.fullmatch(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def _yaml(value: Any) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31)
