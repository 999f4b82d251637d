"""What `numafit demo` shows is what the server did, and nothing of it is left afterwards."""

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.demo.running import PROGRAM, ROOT, Piped, Typed, environment, servers
from webhook.cli.errors import OutsideError
from webhook.demo.process import running

ESCAPE = "\x1b"
RESERVED = "GPU-7ea055a8-fdc5-fd61-756e-1bba8d570f8a"
MOVED_TO = "GPU-9b911e2c-b026-fe04-b410-239721f90ea4"


@dataclass(frozen=True)
class Demos:
    """All demos that are looked at. They run side by side, as their ports, files and tokens are their own."""

    told: Piped
    in_ascii: Piped
    interrupted: Typed
    terminated: Typed
    bereaved: Typed


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demos]:
    made = Demos(
        told=Piped(tmp_path_factory.mktemp("told")),
        in_ascii=Piped(tmp_path_factory.mktemp("ascii"), PYTHONIOENCODING="ascii", PATH="/usr/bin:/bin"),
        interrupted=Typed(tmp_path_factory.mktemp("interrupted"), "--step"),
        terminated=Typed(tmp_path_factory.mktemp("terminated"), "--step", NO_COLOR="1"),
        bereaved=Typed(tmp_path_factory.mktemp("bereaved"), "--step"),
    )
    yield made
    for each in (made.told, made.in_ascii, made.interrupted, made.terminated, made.bereaved):
        each.end()


@pytest.fixture(scope="module")
def told(demos: Demos) -> Piped:
    """A demo on pipes that has ended."""
    return demos.told.finish()


@pytest.fixture(scope="module")
def in_ascii(demos: Demos) -> Piped:
    """The same on pipes that take nothing but ASCII, where the command is on no path."""
    return demos.in_ascii.finish()


def test_the_demo_ends_well_and_says_in_what_time(told: Piped) -> None:
    said = re.fullmatch(r"\ndone in (\d+\.\d) s: the server is stopped, its files are removed\n", told.err)

    assert told.code == 0
    assert said
    assert float(said[1]) < 15


def test_it_talks_over_tls_that_it_verified(told: Piped) -> None:
    assert re.search(r"TLSv1\.3 on port \d+, certificate of numafit CA \S+, verified with ca\.crt alone", told.out)


def test_a_refusal_names_all_that_is_wrong_at_once(told: Piped) -> None:
    shown = told.step(1)

    assert "Error from server (Forbidden): " in shown
    assert 'bind-not-boolean: nvidia.com/numa-bind is "yes"' in shown
    assert 'pinned-fewer-than-requested: container "main" asks for 2 GPUs, nvidia.com/use-gpuuuid names 1' in shown


def test_a_warned_pod_is_allowed(told: Piped) -> None:
    shown = told.step(2)

    assert re.findall(r"Warning: ([a-z-]+):", shown) == ["near-miss-key", "pin-not-honoured"]
    assert shown.rstrip().endswith("allowed: true")


def test_the_patch_adds_what_the_pod_does_not_say_and_takes_nothing_away(told: Piped) -> None:
    marked = [line.strip() for line in told.out.splitlines() if re.match(r" {3}[+-] ", line)]

    assert [re.sub(r" +", " ", re.sub(r"judged: [0-9a-f]{12}$", "judged: …", line)) for line in marked] == [
        "+ hami.io/numa-alignment: best-effort",
        "+ numafit.io/injected: schedulerName,main:nvidia.com/gpu=1,hami.io/numa-alignment",
        "+ numafit.io/judged: …",
        "+ nvidia.com/gpu: '1'",
        "+ schedulerName: hami-scheduler",
    ]


def test_the_pod_is_placed_on_a_card_of_the_model_that_it_asks_for(told: Piped) -> None:
    shown = told.step(4)

    assert '{"nodenames":["gpu-h100-1"],"failedNodes":{"gpu-l40s-1":"8/8 CardTypeMismatch"' in shown
    assert f'{{"succeeded":true,"containerDevices":"{RESERVED},NVIDIA,20000,0:"}}' in shown
    assert re.search(r"0 +0 GPU-7ea055a8 +█+░+ +20000 +tuner ", shown)


