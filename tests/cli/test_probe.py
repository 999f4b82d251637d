"""`numafit probe`: the same as the script by itself, for people and as a test."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Numafit
from tests.probe.trees import UUIDS, Container
from webhook import probe_script


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Container().record(tmp_path)


def test_people_get_a_line_for_each_fact(numafit: Numafit, root: Path) -> None:
    answer = numafit("probe", "--root", root)
    assert (answer.code, answer.err) == (0, "")
    assert [" ".join(line.split()) for line in answer.out.splitlines()] == [
        "verdict local",
        "CPUs 0-3 on NUMA nodes 0",
        "memory from NUMA nodes 0 (allowed 0-1, policy default)",
        "pages 3 on node 0, 1 on node 1",
        f"GPU {UUIDS[0]} at 0000:07:00.0 on NUMA node 0: local",
    ]


def test_programs_get_what_the_script_prints(numafit: Numafit, root: Path) -> None:
    assert json.loads(numafit("probe", "--root", root, "-o", "json").out) == probe_script.probe(str(root))


@pytest.mark.parametrize(("expect", "code"), [("local", 0), ("unbound", 1)])
def test_an_expectation_that_is_not_met_ends_with_1(numafit: Numafit, root: Path, expect: str, code: int) -> None:
    answer = numafit("probe", "--root", root, "--expect", expect)
    assert answer.code == code
    assert answer.err == ("" if code == 0 else "the verdict is local, expected was unbound\n")


def test_the_script_is_printed_as_it_is(numafit: Numafit) -> None:
    assert numafit("probe", "--script").out == Path(probe_script.__file__).read_text()


def test_a_root_that_is_no_directory_is_refused(numafit: Numafit) -> None:
    answer = numafit("probe", "--root", "/nowhere")
    assert (answer.code, answer.err) == (2, "numafit: /nowhere is no directory; give one that holds proc and sys\n")


def test_what_is_not_known_is_listed(numafit: Numafit, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    lines = numafit("probe", "--root", empty, "--expect", "unknown").out.splitlines()
    assert lines[0].split() == ["verdict", "unknown"]
    assert sum(line.startswith("not known") for line in lines) == 4
