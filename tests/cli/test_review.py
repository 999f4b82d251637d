"""`numafit review`: what is found in manifests, where, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.conftest import GALLERY, RECORDED, Numafit

Found = tuple[int, str, str]

GALLERY_FINDINGS: dict[str, list[Found]] = {
    "deployment.yaml": [
        (10, "annotation-on-owner", "warn"),
        (15, "strict-restarts-forever", "warn"),
        (23, "alignment-without-exclusive-cpus", "warn"),
    ],
    "cronjob.yaml": [(22, "percent-out-of-range", "enforce"), (10, "annotation-on-owner", "warn")],
    "pytorchjob.yaml": [(27, "pinned-fewer-than-requested", "enforce")],
    "raycluster.yaml": [(22, "alignment-unknown", "enforce"), (25, "privileged-gpu", "enforce")],
    "jobset.yaml": [(13, "foreign-scheduler", "warn"), (15, "amount-as-annotation", "warn")],
    "leaderworkerset.yaml": [(10, "strict-restarts-forever", "warn")],
    "list.json": [
        (11, "count-zero", "warn"),
        (22, "alignment-on-mig", "enforce"),
        (21, "strict-restarts-forever", "warn"),
        (25, "alignment-without-exclusive-cpus", "warn"),
    ],
    "pods.yaml": [(37, "node-name-preset", "enforce"), (43, "pin-has-separator", "enforce")],
    "shared.yaml": [],
    "volcano.yaml": [(16, "strict-in-group", "warn"), (16, "foreign-scheduler", "warn")],
    "copied.yaml": [(9, "forged-reservation", "enforce")],
}
"""File -> line, code and level of each finding."""


def review(numafit: Numafit, *arguments: object, stdin: str = "") -> tuple[int, dict[str, Any]]:
    answer = numafit("review", *arguments, "-o", "json", stdin=stdin)
    return answer.code, json.loads(answer.out)


def found(document: dict[str, Any]) -> list[Found]:
    return [(one["line"], one["code"], one["level"]) for pod in document["pods"] for one in pod["findings"]]


@pytest.mark.parametrize(("file", "expected"), GALLERY_FINDINGS.items())
def test_each_finding_names_the_line_it_is_about(numafit: Numafit, file: str, expected: list[Found]) -> None:
    code, document = review(numafit, GALLERY / file)
    assert found(document) == expected
    assert code == any(level == "enforce" for _, _, level in expected)
    assert document["notes"] == []


@pytest.mark.parametrize(
    ("file", "pods"),
    [
        ("deployment.yaml", [("Deployment", "serving", "llm", "/spec/template", "ReplicaSet")]),
        ("cronjob.yaml", [("CronJob", "default", "nightly-eval", "/spec/jobTemplate/spec/template", "Job")]),
        (
            "pytorchjob.yaml",
            [
                ("PyTorchJob", "research", "finetune", "/spec/pytorchReplicaSpecs/Master/template", "PyTorchJob"),
                ("PyTorchJob", "research", "finetune", "/spec/pytorchReplicaSpecs/Worker/template", "PyTorchJob"),
            ],
        ),
        (
            "raycluster.yaml",
            [
                ("RayCluster", "default", "tuning", "/spec/headGroupSpec/template", "RayCluster"),
                ("RayCluster", "default", "tuning", "/spec/workerGroupSpecs/0/template", "RayCluster"),
            ],
        ),
        ("jobset.yaml", [("JobSet", "default", "pretrain", "/spec/replicatedJobs/0/template/spec/template", "Job")]),
        (
            "leaderworkerset.yaml",
            [
                ("LeaderWorkerSet", "serving", "serve-70b", f"/spec/leaderWorkerTemplate/{role}Template", "StatefulSet")
                for role in ("leader", "worker")
            ],
        ),
        (
            "list.json",
            [
                ("Pod", "research", "probe", "", ""),
                ("StatefulSet", "research", "notebook", "/spec/template", "StatefulSet"),
            ],
        ),
        (
            "pods.yaml",
            [
                ("Pod", "default", "web-", "", ""),
                ("Pod", "research", "trainer", "", ""),
                ("Pod", "research", "trainer-quoted", "", ""),
            ],
        ),
    ],
)
def test_templates_are_found_wherever_a_kind_keeps_them(
    numafit: Numafit, file: str, pods: list[tuple[str, ...]]
) -> None:
    _, document = review(numafit, GALLERY / file)
    keys = ("kind", "namespace", "name", "path", "controller")
    assert [tuple(pod[key] for key in keys) for pod in document["pods"]] == pods


@pytest.mark.parametrize(
    ("inner", "controller"),
    [
        ("{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: POD}}}}", "Job"),
        ("{apiVersion: v1, kind: Pod, spec: {containers: [{name: main}]}}", ""),
        ("POD", "Experiment"),
    ],
)
def test_of_objects_within_objects_the_innermost_makes_the_pods(numafit: Numafit, inner: str, controller: str) -> None:
    spec = inner.replace("POD", "{spec: {containers: [{name: main}]}}")
    text = f"apiVersion: kubeflow.org/v1beta1\nkind: Experiment\nspec: {{trialTemplate: {{trialSpec: {spec}}}}}\n"
    _, document = review(numafit, "-", stdin=text)
    assert [(pod["kind"], pod["controller"]) for pod in document["pods"]] == [("Experiment", controller)]


def test_documents_are_counted_with_those_that_are_empty(numafit: Numafit) -> None:
    _, document = review(numafit, GALLERY / "pods.yaml")
    assert [(pod["document"], pod["line"]) for pod in document["pods"]] == [(3, 12), (4, 21), (5, 37)]


@pytest.mark.parametrize(
    ("file", "line", "cause", "words"),
    [
        ("broken.yaml", 8, "unreadable", "is not YAML: while parsing a block collection"),
        ("broken.json", 4, "unreadable", "is not JSON: JSON is malformed: trailing comma"),
        ("twice.yaml", 10, "unreadable", "key 'nvidia.com/gpu' stands twice"),
        ("missing.yaml", 1, "unreadable", "cannot be read: No such file or directory"),
        ("chart/templates/deployment.yaml", 1, "unrendered", "is a template; render it first"),
        ("rollout.yaml", 6, "unrendered", "Rollout canary: nvidia.com/gpu '${GPUS}' is filled in later"),
        ("chart/values.yaml", 1, "foreign", "is no Kubernetes object (kind and apiVersion are missing)"),
    ],
)
def test_what_cannot_be_judged_is_named_and_is_no_success(
    numafit: Numafit, file: str, line: int, cause: str, words: str
) -> None:
    code, document = review(numafit, GALLERY / file)
    (note,) = document["notes"]
    assert (code, document["pods"]) == (2, [])
    assert (note["file"], note["line"], note["cause"]) == (str(GALLERY / file), line, cause)
    assert words in note["text"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "stdin:1: holds nothing but blanks and comments"),
        ("# nothing\n---\n", "stdin:1: holds nothing but blanks and comments"),
        ("- a\n- b\n", "stdin:1: is no Kubernetes object (list)"),
        ("kind: Pod\nspec:\n\ta: 1\n", "stdin:3: is not YAML: a tab stands at line 3, column 1; indent with blanks"),
        ("spec:\n  a: 1\n  \tb: 2\n", "stdin:3: is not YAML: a tab stands at line 3, column 3; indent with blanks"),
        ("[1, 2", "stdin:2: is not YAML: while parsing a flow sequence"),
        ("kind: Pod\nspec: &a [*a]\n", "stdin:2: is not YAML: an alias leads to itself"),
        ("[" * 5000, "is not YAML: "),
        ("kind: A\napiVersion: v1\nspec: " + "[" * 300 + "]" * 300, "stdin:1: is nested more than 200 levels deep"),
    ],
)
def test_hostile_text_on_stdin_ends_in_a_sentence(numafit: Numafit, text: str, words: str) -> None:
    answer = numafit("review", "-", stdin=text)
    assert answer.code == 2
    assert words in answer.err
    assert answer.out == ""


TEXTS = [path.read_text() for path in sorted(GALLERY.glob("*.*"))]
SCRAPS = st.sampled_from(["null", "[]", "{}", "- ", "1", "true", '"', ": ", "\t", "&a", "*a", "{{", "\x00", "é", "\n"])


@given(st.sampled_from(TEXTS), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 20), SCRAPS), max_size=4), st.data())
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_no_damage_to_a_manifest_ends_in_a_fault(
    numafit: Numafit, text: str, damages: list[tuple[float, int, str]], data: st.DataObject
) -> None:
    for place, length, scrap in damages:
        at = int(place * len(text))
        text = text[:at] + scrap + text[at + length :]
    flags = data.draw(st.sampled_from([[], ["-o", "json"], ["-o", "sarif"], ["-o", "junit"], ["--show"]]))
    answer = numafit("review", "-", *flags, stdin=text)
    assert answer.code in {0, 1, 2}
    assert answer.err.splitlines()[-1].endswith(("allowed", "could not be read", "that can be read"))


def test_a_broken_object_does_not_hide_the_others(numafit: Numafit) -> None:
    code, document = review(numafit, GALLERY / "malformed.yaml", GALLERY / "broken.yaml", GALLERY / "cronjob.yaml")
    assert code == 2
    assert [pod["name"] for pod in document["pods"]] == ["good", "nightly-eval"]
    assert [note["line"] for note in document["notes"]] == [6, 8]
    assert "metadata.annotations[nvidia.com/numa-bind] must be text" in document["notes"][0]["text"]


TRAINING = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: finetune}}
spec:
  runPolicy: {{schedulingPolicy: {{minAvailable: {least}}}}}
  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      template:
        metadata: {{annotations: {{hami.io/numa-alignment: strict}}}}
        spec: {{containers: [{{name: main, resources: {{limits: {{nvidia.com/gpu: 1, cpu: 1, memory: 1Gi}}}}}}]}}
"""


