"""The probe reads recorded containers, and says local, remote, unbound, or what it would have to know."""

import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.probe.trees import UUIDS, Container, write
from webhook import probe_script
from webhook.probe_script import listed, numbers, probe

BOUND = "7f00 bind:0 anon=1 N0=1\n7f01 bind=static:0 anon=1 N0=1\n"
ELSEWHERE = "7f00 bind:1 anon=1 N1=1\n"
SPREAD = "7f00 interleave:0-1 anon=1 N0=1\n"
MANY = "7f00 prefer (many):0-1 anon=1 N0=1\n"
BOTH = ",".join(UUIDS)
UNKNOWN_HOME = {"0000:07:00.0": "-1"}


@pytest.mark.parametrize(
    ("container", "verdicts"),
    [
        (Container(), ("local", "local", "local")),
        (Container(cpus="4-7"), ("remote", "remote", "remote")),
        (Container(cpus="0-7"), ("unbound", "unbound", "unbound")),
        (Container(cpus="0-4"), ("unbound", "unbound", "unbound")),
        (Container(visible=UUIDS[1], cpus="4-7"), ("local", "local", "local")),
        (Container(visible=BOTH), ("remote", "remote", "remote")),
        (Container(visible=BOTH, cpus="0-7"), ("unbound", "unbound", "unbound")),
        (Container(maps=BOUND, cpus="0-7"), ("unbound", "unbound", "local")),
        (Container(maps=ELSEWHERE), ("remote", "local", "remote")),
        (Container(maps=SPREAD), ("unbound", "local", "unbound")),
        (Container(maps=MANY), ("local", "local", "local")),
        (Container(mems="1"), ("remote", "local", "remote")),
        (Container(visible="void"), ("unknown", "unknown", "unknown")),
        (Container(homes=UNKNOWN_HOME), ("unknown", "unknown", "unknown")),
        (Container(homes=UNKNOWN_HOME, nodes={0: "0-7"}), ("local", "local", "local")),
        (Container(nodes={}), ("unknown", "unknown", "unbound")),
        (Container(maps=""), ("local", "local", "local")),
    ],
)
def test_verdicts_follow_where_cpus_memory_and_cards_are(
    tmp_path: Path, container: Container, verdicts: tuple[str, str, str]
) -> None:
    found = probe(str(container.record(tmp_path)))
    assert (found["verdict"], found["cpus"]["verdict"], found["memory"]["verdict"]) == verdicts
    assert bool(found["needs"]) == ("unknown" in verdicts)


def needs(container: Container, root: Path) -> list[str]:
    found: list[str] = probe(str(container.record(root)))["needs"]
    return found


def test_what_is_not_known_is_said_with_what_would_tell_it(tmp_path: Path) -> None:
    assert needs(Container(visible="none"), tmp_path / "a") == [
        "a GPU: NVIDIA_VISIBLE_DEVICES is none, so the container asked for none"
    ]
    assert needs(Container(visible="GPU-other"), tmp_path / "b") == [
        "a visible GPU: none of the machine's is among NVIDIA_VISIBLE_DEVICES=GPU-other"
    ]
    assert needs(Container(driver=False), tmp_path / "c") == [
        "a visible GPU: neither nvidia-smi nor /proc/driver/nvidia/gpus lists one; did the pod ask for a GPU?"
    ]
    assert needs(Container(homes=UNKNOWN_HOME), tmp_path / "d") == [
        f"the NUMA node of {UUIDS[0]}: the kernel knows none; `nvidia-smi topo -m` may"
    ]
    assert [need.partition(":")[0] for need in needs(Container(nodes={}), tmp_path / "e")] == [
        "/sys/devices/system/node"
    ]
    nothing = probe(str(tmp_path / "nowhere"))
    assert (nothing["verdict"], len(nothing["needs"])) == ("unknown", 4)


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, 2),
        ("all", 2),
        ("", 2),
        ("/var/run/nvidia-container-devices", 2),
        ("1", 1),
        ("0,1", 2),
        (BOTH, 2),
        ("MIG-1234", 2),
        ("none", 0),
        ("GPU-other", 0),
    ],
)
def test_cards_are_those_that_the_container_asked_for(tmp_path: Path, visible: str | None, expected: int) -> None:
    assert len(probe(str(Container(visible=visible).record(tmp_path)))["gpus"]["cards"]) == expected


def test_an_index_that_the_runtime_counts_anew_means_the_card_that_is_left(tmp_path: Path) -> None:
    container = Container(visible="3", homes={"0000:07:00.0": "0"})
    assert [card["uuid"] for card in probe(str(container.record(tmp_path)))["gpus"]["cards"]] == [UUIDS[0]]


