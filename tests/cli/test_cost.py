"""`numafit cost`: GPU time by cause, from histories and from what a cluster holds."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.capacity_world import ARTICLE, article, asked, holder, written
from tests.cli.conftest import RECORDED, Numafit
from tests.cluster.build import pod

MARK = "scheduling.x-k8s.io/pod-group"
DAY = "2026-11-02T10:"


def line(event: str, minute: int, name: str = "p", **fields: Any) -> str:
    return json.dumps({"at": f"{DAY}{minute:02}:00Z", "event": event, "namespace": "team", "pod": name, **fields})


def history(path: Path, *lines: str, name: str = "history.jsonl") -> Path:
    file = path / name
    file.write_text("\n".join(lines))
    return file


def cost(numafit: Numafit, *arguments: object, code: int = 0) -> dict[str, Any]:
    document = asked(numafit, "cost", *arguments, code=code)
    assert document["kind"] == "Cost"
    return document


def held(document: dict[str, Any]) -> dict[str, float]:
    return {each["cause"]: each["gpuSeconds"] for each in document["held"]}


@pytest.mark.parametrize(
    ("name", "gpu_hours", "money"), [("waiting", 1.2, "3.60"), ("day", 24, "72.00")], ids=["an incident", "a day"]
)
def test_waiting_members_cost_what_the_article_says(numafit: Numafit, name: str, gpu_hours: float, money: str) -> None:
    document = cost(numafit, "--history", ARTICLE / f"{name}.jsonl", "--price", "3.00")
    assert document["held"] == [
        {
            "cause": "waiting-for-members",
            "namespace": "research",
            "class": "training",
            "gpuSeconds": gpu_hours * 3600,
            "cost": money,
        }
    ]
    assert document["heldInVain"] == {"gpuSeconds": gpu_hours * 3600, "cost": money}


def test_idle_cards_that_could_run_nothing_are_stranded_and_not_held(numafit: Numafit) -> None:
    document = cost(numafit, "--history", ARTICLE / "stranded.jsonl")
    assert (document["held"], document["idle"]) == ([], [{"cause": "stranded", "gpuSeconds": 5760, "cost": None}])


def test_a_faster_execution_that_waits_longer_is_no_faster_turnaround(numafit: Numafit) -> None:
    document = cost(numafit, "--history", ARTICLE / "turnaround.jsonl")
    seen = {
        each["class"]: tuple(each[f"{what}Seconds"]["p50"] / 60 for what in ("queue", "execution", "turnaround"))
        for each in document["classes"]
    }
    assert seen == {"remote-cpus": (2, 40, 42), "local-cpus": (8, 36, 44)}
    assert [each["gpuSeconds"] / 60 for each in document["held"]] == [320, 288]


def test_samples_hold_until_the_next_one_and_the_last_until_the_end(numafit: Numafit, tmp_path: Path) -> None:
    lines = [
        line("sample", 0, free=8, runnable=4, groupRunnable=2),
        line("sample", 10, free=3, waiting=False),
        line("reserved", 30, gpus=1),
    ]
    document = cost(numafit, "--history", history(tmp_path, *lines))
    assert {each["cause"]: each["gpuSeconds"] for each in document["idle"]} == {
        "stranded": 4 * 600,
        "blocked": 2 * 600,
        "startable": 2 * 600,
        "no-demand": 3 * 1200,
    }


def test_what_is_told_twice_or_out_of_order_counts_once(numafit: Numafit, tmp_path: Path) -> None:
    lines = [line("released", 20), line("reserved", 5), line("reserved", 0, gpus=2), line("reserved", 3)]
    assert held(cost(numafit, "--history", history(tmp_path, *lines))) == {"starting": 2 * 1200}


def test_pods_of_one_name_are_told_apart_by_their_uid(numafit: Numafit, tmp_path: Path) -> None:
    lines = [
        line("reserved", 0, uid="1", gpus=1, group="g", members=1),
        line("failed", 10, uid="1"),
        line("released", 15, uid="1"),
        line("reserved", 20, uid="2", gpus=1, group="g"),
        line("started", 25, uid="2"),
        line("released", 30, uid="2"),
    ]
    document = cost(numafit, "--history", history(tmp_path, *lines))
    assert held(document) == {"starting": 900, "clean-up": 300, "computing": 300}
    assert document["retries"] == [
        {"namespace": "team", "name": "g", "retries": 1, "cleanUpSeconds": 300, "longestCleanUpSeconds": 300}
    ]


def test_several_histories_are_one(numafit: Numafit, tmp_path: Path) -> None:
    first = history(tmp_path, line("reserved", 0, gpus=2), name="1.jsonl")
    second = history(tmp_path, line("released", 1), name="2.jsonl")
    assert held(cost(numafit, "--history", first, "--history", second)) == {"starting": 120}


def test_a_cluster_tells_what_is_held_since_when_by_whom(numafit: Numafit, tmp_path: Path) -> None:
    at = "1793620080"  # twelve minutes before the snapshot
    members = [{**holder(f"train-{card}", "a", 2 * card, 2 * card + 1, at=at, labels={MARK: "g"})} for card in range(2)]
    for member in members:
        member["spec"]["priorityClassName"] = "training"
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"minMember": 3},
    }
    document = cost(numafit, "--cluster", written(tmp_path, *article(), *members, group), "--price", 3)
    assert document["held"] == [
        {
            "cause": "waiting-for-members",
            "namespace": "default",
            "class": "training",
            "gpuSeconds": 4 * 720,
            "cost": "2.40",
        }
    ]


def test_a_share_of_a_card_counts_as_its_larger_part(numafit: Numafit, tmp_path: Path) -> None:
    value = "GPU-a-0,NVIDIA,10000,50:;"
    one = holder("p", "a", 0, at="1793620740")
    one["metadata"]["annotations"] |= {key: value for key in one["metadata"]["annotations"] if "devices" in key}
    assert held(cost(numafit, "--cluster", written(tmp_path, *article(), one))) == {"starting": 30}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"phase": "Pending"}, {"starting": 120}),
        (
            {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-02T11:59:30Z"}],
            },
            {"starting": 60, "computing": 60},
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [{"state": {"running": {"startedAt": "2026-11-02T11:59:45Z"}}}],
            },
            {"starting": 90, "computing": 30},
        ),
        ({"phase": "Running"}, {"computing": 120}),
        (
            {
                "phase": "Pending",
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-02T11:59:30Z"}],
            },
            {"starting": 120},
        ),
    ],
    ids=["pending", "ready", "its container runs", "nobody says since when", "not ready"],
)
def test_a_pod_starts_when_its_status_says(
    numafit: Numafit, tmp_path: Path, status: dict[str, Any], expected: dict[str, int]
) -> None:
    one = holder("p", "a", 0, 1, at="1793620740") | {"status": status}
    assert held(cost(numafit, "--cluster", written(tmp_path, *article(), one))) == expected


def test_a_history_knows_better_than_the_cluster(numafit: Numafit, tmp_path: Path) -> None:
    told = line("reserved", 0, uid="uid-p", gpus=1)
    cluster = written(tmp_path, *article(), holder("p", "a", 0, 1))
    document = cost(numafit, "--history", history(tmp_path, told), "--cluster", cluster)
    assert (held(document), document["until"]) == ({"starting": 7200}, "2026-11-02T12:00:00Z")


def test_what_the_cluster_does_not_say_is_named(numafit: Numafit, tmp_path: Path) -> None:
    silent = holder("p", "a", 0, at="soon")
    running = holder("q", "a", 1) | {"status": {"phase": "Running"}}
    answer = numafit("cost", "--cluster", written(tmp_path, *article(), silent, running))
    assert answer.err.splitlines() == [
        "cluster: Pod default/p: hami.io/vgpu-time does not say when it was placed; its time is not counted",
        "cluster: Pod default/q: runs and does not say since when; it counts as started when it was placed",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[1]", "is list; each line must be a JSON object"),
        ('{"at": "soon", "event": "sample"}', "at is 'soon'; it must be a time such as 2026-11-02T10:00:00Z"),
        (
            '{"at": "0001-01-01T00:00:00+14:00", "event": "sample"}',
            "at is '0001-01-01T00:00:00+14:00'; it must be a time",
        ),
        (
            line("reserve", 0),
            "event is 'reserve'; it must be one of created, reserved, started, failed, released, sample",
        ),
        (line("reserved", 0, gpus="2"), "gpus is '2'; it must be a number of GPUs such as 2 or 0.5"),
        (line("reserved", 0, gpus=float("nan")), "gpus is NaN"),
        (line("reserved", 0, members=1.5), "members is 1.5; it must be a whole number"),
        (line("reserved", 0, uid=1), "uid is 1; it must be text"),
        (line("reserved", 0, ""), "an event of a pod names its namespace and pod"),
        (line("sample", 0, free=-1), "free is -1; it must be a whole number"),
        (line("sample", 0, waiting="yes"), "waiting is 'yes'; it must be true or false"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_and_the_rest_counted(
    numafit: Numafit, tmp_path: Path, text: str, words: str
) -> None:
    file = history(tmp_path, line("reserved", 0, "q", gpus=1), text, line("released", 1, "q"))
    answer = numafit("cost", "--history", file)
    assert answer.code == 2
    assert f"{file}:2: {words}" in answer.err
    assert answer.out.splitlines()[3].split() == ["starting", "team", "-", "1", "0.017"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "nothing says what happened; give --history FILE, --cluster FILE or both"),
        (["--history", "nowhere.jsonl"], "nowhere.jsonl: cannot be read"),
        (["--cluster", RECORDED, "--price", "cheap"], "--price is 'cheap'; write a decimal number such as 2.99"),
        (["--cluster", RECORDED, "--price", "1/0"], "--price is '1/0'; write a decimal number"),
        (["--cluster", RECORDED, "--price", "-1"], "--price is '-1'; write a number from 0"),
    ],
)
def test_what_cannot_be_added_up_ends_in_a_sentence(numafit: Numafit, arguments: list[object], words: str) -> None:
    answer = numafit("cost", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err


def test_a_cluster_without_any_time_and_an_empty_history_say_so(numafit: Numafit, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(pod()))
    assert "nothing says when the cluster was read" in numafit("cost", "--cluster", tmp_path / "c.json").err
    assert "nothing that happened has a time" in numafit("cost", "--history", history(tmp_path, "")).err


def test_the_text_says_it_at_a_glance(numafit: Numafit) -> None:
    out = numafit("cost", "--history", ARTICLE / "waiting.jsonl", "--price", "3").out.splitlines()
    assert out[0] == "From 2026-11-02T10:00:00Z to 2026-11-02T10:12:00Z"
    assert [row.split() for row in out[2:4]] == [
        ["HELD", "NAMESPACE", "CLASS", "GPU-MINUTES", "GPU-HOURS", "COST"],
        ["waiting-for-members", "research", "training", "72", "1.2", "3.60"],
    ]
