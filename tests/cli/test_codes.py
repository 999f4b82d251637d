"""`numafit codes`, and the document that is made of it."""

import json
import re

import pytest

from policy.admission.table import RULES
from policy.hami import reasons
from tests.cli.conftest import ROOT, Numafit
from webhook.cli import COMMANDS
from webhook.cli.catalogue import CARD_WORDS
from webhook.refit import ALL_CODES


def test_the_document_is_what_the_command_prints(numafit: Numafit) -> None:
    assert (ROOT / "docs" / "codes.md").read_text() == numafit("codes", "-o", "markdown").out


def test_every_code_is_listed_once_and_says_what_it_means(numafit: Numafit) -> None:
    listed = json.loads(numafit("codes", "-o", "json").out)["codes"]
    assert [one["code"] for one in listed] == [*(rule.code for rule in RULES), *ALL_CODES, *CARD_WORDS]
    assert len({one["code"] for one in listed}) == len(listed)
    assert all(one["meaning"] for one in listed)
    assert all(one["remedy"] for one in listed if one["source"] == "admission")


def test_the_list_has_a_section_for_each_who_gives_codes(numafit: Numafit) -> None:
    out = numafit("codes").out
    sections = [section.splitlines() for section in out.split("\n\n")]
    assert [lines[0].partition(".")[0] for lines in sections] == [
        "Admission",
        "Refit",
        "Callers of the refit",
        "HAMi's words for cards and nodes",
    ]
    assert [lines[1].split() for lines in sections] == [
        ["CODE", "LEVEL", "FACTS", "MEANING"],
        *[["CODE", "MEANING"]] * 3,
    ]
    listed = [line.split()[0] for lines in sections for line in lines[2:]]
    assert sorted(listed) == sorted([*(rule.code for rule in RULES), *ALL_CODES, *CARD_WORDS])


@pytest.mark.parametrize("arguments", [[], ["alignment-unknown"], ["CardCordoned"]])
def test_people_are_spared_the_marks_of_documents(numafit: Numafit, arguments: list[str]) -> None:
    assert "`" not in numafit("codes", *arguments).out
    assert numafit("codes", *arguments, "-o", "json").out.count("`") >= 2


def test_the_guide_to_admission_speaks_of_every_rule_and_of_no_other() -> None:
    guide = (ROOT / "docs" / "admission.md").read_text()
    table = guide[guide.index("## The combination table") : guide.index("## Defaults")]
    named = {code for row in table.splitlines() if row.startswith("| ") for code in re.findall("`([a-z-]+…?)`", row)}
    families = tuple(code.removesuffix("…") for code in named if code.endswith("…"))
    rules = {rule.code for rule in RULES}
    assert {code for code in named if code not in rules and not code.endswith("…")} == set()
    assert {code for code in rules - named if not code.startswith(families)} == set()


def test_the_guide_to_commands_speaks_of_every_command() -> None:
    guide = (ROOT / "docs" / "commands.md").read_text()
    assert re.findall(r"(?m)^\| `(\w+)", guide.split("## What all have in common", maxsplit=1)[0]) == list(COMMANDS)


def test_every_word_of_hami_for_a_card_has_a_meaning() -> None:
    words = {value for name, value in vars(reasons).items() if name.isupper() and " " not in value}
    assert set(CARD_WORDS) == words


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (
            "pinned-unfit",
            [
                ["given by", "Admission"],
                ["remedy", "Pin other GPUs, or ask for less."],
                ["level", "warn, enforce where static"],
                ["needs facts", "yes"],
                ["judged on", "pods that ask for a GPU"],
            ],
        ),
        ("count-zero", [["level", "warn"], ["needs facts", "no"], ["judged on", "every pod"]]),
        ("refit-no-fit", [["given by", "Refit"]]),
        ("caller-no-token", [["given by", "Callers of the refit"]]),
        ("CardUuidMismatch", [["given by", "HAMi's words for cards and nodes"]]),
    ],
)
def test_a_code_is_described(numafit: Numafit, code: str, lines: list[list[str]]) -> None:
    answer = numafit("codes", code)
    described = [[part.strip() for part in line.split("  ", 1)] for line in answer.out.splitlines()]
    assert answer.code == 0
    assert described[0] == ["code", code]
    assert [line for line in lines if line not in described] == []


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("pin-blnk", "did you mean pin-blank?"),
        ("refit-nofit", "did you mean refit-no-fit?"),
        ("x", "`numafit codes` lists all"),
    ],
)
def test_an_unknown_code_is_refused_with_the_nearest(numafit: Numafit, code: str, hint: str) -> None:
    answer = numafit("codes", code)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"numafit: {code!r} is no code that numafit gives; {hint}\n"
