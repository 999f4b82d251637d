"""The table of versions, and that the page about it says the same."""

from pathlib import Path

import pytest

from policy.kubelet.versions import VERSIONS, rules_of

PAGE = (Path(__file__).parents[3] / "docs" / "kubelet-model.md").read_text(encoding="utf-8")
OPTIONS = sorted({name for row in VERSIONS.values() for name in (*row.cpu_options, *row.topology_options)})


def _cells(title: str) -> list[str]:
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {title} |"))
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


@pytest.mark.parametrize("option", OPTIONS)
def test_the_page_names_the_level_of_each_option(option: str) -> None:
    levels = [{**row.cpu_options, **row.topology_options}.get(option, "") for row in VERSIONS.values()]
    assert _cells(f"`{option}`") == levels


@pytest.mark.parametrize(
    ("title", "field", "words"),
    [
        ("`spec.resources` honoured by default", "pod_level_resources", ("", "yes")),
        ("gate `PodLevelResourceManagers`, off by default", "pod_level_managers", ("", "yes")),
        ("shortage of whole cores is named as one", "says_none_left", ("no", "yes")),
        ("recorded CPUs are kept before whole cores are counted", "keeps_recorded_first", ("no", "yes")),
        ("equal parts of CPUs heed `align-by-socket`", "distributes_in_sockets", ("no", "yes")),
        ("how it is known", "verified", ("read", "ran")),
    ],
)
def test_the_page_says_what_each_version_does(title: str, field: str, words: tuple[str, str]) -> None:
    values = [getattr(row, field) for row in VERSIONS.values()]
    assert _cells(title) == [value if isinstance(value, str) else words[value] for value in values]


@pytest.mark.parametrize(
    ("written", "row"),
    [("v1.36.3", "1.36"), ("1.30.0", "1.30"), ("v1.37.2+rke2", "1.37"), ("v1.29.1", None), ("", None)],
)
def test_finds_the_row_of_a_version(written: str, row: str | None) -> None:
    found = rules_of(written)
    assert (found and found.version) == row


def test_only_what_was_run_is_called_verified() -> None:
    assert {row.version for row in VERSIONS.values() if row.verified == "ran"} == {"1.36"}
    assert list(VERSIONS) == [f"1.{minor}" for minor in range(30, 38)]
