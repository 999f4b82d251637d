"""Decision lines as text: what is quoted, and what is not."""

import logging

import pytest

from webhook.logs import TextLines


def line(**fields: object) -> str:
    record = logging.LogRecord("numafit.decision", logging.INFO, "", 0, "decision", (), None)
    record.fields = fields
    return TextLines().format(record).partition(" info decision ")[2]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("allowed", "allowed"),
        (0.31, "0.31"),
        ("", '""'),
        ("two words", '"two words"'),
        ("a=b", '"a=b"'),
        ('say "no"\n', r'"say \"no\"\n"'),
        (["schedulerName"], "schedulerName"),
        (["pin-blank/warn", "count-zero/warn"], "pin-blank/warn,count-zero/warn"),
        (["schedulerName", "main:nvidia.com/gpu=1"], '"schedulerName,main:nvidia.com/gpu=1"'),
        ([1, 2], "1,2"),
        ([], '""'),
    ],
)
def test_a_value_is_one_word_or_one_quoted_text(value: object, written: str) -> None:
    assert line(value=value) == f"value={written}"