def test_nvidia_smi_is_asked_first_and_its_bus_ids_are_the_kernels(tmp_path: Path) -> None:
    root = Container(driver=False).record(tmp_path)
    answer = f"echo '0, {UUIDS[0]}, 00000000:07:00.0'; echo 'No devices were found'"
    write(root / "usr/bin/nvidia-smi", f"#!/bin/sh\n{answer}\n", 0o755)
    gpus = probe(str(root))["gpus"]
    assert gpus["source"] == "nvidia-smi"
    assert [(card["pciBusId"], card["numaNode"]) for card in gpus["cards"]] == [("0000:07:00.0", 0)]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"cpuset.cpus.effective": "0-3\n", "cpuset.mems.effective": "0\n"},
            {"version": 2, "cpus": "0-3", "mems": "0"},
        ),
        (
            {"kubepods/pod1/cpuset.cpus.effective": "2-3\n", "cpuset.cpus.effective": "0-7\n"},
            {"version": 2, "cpus": "2-3", "mems": None},
        ),
        ({"cpuset/cpuset.cpus": "4-7\n", "cpuset/cpuset.mems": "1\n"}, {"version": 1, "cpus": "4-7", "mems": "1"}),
        ({}, {"version": None, "cpus": None, "mems": None}),
    ],
)
def test_the_cpuset_of_either_cgroup_version_is_told(
    tmp_path: Path, files: dict[str, str], expected: dict[str, Any]
) -> None:
    root = Container().record(tmp_path)
    write(root / "proc/self/cgroup", "4:cpuset:/\n0::/kubepods/pod1\n")
    for name, content in files.items():
        write(root / "sys/fs/cgroup" / name, content)
    assert probe(str(root))["cgroup"] == expected


def test_policies_and_pages_are_counted(tmp_path: Path) -> None:
    memory = probe(str(Container(maps=BOUND + SPREAD).record(tmp_path)))["memory"]
    assert memory["policies"] == {"bind:0": 1, "bind=static:0": 1, "interleave:0-1": 1}
    assert memory["pages"] == {"0": 3}


def test_this_very_process_is_probed_where_it_runs() -> None:
    found = probe()
    assert numbers(found["cpus"]["affinity"]) == os.sched_getaffinity(0)
    assert numbers(probe(pid=str(os.getpid()))["cpus"]["affinity"]) == os.sched_getaffinity(0)
    assert found["verdict"] in probe_script.VERDICTS


PARTS = st.sampled_from(
    ["Cpus_allowed_list:\t0-3\n", "Mems_allowed_list:", "0::/", "7f bind:", " N0=", "9" * 20, "\0", "-1"]
)
FILES = (
    "proc/self/status",
    "proc/self/numa_maps",
    "proc/self/environ",
    "proc/self/cgroup",
    "proc/driver/nvidia/gpus/0/information",
    "sys/bus/pci/devices/0000:07:00.0/numa_node",
    "sys/devices/system/node/node0/cpulist",
)


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=20) | st.lists(PARTS, max_size=6).map(lambda parts: "".join(parts).encode())))
def test_whatever_files_hold_there_is_a_verdict(contents: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Container().record(Path(directory))
        for name, content in zip(FILES, contents, strict=False):
            write(root / name, "")
            (root / name).write_bytes(content)
        assert json.loads(json.dumps(probe(str(root))))["verdict"] in probe_script.VERDICTS


@given(st.text(max_size=20) | st.sampled_from(["0-", "3-1", "99999999", "0,,1", "²"]))
def test_any_text_is_a_list_or_none(text: str) -> None:
    found = numbers(text)
    assert found is None or numbers(listed(found)) == found


@given(st.sets(st.integers(0, 300)))
def test_lists_are_written_as_they_are_read(cpus: set[int]) -> None:
    assert numbers(listed(cpus)) == cpus


SCRIPT = Path(probe_script.__file__)


def alone(directory: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a copy of the script by itself: no packages, no path of ours."""
    copy = directory / "copied.py"
    copy.write_bytes(SCRIPT.read_bytes())
    command = [sys.executable, "-I", "-S", str(copy), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=directory)


@pytest.mark.parametrize(("expect", "code"), [("local", 0), ("remote", 1)])
def test_the_copied_script_is_a_test_by_itself(tmp_path: Path, expect: str, code: int) -> None:
    root = Container().record(tmp_path / "root")
    ended = alone(tmp_path, "--root", root, "--expect", expect)
    assert (ended.returncode, ended.stderr) == (code, "")
    document = json.loads(ended.stdout)
    assert (document["apiVersion"], document["kind"], document["verdict"]) == ("numafit.io/v1", "Probe", "local")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--root", "/nowhere"], "--root is '/nowhere', which is no directory; give one that holds proc and sys"),
        (["--pid", "../1"], "--pid is '../1'; give the number of a process, or self"),
        (["--expect", "near"], "invalid choice: 'near'"),
    ],
)
def test_the_copied_script_refuses_what_it_cannot_use(tmp_path: Path, arguments: list[str], said: str) -> None:
    ended = alone(tmp_path, *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr


def test_the_script_is_written_for_python_3_8_and_imports_the_standard_library_alone() -> None:
    tree = ast.parse(SCRIPT.read_text(), feature_version=(3, 8))
    imports = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    imports += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert set(imports) <= sys.stdlib_module_names
    methods = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert methods.isdisjoint({"removeprefix", "removesuffix", "bit_count", "is_relative_to", "pairwise"})
