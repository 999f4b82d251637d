"""`numafit group`: every gang API read, and whether the group can start, who cannot and what would help."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.capacity_world import ARTICLE, Object, article, asked, holder, topology, worker, written
from tests.cli.conftest import GALLERY, Numafit
from tests.cluster.build import node, pod, quota

ARTICLES = ("--cluster", ARTICLE / "cluster.json")
MARK = "scheduling.x-k8s.io/pod-group"


def made(version: str, kind: str, spec: Object, **metadata: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "g", **metadata}, "spec": spec}


def groups(numafit: Numafit, tmp_path: Path, cluster: list[Object], *objects: Object, code: int = 0) -> list[Any]:
    file, known = written(tmp_path, *objects, name="g.json"), written(tmp_path, *cluster)
    document = asked(numafit, "group", "-f", file, "--cluster", known, code=code)
    assert document["kind"] == "Groups"
    found: list[Any] = document["groups"]
    return found


def roles(group: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {each["name"]: (each["count"], each["asks"]["gpus"]) for each in group["members"]}


def role(gpus: int, **fields: Any) -> Object:
    return {"template": worker(gpus), **fields}


MADE: list[tuple[str, Object, int, dict[str, tuple[int, int]]]] = [
    ("Job", made("batch/v1", "Job", role(2, parallelism=3)), 3, {"g": (3, 2)}),
    ("Job with fewer completions", made("batch/v1", "Job", role(2, parallelism=3, completions=2)), 2, {"g": (2, 2)}),
    (
        "JobSet",
        made(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": role(1, parallelism=2)}}]},
        ),
        4,
        {"w": (4, 1)},
    ),
    (
        "LeaderWorkerSet",
        made(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {
                "replicas": 5,
                "leaderWorkerTemplate": {"size": 3, "leaderTemplate": worker(2), "workerTemplate": worker(1)},
            },
        ),
        3,
        {"leader": (1, 2), "worker": (2, 1)},
    ),
    (
        "LeaderWorkerSet without a leader of its own",
        made(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {"leaderWorkerTemplate": {"size": 3, "workerTemplate": worker(1)}},
        ),
        3,
        {"worker": (3, 1)},
    ),
    (
        "Volcano Job with a minimum",
        made(
            "batch.volcano.sh/v1alpha1",
            "Job",
            {
                "minAvailable": 3,
                "tasks": [role(1, name="ps", replicas=2, minAvailable=1), role(2, name="w", replicas=2)],
            },
        ),
        3,
        {"ps": (2, 1), "w": (2, 2)},
    ),
    (
        "Volcano Job with the least of a task",
        made(
            "batch.volcano.sh/v1alpha1",
            "Job",
            {"tasks": [role(1, name="ps"), role(2, name="w", replicas=4, minAvailable=2)]},
        ),
        3,
        {"ps": (1, 1), "w": (2, 2)},
    ),
    (
        "PyTorchJob",
        made(
            "kubeflow.org/v1",
            "PyTorchJob",
            {
                "runPolicy": {"schedulingPolicy": {"minAvailable": 2}},
                "pytorchReplicaSpecs": {"Master": role(1, replicas=1), "Worker": role(2, replicas=2)},
            },
        ),
        2,
        {"Master": (1, 1), "Worker": (2, 2)},
    ),
    (
        "Kueue Workload with partial admission",
        made(
            "kueue.x-k8s.io/v1beta2",
            "Workload",
            {"podSets": [role(1, name="main", count=1), role(2, name="w", count=9, minCount=2)]},
        ),
        3,
        {"main": (1, 1), "w": (2, 2)},
    ),
    (
        "RayCluster",
        made(
            "ray.io/v1",
            "RayCluster",
            {"headGroupSpec": role(0), "workerGroupSpecs": [role(1, groupName="small", replicas=2)]},
        ),
        3,
        {"headGroupSpec": (1, 0), "small": (2, 1)},
    ),
    ("StatefulSet", made("apps/v1", "StatefulSet", role(1, replicas=2)), 2, {"g": (2, 1)}),
]


@pytest.mark.parametrize(("source", "needed", "expected"), [each[1:] for each in MADE], ids=[each[0] for each in MADE])
def test_what_makes_pods_is_a_group_of_them(
    numafit: Numafit, tmp_path: Path, source: Object, needed: int, expected: dict[str, tuple[int, int]]
) -> None:
    (group,) = groups(numafit, tmp_path, article(), source)
    assert (group["title"], group["canStart"]) == (f"{source['kind']} default/g", "yes")
    assert (group["needed"], roles(group)) == (needed, expected)


def member(name: str, gpus: int = 2, **fields: Any) -> Object:
    """A pod that waits and joins a group by whatever is given."""
    spec = {**worker(gpus)["spec"], **fields.pop("spec", {})}
    return {**pod(name, uid="", **fields), "spec": spec}


DECLARED: list[tuple[str, Object, Object]] = [
    (
        "coscheduling",
        made("scheduling.x-k8s.io/v1alpha1", "PodGroup", {"minMember": 2}),
        {"labels": {MARK: "g"}},
    ),
    (
        "koordinator",
        made("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", {"minMember": 2}),
        {"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}},
    ),
    (
        "volcano",
        made("scheduling.volcano.sh/v1beta1", "PodGroup", {"minMember": 2}),
        {"annotations": {"scheduling.k8s.io/group-name": "g"}},
    ),
    (
        "kai",
        made("scheduling.run.ai/v2alpha2", "PodGroup", {"minMember": 2}),
        {"annotations": {"pod-group-name": "g"}},
    ),
    (
        "kubernetes-1.36+",
        made("scheduling.k8s.io/v1beta1", "PodGroup", {"schedulingPolicy": {"gang": {"minCount": 2}}}),
        {"spec": {"schedulingGroup": {"podGroupName": "g"}}},
    ),
    (
        "kubernetes-1.35",
        made(
            "scheduling.k8s.io/v1alpha1",
            "Workload",
            {"podGroups": [{"name": "w", "policy": {"gang": {"minCount": 2}}}]},
        ),
        {"spec": {"workloadRef": {"name": "g", "podGroup": "w"}}},
    ),
]


@pytest.mark.parametrize(("system", "source", "mark"), DECLARED, ids=[each[0] for each in DECLARED])
def test_a_declared_group_is_its_minimum_of_the_pods_that_join_it(
    numafit: Numafit, tmp_path: Path, system: str, source: Object, mark: Object
) -> None:
    pods = [member(f"p{at}", **mark) for at in range(3)]
    cluster = [*article(), holder("busy", "a", 0, 1, 2, 3)]
    (group,) = groups(numafit, tmp_path, cluster, *pods, source | {"metadata": {"name": "g", "namespace": "default"}})
    assert (group["system"], group["needed"], group["canStart"]) == (system, 2, "yes")
    assert roles(group) == {"p0": (3, 2)}


@pytest.mark.parametrize(
    ("mark", "needed"),
    [
        ({"labels": {MARK: "g"}}, 3),
        ({"annotations": {"gang.scheduling.koordinator.sh/name": "g"}}, 3),
        (
            {
                "annotations": {
                    "gang.scheduling.koordinator.sh/name": "g",
                    "gang.scheduling.koordinator.sh/min-available": "2",
                }
            },
            2,
        ),
        (
            {
                "labels": {"kueue.x-k8s.io/pod-group-name": "g"},
                "annotations": {"kueue.x-k8s.io/pod-group-total-count": "3"},
            },
            3,
        ),
    ],
)
def test_a_group_without_an_object_is_all_pods_that_name_it_or_as_many_as_they_say(
    numafit: Numafit, tmp_path: Path, mark: Object, needed: int
) -> None:
    (group,) = groups(numafit, tmp_path, article(), *(member(f"p{at}", **mark) for at in range(3)))
    assert (group["title"], group["needed"]) == ("group default/g", needed)


def test_pods_of_the_cluster_count_and_those_with_a_place_run(numafit: Numafit, tmp_path: Path) -> None:
    labels = {MARK: "g"}
    waiting = member("w", labels=labels) | {"metadata": {**member("w", labels=labels)["metadata"], "uid": "uid-w"}}
    cluster = [*article(), holder("r", "a", 0, 1, labels=labels), waiting]
    source = made("scheduling.x-k8s.io/v1alpha1", "PodGroup", {"minMember": 3})
    (group,) = groups(numafit, tmp_path, cluster, source, member("w", labels=labels), member("n", labels=labels))
    assert (group["running"], group["needed"], roles(group)) == (1, 2, {"w": (2, 2)})


def test_three_of_four_cannot_start_and_coscheduling_sends_them_back(numafit: Numafit, tmp_path: Path) -> None:
    cluster = [*article(), holder("busy", "b", 0, 1)]
    source = made("scheduling.x-k8s.io/v1alpha1", "PodGroup", {"minMember": 4})
    pods = [member(f"p{at}", labels={MARK: "g"}) for at in range(4)]
    (group,) = groups(numafit, tmp_path, cluster, source, *pods, code=1)
    assert (group["canStart"], group["onEmptyNodes"]) == ("no", "yes")
    assert [(each["fitAlone"], each["failing"]) for each in group["members"]] == [(3, True)]
    assert group["gate"] == {"outcome": "reject-waiting", "holds": 0}


def test_the_article_is_told_the_smallest_changes(numafit: Numafit) -> None:
    document = asked(numafit, "group", "-f", ARTICLE / "train.yaml", *ARTICLES, code=1)
    (group,) = document["groups"]
    assert group["changes"] == [
        ["CPUs from anywhere on the node"],
        ["GPUs of several NUMA nodes"],
        ["no CPU request"],
    ]
    assert group["ladder"][1:] == [
        {"locality": "zone:gpu+cpu", "canStart": "no"},
        {"locality": "zone:gpu", "canStart": "yes"},
        {"locality": "node", "canStart": "yes"},
    ]
    (members,) = group["members"]
    assert members["bindings"] == [{"constraint": "cpu", "cards": 8}]


def test_of_unlike_members_those_that_cannot_start_together_are_named(numafit: Numafit, tmp_path: Path) -> None:
    tasks = [role(1, name="ps"), role(3, name="w", replicas=3)]
    (group,) = groups(numafit, tmp_path, article(), made("batch.volcano.sh/v1alpha1", "Job", {"tasks": tasks}), code=1)
    assert {each["name"]: each["failing"] for each in group["members"]} == {"ps": False, "w": True}
    assert group["onEmptyNodes"] == "no"


@pytest.mark.parametrize(("label", "start"), [("rack", "no"), ("zone", "yes")])
def test_a_label_that_all_members_must_share_counts(numafit: Numafit, tmp_path: Path, label: str, start: str) -> None:
    cluster = [node(name, cards=4, labels={"rack": name, "zone": "z"}) for name in "ab"]
    policy = {"gang": {"minCount": 3}}
    spec = {"schedulingPolicy": policy, "schedulingConstraints": {"topology": [{"key": label}]}}
    pods = [member(f"p{at}", spec={"schedulingGroup": {"podGroupName": "g"}}) for at in range(3)]
    source = made("scheduling.k8s.io/v1beta1", "PodGroup", spec)
    (group,) = groups(numafit, tmp_path, cluster, source, *pods, code=0 if start == "yes" else 1)
    assert group["canStart"] == start


def test_a_quota_that_does_not_pay_unlike_members_together_keeps_them_back(numafit: Numafit, tmp_path: Path) -> None:
    tasks = [role(1, name="ps"), role(2, name="w")]
    source = made("batch.volcano.sh/v1alpha1", "Job", {"tasks": tasks})
    (group,) = groups(numafit, tmp_path, [*article(), quota(gpumem="100k")], source, code=1)
    assert group["changes"] == [["a larger quota"]]
    (group,) = groups(numafit, tmp_path, [*article(), quota(gpumem="120k")], source)
    assert group["canStart"] == "yes"


def test_a_group_with_fewer_pods_than_its_minimum_is_told_so(numafit: Numafit, tmp_path: Path) -> None:
    source = made("scheduling.x-k8s.io/v1alpha1", "PodGroup", {"minMember": 4})
    (group,) = groups(numafit, tmp_path, article(), source, member("p", labels={MARK: "g"}), code=1)
    assert group["problem"] == (
        "1 of the 4 members that must still start are given; create the others, or lower the minimum"
    )


def test_rules_between_pods_are_named_and_not_judged(numafit: Numafit, tmp_path: Path) -> None:
    hard = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}
    spread = [{"whenUnsatisfiable": "DoNotSchedule"}]
    spec = {"affinity": {"podAntiAffinity": hard}, "topologySpreadConstraints": spread}
    (group,) = groups(numafit, tmp_path, article(), member("p", spec=spec))
    assert group["notes"] == ["required podAntiAffinity is not judged", "topologySpreadConstraints are not judged"]


def test_what_is_not_known_is_named(numafit: Numafit, tmp_path: Path) -> None:
    cluster = [*article(), topology("a", (32, None), (32, None))]
    job = made("batch/v1", "Job", {"template": worker(2, 16, {"hami.io/numa-alignment": "strict"})})
    (group,) = groups(numafit, tmp_path, cluster, job)
    assert [each["what"] for each in group["unknown"]] == [
        "free CPUs by NUMA node",
        "topology policy of some kubelets",
        "free memory of some nodes",
    ]


def test_the_text_says_it_at_a_glance(numafit: Numafit) -> None:
    answer = numafit("group", "-f", ARTICLE / "train.yaml", *ARTICLES)
    lines = answer.out.splitlines()
    assert (answer.code, lines[0]) == (1, "PodGroup research/train (coscheduling): cannot start now; 4 must start")
    assert "would start   CPUs from anywhere on the node" in lines
    assert lines[-1].split()[-3:] == ["fails", "cpu", "(8)"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            made("scheduling.x-k8s.io/v1alpha1", "PodGroup", {"minMember": "two"}),
            "PodGroup g: spec.minMember is 'two'; it must be a whole number from 0 to 100000",
        ),
        (
            made("batch/v1", "Job", role(1, parallelism=-1)),
            "Job g: spec.parallelism is -1; it must be a whole number from 0 to 100000",
        ),
        (
            made(
                "jobset.x-k8s.io/v1", "JobSet", {"j": [role(1, replicas=90000), role(1, replicas=90000)], "replicas": 2}
            ),
            "JobSet g makes 180000 pods; at most 100000 are judged",
        ),
        (
            member("p", labels={MARK: "g"}, spec={"schedulingGroup": {"podGroupName": "other"}}),
            "Pod default/p joins different groups: g (coscheduling), other (kubernetes-1.36+); name one",
        ),
        (made("v1", "ConfigMap", {}), "holds no group, no pod and no template of pods; name a file that does"),
        (
            made("batch/v1", "Job", {"template": worker(1, 0, {"hami.io/numa-alignment": "strikt"})}),
            "Job default/g: g: hami.io/numa-alignment is 'strikt'; it must be best-effort or strict",
        ),
    ],
)
def test_what_cannot_be_judged_ends_in_a_sentence(numafit: Numafit, tmp_path: Path, source: Object, words: str) -> None:
    (tmp_path / "g.json").write_text(json.dumps(source))
    answer = numafit("group", "-f", tmp_path / "g.json", *ARTICLES)
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err


@pytest.mark.parametrize("name", ["jobset", "leaderworkerset", "pytorchjob", "deployment"])
def test_manifests_as_people_keep_them_are_answered(numafit: Numafit, name: str) -> None:
    answer = numafit("group", "-f", GALLERY / f"{name}.yaml", *ARTICLES)
    assert (answer.code in {0, 1}, answer.err) == (True, "")