@pytest.mark.parametrize(("least", "expected"), [("4", [(9, "strict-in-group", "warn")]), ("1", []), ("null", [])])
def test_pods_that_start_together_are_a_group(numafit: Numafit, least: str, expected: list[Found]) -> None:
    code, document = review(numafit, "-", stdin=TRAINING.format(least=least))
    assert (code, found(document)) == (0, expected)


def test_a_least_number_that_is_none_is_named(numafit: Numafit) -> None:
    answer = numafit("review", "-", stdin=TRAINING.format(least="all"))
    assert answer.code == 2
    assert answer.err.startswith(
        "stdin:9: PyTorchJob finetune: PyTorchJob: spec.runPolicy.schedulingPolicy.minAvailable is 'all'; "
    )


@pytest.mark.parametrize(("line", "is_foreign"), [("priority: 0", True), ("schedulerName: hami-scheduler", False)])
def test_a_scheduler_of_the_template_wins_over_that_of_its_job(numafit: Numafit, line: str, is_foreign: bool) -> None:
    text = (GALLERY / "volcano.yaml").read_text().replace("restartPolicy: Never", line)
    codes = [code for _, code, _ in found(review(numafit, "-", stdin=text)[1])]
    assert ("foreign-scheduler" in codes) == is_foreign


def test_gpus_outside_of_any_template_are_named_as_not_judged(numafit: Numafit) -> None:
    answer = numafit("review", GALLERY / "serving.yaml")
    file, where = GALLERY / "serving.yaml", "which is in no pod template"
    model, container = "spec.predictor.model.resources.limits", "spec.templates.0.container.resources.limits"
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.splitlines() == [
        f"{file}:13: not judged: InferenceService llm asks for nvidia.com/gpu in {model}, {where}",
        f"{file}:27: not judged: Workflow steps- asks for nvidia.com/gpumem in {container}, {where}",
        "nothing was judged: no pod and no template of pods was found that can be read",
    ]
    _, document = review(numafit, file)
    assert [note["cause"] for note in document["notes"]] == ["unknown", "unknown"]


