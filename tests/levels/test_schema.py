"""The published schema and the reader agree, and docs/levels.md is right about both."""

import re
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator

from policy.admission.table import BY_CODE
from tests.levels.texts import BAD, GOOD, HEAD, Bad
from webhook.levels.document import Document
from webhook.levels.reading import read
from webhook.levels.schema import DIALECT, printed, schema
from webhook.yaml_text import parse

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = (DOCS / "levels.md").read_text()
EXAMPLES: Final = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SCHEMA: Final = schema()
VALIDATOR: Final = Draft202012Validator(SCHEMA)


def is_valid(text: str) -> bool:
    return VALIDATOR.is_valid(parse(text)[0])


def test_it_is_a_schema_of_the_dialect_that_it_names() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == DIALECT == Draft202012Validator.META_SCHEMA["$id"]


def test_the_published_file_is_what_the_code_prints() -> None:
    """After a change: `numafit levels schema > docs/levels.schema.json`."""
    assert (DOCS / "levels.schema.json").read_text() == printed()


def test_it_knows_every_code() -> None:
    assert set(SCHEMA["$defs"]["Code"]["enum"]) == set(BY_CODE)


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_it_accepts_what_the_reader_accepts(text: str) -> None:
    assert is_valid(text)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_it_refuses_what_the_reader_refuses_where_a_schema_can_say_it(bad: Bad) -> None:
    assert is_valid(HEAD + bad.text) is not bad.schema_refuses


@pytest.mark.parametrize("text", ["levels: {}", "version: v1", "[]"])
def test_it_refuses_what_is_no_policy_file(text: str) -> None:
    assert not is_valid(text)


def test_a_level_off_is_valid_for_editors_that_read_yaml_1_2_too() -> None:
    assert VALIDATOR.is_valid({"version": "numafit.io/v1", "levels": {"pin-blank": "off"}})


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_of_the_page_is_read_and_valid(example: str) -> None:
    assert read(example).version == "numafit.io/v1"
    assert is_valid(example)


def written_keys(tree: Any) -> set[str]:
    if isinstance(tree, list):
        return set().union(*map(written_keys, tree))
    return set(tree).union(*map(written_keys, tree.values())) if isinstance(tree, dict) else set()


def test_the_complete_example_has_every_key() -> None:
    groups = [SCHEMA, *SCHEMA["$defs"].values()]
    keys = {key for group in groups for key in group.get("properties", {})}
    assert keys - written_keys(parse(EXAMPLES[0])) == set()


def test_the_complete_example_repeats_the_defaults_of_hami() -> None:
    assert read(EXAMPLES[0]).hami == Document(version="numafit.io/v1").hami
