"""Pods read from plain objects: what is taken, what is missing, what is malformed."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.membership import Membership
from policy.plain import MalformedObjectError
from policy.pod import Phase, Pod, read_pod


def spec(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": fields}


def meta(**fields: Any) -> dict[str, Any]:
    return {"metadata": fields}


def test_everything_that_the_engine_asks_for_is_read() -> None:
    toleration = {"key": "pool", "operator": "Exists"}
    term = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    required = {"nodeSelectorTerms": [term]}
    pod = read_pod(
        {
            "metadata": {
                "name": "train-0",
                "namespace": "team",
                "uid": "u",
                "resourceVersion": "7",
                "annotations": {"a": "b"},
                "labels": {"c": "d"},
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [{"kind": "Other"}, {"kind": "Job", "controller": True}],
            },
            "spec": {
                "schedulerName": "hami-scheduler",
                "nodeName": "n1",
                "runtimeClassName": "nvidia",
                "nodeSelector": {"pool": "a"},
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
                "tolerations": [toleration],
                "resources": {"requests": {"cpu": 1}},
                "schedulingGroup": {"podGroupName": "gang"},
            },
            "status": {"phase": "Running"},
        }
    )
    assert pod == Pod(
        namespace="team",
        name="train-0",
        uid="u",
        resource_version="7",
        annotations={"a": "b"},
        labels={"c": "d"},
        scheduler_name="hami-scheduler",
        node_name="n1",
        runtime_class="nvidia",
        node_selector={"pool": "a"},
        affinity=required,
        tolerations=(toleration,),
        owner_kind="Job",
        memberships=(Membership("kubernetes-1.36+", "gang"),),
        pod_level_resources=True,
        status_phase="Running",
        terminating=True,
    )
    assert pod.title == "team/train-0"


@pytest.mark.parametrize(
    "source", [{}, None, {"metadata": None, "spec": None, "status": None}, {"kind": "Pod", "x": 1}]
)
def test_what_is_missing_is_empty(source: Any) -> None:
    assert read_pod(source) == Pod()


def test_containers_stand_in_the_order_of_hamis_annotation_values() -> None:
    status = {
        "initContainerStatuses": [
            {"name": "done", "state": {"terminated": {"exitCode": 0}}},
            {"name": "failed", "state": {"terminated": {"exitCode": 1}}},
            {"name": "mesh", "state": {"terminated": {"exitCode": 0}}},
            {"name": "busy", "state": {"running": {}}},
            {"name": "odd", "state": "terminated"},
        ]
    }
    early = [{"name": name} for name in ("done", "failed", "busy", "odd")]
    early.insert(1, {"name": "mesh", "restartPolicy": "Always"})
    source = {"spec": {"containers": [{"name": "main"}, {"name": "done"}], "initContainers": early}, "status": status}
    assert [(c.name, c.phase, c.path, c.ended) for c in read_pod(source).containers] == [
        ("done", Phase.INIT, "/spec/initContainers/0", True),
        ("mesh", Phase.SIDECAR, "/spec/initContainers/1", False),
        ("failed", Phase.INIT, "/spec/initContainers/2", False),
        ("busy", Phase.INIT, "/spec/initContainers/3", False),
        ("odd", Phase.INIT, "/spec/initContainers/4", False),
        ("main", Phase.APP, "/spec/containers/0", False),
        ("done", Phase.APP, "/spec/containers/1", False),
    ]


def test_a_containers_amounts_and_variables_are_as_written() -> None:
    env = [{"name": "A", "value": "b"}]
    limits, requests = {"nvidia.com/gpu": "1", "cpu": 2, "x": 0.5}, {"cpu": "2000m"}
    raw = {"name": "c", "resources": {"limits": limits, "requests": requests}, "env": env}
    (container,) = read_pod(spec(containers=[raw | {"securityContext": {"privileged": True}}])).containers
    assert (container.limits, container.requests, container.env) == (limits, requests, tuple(env))
    assert container.privileged


@pytest.mark.parametrize("context", [None, {}, {"privileged": False}, {"privileged": "true"}, {"privileged": None}])
def test_only_true_is_privileged(context: Any) -> None:
    (container,) = read_pod(spec(containers=[{"securityContext": context}])).containers
    assert not container.privileged


@pytest.mark.parametrize(
    ("metadata", "namespace", "title"),
    [
        ({"generateName": "train-"}, "team", "team/train-"),
        ({"name": "p", "generateName": "train-"}, "team", "team/p"),
        ({"name": "p", "namespace": "own"}, "team", "own/p"),
        ({"name": "p"}, "", "p"),
        ({}, "", ""),
    ],
)
def test_pods_of_controllers_have_a_generated_name_and_the_requests_namespace(
    metadata: dict[str, Any], namespace: str, title: str
) -> None:
    assert read_pod({"metadata": metadata}, namespace).title == title


@pytest.mark.parametrize(
    ("source", "group"),
    [
        (meta(labels={"scheduling.x-k8s.io/pod-group": "a"}), "a"),
        (meta(labels={"grove.io/podgang": "b"}), "b"),
        (meta(labels={"kai.scheduler/subgroup-name": "c"}), "c"),
        (meta(annotations={"pod-group-name": "d"}), "d"),
        (spec(schedulingGroup={"podGroupName": "e"}), "e"),
        (spec(workloadRef={"name": "f"}), "f"),
        (meta(annotations={"scheduling.x-k8s.io/pod-group": "no label"}), ""),
        (meta(labels={"scheduling.x-k8s.io/pod-group": ""}), ""),
        (spec(schedulingGroup={}, workloadRef=None), ""),
    ],
)
def test_a_gang_is_joined_by_label_annotation_or_field(source: dict[str, Any], group: str) -> None:
    assert read_pod(source).group == group


@pytest.mark.parametrize(
    ("resources", "asked"), [(None, False), ({}, False), ({"limits": {}}, False), ({"limits": {"cpu": 1}}, True)]
)
def test_resources_of_the_pod_count_where_they_ask_for_anything(resources: Any, asked: bool) -> None:
    assert read_pod(spec(resources=resources)).pod_level_resources is asked


@pytest.mark.parametrize("owner", [{"kind": "Job"}, {"kind": "Job", "controller": False}, {"controller": True}])
def test_an_owner_that_is_no_controller_made_no_pod(owner: dict[str, Any]) -> None:
    assert read_pod(meta(ownerReferences=[owner])).owner_kind == ""


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ([], "pod must be an object, not a list"),
        ("pod", "pod must be an object, not 'pod'"),
        ({"metadata": 7}, "metadata must be an object, not 7"),
        ({"spec": []}, "spec must be an object, not a list"),
        (meta(name=7), "metadata.name must be text, not 7; write it in quotes"),
        (meta(uid=True), "metadata.uid must be text, not true; write it in quotes"),
        (meta(annotations={"a": 1}), "metadata.annotations[a] must be text, not 1; write it in quotes"),
        (meta(annotations={"a": None}), "metadata.annotations[a] must be text, not null"),
        (meta(annotations={7: "a"}), "metadata.annotations has a key that must be text, not 7; write it in quotes"),
        (meta(labels={"a": []}), "metadata.labels[a] must be text, not a list"),
        (meta(ownerReferences={}), "metadata.ownerReferences must be a list, not an object"),
        (
            meta(ownerReferences=[{"controller": True, "kind": 7}]),
            "metadata.ownerReferences.kind must be text, not 7; write it in quotes",
        ),
        (spec(containers={}), "spec.containers must be a list, not an object"),
        (spec(containers=[None]), "spec.containers[0] must be an object, not null"),
        (spec(initContainers=[{}, "x"]), "spec.initContainers[1] must be an object, not 'x'"),
        (spec(containers=[{"name": []}]), "spec.containers[0].name must be text, not a list"),
        (spec(containers=[{"resources": 1.5}]), "spec.containers[0].resources must be an object, not 1.5"),
        (
            spec(containers=[{"resources": {"limits": {"cpu": None}}}]),
            "spec.containers[0].resources.limits[cpu] must be a quantity, not null",
        ),
        (
            spec(containers=[{"resources": {"limits": {True: 1}}}]),
            "spec.containers[0].resources.limits has a key that must be text, not true; write it in quotes",
        ),
        (spec(containers=[{"env": [1]}]), "spec.containers[0].env[0] must be an object, not 1"),
        (
            spec(containers=[{"securityContext": "root"}]),
            "spec.containers[0].securityContext must be an object, not 'root'",
        ),
        (spec(tolerations="all"), "spec.tolerations must be a list, not 'all'"),
        (spec(affinity={"nodeAffinity": []}), "spec.affinity.nodeAffinity must be an object, not a list"),
        (
            spec(schedulingGroup={"podGroupName": 1}),
            "spec.schedulingGroup.podGroupName must be text, not 1; write it in quotes",
        ),
        (spec(schedulerName="x" * 9, nodeName=["y"]), "spec.nodeName must be text, not a list"),
        ({"status": {"initContainerStatuses": 1}}, "status.initContainerStatuses must be a list, not 1"),
        ({"spec": "x" * 500}, f"spec must be an object, not {'x' * 80!r}"),
    ],
)
def test_a_field_of_another_type_is_named_with_what_was_seen(source: Any, text: str) -> None:
    with pytest.raises(MalformedObjectError) as caught:
        read_pod(source)
    assert str(caught.value) == text


def test_no_value_is_too_deep_or_too_long_to_be_named() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    for source in (deep, meta(labels=deep), meta(uid=deep), meta(uid=1 << 100_000)):
        with pytest.raises(
            MalformedObjectError, match=r" must be .*, not (a list|something else)(; write it in quotes)?$"
        ):
            read_pod(source)
    with pytest.raises(MalformedObjectError, match=r"limits\[cpu\] must be a quantity, not something else$"):
        read_pod(spec(containers=[{"resources": {"limits": {"cpu": 1 << 100_000}}}]))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["metadata", "spec", "containers", "resources", "limits", "annotations", "name", "env"]),
            inner,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_any_value_is_a_pod_or_an_error_that_says_where(source: object) -> None:
    try:
        assert isinstance(read_pod(source), Pod)
    except MalformedObjectError as error:
        found = str(error)
        assert " must be " in found
