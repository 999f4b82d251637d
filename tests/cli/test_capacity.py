"""`numafit capacity`: free against runnable, what binds, and what would help."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.capacity_world import ARTICLE, Object, article, asked, holder, topology, worker, written
from tests.cli.conftest import RECORDED, Numafit
from tests.cluster.build import node, pod, quota

ARTICLES = ("--cluster", ARTICLE / "cluster.json")
PAIR = "gpus=2,cpus=16,locality=zone:gpu+cpu"


def counted(numafit: Numafit, *arguments: object, code: int = 0, stdin: str = "") -> dict[str, Any]:
    document = asked(numafit, "capacity", *arguments, code=code, stdin=stdin)
    assert document["kind"] == "Capacity"
    (found,) = document["pods"]
    assert isinstance(found, dict)
    return found


def ladder(found: dict[str, Any]) -> dict[str, int | None]:
    return {rung["locality"]: rung["members"] for rung in found["ladder"]}


def bound(found: dict[str, Any]) -> dict[str, int]:
    return {each["constraint"]: each["cards"] for each in found["bindings"]}


def test_eight_free_cards_run_no_worker_of_the_article(numafit: Numafit) -> None:
    found = counted(numafit, "--shape", PAIR, "--count", 4, *ARTICLES, code=1)
    assert (found["freeCards"], found["runnableCards"], found["members"]) == (8, 0, 0)
    assert bound(found) == {"cpu": 8}
    assert ladder(found) == {"zone:gpu+cpu": 0, "zone:gpu": 4, "node": 4}
    assert found["without"] == [{"request": "cpus", "members": 4}, {"request": "gpus", "members": 0}]
    assert found["smaller"] == [{"request": "cpus", "amount": 8}]
    assert [(each["resource"], each["amount"]) for each in found["additions"]] == [("cpus", 32)]
    assert found["unknown"] == []
    (servers,) = found["nodes"]
    assert servers["names"] == ["server-1", "server-2", "server-3", "server-4"]
    assert [(place["numa"], place["freeCards"], place["binding"]) for place in servers["places"]] == [
        (0, 0, ["cpu", "gpu"]),
        (1, 2, ["cpu"]),
    ]


@pytest.mark.parametrize(
    ("cpus", "members", "code"), [(8, 4, 0), (12, 0, 1), (16, 0, 1)], ids=["eight fit", "twelve do not", "as asked"]
)
def test_fewer_cpus_make_the_article_run(numafit: Numafit, cpus: int, members: int, code: int) -> None:
    shape = f"gpus=2,cpus={cpus},locality=zone:gpu+cpu"
    assert counted(numafit, "--shape", shape, "--count", 4, *ARTICLES, code=code)["members"] == members


def test_what_the_file_does_not_say_refuses_nothing_and_is_named(numafit: Numafit, tmp_path: Path) -> None:
    file = written(tmp_path, *article(), topology("a", (None, None), (8, None), policy="restricted"))
    shape = "gpus=2,cpus=16,mem=1Gi,locality=zone:gpu+cpu+mem"
    found = counted(numafit, "--shape", shape, "--cluster", file)
    assert found["members"] == 3
    assert [each["what"] for each in found["unknown"]] == [
        "free CPUs by NUMA node",
        "topology policy of some kubelets",
        "free memory by NUMA node",
    ]
    assert all(each["needs"] for each in found["unknown"])


FULL = [holder(f"{name}{at}", name, *cards) for name in "ab" for at, cards in enumerate(((0, 1), (2, 3)))]
CASES: list[tuple[str, list[Object], str, dict[str, int]]] = [
    ("cards", [*article(), *FULL], "gpus=2", {"cards": 0}),
    (
        "cards in one NUMA node",
        [*article(), holder("p", "a", 0, 2), holder("q", "b", 0, 2)],
        "gpus=2,locality=zone:gpu",
        {"cards in one NUMA node": 4},
    ),
    ("fragmentation", article(), "gpus=3", {"fragmentation": 2}),
    ("type", article(), "gpus=2,type=H100", {"type": 8}),
    ("quota", [*article(), quota(gpumem="50k")], "gpus=2", {"quota": 8}),
    ("cordoned", [node("a", cards=4) | {"spec": {"unschedulable": True}}], "gpus=2", {"cordoned node": 4}),
    (
        "taint",
        [node("a", cards=4) | {"spec": {"taints": [{"key": "team", "effect": "NoSchedule"}]}}],
        "gpus=2",
        {"taint": 4},
    ),
    (
        "topology policy",
        [node("a", cards=4), topology("a", (32, None), (32, None), policy="best-effort")],
        PAIR,
        {"topology policy": 4},
    ),
    ("memory", [node("a", cards=4), topology("a", (64, "1Gi"), (64, "1Gi"))], "gpus=2,mem=4Gi", {"memory": 4}),
    (
        "several",
        [node("a", cards=2), topology("a", (8, "1Gi"))],
        "gpus=2,cpus=16,mem=4Gi,locality=zone:gpu+cpu+mem",
        {"cpu and memory": 2},
    ),
    (
        "whole node",
        [node("a", cards=4), topology("a", (8, None), (8, None))],
        "gpus=2,cpus=10,locality=zone:gpu",
        {"cpu, memory or seats of a whole node": 2},
    ),
]


@pytest.mark.parametrize(
    ("objects", "shape", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_binding_constraint_is_named_with_the_cards_that_it_keeps(
    numafit: Numafit, tmp_path: Path, objects: list[Object], shape: str, expected: dict[str, int]
) -> None:
    found = counted(numafit, "--shape", shape, "--count", 9, "--cluster", written(tmp_path, *objects), code=1)
    assert bound(found) == expected


def allocating(cpu: str, memory: str) -> Object:
    return node("a", cards=4) | {"status": {"allocatable": {"cpu": cpu, "memory": memory}}}


def requesting(name: str, *, node_name: str = "", phase: str = "Running", **requests: str) -> Object:
    containers = [{"name": "main", "resources": {"requests": requests}}]
    return pod(name) | {"spec": {"nodeName": node_name, "containers": containers}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("pods", "shape", "members", "unknown"),
    [
        ([], "gpus=1,cpus=6,mem=8Gi", 3, []),
        ([requesting("p", node_name="a", cpu="8")], "gpus=1,cpus=6,mem=8Gi", 2, []),
        ([requesting("p", node_name="a", memory="16Gi")], "gpus=1,cpus=6,mem=8Gi", 2, []),
        ([requesting("p", node_name="a", phase="Succeeded", cpu="8")], "gpus=1,cpus=6,mem=8Gi", 3, []),
        ([requesting("p", cpu="8")], "gpus=1,cpus=6,mem=8Gi", 3, []),
        ([requesting("p", node_name="a", cpu="400")], "gpus=1,cpus=6,mem=8Gi", 0, []),
        ([requesting("p", node_name="a", cpu="lots")], "gpus=1,cpus=6,mem=8Gi", 4, ["free CPUs of some nodes"]),
        ([requesting("p", node_name="a", cpu="8")], "gpus=1", 4, []),
    ],
    ids=[
        "idle",
        "cpu taken",
        "memory taken",
        "over",
        "without a place",
        "more than there is",
        "unreadable",
        "not asked",
    ],
)
def test_what_pods_request_of_a_node_is_not_free(
    numafit: Numafit, tmp_path: Path, pods: list[Object], shape: str, members: int, unknown: list[str]
) -> None:
    file = written(tmp_path, allocating("20", "33Gi"), *pods)
    found = counted(numafit, "--shape", shape, "--cluster", file, code=0 if members else 1)
    assert (found["members"], [each["what"] for each in found["unknown"]]) == (members, unknown)


def test_the_cheapest_move_makes_room(numafit: Numafit, tmp_path: Path) -> None:
    objects = [*article(), holder("big", "a", 0, 1), holder("small", "a", 2), holder("b-all", "b", 0, 1, 2)]
    found = counted(numafit, "--shape", "gpus=2,locality=zone:gpu", "--cluster", written(tmp_path, *objects), code=1)
    assert found["search"] == {
        "move": {"pod": "default/small", "from": "a", "onto": "b", "cards": 1},
        "complete": True,
    }


def test_a_manifest_is_read_with_its_locality_and_its_template(numafit: Numafit, tmp_path: Path) -> None:
    template = worker(2, 16, {"hami.io/numa-alignment": "strict"})
    metadata = {"name": "train", "namespace": "research"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}
    file = written(tmp_path, job, name="job.json")
    found = counted(numafit, "-f", file, *ARTICLES, code=1)
    assert found["title"] == "Job research/train"
    assert found["member"] == {
        "gpus": 2,
        "gpuMemory": None,
        "gpuMemoryPercent": 100,
        "gpuCores": 100,
        "cpus": 16,
        "memory": 1024,
        "locality": "zone:gpu+cpu",
    }


@pytest.mark.parametrize(("cpus", "locality"), [("16", "zone:gpu+cpu"), ("15500m", "zone:gpu")])
def test_cpus_that_kubelet_hands_to_nobody_alone_may_come_from_anywhere(
    numafit: Numafit, cpus: str, locality: str
) -> None:
    text = (
        "{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {hami.io/numa-alignment: strict}}, spec: {"
        f"containers: [{{name: main, resources: {{limits: {{cpu: {cpus}, memory: 1Gi, nvidia.com/gpu: 2}}}}}}]}}}}"
    )
    code = 1 if locality == "zone:gpu+cpu" else 0
    assert counted(numafit, "-f", "-", *ARTICLES, code=code, stdin=text)["member"]["locality"] == locality


def test_the_text_says_it_at_a_glance(numafit: Numafit) -> None:
    answer = numafit("capacity", "--shape", PAIR, "--count", 4, *ARTICLES)
    lines = answer.out.splitlines()
    assert lines[:3] == [
        "shape: 2 whole cards, 16 CPUs; zone:gpu+cpu",
        "4 are needed, 0 can run: does not fit. 8 cards are free, 0 runnable.",
        "bound by  cpu (8)",
    ]
    assert "waiting for  32 CPUs more free (8 on server-1, 8 on server-2, 8 on server-3, 8 on server-4)" in lines
    assert lines[-1].split() == ["1", "2", "1", "0", "any", "0", "cpu"]


def test_nodes_without_a_free_card_are_counted_and_not_listed(numafit: Numafit, tmp_path: Path) -> None:
    objects = [*article(), holder("all", "b", 0, 1, 2, 3)]
    lines = numafit("capacity", "--shape", "gpus=2", "--cluster", written(tmp_path, *objects)).out.splitlines()
    assert [each.split()[0] for each in lines[-2:]] == ["a", "1"]
    assert lines[-1] == "1 node has no free card for it."


def test_without_anything_asked_for_nothing_bounds_it(numafit: Numafit) -> None:
    found = counted(numafit, "--shape", "gpus=0", "--cluster", RECORDED)
    assert (found["members"], found["fits"], found["bindings"]) == (None, True, [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give what is asked for by -f POD or by --shape KEY=VALUE,…: one of the two"),
        (["--shape", "gpus=1", "-f", "pod.yaml"], "one of the two"),
        (["--shape", "gpu=1"], "--shape knows no 'gpu'; did you mean gpus?"),
        (["--shape", "x=1"], "--shape knows no 'x'; it knows gpus, gpumem"),
        (["--shape", "gpus"], "--shape gives gpus no value; write gpus=VALUE once"),
        (["--shape", "gpus=1,gpus=2"], "--shape gives gpus twice"),
        (["--shape", "gpus=1.5"], "gpus is '1.5'; write a whole number from 0 to 1000000000"),
        (["--shape", "gpus=1,gpucores=101"], "gpucores is '101'; write a whole number from 0 to 100"),
        (["--shape", "mem=lots"], "mem is 'lots'; write an amount such as 16, 500m or 64Gi"),
        (
            ["--shape", "locality=zone"],
            "locality is 'zone'; write one of zone:gpu+cpu+mem, zone:gpu+cpu, zone:gpu, node",
        ),
        (["--shape", "gpus=1", "--count", "0"], "Invalid value for '--count'"),
        (["-f", "nowhere.yaml"], "nowhere.yaml:1: cannot be read"),
    ],
)
def test_what_cannot_be_counted_ends_in_a_sentence(numafit: Numafit, arguments: list[str], words: str) -> None:
    answer = numafit("capacity", *arguments, *ARTICLES)
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err


def test_a_pod_that_is_no_single_shape_says_so(numafit: Numafit) -> None:
    limits = "resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 1000}}"
    containers = f"[{{name: x, {limits}}}, {{name: y, {limits}}}]"
    text = f"{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{containers: {containers}}}}}"
    answer = numafit("capacity", "-f", "-", *ARTICLES, stdin=text)
    assert (answer.code, answer.out) == (2, "")
    assert "2 containers of default/a ask for shares of cards" in answer.err