def test_what_would_be_filled_in_is_one_line_for_each_pod(numafit: Numafit) -> None:
    answer = numafit("review", GALLERY / "shared.yaml")
    filled = "filled in: schedulerName, tensorflow:nvidia.com/gpu=1, tensorflow:CUDA_TASK_PRIORITY=1"
    assert answer.out == ""
    assert answer.err.splitlines() == [
        f"{GALLERY}/shared.yaml:10: TFJob default/shared: {filled}",
        f"{GALLERY}/shared.yaml:19: TFJob default/shared: {filled}",
        "2 pods and templates judged: 0 refused, 0 warned, 2 allowed",
    ]
    assert "filled in" not in numafit("review", GALLERY / "shared.yaml", "-o", "json").err


def test_findings_of_a_file_are_in_the_order_of_its_lines_within_a_level(numafit: Numafit, tmp_path: Path) -> None:
    both = "\n---\n".join((GALLERY / name).read_text() for name in ("deployment.yaml", "cronjob.yaml"))
    (tmp_path / "both.yaml").write_text(both)
    answer = numafit("review", tmp_path / "both.yaml", GALLERY / "raycluster.yaml")
    rows = [line.split() for line in answer.out.splitlines()[1:]]
    places = [(row[3], int(row[0].rpartition(":")[2])) for row in rows if row[0].startswith(str(tmp_path))]
    assert [level for level, _ in places] == ["enforce", "warn", "warn", "warn", "warn"]
    assert places[1:] == sorted(places[1:])
    assert [row[3] for row in rows[5:]] == ["enforce", "enforce"]


