"""The JSON Schema (2020-12) of the policy file."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from webhook.levels.document import Document
from webhook.levels.values import CODES, LEVELS

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


SHARED: Final[Mapping[str, Mapping[str, object]]] = {"Code": CODES, "Level": LEVELS}
"""Definitions that many places refer to."""


def schema() -> dict[str, Any]:
    """The schema as a plain object."""
    found = _referring(Document.model_json_schema(schema_generator=_Generator))
    found["$defs"] |= {name: {**shared} for name, shared in SHARED.items()}
    return {"$schema": DIALECT, **found, "title": "numafit's policy file"}


def _referring(tree: Any) -> Any:
    """The same with references where a shared definition stands."""
    if isinstance(tree, list):
        return [_referring(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    found = {key: _referring(value) for key, value in tree.items()}
    for name, shared in SHARED.items():
        if found.get("enum") == shared["enum"]:
            return {"$ref": f"#/$defs/{name}", **{key: found[key] for key in found if key not in shared}}
    return found


def printed() -> str:
    """The schema as `numafit levels schema` prints it and docs/levels.schema.json holds it."""
    return json.dumps(schema(), indent=2) + "\n"


class _Generator(GenerateJsonSchema):
    """Pydantic's schema without titles that repeat names, and as strict as the model."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the base class asks per field
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """An absent key is the only way to say nothing."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """No default where the default is to say nothing."""
        if schema.get("default", ...) in (None, ()):
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """No key but those that fit the pattern."""
        found = super().dict_schema(schema)
        return {**found, "additionalProperties": False} if "patternProperties" in found else found
