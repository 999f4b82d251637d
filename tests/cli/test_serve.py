"""`numafit serve`: its flags as people read them, and how a start that fails ends."""

import re
from pathlib import Path

import pytest

from tests.cli.conftest import GALLERY, PROGRAM, Numafit, run
from webhook.cli.serve import flag
from webhook.settings import LEAVES, variable

ANY_PORT = ("--listen-port", 0, "--listen-ops-port", 0)


@pytest.fixture
def described(numafit: Numafit) -> dict[str, tuple[str, str]]:
    """Flag -> what it takes and what is said of it."""
    _, _, options = numafit("serve", "--help").out.partition("Options:\n")
    text = re.sub(r"\n {8,}", " ", re.sub(r"(?<=\w-)\n {8,}", "", options))
    found = (re.match(r"\s+(--[\w-]+) (\S+)\s+(.+)", line) for line in text.splitlines())
    return {each[1]: (each[2], each[3]) for each in found if each}


@pytest.mark.parametrize(
    ("name", "takes", "said"),
    [
        ("--authority", "self|hami", "who owns the accounting of reservations [NUMAFIT_AUTHORITY; default self]"),
        ("--log-level", "debug|info|warning|error", "[NUMAFIT_LOG__LEVEL; default info]"),
        ("--extender", "true|false", "[NUMAFIT_EXTENDER; default false]"),
        ("--listen-port", "INTEGER", "[NUMAFIT_LISTEN__PORT; from 0 to 65535; default 9443]"),
        ("--deadlines-body", "NUMBER", "[NUMAFIT_DEADLINES__BODY; above 0 to 300; default 10.0]"),
        ("--tls-directory", "PATH", "[NUMAFIT_TLS__DIRECTORY; default numafit-certs]"),
        ("--cluster", "PATH", "[NUMAFIT_CLUSTER_FILES]"),
        ("--listen-host", "TEXT", "[NUMAFIT_LISTEN__HOST]"),
    ],
)
def test_a_flag_says_what_it_takes_and_what_holds_without_it(
    described: dict[str, tuple[str, str]], name: str, takes: str, said: str
) -> None:
    assert described[name][0] == takes
    assert described[name][1].endswith(said)


def test_every_setting_has_a_flag_with_its_variable(described: dict[str, tuple[str, str]]) -> None:
    assert {name: f"[{variable(name)}" in described[flag(name)][1] for name in LEAVES} == dict.fromkeys(LEAVES, True)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--cluster", "nosuch.json"], 2, "nosuch.json: cannot be read: No such file or directory"),
        (["--levels", GALLERY / "broken.yaml"], 2, "broken.yaml: is no YAML that numafit reads"),
        (["--listen-port", "high"], 2, "listen.port is 'high' (flag): "),
        (["--listen-host", "nosuch.invalid"], 3, "cannot listen on nosuch.invalid:0: "),
        (["--tls-directory", GALLERY], 3, f"{GALLERY}: broken.json is there"),
    ],
)
def test_a_start_that_fails_says_by_its_exit_code_whose_fault_it_is(
    tmp_path: Path, arguments: list[object], code: int, words: str
) -> None:
    ended = run("serve", "--tls-directory", tmp_path / "tls", *ANY_PORT, *arguments, program=PROGRAM)
    (line,) = ended.stderr.splitlines()
    assert (ended.returncode, ended.stdout) == (code, "")
    assert words in line
    assert "Unknown error" not in line