def test_manifests_without_any_pod_are_clean(numafit: Numafit) -> None:
    answer = numafit("review", "-", stdin="apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")
    assert (answer.code, answer.out) == (0, "")
    assert answer.err == "nothing was judged: no pod and no template of pods was found that can be read\n"


def test_a_directory_is_searched_for_manifests(numafit: Numafit, tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "deep/c.json", ".git/d.yaml", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "main"}]}}')
    _, document = review(numafit, tmp_path)
    assert [pod["file"] for pod in document["pods"]] == [
        str(tmp_path / name) for name in ("a.yaml", "b.yml", "deep/c.json")
    ]


def test_a_directory_without_manifests_is_no_success(numafit: Numafit, tmp_path: Path) -> None:
    answer = numafit("review", tmp_path)
    assert answer.code == 2
    assert f"{tmp_path}:1: holds no file that ends with .yaml, .yml, .json" in answer.err


def test_the_table_has_one_line_for_each_finding(numafit: Numafit) -> None:
    answer = numafit("review", GALLERY / "cronjob.yaml")
    head, first, second = answer.out.splitlines()
    assert head.split() == ["PLACE", "WHAT", "LEVEL", "FINDING"]
    assert first.startswith(f"{GALLERY}/cronjob.yaml:22  CronJob default/nightly-eval  enforce  percent-out-of-range: ")
    assert second.split()[4] == "annotation-on-owner:"
    assert answer.err == "1 pod or template judged: 1 refused, 0 warned, 0 allowed\n"


@pytest.mark.parametrize(("flags", "code"), [([], 0), (["--fail-on", "warn"], 1), (["--fail-on", "enforce"], 0)])
def test_warnings_fail_only_where_asked(numafit: Numafit, flags: list[str], code: int) -> None:
    assert numafit("review", GALLERY / "jobset.yaml", *flags).code == code


def test_a_key_that_stands_on_both_is_where_it_belongs(numafit: Numafit) -> None:
    text = (
        (GALLERY / "deployment.yaml")
        .read_text()
        .replace('prometheus.io/scrape: "true"', 'nvidia.com/numa-bind: "true"')
    )
    _, document = review(numafit, "-", stdin=text)
    assert "annotation-on-owner" not in [code for _, code, _ in found(document)]


def test_the_policy_file_decides_by_namespace(numafit: Numafit, tmp_path: Path) -> None:
    (tmp_path / "levels.yaml").write_text(
        "version: numafit.io/v1\nnamespaces:\n"
        "  - {names: [batch], levels: {percent-out-of-range: audit, annotation-on-owner: off}}\n"
    )
    levels = ("--levels", tmp_path / "levels.yaml")
    assert found(review(numafit, GALLERY / "cronjob.yaml", *levels)[1]) == GALLERY_FINDINGS["cronjob.yaml"]
    code, document = review(numafit, GALLERY / "cronjob.yaml", *levels, "--namespace", "batch")
    assert (code, found(document)) == (0, [(22, "percent-out-of-range", "audit")])


def test_a_cluster_adds_the_rules_that_need_one(numafit: Numafit) -> None:
    text = (GALLERY / "pods.yaml").read_text().replace("GPU-7ea055a8", "GPU-00000000")
    _, without = review(numafit, "-", stdin=text)
    _, document = review(numafit, "-", "--cluster", RECORDED, stdin=text)
    assert [one for one in found(document) if one not in found(without)] == [
        (27, "pinned-on-no-one-node", "warn"),
        (27, "pin-partly-unknown", "warn"),
    ]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--cluster", "nowhere.json"], "nowhere.json: cannot be read: No such file or directory"),
        (["--levels", "nowhere.yaml"], "nowhere.yaml: does not exist"),
        (["-o", "xml"], "'xml' is not one of 'table', 'json', 'junit', 'sarif'"),
    ],
)
def test_a_flag_that_cannot_be_used_is_a_usage_error(numafit: Numafit, flags: list[str], words: str) -> None:
    answer = numafit("review", GALLERY / "shared.yaml", *flags)
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err
