"""Reviews are decoded without what is read of no pod. These tests notice a field that is read and left out."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import pytest

from policy.pod import Container, Phase, Pod, read_pod
from policy.shape import PodShape
from webhook.review import decode

REVIEWS = Path(__file__).parents[1] / "data" / "admission-reviews.jsonl"

EVERYTHING: dict[str, Any] = {
    "metadata": {
        "namespace": "team",
        "name": "p",
        "uid": "u",
        "resourceVersion": "7",
        "annotations": {"hami.io/numa-alignment": "strict"},
        "labels": {"scheduling.x-k8s.io/pod-group": "gang"},
        "ownerReferences": [{"kind": "Job", "controller": True}],
        "deletionTimestamp": "2026-11-30T10:00:00Z",
        "managedFields": [{"manager": "kubectl"}],
    },
    "spec": {
        "initContainers": [
            {
                "name": "first",
                "restartPolicy": "Always",
                "resources": {"limits": {"cpu": "1"}, "requests": {"memory": "1Gi"}},
                "env": [{"name": "A", "value": "1"}],
                "securityContext": {"privileged": True},
            },
            {"name": "second"},
        ],
        "containers": [{"name": "main", "volumeMounts": [{"name": "data"}]}],
        "schedulerName": "hami-scheduler",
        "nodeName": "node-1",
        "runtimeClassName": "nvidia",
        "nodeSelector": {"gpu": "on"},
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}},
        },
        "tolerations": [{"operator": "Exists"}],
        "resources": {"limits": {"cpu": "4"}},
        "volumes": [{"name": "data"}],
    },
    "status": {
        "phase": "Running",
        "initContainerStatuses": [{"name": "second", "state": {"terminated": {"exitCode": 0}}}],
    },
}
"""A pod that sets everything that is read, each field to another value than its default."""


def lean(pod: object) -> Any:
    return msgspec.json.decode(json.dumps(pod), type=PodShape)


def test_the_pod_below_sets_every_field_that_is_read() -> None:
    pod = read_pod(EVERYTHING)
    assert [field.name for field in fields(Pod) if getattr(pod, field.name) == getattr(Pod(), field.name)] == []
    assert [container.phase for container in pod.containers] == [Phase.SIDECAR, Phase.INIT, Phase.APP]
    unset = Container("", Phase.APP, "", {}, {})
    told = [field.name for field in fields(Container) for each in pod.containers if _differs(each, unset, field.name)]
    assert set(told) == {field.name for field in fields(Container)}


def _differs(container: Container, unset: Container, name: str) -> bool:
    return bool(getattr(container, name) != getattr(unset, name))


def test_a_pod_is_read_the_same_without_what_nobody_reads() -> None:
    assert read_pod(lean(EVERYTHING)) == read_pod(EVERYTHING)


@pytest.mark.parametrize("holder", [{"schedulingGroup": {"podGroupName": "g"}}, {"workloadRef": {"name": "g"}}])
def test_a_group_named_in_the_spec_is_read_the_same(holder: dict[str, Any]) -> None:
    pod = {"spec": holder}
    assert read_pod(lean(pod)).group == read_pod(pod).group == "g"


def test_what_nobody_reads_is_not_decoded() -> None:
    found = lean(EVERYTHING)
    assert "managedFields" not in found["metadata"]
    assert "volumes" not in found["spec"]
    assert "volumeMounts" not in found["spec"]["containers"][0]


@pytest.mark.parametrize("line", REVIEWS.read_text(encoding="utf-8").splitlines())
def test_recorded_pods_are_read_the_same(line: str) -> None:
    whole = json.loads(line)["request"]
    request = decode(line.encode())
    assert read_pod(request.object) == read_pod(whole["object"])
    assert read_pod(request.oldObject) == read_pod(whole["oldObject"])


@pytest.mark.parametrize("odd", ['"text"', "7", '{"metadata": 1}', '{"spec": {"containers": {"a": [2]}}}'])
def test_an_object_of_another_shape_is_decoded_whole(odd: str) -> None:
    head = '{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"'
    body = f'{head}, "request": {{"uid": "u", "operation": "CREATE", "object": {odd}}}}}'
    assert decode(body.encode()).object == json.loads(odd)
