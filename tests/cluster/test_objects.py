"""Objects become facts: what is read of each kind, and what a bad one says without hiding the others."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy import keys
from policy.facts import Kubelet, Quota, Use
from policy.hami.request import HamiConfig
from tests.cluster.build import Object, Planter, node, placed, pod, quota
from webhook.cluster.documents import Content
from webhook.cluster.file import FileCluster
from webhook.cluster.interface import Declared
from webhook.cluster.objects import Reading, read_objects

CONFIG = HamiConfig()


def read(*objects: Object, declared: tuple[Declared, ...] = ()) -> Reading:
    return read_objects(objects, CONFIG, declared)


def kubelet(*objects: Object, declared: tuple[Declared, ...] = ()) -> Kubelet:
    """What is known of the node gpu-1, which carries the label `pool: a100`."""
    found = read(node(labels={"pool": "a100"}), *objects, declared=declared).facts.nodes["gpu-1"].node
    assert found is not None
    return found.kubelet


def test_a_node_is_read_with_all_that_rules_ask_of_it() -> None:
    source = node(
        labels={"pool": "a100"},
        annotations={
            keys.CORDON: "GPU-gpu-1-1, ,",
            keys.PAIR_SCORES: '[{"uuid":"GPU-gpu-1-0","score":{"GPU-gpu-1-1":100}}]',
        },
    )
    source["spec"] = {"unschedulable": True, "taints": [{"key": "gpu", "effect": "NoSchedule"}, "x"]}
    reading = read(source)
    found = reading.facts.nodes["gpu-1"].node
    assert found is not None
    assert reading.problems == ()
    assert [(card.uuid, card.index, card.numa, card.memory) for card in found.cards] == [
        ("GPU-gpu-1-0", 0, 0, 40000),
        ("GPU-gpu-1-1", 1, 0, 40000),
    ]
    assert found.labels == {"pool": "a100"}
    assert found.cordoned == {"GPU-gpu-1-1"}
    assert found.pair_scores == {"GPU-gpu-1-0": {"GPU-gpu-1-1": 100}}
    assert found.taints == ({"key": "gpu", "effect": "NoSchedule"},)
    assert found.unschedulable
    assert found.kubelet == Kubelet()


def test_a_node_without_hamis_annotation_has_no_cards_and_that_is_no_problem() -> None:
    reading = read({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "cpu-1"}})
    found = reading.facts.nodes["cpu-1"].node
    assert found is not None
    assert (found.cards, found.problem, reading.problems) == ((), "", ())


@pytest.mark.parametrize(
    "value",
    [
        "[null]",
        "[",
        "null",
        "",
        "7",
        '{"id": "GPU-a"}',
        "[]",
        '[{"id": 7}]',
        '[{"id": "GPU-a", "devmem": -1}]',
        '[{"id": "GPU-a", "count": 99999999999999999999}]',
        '[{"id": "GPU-a"}, {"id": "GPU-a"}]',
        json.dumps([{"id": f"GPU-{index}"} for index in range(10_000)]),
        "[" * 200_000,
    ],
)
def test_a_hostile_register_value_makes_one_node_unreadable_and_no_other(value: str) -> None:
    reading = read(node("bad", annotations={keys.REGISTER: value}), node("good"))
    bad, good = reading.facts.nodes["bad"].node, reading.facts.nodes["good"].node
    assert bad is not None
    assert good is not None
    assert (bad.cards, len(good.cards)) == ((), 2)
    assert bad.problem
    assert reading.problems == (f"Node bad: {bad.problem}",)


def test_a_card_that_two_nodes_register_is_reported() -> None:
    first, second = node("gpu-1"), node("gpu-2")
    second["metadata"]["annotations"][keys.REGISTER] = first["metadata"]["annotations"][keys.REGISTER]
    assert read(first, second).problems == tuple(
        f"Node gpu-2: card GPU-gpu-1-{index} is registered by node gpu-1 too; delete the one that is gone"
        for index in (0, 1)
    )


def test_unreadable_pair_scores_leave_the_cards_alone() -> None:
    reading = read(node(annotations={keys.PAIR_SCORES: "[["}))
    found = reading.facts.nodes["gpu-1"].node
    assert found is not None
    assert (len(found.cards), found.pair_scores, found.problem) == (2, {}, "")
    assert len(reading.problems) == 1
    assert reading.problems[0].startswith("Node gpu-1: hami.io/node-nvidia-score")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"kind": "Pod", "metadata": 7}, "Pod without a name: metadata must be an object"),
        (pod(annotations={"a": 1}), "Pod default/p: metadata.annotations[a] must be text"),
        ({**pod(), "spec": {"containers": 1}}, "Pod default/p: spec.containers must be a list"),
        (pod(uid=""), "Pod default/p: metadata.uid is missing; the pod is left out"),
        ({"kind": "Node", "metadata": {}}, "Node without a name: metadata.name must be text, not null"),
        (node(labels={"on": True}), "Node gpu-1: metadata.labels[on] must be text, not true"),
        (node(labels=[]) | {"metadata": {"name": "n", "labels": [1]}}, "Node n: metadata.labels must be an object"),
        ({"kind": "Namespace", "metadata": {"name": 7}}, "Namespace 7: metadata.name must be text, not 7"),
        (quota() | {"spec": []}, "ResourceQuota default/q: spec of a ResourceQuota must be an object, not list"),
        ({"metadata": {"name": "x"}}, "object x: has no kind"),
    ],
)
def test_a_malformed_object_is_reported_and_the_others_count(source: Object, said: str) -> None:
    reading = read(source, node("good"), placed("held", "GPU-good-0", "good"))
    assert len(reading.problems) == 1
    assert reading.problems[0].startswith(said)
    assert reading.facts.nodes["good"].use == {"GPU-good-0": Use(1, 20000, 30)}


@settings(max_examples=200, deadline=None)
@given(st.integers())
def test_whatever_stands_in_objects_they_load(seed: int) -> None:
    """Every field of every kind holds the wrong thing now and then; the good node is read all the same."""
    plant = Planter(seed).plant
    sources = [node("bad"), placed(), quota(gpumem="1"), topology(**GPU_ZONE), config_map(device_config_yaml=ON)]
    sources = [plant(source) for source in [*sources, {"devicePlugin": {"nodeConfiguration": {"config": "{}"}}}]]
    held = FileCluster(Content((*sources, node("good"))))
    assert len(held.facts().inventory.nodes["good"].cards) == 2
    assert all(isinstance(problem, str) for problem in held.problems())


def test_kinds_and_fields_that_nobody_knows_are_passed_over() -> None:
    foreign = {"apiVersion": "longhorn.io/v1beta2", "kind": "Node", "metadata": {"name": "disk"}, "x": {"y": 1}}
    reading = read(foreign, {"apiVersion": "v1", "kind": "Secret", "data": 7}, node(newer={"field": 1}))
    assert list(reading.facts.nodes) == ["gpu-1"]
    assert reading.problems == ()


def test_only_pods_with_a_node_that_are_not_over_hold_something() -> None:
    over = placed("over") | {"status": {"phase": "Succeeded"}}
    unplaced = pod("unplaced", annotations={keys.ALLOCATED: "GPU-gpu-1-0,NVIDIA,1,1:;"})
    going = placed("going")
    going["metadata"]["deletionTimestamp"] = "2026-11-30T12:00:00Z"
    reading = read(node(), over, unplaced, going)
    assert reading.facts.pod_nodes == {"uid-going": "gpu-1"}
    assert sorted(reading.pods) == ["uid-going", "uid-over", "uid-unplaced"]


def test_two_pods_with_one_uid_are_counted_once() -> None:
    twin = placed("twin")
    twin["metadata"]["uid"] = "uid-p"
    reading = read(node(), placed(), twin)
    assert reading.facts.nodes["gpu-1"].use == {"GPU-gpu-1-0": Use(1, 20000, 30)}
    assert reading.problems == ("Pod default/twin: has the UID of pod default/p; the pod is left out",)


def test_quotas_and_namespaces_are_kept_by_name() -> None:
    team = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"tier": "gold"}}}
    facts = read(quota("team", gpumem="30k", gpucores="200"), quota("team", gpumem="20k"), team).facts
    assert facts.quotas == {"team": Quota(20000, 200)}
    assert facts.namespaces == {"team": {"tier": "gold"}}


def topology(version: str = "v1alpha2", **content: Any) -> Object:
    return {
        "apiVersion": f"topology.node.k8s.io/{version}",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "gpu-1"},
        **content,
    }


def attributes(**values: str) -> dict[str, Any]:
    return {"attributes": [{"name": name, "value": value} for name, value in values.items()]}


GPU_ZONE: Object = {"zones": [{"name": "node-0", "type": "Node", "resources": [{"name": "nvidia.com/gpu"}]}]}
CPU_ZONE: Object = {"zones": [{"name": "node-0", "type": "Node", "resources": [{"name": "cpu"}]}]}
SOCKET_ZONE: Object = {"zones": [{"name": "s-0", "type": "Socket", "resources": [{"name": "nvidia.com/gpu"}]}]}


@pytest.mark.parametrize(
    ("content", "known"),
    [
        (attributes(topologyManagerPolicy="restricted", topologyManagerScope="pod"), Kubelet("restricted", "pod")),
        (attributes(topologyManagerPolicy="single-numa-node"), Kubelet("single-numa-node", "container")),
        ({"topologyPolicies": ["None"]}, Kubelet("none", "container")),
        ({"topologyPolicies": ["BestEffort"]}, Kubelet("best-effort", "container")),
        ({"topologyPolicies": ["BestEffortPodLevel"]}, Kubelet("best-effort", "pod")),
        ({"topologyPolicies": ["Restricted"]}, Kubelet("restricted", "container")),
        ({"topologyPolicies": ["RestrictedPodLevel"]}, Kubelet("restricted", "pod")),
        ({"topologyPolicies": ["SingleNUMANodeContainerLevel"]}, Kubelet("single-numa-node", "container")),
        ({"topologyPolicies": ["SingleNUMANodePodLevel"]}, Kubelet("single-numa-node", "pod")),
        (
            {"topologyPolicies": ["None"]} | attributes(topologyManagerPolicy="best-effort"),
            Kubelet("best-effort", "container"),
        ),
        ({"topologyPolicies": []}, Kubelet()),
        ({}, Kubelet()),
        (GPU_ZONE, Kubelet(advertises_numa=True)),
        (CPU_ZONE, Kubelet()),
        (SOCKET_ZONE, Kubelet()),
        ({"zones": 7, "attributes": "x", "topologyPolicies": {}}, Kubelet()),
    ],
)
def test_a_node_resource_topology_says_what_it_knows_of_the_kubelet(content: dict[str, Any], known: Kubelet) -> None:
    assert kubelet(topology(**content)) == known


def test_of_two_versions_of_a_topology_the_newer_is_asked_first() -> None:
    older = topology("v1alpha1", topologyPolicies=["None"], **GPU_ZONE)
    newer = topology(**attributes(topologyManagerPolicy="restricted", topologyManagerScope="pod"))
    for objects in ((older, newer), (newer, older)):
        assert kubelet(*objects) == Kubelet("restricted", "pod", advertises_numa=True)


def test_a_policy_that_nobody_knows_is_unknown_and_reported() -> None:
    reading = read(node(), topology(**attributes(topologyManagerPolicy="strict")))
    found = reading.facts.nodes["gpu-1"].node
    assert found is not None
    assert found.kubelet == Kubelet()
    (problem,) = reading.problems
    assert problem == (
        "NodeResourceTopology gpu-1: topologyManagerPolicy is 'strict', known are none, best-effort, restricted, "
        "single-numa-node; it is taken as unknown"
    )


def config_map(**data: str) -> Object:
    files = {name.replace("_", "."): text for name, text in data.items()}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "hami", "name": "c"},
        "data": {name.replace("device.config", "device-config"): text for name, text in files.items()},
    }


ON, OFF = "nvidia:\n  enableNumaTopology: true\n", "nvidia:\n  enableNumaTopology: false\n"


def exceptions(*entries: dict[str, Any]) -> str:
    return json.dumps({"nodeconfig": list(entries)})


@pytest.mark.parametrize(
    ("objects", "advertises"),
    [
        ([config_map(device_config_yaml=ON)], True),
        ([config_map(device_config_yaml=OFF)], False),
        ([config_map(device_config_yaml="nvidia: {}")], None),
        ([config_map(config_json=exceptions({"name": "gpu-1", "enablenumatopology": True}))], True),
        ([config_map(config_json=exceptions({"name": "gpu-1", "EnableNumaTopology": True}))], True),
        ([config_map(config_json=exceptions({"name": "other", "enablenumatopology": True}))], None),
        (
            [
                config_map(device_config_yaml=ON),
                config_map(config_json=exceptions({"name": "gpu-1", "enablenumatopology": False})),
            ],
            False,
        ),
        ([config_map(device_config_yaml=ON), config_map(config_json=exceptions({"name": "gpu-1"}))], True),
        ([config_map(config_json='{"someone": "elses"}')], None),
        ([{"devices": {"nvidia": {"enableNumaTopology": True}}}], True),
        ([{"devicePlugin": {"enableNumaTopology": False}}], False),
        (
            [
                {
                    "devicePlugin": {
                        "enableNumaTopology": True,
                        "nodeConfiguration": {"config": exceptions({"name": "gpu-1", "enablenumatopology": False})},
                    }
                }
            ],
            False,
        ),
        ([{"devicePlugin": {"enableNumaTopology": True}}, config_map(device_config_yaml=OFF)], False),
    ],
)
def test_hamis_device_configuration_says_whether_numa_is_advertised(
    objects: list[Object], advertises: bool | None
) -> None:
    assert kubelet(*objects) == Kubelet(advertises_numa=advertises)


@pytest.mark.parametrize("entry", [{"name": "*"}, {"nodelabelselector": "pool=a100"}])
def test_an_exception_that_is_not_read_leaves_other_nodes_unknown(entry: dict[str, Any]) -> None:
    reading = read(
        node(),
        node("named"),
        config_map(device_config_yaml=ON),
        config_map(
            config_json=exceptions(entry | {"enablenumatopology": False}, {"name": "named", "enablenumatopology": True})
        ),
    )
    found = {name: state.node.kubelet.advertises_numa for name, state in reading.facts.nodes.items() if state.node}
    assert found == {"gpu-1": None, "named": True}
    assert len(reading.problems) == 1
    assert reading.problems[0].startswith("ConfigMap hami/c: an exception for '")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            {
                "device_config_yaml": "a: [",
            },
            "ConfigMap hami/c: device-config.yaml: not YAML: ",
        ),
        ({"config_json": '{"nodeconfig": ['}, "ConfigMap hami/c: config.json: not JSON: "),
        (
            {"device_config_yaml": "nvidia: {enableNumaTopology: 'yes'}"},
            "ConfigMap hami/c: enableNumaTopology is 'yes', true or false was expected",
        ),
    ],
)
def test_an_unreadable_device_configuration_is_reported(data: dict[str, str], said: str) -> None:
    reading = read(node(), config_map(**data))
    assert len(reading.problems) == 1
    assert reading.problems[0].startswith(said)


A100 = Declared({"pool": "a100"}, Kubelet("restricted", None, None))
EVERY = Declared({}, Kubelet("none", "pod", advertises_numa=True))
H100 = Declared({"pool": "h100"}, Kubelet("single-numa-node", "pod", advertises_numa=False))


@pytest.mark.parametrize(
    ("objects", "declared", "known"),
    [
        ([], (H100,), Kubelet()),
        ([], (A100,), Kubelet("restricted")),
        ([], (A100, EVERY), Kubelet("restricted", "pod", advertises_numa=True)),
        ([], (EVERY, A100), Kubelet("none", "pod", advertises_numa=True)),
        ([config_map(device_config_yaml=OFF)], (EVERY,), Kubelet("none", "pod", advertises_numa=False)),
        (
            [topology(topologyPolicies=["BestEffort"], **GPU_ZONE), config_map(device_config_yaml=OFF)],
            (EVERY,),
            Kubelet("best-effort", "container", advertises_numa=True),
        ),
    ],
)
def test_what_the_operator_declares_counts_only_where_nothing_else_says(
    objects: list[Object], declared: tuple[Declared, ...], known: Kubelet
) -> None:
    assert kubelet(*objects, declared=declared) == known
