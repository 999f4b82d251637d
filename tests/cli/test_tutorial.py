"""The tutorial: every command on the page prints what stands below it, and every figure of the text is among that."""

import re
import shlex

import pytest

from tests.cli.capacity_world import ARTICLE
from tests.cli.conftest import ROOT, Numafit

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?ms)^```console\n\$ (numafit [^\n]+)\n(.*?)^```$", PAGE)


@pytest.mark.parametrize(("command", "printed"), BLOCKS, ids=[command for command, _ in BLOCKS])
def test_a_command_of_the_tutorial_prints_what_stands_below_it(
    numafit: Numafit, monkeypatch: pytest.MonkeyPatch, command: str, printed: str
) -> None:
    monkeypatch.chdir(ARTICLE)
    answer = numafit(*shlex.split(command)[1:])
    assert (answer.out, answer.err) == (printed, "")


@pytest.mark.parametrize(
    ("command", "figures"),
    [
        (
            "capacity --shape gpus=2,cpus=16,locality=zone:gpu+cpu",
            ["8 cards are free, 0 runnable", "bound by  cpu (8)"],
        ),
        ("capacity --shape gpus=2,cpus=8,", ["4 are needed, 4 can run: fits"]),
        ("capacity --shape gpus=2,cpus=16,locality=zone:gpu ", ["4 are needed, 4 can run: fits"]),
        ("group -f train.yaml --cluster three-of-four.json", ["cannot start now; 4 must start", "zone:gpu+cpu  3"]),
        ("cost --history waiting.jsonl", ["72           1.2        3.60"]),
        ("cost --history day.jsonl", ["24         72.00"]),
        ("cost --history stranded.jsonl", ["5760"]),
        ("cost --history turnaround.jsonl", ["42 min          320", "44 min          288"]),
        ("compare remote.csv local.csv", ["-32", "-10.0", "2520  2640", "a queue of at most 360 s"]),
    ],
)
def test_the_figures_of_the_article_stand_on_the_page(command: str, figures: list[str]) -> None:
    (printed,) = [printed for shown, printed in BLOCKS if shown.startswith(f"numafit {command}")]
    assert [figure for figure in figures if figure not in printed] == []


def test_every_block_of_the_page_is_a_command() -> None:
    assert PAGE.count("```console") == len(BLOCKS) == PAGE.count("```") // 2