def test_the_refit_moves_the_pod_to_a_card_that_kubelet_left(told: Piped) -> None:
    shown = told.step(5)

    assert "tuner, allowed are GPU-127fe5b9, GPU-9b911e2c {" in shown
    assert f'{{"succeeded":true,"containerDevices":"{MOVED_TO},NVIDIA,20000,0:"}}' in shown
    assert re.search(r"0 GPU-7ea055a8 +█+░+ +20000 +tuner +░+ +0 ", shown)
    assert re.search(r"3 GPU-9b911e2c +allows +▒+░+ +10000 +notebook-0 +█+▒+░+ +30000 +notebook-0 +tuner ", shown)


def test_the_same_refit_again_gets_the_same_answer_and_moves_nothing(told: Piped) -> None:
    shown = told.step(6)

    assert f'{{"succeeded":true,"containerDevices":"{MOVED_TO},NVIDIA,20000,0:"}}' in shown
    assert 'numafit_refits_total{code="",result="kept"}  1.0 -> 2.0' in shown
    assert 'numafit_refits_total{code="",result="moved"}  1.0 -> 1.0' in shown


def test_a_strict_pod_is_refused_with_a_code_and_keeps_what_it_holds(told: Piped) -> None:
    shown = told.step(7)

    assert "strict, allowed are GPU-802a75ef, GPU-46b1c699 {" in shown
    assert '{"succeeded":false,"failureReason":"refit-no-fit: ' in shown
    assert "2/2 CardInsufficientMemory" in shown
    assert re.search(r"0 GPU-7ea055a8 +█+░+ +20000 +strict ", shown)
    assert re.search(r"6 GPU-802a75ef +allows +▒+░+ +70000 +train-0 ", shown)


def test_metrics_and_log_tell_of_the_same_decisions(told: Piped) -> None:
    shown = told.step(8)

    assert 'numafit_findings_total{code="pinned-fewer-than-requested",level="enforce"} 1.0' in shown
    assert 'numafit_refits_total{code="refit-no-fit",result="refused"} 1.0' in shown
    assert re.search(rf"decision path=/refit verdict=moved .* old={RESERVED} new={MOVED_TO}", shown)


def test_what_is_to_be_tried_next_works_as_it_is_printed(in_ascii: Piped) -> None:
    commands = [shlex.split(each) for each in re.findall(r"\$ (\S*numafit (?:review|explain) .*)", in_ascii.out)]
    review, explain = [subprocess.run(each, cwd=ROOT, capture_output=True, text=True, check=False) for each in commands]

    assert [command[0] for command in commands] == [os.path.relpath(PROGRAM, ROOT)] * 2
    assert (review.returncode, explain.returncode) == (1, 0)
    assert "pinned-fewer-than-requested" in review.stdout
    assert "gpu-h100-1" in explain.stdout


