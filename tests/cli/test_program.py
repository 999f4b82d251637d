"""The command line as a process: what it imports, writes and leaves behind, and that its examples run."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import ENVIRONMENT, GALLERY, PROGRAM, RECORDED, ROOT, Numafit, on_a_terminal, run
from webhook.cli import COMMANDS, load

BLOCKED = """
import sys

class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ImportError(f"{{name}} is blocked")

sys.meta_path.insert(0, Wall())
from webhook.cli import main
main()
"""
OUTSIDE = {"gunicorn", "flask", "werkzeug", "kubernetes", "prometheus_client"}
SLOW = OUTSIDE | {"cryptography", "jsonpatch", "rich", "yaml"}


def walled(names: set[str]) -> list[str]:
    return [sys.executable, "-c", BLOCKED.format(names=names)]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["review", GALLERY / "deployment.yaml", "--cluster", RECORDED, "--show"], 0),
        (["explain", "serving/embed-0", "--cluster", RECORDED], 0),
        (["snapshot", "--from", RECORDED, "--redact"], 0),
        (["topology", "--cluster", RECORDED], 0),
        (["probe"], 0),
        (["levels", "show"], 0),
        (["config", "show"], 0),
        (["certs", "verify", "--dir", GALLERY / "chart"], 1),
    ],
)
def test_what_reads_files_needs_neither_server_nor_cluster(arguments: list[object], code: int) -> None:
    ended = run(*arguments, program=walled(OUTSIDE))
    assert (ended.returncode, "blocked" in ended.stderr) == (code, False)
    assert ended.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["codes"], ["codes", "pin-blank"], ["version"]])
def test_what_reads_nothing_imports_nothing_slow(arguments: list[object]) -> None:
    ended = run(*arguments, program=walled(SLOW))
    assert (ended.returncode, ended.stderr) == (0, "")


def commands() -> Iterator[list[str]]:
    """Every command and subcommand, but for those that serve until they are stopped."""
    for name in COMMANDS:
        subcommands = getattr(load(name), "commands", {})
        yield from ([name, sub] for sub in subcommands)
        if not subcommands and name not in {"serve", "demo"}:
            yield [name]


@pytest.fixture
def workplace(tmp_path: Path, numafit: Numafit, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the files that examples name."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(RECORDED, "cluster.json")
    Path("levels.yaml").write_text("version: numafit.io/v1\n")
    Path("pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: main}]}\n")
    for name in ("remote.csv", "local.csv"):
        Path(name).write_text("run_seconds\n2400\n2160\n")
    assert numafit("certs", "init", "--dir", "tls").code == 0
    return tmp_path


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("command", [[], *commands()], ids=" ".join)
def test_help_begins_with_an_example_that_runs(numafit: Numafit, command: list[str]) -> None:
    shown = numafit(*command, "--help")
    usage, blank, head, first = shown.out.splitlines()[:4]
    assert (shown.code, blank, head.strip()) == (0, "", "Examples:")
    assert usage.startswith(f"Usage: {' '.join(['numafit', *command])} ")
    assert first.startswith(f"    $ {' '.join(['numafit', *command])}")
    _, _, *arguments = shlex.split(first)
    assert numafit(*arguments).code == 0


@pytest.mark.parametrize("command", [["serve"], ["demo"]], ids=" ".join)
def test_help_of_servers_begins_with_an_example(numafit: Numafit, command: list[str]) -> None:
    assert numafit(*command, "--help").out.splitlines()[2].strip() == "Examples:"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["version"], "Version"),
        (["codes"], "Codes"),
        (["review", GALLERY / "shared.yaml"], "Review"),
        (["explain", "serving/llm-0", "--cluster", RECORDED], "Explanation"),
        (["topology", "--cluster", RECORDED], "Topology"),
        (["probe"], "Probe"),
        (["levels", "show"], "Levels"),
        (["config", "show"], "Settings"),
        (["certs", "show", "--dir", GALLERY], "Certificates"),
    ],
)
def test_json_documents_name_version_and_kind(numafit: Numafit, arguments: list[object], kind: str) -> None:
    document = json.loads(numafit(*arguments, "-o", "json").out)
    assert (document["apiVersion"], document["kind"]) == ("numafit.io/v1", kind)


def test_colour_is_for_terminals_and_never_with_no_color() -> None:
    command = ("review", GALLERY / "cronjob.yaml")
    assert "\x1b[1;31menforce" in on_a_terminal(*command)
    plain = on_a_terminal(*command, NO_COLOR="1")
    assert "percent-out-of-range" in plain
    assert "\x1b" not in plain
    assert "\x1b" not in run(*command, environment={"FORCE_COLOR": "1"}).stdout


def test_a_reader_that_leaves_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(
        [*PROGRAM, "codes"], stdout=write, stderr=subprocess.PIPE, check=False, timeout=60, env=ENVIRONMENT
    )
    os.close(write)
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["--help"], ["codes", "--help"], ["codes"], ["snapshot", "--from", RECORDED]])
def test_a_full_disk_is_said_to_be_one(arguments: list[object], unbuffered: str) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [*PROGRAM, *map(str, arguments)],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
            env=ENVIRONMENT | {"PYTHONUNBUFFERED": unbuffered},
        )
    reason = b"numafit: stdout does not take the answer: No space left on device; write it to a place that does\n"
    assert (ended.returncode, ended.stderr.splitlines(keepends=True)[-1]) == (3, reason)


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (f"review {GALLERY}/cronjob.yaml >&-", 3, "numafit: stdout does not take the answer: it is closed"),
        (f"review {GALLERY}/shared.yaml >&-", 0, "2 pods and templates judged"),
        (f"review {GALLERY}/cronjob.yaml >/dev/null 2>&-", 1, ""),
        ("review - <&-", 2, "stdin:1: holds nothing"),
        ("snapshot --from nowhere.json <&- >&- 2>&-", 2, ""),
    ],
)
def test_a_closed_stream_is_no_fault(command: str, code: int, said: str) -> None:
    ended = run("-c", f"{shlex.join(PROGRAM)} {command}", program=["sh"])
    assert (ended.returncode, ended.stdout) == (code, "")
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_version_is_an_option_too(numafit: Numafit) -> None:
    answer = numafit("--version")
    assert answer == numafit("version")
    assert answer.out.startswith("numafit ")


def test_an_interrupt_is_no_traceback(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pod.yaml")
    command = [*PROGRAM, "review", str(tmp_path / "pod.yaml")]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as started,
        (tmp_path / "pod.yaml").open("wb"),  # returns once the command has it open, and waits for its content
    ):
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=60)
    assert (started.returncode, out, err) == (130, b"", b"")


def test_a_fault_of_its_own_is_one_sentence_and_exit_code_3(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import policy.admission.table as t\nt.RULES = None\n")
    paths = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    ended = run("codes", environment=paths)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.startswith("numafit: this is a fault of numafit's own (TypeError: ")
    assert "Traceback" in run("codes", environment=paths | {"PYTHONDEVMODE": "1"}).stderr


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("numafit ver", "version"), ("numafit codes pinned-unf", "pinned-unfit"), ("numafit certs ve", "verify")],
)
def test_the_shell_completes_commands_and_codes(typed: str, expected: str) -> None:
    words = {"_NUMAFIT_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    assert run(environment=words).stdout.split() == [expected]


def test_a_command_that_does_not_exist_is_refused_with_the_nearest(numafit: Numafit) -> None:
    answer = numafit("snapshots")
    assert (answer.code, answer.out) == (2, "")
    assert "No such command 'snapshots'. Did you mean 'snapshot'?" in answer.err
