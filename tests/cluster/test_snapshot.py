"""Snapshots: what they keep, that they say the same as the cluster, and that redaction lets nothing through."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy import keys
from policy.facts import Facts
from tests.cluster.build import SECRET, Object, Planter, node, placed, pod, quota
from webhook.cluster.documents import Content
from webhook.cluster.file import FileCluster
from webhook.cluster.redaction import KEPT_NODE_LABELS
from webhook.cluster.snapshot import encode, snapshot


def items(*objects: Object, **options: Any) -> list[Object]:
    found = snapshot(objects, None, **options)["items"]
    assert isinstance(found, list)
    return found


def facts(*objects: Object) -> Facts:
    return FileCluster(Content(objects)).facts()


FULL_POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "default",
        "uid": "uid-p",
        "resourceVersion": "7",
        "creationTimestamp": "2026-11-30T11:00:00Z",
        "labels": {
            "app": SECRET,
            "scheduling.x-k8s.io/pod-group": "gang",
            "hami.io/vgpu-node": "gpu-1",
            "team": "red",
        },
        "annotations": {
            keys.NUMA_ALIGNMENT: "strict",
            keys.ALLOCATED: "GPU-gpu-1-0,NVIDIA,20000,30:;",
            keys.TO_ALLOCATE: ";",
            keys.ASSIGNED_NODE: "gpu-1",
            "hami.io/dcu-devices-allocated": ";",
            "kubectl.kubernetes.io/last-applied-configuration": SECRET,
            "vault.hashicorp.com/token": SECRET,
        },
        "managedFields": [{"manager": SECRET}],
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}],
        "finalizers": [SECRET],
    },
    "spec": {
        "nodeName": "gpu-1",
        "schedulerName": "hami-scheduler",
        "serviceAccountName": SECRET,
        "imagePullSecrets": [{"name": SECRET}],
        "volumes": [{"secret": {"secretName": SECRET}}],
        "hostAliases": [{"ip": SECRET}],
        "nodeSelector": {"pool": "a100"},
        "affinity": {
            "podAffinity": {"x": SECRET},
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [SECRET],
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]},
                    ]
                },
            },
        },
        "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 300}],
        "initContainers": [{"image": SECRET}, {"name": "side", "restartPolicy": "Always"}],
        "containers": [
            {
                "name": "main",
                "image": f"registry/{SECRET}",
                "command": [SECRET],
                "args": [SECRET],
                "env": [
                    {"name": "TOKEN", "value": SECRET},
                    {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all", "valueFrom": {"x": SECRET}},
                    SECRET,
                ],
                "envFrom": [{"secretRef": {"name": SECRET}}],
                "volumeMounts": [{"mountPath": SECRET}],
                "securityContext": {"privileged": True, "seLinuxOptions": {"level": SECRET}},
                "resources": {
                    "limits": {"nvidia.com/gpu": "1", "cpu": "2", "x": SECRET},
                    "requests": {"nvidia.com/gpu": 1},
                    "claims": [{"name": SECRET}],
                },
            }
        ],
    },
    "status": {
        "phase": "Running",
        "podIP": SECRET,
        "hostIP": SECRET,
        "conditions": [{"message": SECRET}],
        "initContainerStatuses": [
            {"name": "side", "imageID": SECRET, "state": {"terminated": {"exitCode": 0, "message": SECRET}}}
        ],
    },
}


def test_a_redacted_pod_keeps_exactly_what_is_listed() -> None:
    assert items(FULL_POD, redact=True) == [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "p",
                "namespace": "default",
                "uid": "uid-p",
                "resourceVersion": "7",
                "creationTimestamp": "2026-11-30T11:00:00Z",
                "labels": {"scheduling.x-k8s.io/pod-group": "gang", "hami.io/vgpu-node": "gpu-1"},
                "annotations": {
                    keys.NUMA_ALIGNMENT: "strict",
                    keys.ALLOCATED: "GPU-gpu-1-0,NVIDIA,20000,30:;",
                    keys.TO_ALLOCATE: ";",
                    keys.ASSIGNED_NODE: "gpu-1",
                    "hami.io/dcu-devices-allocated": ";",
                },
                "ownerReferences": [
                    {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
                ],
            },
            "spec": {
                "nodeName": "gpu-1",
                "schedulerName": "hami-scheduler",
                "nodeSelector": {"pool": "a100"},
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}
                            ]
                        }
                    }
                },
                "tolerations": [{"key": "gpu", "operator": "Exists"}],
                "initContainers": [{}, {"name": "side", "restartPolicy": "Always"}],
                "containers": [
                    {
                        "name": "main",
                        "resources": {
                            "limits": {"nvidia.com/gpu": "1", "cpu": "2"},
                            "requests": {"nvidia.com/gpu": 1},
                        },
                        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
                        "securityContext": {"privileged": True},
                    }
                ],
            },
            "status": {
                "phase": "Running",
                "initContainerStatuses": [{"name": "side", "state": {"terminated": {"exitCode": 0}}}],
            },
        }
    ]


def test_node_labels_stay_where_pods_or_the_policy_file_select_by_them() -> None:
    labels = dict.fromkeys((*KEPT_NODE_LABELS, "pool", "rack", "tier", "owner"), "x")
    sources = node(labels=labels), FULL_POD
    kept = {one["kind"]: set(one["metadata"]["labels"]) for one in items(*sources, redact=True)}
    assert kept["Node"] == {*KEPT_NODE_LABELS, "pool", "rack"}
    kept = {
        one["kind"]: set(one["metadata"]["labels"])
        for one in items(*sources, redact=True, label_keys=frozenset({"tier", "team"}))
    }
    assert kept["Node"] == {*KEPT_NODE_LABELS, "pool", "rack", "tier"}
    assert kept["Pod"] == {"scheduling.x-k8s.io/pod-group", "hami.io/vgpu-node", "team"}


def test_a_redacted_node_keeps_its_cards_and_nothing_hidden_among_them() -> None:
    source = node(annotations={keys.CORDON: "GPU-gpu-1-1", "cluster.x-k8s.io/machine": SECRET})
    register = json.loads(source["metadata"]["annotations"][keys.REGISTER])
    register[0] |= {"custominfo": {"x": SECRET}, "migtemplate": [SECRET]}
    source["metadata"]["annotations"][keys.REGISTER] = json.dumps(register)
    source["spec"] = {"providerID": SECRET, "unschedulable": True, "taints": [{"key": "gpu", "timeAdded": SECRET}]}
    source["status"] = {
        "addresses": [{"address": SECRET}],
        "nodeInfo": {"machineID": SECRET, "kubeletVersion": "v1.36.1"},
        "images": [{"names": [SECRET]}],
        "allocatable": {"nvidia.com/gpu": "20"},
    }
    (kept,) = items(source, redact=True)
    assert SECRET not in json.dumps(kept)
    assert kept["spec"] == {"unschedulable": True, "taints": [{"key": "gpu"}]}
    assert kept["status"] == {"allocatable": {"nvidia.com/gpu": "20"}, "nodeInfo": {"kubeletVersion": "v1.36.1"}}
    before, after = facts(source).nodes["gpu-1"].node, facts(kept).nodes["gpu-1"].node
    assert before is not None
    assert after == replace(before, taints=({"key": "gpu"},))


@pytest.mark.parametrize("value", [f"[{SECRET}", f'"{SECRET}"', "\ud800"])
def test_an_unreadable_register_value_stays_unreadable_but_is_not_shown(value: str) -> None:
    source = node(annotations={keys.REGISTER: value})
    (kept,) = items(source, redact=True)
    found = facts(kept).nodes["gpu-1"].node
    assert found is not None
    assert found.problem
    assert kept["metadata"]["annotations"] == {keys.REGISTER: "unreadable, left out"}


OTHERS: list[Object] = [
    quota(gpumem="30k") | {"status": {"used": {"x": SECRET}}},
    {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "gpu-1", "labels": {"x": SECRET}},
        "attributes": [
            {"name": "topologyManagerPolicy", "value": "restricted"},
            {"name": "nodeTopologyPodsFingerprint", "value": SECRET},
        ],
        "zones": [
            {
                "name": "node-0",
                "type": "Node",
                "attributes": [{"name": "x", "value": SECRET}],
                "resources": [{"name": "nvidia.com/gpu", "available": "4"}],
            }
        ],
    },
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "hami", "name": "d"},
        "data": {
            "device-config.yaml": f"nvidia:\n  enableNumaTopology: true\n  x: {SECRET}\n",
            "config.json": json.dumps(
                {"nodeconfig": [{"name": "gpu-2", "enablenumatopology": False, "filterdevices": SECRET}]}
            ),
            "x": SECRET,
        },
    },
    {
        "devicePlugin": {"enableNumaTopology": True, "image": SECRET, "nodeConfiguration": {"config": "{}"}},
        "scheduler": SECRET,
    },
    {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "default", "labels": {"kubernetes.io/metadata.name": "default", "owner": SECRET}},
        "spec": {"finalizers": [SECRET]},
    },
]


def test_redaction_changes_nothing_of_what_numafit_reads() -> None:
    sources = [node(), node("gpu-2"), placed(), *OTHERS]
    redacted = items(*sources, redact=True)
    assert SECRET not in json.dumps(redacted)
    before, after = facts(*sources), facts(*redacted)
    assert after.nodes == before.nodes
    assert after.quotas == before.quotas
    assert after.quota_use == before.quota_use


def test_what_numafit_does_not_read_is_left_out() -> None:
    foreign: list[Object] = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"x": SECRET}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"x": SECRET}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}},
        {"metadata": {"name": SECRET}},
    ]
    for redact in (False, True):
        assert [one["kind"] for one in items(*foreign, pod(), redact=redact)] == ["Pod"]


def test_without_redaction_only_noise_is_left_out() -> None:
    (kept,) = items(FULL_POD)
    assert kept["spec"] == FULL_POD["spec"]
    assert set(kept["metadata"]) == set(FULL_POD["metadata"]) - {"managedFields"}
    assert "vault.hashicorp.com/token" in kept["metadata"]["annotations"]
    assert "kubectl.kubernetes.io/last-applied-configuration" not in kept["metadata"]["annotations"]
    assert set(kept["status"]) == {"phase", "initContainerStatuses"}


def test_the_document_says_when_it_was_taken_and_is_sorted() -> None:
    document = snapshot([placed("b"), node("z"), placed("a"), node("y")], 1796037707.9)
    assert document["metadata"]["annotations"] == {"numafit.io/taken-at": "2026-11-30T11:21:47Z"}
    assert [one["metadata"]["name"] for one in document["items"]] == ["y", "z", "a", "b"]


def test_a_snapshot_of_a_snapshot_is_the_same() -> None:
    sources = [node(), FULL_POD, *OTHERS]
    for redact in (False, True):
        once = snapshot(sources, 0.0, redact=redact)
        assert encode(snapshot(once["items"], 0.0, redact=redact)) == encode(once)


@settings(max_examples=200, deadline=None)
@given(st.integers())
def test_no_planted_secret_survives_redaction(seed: int) -> None:
    planter = Planter(seed)
    sources = [planter.plant(source) for source in (node(annotations={keys.CORDON: "GPU-x"}), FULL_POD, *OTHERS)]
    text = encode(snapshot(sources, None, redact=True)).decode()
    assert "planted-" not in text
    assert SECRET not in text


def test_the_planted_secrets_are_really_there() -> None:
    """Without redaction they are found: the property above looks at the right thing."""
    texts = [encode(snapshot([Planter(seed).plant(FULL_POD)], None)).decode() for seed in range(20)]
    assert sum("planted-" in text for text in texts) > 10