def test_a_server_of_an_own_snapshot_starts_as_it_is_printed(in_ascii: Piped, tmp_path: Path) -> None:
    shutil.copy(ROOT / "webhook/demo/cluster.json", tmp_path / "my-cluster.json")
    _, *arguments = shlex.split(re.findall(r"\$ (\S*numafit serve --cluster my-.*)", in_ascii.out)[0])
    ports = {"NUMAFIT_LISTEN__PORT": "0", "NUMAFIT_LISTEN__OPS_PORT": "0", "NUMAFIT_DRAIN_SECONDS": "0"}

    with subprocess.Popen(
        [PROGRAM, *arguments], cwd=tmp_path, env=environment(tmp_path, **ports), stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr
        started = any("serving operations on TLS port" in line for line in server.stderr)
        server.terminate()
    assert started


def test_nothing_is_left_of_a_demo_that_ended(told: Piped, in_ascii: Piped) -> None:
    for each in (told, in_ascii):
        assert servers(each.directory) == []
        assert list(each.directory.iterdir()) == []


def test_what_programs_read_has_no_colour_and_no_line_beyond_100_columns_but_commands(told: Piped) -> None:
    lines = told.out.splitlines()

    assert ESCAPE not in told.out + told.err
    assert [line for line in lines if len(line) > 100 and not line.lstrip().startswith("$")] == []
    assert [line for line in lines if line != line.rstrip()] == []


def test_ascii_is_drawn_with_where_nothing_else_can_be(told: Piped, in_ascii: Piped) -> None:
    assert in_ascii.code == 0
    assert in_ascii.out.isascii()
    assert "\\u" not in in_ascii.out
    assert re.search(r"3 GPU-9b911e2c \|allows +\|=+\.+ +\|10000 \|notebook-0 \|#+=+\.+ +\|30000 ", in_ascii.step(5))
    assert not told.out.isascii()


def press_enter_until_step_4(demo: Typed) -> None:
    for number in (1, 2, 3, 4):
        demo.read_until(f"press Enter for step {number}")
        if number < 4:
            demo.press_enter()


def test_ctrl_c_stops_the_server_and_removes_its_files(demos: Demos) -> None:
    demo = demos.interrupted
    press_enter_until_step_4(demo)
    before = servers(demo.directory)
    demo.press_ctrl_c()

    assert demo.finish() == 130
    assert "interrupted: the server is stopped, its files are removed" in demo.screen
    assert "Traceback" not in demo.screen
    assert len(before) == 2
    assert servers(demo.directory) == []
    assert list(demo.directory.iterdir()) == []


def test_a_signal_to_end_does_the_same(demos: Demos) -> None:
    demo = demos.terminated
    press_enter_until_step_4(demo)
    demo.process.send_signal(signal.SIGTERM)

    assert demo.finish() == 130
    assert servers(demo.directory) == []
    assert list(demo.directory.iterdir()) == []


def test_a_server_that_dies_ends_the_demo_with_a_sentence_and_leaves_nothing(demos: Demos) -> None:
    demo = demos.bereaved
    press_enter_until_step_4(demo)
    for process in servers(demo.directory):
        os.kill(process, signal.SIGKILL)
    demo.press_enter()

    assert demo.finish() == 3
    assert "numafit: POST /filter got no answer from the server of the demo" in demo.screen
    assert "Traceback" not in demo.screen
    assert servers(demo.directory) == []
    assert list(demo.directory.iterdir()) == []


def test_a_terminal_gets_colour_unless_it_is_not_wanted(demos: Demos) -> None:
    assert f"{ESCAPE}[33mWarning: near-miss-key" in demos.interrupted.screen
    assert "Warning: near-miss-key" in demos.terminated.screen
    assert ESCAPE not in demos.terminated.screen


def test_steps_need_somebody_who_presses_enter(tmp_path: Path) -> None:
    demo = Piped(tmp_path, "--step").finish()

    assert (demo.code, demo.out) == (2, "")
    assert demo.err == "numafit: --step waits for Enter, and stdin is no terminal; leave it out\n"


def test_a_server_that_does_not_start_says_why_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with pytest.raises(OutsideError, match=r"did not start \(exit code 2\): .*no-such-file\.json"):
        running(tmp_path / "no-such-file.json", ROOT / "webhook/demo/levels.yaml").__enter__()
    assert list(tmp_path.iterdir()) == []


def test_a_demo_without_a_place_for_its_files_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))

    with pytest.raises(OutsideError, match=r"needs a directory for its files, say in TMPDIR which: .*missing"):
        running(ROOT / "webhook/demo/cluster.json", ROOT / "webhook/demo/levels.yaml").__enter__()


def test_the_output_in_the_documentation_is_what_the_demo_shows(told: Piped) -> None:
    documented = (ROOT / "docs/demo.md").read_text(encoding="utf-8").partition("```\n")[2].partition("```\n")[0]

    assert without_what_varies(documented) == without_what_varies(told.out)


def without_what_varies(text: str) -> str:
    """With words for ports, times, UIDs, the hash of the policy file and where the command is, and folds undone."""
    for varies, word in {
        r"port \d+": "PORT",
        r"\d{4}-\d\d-\d\dT[\d:.]+Z": "TIME",
        r"uid=[0-9a-f-]{36}": "UID",
        r"ms=[\d.]+": "MS",
        r"judged: [0-9a-f]{12}": "JUDGED",
        r"\S*numafit (?=review|explain|serve)": "numafit ",
    }.items():
        text = re.sub(varies, word, text)
    return " ".join(text.split())
