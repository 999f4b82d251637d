"""`numafit explain`: what every node and card makes of a pod."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import GALLERY, RECORDED, Numafit, on_a_terminal

CLUSTER = ("--cluster", RECORDED)


def explained(numafit: Numafit, *arguments: object, stdin: str = "") -> dict[str, Any]:
    answer = numafit("explain", *arguments, *CLUSTER, "-o", "json", stdin=stdin)
    document = json.loads(answer.out)
    assert (answer.code, document["kind"]) == (0, "Explanation")
    (pod,) = document["pods"]
    assert isinstance(pod, dict)
    return pod


def answers(pod: dict[str, Any], node: str) -> dict[str, int]:
    (found,) = [one for one in pod["nodes"] if one["name"] == node]
    return dict(Counter(card["answer"] for one in found["containers"] for card in one["cards"]))


def test_a_pod_that_fits_nowhere_is_told_why_by_every_card(numafit: Numafit) -> None:
    pod = explained(numafit, "research/too-big-0")
    assert pod["asks"] == [{"container": "main", "cards": 3, "memory": 90000, "cores": 0}]
    assert (pod["policy"], pod["node"], pod["holds"]) == ("spread", "", [])
    assert pod["quota"] == {"memory": {"limit": 900000, "used": 462000}}
    assert [(one["name"], one["answer"], one["reasons"]) for one in pod["nodes"]] == [
        ("gpu-h100-1", "no", ["8/8 CardInsufficientMemory"]),
        ("gpu-l40s-1", "no", ["8/8 CardInsufficientMemory"]),
        ("gpu-rtx6000-1", "no", ["1/8 AllocatedCardsInsufficientRequest, 3/8 NumaNotFit, 4/8 CardInsufficientMemory"]),
    ]
    assert answers(pod, "gpu-rtx6000-1") == {
        "AllocatedCardsInsufficientRequest": 1,
        "NumaNotFit": 3,
        "CardInsufficientMemory": 4,
    }


def test_a_placed_pod_says_what_it_holds_and_where_it_would_go_anew(numafit: Numafit) -> None:
    pod = explained(numafit, "serving/embed-0")
    assert (pod["node"], pod["findings"]) == ("gpu-l40s-1", [])
    assert pod["holds"] == [
        {
            "container": "embed",
            "card": "GPU-4d4d5483-27db-7b43-86ee-38c1bdcfc513",
            "numa": 0,
            "memory": 11517,
            "cores": 10,
            "pending": False,
        }
    ]
    assert {one["name"]: one["answer"] for one in pod["nodes"]} == {
        "gpu-h100-1": "fits",
        "gpu-l40s-1": "chosen",
        "gpu-rtx6000-1": "fits",
    }
    assert pod["nodes"][0]["reasons"] == ["binpack takes gpu-l40s-1 first"]
    assert answers(pod, "gpu-l40s-1") == {"chosen": 1, "fits": 3, "CardInsufficientMemory": 4}
    assert answers(pod, "gpu-h100-1") == {"fits": 4, "CardInsufficientMemory": 4}


def test_what_a_pod_holds_itself_counts_as_free(numafit: Numafit) -> None:
    pod = explained(numafit, "serving/embed-0", "--node", "gpu-l40s-1")
    (node,) = pod["nodes"]
    held = {card["card"]: (card["held"], card["heldBy"]) for card in node["containers"][0]["cards"]}
    assert held["GPU-4d4d5483-27db-7b43-86ee-38c1bdcfc513"] == (
        {"slots": 1, "memory": 30000, "cores": 50},
        ["research/finetune-0"],
    )


@pytest.mark.parametrize(
    ("order", "card"),
    [("numafit", "GPU-45f17bb4-a4bb-e468-effb-2739eead00d5"), ("hami", "GPU-539e5623-38f9-ceed-b03f-48ed37573acf")],
)
def test_the_order_decides_between_equal_cards(numafit: Numafit, order: str, card: str) -> None:
    pod = explained(numafit, "serving/embed-0", "--order", order, "--node", "gpu-l40s-1")
    cards = pod["nodes"][0]["containers"][0]["cards"]
    assert [one["card"] for one in cards if one["answer"] == "chosen"] == [card]


def test_containers_that_run_together_see_what_the_others_take(numafit: Numafit) -> None:
    limits = "{limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 60000}}"
    containers = ", ".join(f"{{name: {name}, resources: {limits}}}" for name in "ab")
    text = manifest(
        f"{{containers: [{containers}]}}", "{nvidia.com/use-gpuuuid: GPU-00f7de04-cea8-2f3f-fa48-c6a61f15aad9}"
    )
    (node,) = explained(numafit, "-", "--node", "gpu-rtx6000-1", stdin=text)["nodes"]
    cards = {one["container"]: one["cards"][0] for one in node["containers"]}
    assert (cards["a"]["answer"], cards["a"]["held"]["memory"]) == ("fits", 0)
    assert (cards["b"]["answer"], cards["b"]["held"]["memory"]) == ("CardInsufficientMemory", 60000)


def manifest(spec: str, annotations: str = "{}") -> str:
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: new, annotations: {annotations}}}\nspec: {spec}\n"


ONE = "containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 1000}}}]"


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (
            manifest(f"{{nodeSelector: {{nvidia.com/gpu.product: NVIDIA-L40S}}, {ONE}}}"),
            ["the pod's node selector or required node affinity excludes it"],
        ),
        (
            manifest(f"{{{ONE}}}", "{nvidia.com/use-gputype: L40S}"),
            ["8/8 CardTypeMismatch"],
        ),
        (manifest(f"{{{ONE}}}"), ["binpack takes gpu-l40s-1 first"]),
    ],
)
def test_a_node_that_was_not_chosen_says_why(numafit: Numafit, text: str, reasons: list[str]) -> None:
    pod = explained(numafit, "-", stdin=text)
    assert {one["name"]: one["answer"] for one in pod["nodes"]}["gpu-l40s-1"] == "chosen"
    assert pod["nodes"][0]["name"] == "gpu-h100-1"
    assert pod["nodes"][0]["reasons"] == reasons


def test_taints_and_cordons_keep_a_pod_off_a_node_that_would_fit(numafit: Numafit, tmp_path: Path) -> None:
    cluster = json.loads(RECORDED.read_bytes())
    for item in cluster["items"]:
        if item["kind"] == "Node":
            taint = {"key": "team", "value": "a", "effect": "NoSchedule"}
            item["spec"] = {"taints": [taint]} if "h100" in item["metadata"]["name"] else {"unschedulable": True}
    (tmp_path / "cluster.json").write_text(json.dumps(cluster))
    answer = numafit("explain", "-", "--cluster", tmp_path / "cluster.json", "-o", "json", stdin=manifest(f"{{{ONE}}}"))
    nodes = json.loads(answer.out)["pods"][0]["nodes"]
    assert [(node["answer"], node["reasons"]) for node in nodes] == [
        ("no", ["its taint team=a:NoSchedule is not tolerated"]),
        ("no", ["it is cordoned"]),
        ("no", ["it is cordoned"]),
    ]
    assert {card["answer"] for card in nodes[0]["containers"][0]["cards"]} == {"fits"}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("{containers: [{name: web}]}", ""),
        (
            "{containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpucores: 200}}}]}",
            'nvidia.com/gpucores of container "main" is 200; it must be a whole number from 0 to 100',
        ),
    ],
)
def test_a_pod_that_no_node_can_be_asked_about_says_why(numafit: Numafit, spec: str, problem: str) -> None:
    pod = explained(numafit, "-", stdin=manifest(spec))
    assert (pod["asks"], pod["nodes"], pod["problem"]) == ([], [], problem)


def test_the_text_shows_cards_by_numa_node_with_who_holds_them(numafit: Numafit) -> None:
    answer = numafit("explain", "research/train-0", *CLUSTER, "--node", "gpu-h100-1")
    lines = answer.out.splitlines()
    assert lines[0] == "Pod research/train-0"
    assert lines[1] == "container worker  2 cards, 70000 MiB and 0 % of cores on each"
    held = lines.index("Holds on node gpu-h100-1")
    assert lines[held + 2].split() == [
        "3",
        "GPU-46b1c699-c738-65be-3903-5c5ca41d22f9",
        "worker",
        "70000",
        "0",
        "handed",
        "over",
    ]
    cards = lines.index("Node gpu-h100-1, container worker (held/all)")
    assert lines[cards + 2].split() == [
        "0",
        "GPU-7ea055a8-fdc5-fd61-756e-1bba8d570f8a",
        "0/10",
        "0/81559",
        "0/100",
        "chosen",
    ]
    assert lines[cards + 4].split()[5:] == ["CardInsufficientMemory", "research/batch-1"]


def test_each_answer_of_a_card_is_explained_once(numafit: Numafit) -> None:
    answer = numafit("explain", "research/too-big-0", *CLUSTER)
    lines = answer.out.splitlines()
    assert lines[-4].split() == ["ANSWER", "MEANING"]
    assert {line.split()[0]: line.split("  ")[-1].strip() for line in lines[-3:]} == {
        "NumaNotFit": "The card would do, but its NUMA node was given up for another one.",
        "CardInsufficientMemory": "The card has less memory left than is asked for.",
        "AllocatedCardsInsufficientRequest": "The card would do, but too few others do.",
    }
    assert answer.out.count("less memory left") == 1


@pytest.mark.parametrize(
    ("columns", "card", "holder"),
    [
        (80, "GPU-4fc139a2 ", "r…"),
        (100, "GPU-4fc139a2 ", "research/batch-0"),
        (200, "GPU-4fc139a2-1fa3-fe0c-694b-202266db63a2 ", "research/batch-0"),
    ],
)
def test_a_card_is_one_line_on_a_terminal(columns: int, card: str, holder: str) -> None:
    shown = on_a_terminal("explain", "research/too-big-0", *CLUSTER, COLUMNS=str(columns), NO_COLOR="1")
    lines = [line.rstrip() for line in shown.splitlines()]
    cards = [line.split() for line in lines if line[1:].lstrip().startswith("GPU-")]
    assert len(cards) == 24
    (line,) = [line for line in lines if card in line]
    assert line.endswith(f" CardInsufficientMemory{' ' * 12}{holder}")
    assert max(map(len, lines)) <= columns


def test_a_manifest_is_judged_as_it_would_be_stored(numafit: Numafit) -> None:
    text = manifest("{containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}")
    pod = explained(numafit, "-", stdin=text)
    assert pod["filledIn"] == ["schedulerName", "main:nvidia.com/gpucores=100"]
    assert [ask["cores"] for ask in pod["asks"]] == [100]
    said = numafit("explain", "-", *CLUSTER, stdin=text).out.splitlines()[1]
    assert said.startswith("filled in ")
    assert said.endswith(" schedulerName, main:nvidia.com/gpucores=100 (judged as it would be stored)")


def test_a_pod_of_the_cluster_is_judged_as_it_is(numafit: Numafit) -> None:
    assert explained(numafit, "serving/embed-0")["filledIn"] == []


def test_every_pod_of_a_manifest_is_explained(numafit: Numafit) -> None:
    answer = numafit("explain", GALLERY / "pytorchjob.yaml", *CLUSTER, "-o", "json")
    assert [pod["name"] for pod in json.loads(answer.out)["pods"]] == ["finetune-", "finetune-"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["serving/embed-9", *CLUSTER], "the cluster has no pod 'serving/embed-9'; did you mean serving/embed-"),
        (["embed-0", *CLUSTER], "'embed-0' is neither a file nor namespace/name; write one of the two"),
        (["serving/embed-0", *CLUSTER, "--node", "gpu-h100"], "no node 'gpu-h100'; did you mean gpu-h100-1?"),
        ([GALLERY / "chart/values.yaml", *CLUSTER], "is no Kubernetes object"),
        ([GALLERY / "broken.yaml", *CLUSTER], "broken.yaml:8: is not YAML"),
        (
            [GALLERY / "malformed.yaml", *CLUSTER],
            "Pod malformed: metadata.annotations[nvidia.com/numa-bind] must be text",
        ),
        (["serving/embed-0", "--cluster", "nowhere.json"], "nowhere.json: cannot be read"),
        (["serving/embed-0"], "Missing option '--cluster'"),
    ],
)
def test_what_cannot_be_explained_ends_in_a_sentence(numafit: Numafit, arguments: list[object], words: str) -> None:
    answer = numafit("explain", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err
