"""Manifests as they would be stored: with what admission fills in, in the format that they came in."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import jsonpatch
import yaml

from policy.admission.defaults import Filled
from webhook.cli.judging import REFUSED, Judged
from webhook.cli.manifests import Document
from webhook.cli.templates import Steps

_UNMISTAKABLE: Final = re.compile(r"(?![yYnN]$)[A-Za-z/][^\n]*")
"""Text that every YAML reader takes for text if PyYAML does; what begins like a number is not read alike by all."""


def stored(documents: Sequence[Document], judged: Sequence[Judged]) -> str:
    """Write ``documents`` with everything that was filled in, and without the objects that hold a refused pod."""
    kept = [value for document in documents for value in _patched(document, judged)]
    if all(document.is_json for document in documents):
        return "".join(f"{json.dumps(value, indent=2, ensure_ascii=False)}\n" for value in kept)
    return "---\n".join(map(_yaml, kept))


def _patched(document: Document, judged: Iterable[Judged]) -> Iterator[Any]:
    """Yield what is left of a document: one value or, if its only object is refused, none."""
    value = json.loads(json.dumps(document.value))
    own = [each for each in judged if each.document is document]
    for each in own:
        fill_in(_at(value, (*each.workload.base, *each.workload.steps)), each.filled)
    refused = {each.workload.base for each in own if each.verdict == REFUSED}
    for base in sorted(refused - {()}, reverse=True):  # from the end, so that the positions of the others hold
        del _at(value, base[:-1])[base[-1]]
    if () not in refused:
        yield value


def fill_in(pod: Any, filled: Filled) -> None:
    """Apply to a plain pod or template, in place, what admission fills in."""
    if filled.operations:
        pod["metadata"] = pod.get("metadata") or {}
        operations: list[Any] = list(filled.operations)
        jsonpatch.apply_patch(pod, operations, in_place=True)


def _at(value: Any, steps: Steps) -> Any:
    for step in steps:
        value = value[step]
    return value


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
