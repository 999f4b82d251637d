"""The cluster that was recorded from a real API server, on which HAMi's own scheduler placed the pods."""

import json
from pathlib import Path

import pytest

from policy.facts import Quota, Use
from webhook.cluster.file import FileCluster
from webhook.cluster.moments import rfc3339
from webhook.cluster.snapshot import encode, snapshot

DATA = Path(__file__).parent.parent / "data"
DEMO = Path(__file__).parent.parent.parent / "webhook" / "demo" / "cluster.json"
RECORDED = DATA / "hami-cluster.json"

CARDS = {
    "gpu-h100-1": ("NVIDIA H100 80GB HBM3", 81559, [0, 0, 1, 1, 2, 2, 3, 3]),
    "gpu-l40s-1": ("NVIDIA L40S", 46068, [0, 0, 0, 0, 1, 1, 1, 1]),
    "gpu-rtx6000-1": ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, [0, 1, 2, 3, 4, 5, 6, 7]),
}
USE = {
    "gpu-h100-1": {
        2: Use(1, 60000, 0),
        3: Use(1, 10000, 20),
        4: Use(1, 70000, 0),
        5: Use(1, 70000, 0),
        6: Use(1, 70000, 0),
        7: Use(1, 70000, 0),
    },
    "gpu-l40s-1": {
        2: Use(1, 11517, 10),
        3: Use(2, 41517, 60),
        4: Use(1, 40000, 60),
        5: Use(1, 40000, 60),
        6: Use(1, 40000, 60),
        7: Use(2, 42000, 65),
    },
    "gpu-rtx6000-1": {index: Use(1, 20000, 30) for index in (4, 5, 6, 7)},
}
HOLDERS = {
    "gpu-h100-1": ["batch-1", "notebook-0", "train-0", "train-1"],
    "gpu-l40s-1": ["embed-0", "embed-1", "finetune-0", "llm-0", "llm-1"],
    "gpu-rtx6000-1": ["batch-0"],
}


@pytest.fixture(params=[RECORDED, DEMO], ids=["recorded", "demo"])
def cluster(request: pytest.FixtureRequest) -> FileCluster:
    """The recorded cluster, and what the demo's redacted copy of it says: the same."""
    return FileCluster.load([request.param])


def test_every_card_is_read_with_its_numa_node(cluster: FileCluster) -> None:
    for name, (model, memory, numa) in CARDS.items():
        node = cluster.facts().nodes[name].node
        assert node is not None
        assert [card.numa for card in node.cards] == numa
        assert {(c.type, c.memory, c.slots, c.cores, c.mode, c.healthy) for c in node.cards} == {
            (model, memory, 10, 100, "hami-core", True)
        }


def test_use_is_counted_per_card_by_phases(cluster: FileCluster) -> None:
    for name, use in USE.items():
        state = cluster.facts().nodes[name]
        assert state.node is not None
        found = {card.index: state.use[card.uuid] for card in state.node.cards if card.uuid in state.use}
        assert found == use


def test_placed_pods_count_and_the_pending_one_does_not(cluster: FileCluster) -> None:
    states = cluster.facts().nodes
    assert {
        name: sorted(one.pod.name for one in state.reservations.values()) for name, state in states.items()
    } == HOLDERS
    pending = cluster.pod("research", "too-big-0")
    assert pending is not None
    assert cluster.facts().reservation(pending.uid) is None


def test_the_peak_of_a_pod_with_init_and_sidecar_is_what_it_holds(cluster: FileCluster) -> None:
    pod = cluster.pod("research", "finetune-0")
    assert pod is not None
    held = cluster.facts().reservation(pod.uid)
    assert held is not None
    assert [device.memory for entry in held.entries for device in entry] == [20000, 2000, 30000]
    assert held.total == Use(2, 32000, 55)


def test_quota_and_its_use_are_counted(cluster: FileCluster) -> None:
    facts = cluster.facts()
    assert facts.quotas == {"research": Quota(memory=900_000)}
    assert facts.quota_use == {"research": Use(12, 462_000, 195), "serving": Use(6, 183_034, 260)}


def test_nothing_is_odd_about_it_and_it_is_as_old_as_its_newest_timestamp(cluster: FileCluster) -> None:
    taken_at = cluster.facts().taken_at
    assert cluster.problems() == ()
    assert taken_at is not None
    assert rfc3339(taken_at) == "2026-11-30T11:21:47Z"
    assert not cluster.is_stale(0)


def test_what_no_object_says_of_kubelets_stays_unknown(cluster: FileCluster) -> None:
    for state in cluster.facts().nodes.values():
        assert state.node is not None
        assert state.node.kubelet == type(state.node.kubelet)()


def test_events_of_the_same_cluster_load_beside_it() -> None:
    cluster = FileCluster.load([RECORDED, DATA / "hami-events.json"])
    assert cluster.problems() == ()
    assert len(cluster.objects()) == 21 + 36


def test_the_demo_starts_from_a_redacted_copy_that_one_command_makes() -> None:
    """`python -m tests.cluster.demo_cluster` writes it."""
    recorded = FileCluster.load([RECORDED])
    assert DEMO.read_bytes() == encode(snapshot(recorded.objects(), recorded.facts().taken_at, redact=True))
    assert "image" not in DEMO.read_text()
    assert len(json.loads(DEMO.read_text())["items"]) == 21
