"""Where the parts of a text stand, for YAML and for JSON, which is YAML to anyone who only looks for lines."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Lines:
    """The lines of one text. It is read a second time only if somebody asks."""

    def __init__(self, text: str) -> None:
        self._text = text

    def of(self, document: int, steps: Sequence[str | int]) -> int:
        """The line on which the last of ``steps`` that is there begins, from 1.

        Args:
            document: position of the document in the text, from 1.
            steps: keys and positions from its top.
        """
        if document > len(self._roots):
            return 1
        node = self._roots[document - 1]
        line = node.start_mark.line
        for step in steps:
            found = _step(node, step)
            if found is None:
                break
            line, node = found
        return int(line) + 1

    @cached_property
    def _roots(self) -> list[yaml.Node]:
        try:
            return list(yaml.compose_all(self._text, Loader=_LOADER))
        except (yaml.YAMLError, RecursionError):  # JSON that is no YAML, as with tabs between its tokens
            return []


def _step(node: yaml.Node, step: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        item = node.value[step]
        return item.start_mark.line, item
    if isinstance(node, yaml.MappingNode):
        return next(((key.start_mark.line, value) for key, value in node.value if key.value == step), None)
    return None
