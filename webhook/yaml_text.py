"""YAML as Kubernetes' own tools read it, strictly: JSON's types only, no key twice, no document that explodes."""

import re
from typing import Any, Final

import yaml
from yaml.constructor import SafeConstructor

try:
    from yaml import CSafeLoader as _Base
except ImportError:  # a PyYAML that was built without libyaml is slower, not different
    from yaml import SafeLoader as _Base  # type: ignore[assignment]  # both offer what is used here

ALIAS_LIMIT: Final = 100_000
"""How many nodes aliases may add to a document: people repeat a block a few times, bombs repeat it a billion times."""

_TAG: Final = "tag:yaml.org,2002:"
_JSON_TYPES: Final = tuple(f"{_TAG}{word}" for word in ("null", "bool", "int", "float", "str", "seq", "map"))
_INT: Final = re.compile(r"[-+]?(?:0b[01_]+|0[0-7_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*)$")
_FLOAT: Final = re.compile(
    r"[-+]?(?:[0-9][0-9_]*)?\.[0-9_]*(?:[eE][-+]?[0-9]+)?$|[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$"
)
_MERGE: Final = f"{_TAG}merge"


class YamlError(ValueError):
    """A text is no YAML, or more than JSON could say; the text names line and column."""


class _Loader(_Base):
    """PyYAML's safe loader with text keys, and without dates and sexagesimal numbers: `12:30` stays text."""

    yaml_constructors = {tag: SafeConstructor.yaml_constructors[tag] for tag in _JSON_TYPES} | {
        None: SafeConstructor.yaml_constructors[None]
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        self.flatten_mapping(node)
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}


def _resolvers() -> dict[str, list[tuple[str, Any]]]:
    replaced = {f"{_TAG}int": _INT, f"{_TAG}float": _FLOAT}
    return {
        first: [(tag, replaced.get(tag, pattern)) for tag, pattern in known if tag != f"{_TAG}timestamp"]
        for first, known in _Base.yaml_implicit_resolvers.items()
    }


_Loader.yaml_implicit_resolvers = _resolvers()


def parse(text: str) -> list[Any]:
    """Return the documents of ``text``, empty ones as None.

    Raises:
        YamlError: it is no YAML, a key stands twice, an alias leads to itself or repeats too much, or a value is of a
            type that JSON does not have.
    """
    try:
        loader = _Loader(text)
        try:
            return _documents(loader)
        finally:
            loader.dispose()
    except RecursionError:
        raise YamlError("nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        raise YamlError(_reason(text, error)) from None


def _reason(text: str, error: Exception) -> str:
    """What is wrong, from the library; of a tab it says only that a character is."""
    mark = getattr(error, "problem_mark", None)
    if mark is not None and text[mark.index : mark.index + 1] == "\t":
        return f"a tab stands at line {mark.line + 1}, column {mark.column + 1}; indent with blanks"
    return " ".join(str(error).split())


def _documents(loader: _Loader) -> list[Any]:
    found = []
    while loader.check_node():
        node = loader.get_node()
        if node is not None:
            _Inspection().expanded(node)
            found.append(loader.construct_document(node))
    return found


class _Inspection:
    """One walk over a document before anything is made of it."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._added = 0

    def expanded(self, node: yaml.Node) -> int:
        """Return how many nodes ``node`` has with all aliases written out."""
        known = self._sizes.get(id(node))
        if known is not None:
            return self._again(node, known)
        self._sizes[id(node)] = 0
        size = 1
        if isinstance(node, yaml.MappingNode):
            _check_keys(node)
            size += sum(1 + self.expanded(value) for _, value in node.value)
        elif isinstance(node, yaml.SequenceNode):
            size += sum(self.expanded(item) for item in node.value)
        self._sizes[id(node)] = size
        return size

    def _again(self, node: yaml.Node, size: int) -> int:
        if not size:
            raise YamlError(f"an alias leads to itself, {_place(node)}")
        self._added += size
        if self._added > ALIAS_LIMIT:
            raise YamlError(
                f"aliases add more than {ALIAS_LIMIT} values (last repeated: {_place(node)}); use fewer of them"
            )
        return size


def _check_keys(node: yaml.MappingNode) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise YamlError(f"a key is a list or an object, {_place(key)}; keys are text")
        if key.value in seen and key.tag != _MERGE:
            raise YamlError(f"key {key.value!r} stands twice, {_place(key)}; keep one")
        seen.add(key.value)


def _place(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}, column {node.start_mark.column + 1}"
