"""Filter, bind and refit over HTTP, as kube-scheduler and a device plugin call them on the recorded cluster."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.serve.objects import asking
from tests.serve.running import Client, Numafit

RECORDED: Final = Path(__file__).parents[1] / "data" / "hami-cluster.json"
TRAIN: Final = "0918f322-aac8-43e7-91a6-d6900a85fe44"
"""The UID of a recorded pod that runs."""

NODES: Final = ["gpu-h100-1", "gpu-l40s-1", "gpu-rtx6000-1"]


@pytest.fixture(scope="module")
def server(serve: Callable[..., Numafit]) -> Iterator[Numafit]:
    server = serve(json.loads(RECORDED.read_text(encoding="utf-8"))["items"]).wait_until_up()
    yield server
    server.kill()


@pytest.fixture
def client(server: Numafit) -> Iterator[Client]:
    with Client(server) as client:
        yield client


def bind(name: str, node: str, uid: str = "") -> dict[str, str]:
    return {"podName": name, "podNamespace": "default", "podUID": uid or f"uid-{name}", "node": node}


def refit(name: str, node: str, *allowed: str) -> dict[str, Any]:
    return {
        "podUID": f"uid-{name}",
        "podNamespace": "default",
        "podName": name,
        "nodeName": node,
        "deviceType": "NVIDIA",
        "allowedDeviceUUIDs": list(allowed),
    }


def test_a_pod_goes_from_filter_over_bind_to_refit(client: Client) -> None:
    source = asking("cycle", 20000, {"nvidia.com/use-gputype": "H100"})
    passed = client.say("/filter", {"pod": source, "nodenames": NODES})
    assert passed == {
        "nodenames": ["gpu-h100-1"],
        "failedNodes": {"gpu-l40s-1": "8/8 CardTypeMismatch", "gpu-rtx6000-1": "8/8 CardTypeMismatch"},
    }
    early = client.say("/bind", bind("cycle", "gpu-l40s-1"))
    assert early == {"error": "pod default/cycle holds its cards on node gpu-h100-1, not on 'gpu-l40s-1'"}
    assert client.say("/bind", bind("cycle", "gpu-h100-1")) == {}
    assert client.say("/bind", bind("cycle", "gpu-h100-1")) == {}
    free = "GPU-7ea055a8-fdc5-fd61-756e-1bba8d570f8a", "GPU-c7de939b-aa1a-56f4-3c9b-693a7f7016bc"
    moved = client.say("/refit", refit("cycle", "gpu-h100-1", "GPU-127fe5b9-df6f-207b-380b-247b773c8dde"))
    assert moved == {
        "succeeded": True,
        "containerDevices": "GPU-127fe5b9-df6f-207b-380b-247b773c8dde,NVIDIA,20000,1:",
    }
    back = client.say("/refit", refit("cycle", "gpu-h100-1", *free))
    assert re.fullmatch("GPU-(7ea055a8|c7de939b)[0-9a-f-]+,NVIDIA,20000,1:", back["containerDevices"])


def test_a_pod_that_fits_nowhere_is_told_why_on_each_node(client: Client) -> None:
    answer = client.say("/filter", {"pod": asking("vast", 100000), "nodenames": [*NODES, "gone"]})
    assert answer == {
        "nodenames": [],
        "failedNodes": {
            "gone": "node unregistered",
            "gpu-h100-1": "8/8 CardInsufficientMemory",
            "gpu-l40s-1": "8/8 CardInsufficientMemory",
            "gpu-rtx6000-1": "8/8 CardInsufficientMemory",
        },
    }


def test_a_pod_without_gpus_passes_every_node_as_it_was_named(client: Client) -> None:
    source = asking("plain")
    source["spec"]["containers"][0]["resources"] = {}
    assert client.say("/filter", {"pod": source, "nodenames": NODES}) == {"nodenames": NODES, "failedNodes": {}}


def test_whole_nodes_are_answered_with_whole_nodes(client: Client) -> None:
    nodes = [{"metadata": {"name": name, "labels": {"as": "sent"}}} for name in NODES]
    answer = client.say("/filter", {"pod": asking("whole", 90000), "nodes": {"items": nodes}})
    assert answer["nodes"] == {"items": [nodes[2]]}
    assert "nodenames" not in answer


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (
            {"pod": asking("p")},
            "the pod cannot be placed: nodenames and nodes are missing; name the nodes to choose from",
        ),
        (
            {"pod": {"metadata": {"name": "p"}}, "nodenames": NODES},
            "the pod cannot be placed: metadata lacks namespace, name or uid; send the pod as the API server holds it",
        ),
        (
            {"pod": {"metadata": {"namespace": "research", "name": "train-0", "uid": "other"}}, "nodenames": NODES},
            "pod research/train-0 with UID 'other' is not there; another one may have its name",
        ),
        (
            {"pod": {"metadata": {"namespace": "research", "name": "train-0", "uid": TRAIN}}, "nodenames": NODES},
            "pod research/train-0 is bound to node gpu-h100-1 already; it keeps what it holds",
        ),
    ],
)
def test_what_cannot_be_placed_is_said(client: Client, asked: Any, error: str) -> None:
    assert client.say("/filter", asked) == {"error": error}


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (
            bind("nobody", "gpu-h100-1"),
            "pod 'default/nobody' with UID 'uid-nobody' holds no reservation; filter it first",
        ),
        (
            bind("train-0", "gpu-h100-1", TRAIN),
            f"pod 'default/train-0' with UID '{TRAIN}' holds no reservation; filter it first",
        ),
    ],
)
def test_what_cannot_be_bound_is_said(client: Client, asked: Any, error: str) -> None:
    assert client.say("/bind", asked) == {"error": error}
