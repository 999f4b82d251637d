"""`numafit topology`: pictures, gaps and differences, from a cluster and from what was collected on its nodes."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import RECORDED, Numafit
from tests.cluster.build import listed, node
from tests.policy.inventory import samples
from webhook.cli import collected
from webhook.cli.server_picture import Pen

CONFIG = (
    "kind: KubeletConfiguration\ncpuManagerPolicy: static\ntopologyManagerPolicy: restricted\nreservedSystemCPUs: 0-1\n"
)
STATE = '{"policyName":"static","defaultCpuSet":"0-3,8-127","entries":{"uid":{"main":"4-7"}},"checksum":1}'
TOPOLOGY = {
    "apiVersion": "topology.node.k8s.io/v1alpha2",
    "kind": "NodeResourceTopology",
    "metadata": {"name": "gpu-2"},
    "attributes": [{"name": "topologyManagerPolicy", "value": "best-effort"}],
    "zones": [
        {
            "name": f"node-{number}",
            "type": "Node",
            "costs": [{"name": "node-0", "value": 10}],
            "resources": [{"name": "cpu", "capacity": "64", "allocatable": "62", "available": "60"}],
        }
        for number in (0, 1)
    ],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A cluster of two like nodes, and everything about the first of them in files of any name."""
    (tmp_path / "cluster.json").write_text(json.dumps(listed(node("gpu-1", 8), node("gpu-2", 4), TOPOLOGY)))
    home = tmp_path / "collected" / "gpu-1"
    home.mkdir(parents=True)
    texts = [samples.fabric(), samples.numactl(2, 64, 21, 21), samples.lscpu(2, 64), samples.lscpu_table(2, 64)]
    for position, text in enumerate([*texts, CONFIG, STATE]):
        (home / f"{position}.txt").write_text(text)
    (home / ".hidden").write_text("x")
    return tmp_path


def test_a_server_is_drawn_by_socket_and_numa_node(numafit: Numafit, place: Path) -> None:
    answer = numafit("topology", "gpu-1", "--cluster", place / "cluster.json", "--collected", place / "collected")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "gpu-1, 2 sockets, 2 threads a core"
    assert lines[1].startswith("╭─ NUMA node 0, socket 0 ──")
    assert [line.partition("│  │")[0].strip("│ ") for line in lines[2:10]] == [
        "CPUs      64  (0-31,64-95)",
        "reserved  2  (0-1)",
        "exclusive 4  (4-7)",
        "shared    60  (0-3,8-31,64-95)",
        "memory    128800 MiB",
        "GPU0      GPU-gpu-1-0  A100  40000 MiB",
        "GPU1      GPU-gpu-1-1  A100  40000 MiB",
        "GPU2      GPU-gpu-1-2  A100  40000 MiB",
    ]
    assert "  kubelet    topology restricted, scope container, CPUs static, memory None" in lines
    assert "  links      NV18: all pairs" in lines
    assert "  contradiction  GPU2: HAMi's annotation says NUMA node 1, nvidia-smi 0" in lines
    assert max(map(len, lines)) <= 100


def test_what_is_not_known_is_said_with_what_would_tell_it(numafit: Numafit, place: Path) -> None:
    answer = numafit("topology", "gpu-2", "--cluster", place / "cluster.json")
    assert (
        "  not known  links between cards, and NICs; give the output of `nvidia-smi topo -m`" in answer.out.splitlines()
    )
    assert "│ reserved  2 " in answer.out
    assert "  kubelet    topology best-effort, scope container" in answer.out


def test_differences_between_servers_with_the_same_cards_are_named(numafit: Numafit, place: Path) -> None:
    out = numafit("topology", "--cluster", place / "cluster.json", "--collected", place / "collected").out
    table = out[out.index("Servers with NVIDIA A100 differ in\n") :].splitlines()
    assert ["cards", "8", "gpu-1"] in [line.split() for line in table]
    assert ["4", "gpu-2"] in [line.split() for line in table]
    assert ["topology policy", "restricted", "gpu-1"] in [
        line.strip().split("  ")[:1] + line.split()[2:] for line in table
    ]


def test_programs_get_the_same_as_json(numafit: Numafit, place: Path) -> None:
    answer = numafit("topology", "--cluster", place / "cluster.json", "--collected", place / "collected", "-o", "json")
    document = json.loads(answer.out)
    assert (document["apiVersion"], document["kind"]) == ("numafit.io/v1", "Topology")
    first, second = document["servers"]
    assert first["numaNodes"][0]["exclusive"] == {"count": 4, "ids": "4-7"}
    assert first["nics"][0] == {"name": "mlx5_0", "nearCards": [0, 1], "link": "PIX"}
    assert first["links"][0] == {"cards": [0, 1], "link": "NV18"}
    assert first["kubelet"]["reservedSystemCPUs"] == "0-1"
    assert (second["links"], second["nics"], second["kubelet"]["cpuManagerPolicy"]) == (None, None, None)
    assert second["numaNodes"][0]["reserved"] == {"count": 2, "ids": None}
    assert document["differences"][0] == {
        "models": "NVIDIA A100",
        "trait": "cards",
        "values": [{"value": "8", "servers": ["gpu-1"]}, {"value": "4", "servers": ["gpu-2"]}],
    }


def test_collected_files_alone_make_servers_too(numafit: Numafit, place: Path) -> None:
    answer = numafit("topology", "--collected", place / "collected")
    assert (answer.code, answer.out.splitlines()[0]) == (0, "gpu-1, 2 sockets, 2 threads a core")


def test_a_recorded_cluster_is_drawn_in_ascii_where_nothing_else_can_be(numafit: Numafit) -> None:
    assert Pen.of("ascii") == Pen.of(None) == Pen.of("no such") == Pen("++", "++", "-", "|", "~")
    assert numafit("topology", "--cluster", RECORDED).code == 0


def test_what_was_collected_and_cannot_be_read_is_said_and_the_rest_is_shown(
    numafit: Numafit, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = place / "collected" / "gpu-1"
    (home / "0.txt").write_text("\tGPU0\nGPU0\tSYS\n")
    (home / "notes.txt").write_text("remember the milk")
    (home / "binary").write_bytes(b"\xff\xfe")
    (home / "long").write_text("x" * 20_000)
    (place / "collected" / "stray.txt").write_text("")
    monkeypatch.setattr(collected, "LARGEST", 15_000)
    answer = numafit("topology", "--collected", place / "collected")
    assert answer.code == 2
    assert answer.out.startswith("gpu-1, 2 sockets")
    said = answer.err.replace(f"{place}/collected/", "").splitlines()
    assert [line.partition("; ")[0].partition(": nvidia")[0] for line in said] == [
        "gpu-1/0.txt: line 2: GPU0 to itself is SYS",
        "gpu-1/binary is no UTF-8 text",
        "gpu-1/long has more than 15000 bytes",
        "gpu-1/notes.txt is none of what is known here",
        "stray.txt belongs to no node",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing says which servers there are; give --cluster FILE, --collected DIR or both"),
        (
            ["--collected", "nowhere"],
            "nowhere cannot be read: No such file or directory; name a directory of directories",
        ),
        (["gpu-h100", "--cluster", RECORDED], "no server is named 'gpu-h100'; did you mean gpu-h100-1?"),
        (["zzz", "--cluster", RECORDED], "no server is named 'zzz'; known are 3 others"),
    ],
)
def test_what_cannot_be_asked_is_refused(numafit: Numafit, arguments: list[object], said: str) -> None:
    answer = numafit("topology", *arguments)
    assert (answer.code, answer.out, answer.err) == (2, "", f"numafit: {said}\n")
