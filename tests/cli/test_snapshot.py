"""`numafit snapshot`: from files and from what is no cluster. Reading a live one is tested beside its code."""

import json
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import RECORDED, ROOT, Numafit

SECRET = "hunter2-" + "x" * 20

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "a",
        "namespace": "team",
        "uid": "u",
        "labels": {"queue": "gold", "note": SECRET},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": SECRET, "nvidia.com/numa-bind": "true"},
    },
    "spec": {
        "serviceAccountName": SECRET,
        "containers": [{"name": "main", "image": SECRET, "command": [SECRET], "env": [{"name": "T", "value": SECRET}]}],
    },
}


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(POD))
    return path


def test_the_recorded_cluster_is_redacted_to_the_bundled_one(numafit: Numafit) -> None:
    answer = numafit("snapshot", "--from", ROOT / "tests" / "data" / "hami-cluster.json", "--redact")
    assert answer.out == RECORDED.read_text()
    assert answer.err == f"{len(json.loads(answer.out)['items'])} objects redacted\n"


def test_no_secret_survives_redaction(numafit: Numafit, cluster: Path) -> None:
    assert SECRET in numafit("snapshot", "--from", cluster).out
    redacted = numafit("snapshot", "--from", cluster, "--redact").out
    assert SECRET not in redacted
    (pod,) = json.loads(redacted)["items"]
    assert pod["metadata"]["annotations"] == {"nvidia.com/numa-bind": "true"}
    assert "labels" not in pod["metadata"]


def test_labels_that_the_policy_file_selects_by_survive(numafit: Numafit, cluster: Path, tmp_path: Path) -> None:
    (tmp_path / "levels.yaml").write_text(
        "version: numafit.io/v1\nexemptions:\n- codes: [pin-blank]\n  owner: o\n  reason: r\n  expires: 2099-01-01\n"
        "  selector: {matchExpressions: [{key: queue, operator: Exists}]}\n"
    )
    answer = numafit("snapshot", "--from", cluster, "--redact", "--levels", tmp_path / "levels.yaml")
    assert json.loads(answer.out)["items"][0]["metadata"]["labels"] == {"queue": "gold"}


def test_a_file_is_written_for_its_owner_alone(numafit: Numafit, cluster: Path, tmp_path: Path) -> None:
    answer = numafit("snapshot", "--from", cluster, "-o", tmp_path / "out.json")
    assert (answer.code, answer.out) == (0, "")
    assert json.loads((tmp_path / "out.json").read_text())["kind"] == "List"
    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--kubeconfig", "nowhere"], 2, "nowhere: there is no such file; name a kubeconfig"),
        (["--kubeconfig", RECORDED], 3, "no cluster to read: "),
        (["--from", "nowhere.json"], 2, "nowhere.json: cannot be read"),
        (["--from", RECORDED, "--context", "a"], 2, "--from reads files and --kubeconfig and --context a cluster"),
        (["--from", RECORDED, "-o", "nowhere/out.json"], 2, "nowhere/out.json cannot be written: No such file"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(numafit: Numafit, arguments: list[object], code: int, words: str) -> None:
    answer = numafit("snapshot", *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith(f"numafit: {words}")
    assert answer.err.count("\n") == 1
