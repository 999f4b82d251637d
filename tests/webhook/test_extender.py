"""Filter and bind on a cluster in memory: what is written on a pod, and what is never done."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.keys import ALLOCATED, ASSIGNED_NODE, ASSIGNED_TIME, BIND_PHASE, BIND_TIME, TO_ALLOCATE
from tests.serve.objects import asking, card, node, placed, refit
from webhook.cluster.documents import Content
from webhook.cluster.file import FileCluster
from webhook.extender import Bind, Filter
from webhook.levels.source import LevelsSource
from webhook.refit import Refit, Rules
from webhook.service import take_in

NOW = 1796036039


def default_rules() -> Rules:
    levels = LevelsSource(None).current
    return Rules(levels.operator.hami, levels.order)


@dataclass
class Stage:
    """Both operations on one cluster."""

    cluster: FileCluster
    rules: Rules = field(default_factory=default_rules)

    def filter(self, pod: Mapping[str, Any], *nodes: str) -> Any:
        operation = Filter(
            self.cluster, lambda: self.rules, lambda: NOW, take_in=lambda one: take_in(self.cluster, one)
        )
        return _answer(operation, {"pod": pod, "nodenames": list(nodes)})

    def bind(self, name: str, node: str, uid: str = "") -> Any:
        asked = {"podName": name, "podNamespace": "default", "podUID": uid or f"uid-{name}", "node": node}
        return _answer(Bind(self.cluster, lambda: self.rules, lambda: NOW + 1), asked)

    def refit(self, name: str, node: str, *indices: int) -> Any:
        operation = Refit(self.cluster, lambda: self.rules, lambda _token, _request: None, lambda _result, _code: None)
        return _answer(operation, refit(name, node, indices))

    def source(self, name: str) -> dict[str, Any]:
        return next(one for one in self.cluster.objects() if one["metadata"]["name"] == name)

    def memory(self, node: str) -> dict[str, int]:
        return {uuid: use.memory for uuid, use in self.cluster.facts().nodes[node].use.items()}


def _answer(operation: Filter | Bind | Refit, asked: object) -> Any:
    answer = operation.handle(json.dumps(asked).encode(), {})
    assert (answer.status, answer.content_type) == (200, "application/json")
    return json.loads(answer.body)


@pytest.fixture
def stage() -> Stage:
    return Stage(FileCluster(Content((dict(node("n")), dict(node("m")), asking("known")))))


def test_a_placed_and_bound_pod_carries_what_hamis_scheduler_writes(stage: Stage) -> None:
    assert stage.filter(asking("known", 20000), "n") == {"nodenames": ["n"], "failedNodes": {}}
    value = "GPU-n-0,NVIDIA,1000,1:;"
    metadata = stage.source("known")["metadata"]
    assert metadata["annotations"] == {
        ASSIGNED_NODE: "n",
        ASSIGNED_TIME: str(NOW),
        TO_ALLOCATE: value,
        ALLOCATED: value,
    }, "the pod as the cluster holds it counts, not the scheduler's copy"
    assert metadata["labels"] == {ASSIGNED_NODE: "n"}
    assert stage.bind("known", "n") == {}
    metadata = stage.source("known")["metadata"]
    assert metadata["annotations"][BIND_PHASE] == "allocating"
    assert metadata["annotations"][BIND_TIME] == str(NOW + 1)
    assert stage.source("known")["spec"]["nodeName"] == "n"


def test_each_container_has_its_entry_in_its_position(stage: Stage) -> None:
    source = asking("many")
    limits = source["spec"]["containers"][0]["resources"]
    source["spec"] = {
        "initContainers": [{"name": "fetch"}, {"name": "warm", "resources": limits}],
        "containers": [
            {"name": "main", "resources": limits},
            {"name": "logger"},
            {"name": "side", "resources": limits},
        ],
    }
    assert stage.filter(source, "n")["nodenames"] == ["n"]
    value = stage.source("many")["metadata"]["annotations"][ALLOCATED]
    assert [bool(entry) for entry in value.split(";")] == [False, True, True, False, True, False]


def test_a_repeated_filter_holds_the_same_amount_once(stage: Stage) -> None:
    for _ in range(5):
        assert stage.filter(asking("known"), "n")["nodenames"] == ["n"]
    assert stage.memory("n") == {card("n", 0): 1000}
    assert stage.filter(asking("known"), "m")["nodenames"] == ["m"]
    assert (stage.memory("n"), stage.memory("m")) == ({}, {card("m", 0): 1000})


def test_a_pod_with_the_version_of_another_cluster_is_placed(stage: Stage) -> None:
    source = asking("fresh")
    source["metadata"]["resourceVersion"] = "987654321"
    assert stage.filter(source, "n")["nodenames"] == ["n"]
    assert stage.filter(source, "n")["nodenames"] == ["n"]
    assert stage.bind("fresh", "n") == {}


def test_what_is_brought_as_a_pod_is_taken_in_as_a_pod_whatever_it_calls_itself(stage: Stage) -> None:
    forged = {**asking("forged"), "kind": "Node", "apiVersion": "v2"}
    forged["metadata"]["annotations"] = dict(node("forged")["metadata"]["annotations"])
    assert stage.filter(forged, "forged")["failedNodes"] == {"forged": "node unregistered"}
    assert stage.source("forged")["kind"] == "Pod"
    assert set(stage.cluster.facts().inventory.nodes) == {"n", "m"}


def test_a_pod_of_the_same_name_does_not_take_the_place_of_the_one_that_is_there(stage: Stage) -> None:
    before = stage.source("known")
    other = asking("known")
    other["metadata"]["uid"] = "uid-of-another"
    error = "pod default/known with UID 'uid-of-another' is not there; another one may have its name"
    assert stage.filter(other, "n") == {"error": error}
    assert stage.source("known") is before


def test_a_bound_pod_keeps_its_cards_and_what_the_device_plugin_marked(stage: Stage) -> None:
    stage.filter(asking("known"), "n")
    stage.bind("known", "n")
    bound = stage.source("known")
    marks = {**bound["metadata"]["annotations"], BIND_PHASE: "success", TO_ALLOCATE: ";"}
    stage.cluster.update({**bound, "metadata": {**bound["metadata"], "annotations": marks}})
    assert stage.bind("known", "n") == {}
    assert stage.filter(asking("known"), "m")["error"].startswith("pod default/known is bound to node n already")
    assert stage.source("known")["metadata"]["annotations"] == marks


@pytest.mark.parametrize(
    ("name", "to", "uid", "error"),
    [
        ("known", "n", "", "pod 'default/known' with UID 'uid-known' holds no reservation; filter it first"),
        ("nobody", "n", "", "pod 'default/nobody' with UID 'uid-nobody' holds no reservation; filter it first"),
        ("placed", "m", "", "pod default/placed holds its cards on node n, not on 'm'"),
        ("placed", "", "", "pod default/placed holds its cards on node n, not on ''"),
        ("other", "n", "uid-placed", "pod 'default/other' with UID 'uid-placed' holds no reservation; filter it first"),
    ],
)
def test_only_the_pod_is_bound_that_was_placed_and_only_where_it_was(
    stage: Stage, name: str, to: str, uid: str, error: str
) -> None:
    stage.filter(asking("placed"), "n")
    before = stage.cluster.facts()
    assert stage.bind(name, to, uid) == {"error": error}
    assert stage.cluster.facts() is before


def test_a_pod_whose_cards_are_on_another_node_than_it_runs_on_is_not_bound(stage: Stage) -> None:
    lost = placed("lost", "n", 0)
    lost["spec"]["nodeName"] = "m"
    stage.cluster.create(lost)
    assert stage.bind("lost", "n") == {"error": "pod default/lost is bound to node m already, not to n"}


def test_the_pods_owner_is_told_where_it_went_or_why_nowhere(stage: Stage) -> None:
    stage.filter(asking("fits"), "n")
    stage.filter(asking("huge", 50000), "n", "m")
    told = [(one.event.name, one.event.reason, one.event.message) for one in stage.cluster.events()]
    assert told == [
        ("fits", "FilteringSucceed", "placed on node n"),
        ("huge", "FilteringFailed", "no node fits: 2/2 CardInsufficientMemory"),
    ]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "the pod cannot be placed: Input data was truncated"),
        (b"{}", "the pod cannot be placed: Object missing required field `pod`"),
        (b"[" * 100_000, "the pod cannot be placed: Expected `object`, got `array`"),
        (
            b'{"pod":' + b"[" * 100_000,
            "the pod cannot be placed: maximum recursion depth exceeded while deserializing an object",
        ),
        (b'{"pod":[],"nodenames":[]}', "the pod cannot be placed: pod must be an object, not a list"),
        (b'{"pod":{},"nodenames":[1]}', "the pod cannot be placed: Expected `str`, got `int` - at `$.nodenames[0]`"),
        (
            b'{"pod":{"metadata":{"namespace":"a","name":"b","uid":"c"}},"nodes":{"items":[{"metadata":{"name":1}}]}}',
            "the pod cannot be placed: an item of nodes has no name",
        ),
    ],
)
def test_a_body_that_is_no_call_is_an_error_in_band(stage: Stage, body: bytes, error: str) -> None:
    answer = Filter(stage.cluster, lambda: stage.rules).handle(body, {})
    assert (answer.status, json.loads(answer.body), answer.verdict) == (200, {"error": error}, "error")


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["filter", "bind", "refit"]),
        st.sampled_from(["a", "b", "c", "d", "e"]),
        st.sampled_from(["n", "m"]),
        st.integers(0, 1),
    ),
    max_size=40,
)


@given(STEPS)
def test_whatever_is_asked_no_card_is_given_away_twice(steps: list[tuple[str, str, str, int]]) -> None:
    stage = Stage(FileCluster(Content((dict(node("n", slots=3)), dict(node("m", slots=2))))))
    for step, name, where, index in steps:
        if step == "filter":
            stage.filter(asking(name, 15000), where)
        elif step == "bind":
            stage.bind(name, where)
        else:
            stage.refit(name, where, index)
        for name_of, slots in (("n", 3), ("m", 2)):
            for use in stage.cluster.facts().nodes[name_of].use.values():
                assert use.memory <= 40000
                assert use.slots <= slots
    held = [one for state in stage.cluster.facts().nodes.values() for one in state.reservations.values()]
    assert len({one.pod.uid for one in held}) == len(held)
    values = [(one.pod.annotations[ALLOCATED], one.pod.annotations[TO_ALLOCATE]) for one in held]
    assert all(left == right for left, right in values)
    cards = list(itertools.chain.from_iterable(one.devices for one in held))
    assert len(cards) == len(held)
