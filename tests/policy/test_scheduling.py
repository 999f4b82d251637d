"""Node selectors, required node affinity and taints, as Kubernetes reads them."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.facts import Node
from policy.pod import Pod
from policy.scheduling import allows, untolerated_taint

LABELS = {"pool": "a", "cards": "8", "empty": "", "zone": "eu"}


def matches(*expressions: dict[str, Any], labels: Mapping[str, str] | None = None) -> bool:
    node = Node("n1", labels=LABELS if labels is None else labels)
    return allows(Pod(affinity={"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}), node)


def expression(key: Any, operator: Any, *values: Any) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("selector", "allowed"),
    [
        ({}, True),
        ({"pool": "a"}, True),
        ({"pool": "a", "zone": "eu"}, True),
        ({"pool": "b"}, False),
        ({"pool": "a", "zone": "us"}, False),
        ({"missing": ""}, False),
        ({"empty": ""}, True),
    ],
)
def test_every_label_of_a_node_selector_must_be_there(selector: dict[str, str], allowed: bool) -> None:
    assert allows(Pod(node_selector=selector), Node("n1", labels=LABELS)) is allowed


@pytest.mark.parametrize(
    ("requirement", "matched"),
    [
        (expression("pool", "In", "b", "a"), True),
        (expression("pool", "In", "b"), False),
        (expression("pool", "In"), False),
        (expression("missing", "In", "a"), False),
        (expression("pool", "NotIn", "b"), True),
        (expression("pool", "NotIn", "a"), False),
        (expression("missing", "NotIn", "a"), True),
        (expression("empty", "Exists"), True),
        (expression("missing", "Exists"), False),
        (expression("missing", "DoesNotExist"), True),
        (expression("empty", "DoesNotExist"), False),
        (expression("cards", "Gt", "7"), True),
        (expression("cards", "Gt", "8"), False),
        (expression("cards", "Lt", "9"), True),
        (expression("cards", "Lt", "8"), False),
        (expression("cards", "Gt", "-1"), True),
        (expression("cards", "Gt", "+7"), True),
        (expression("cards", "Gt", "7", "6"), False),
        (expression("cards", "Gt"), False),
        (expression("cards", "Gt", "seven"), False),
        (expression("cards", "Gt", "7.5"), False),
        (expression("cards", "Gt", 7), False),
        (expression("cards", "Lt", "9223372036854775807"), True),
        (expression("cards", "Lt", "9223372036854775808"), False),
        (expression("pool", "Gt", "7"), False),
        (expression("missing", "Lt", "7"), False),
    ],
)
def test_an_expression_matches_as_its_operator_says(requirement: dict[str, Any], matched: bool) -> None:
    assert matches(requirement) is matched


@pytest.mark.parametrize(
    "odd",
    [
        None,
        "pool=a",
        {},
        {"key": "pool"},
        {"operator": "Exists"},
        expression(7, "Exists"),
        expression("pool", ["In"], "a"),
        expression("pool", "in", "a"),
        {"key": "pool", "operator": "In", "values": "a"},
    ],
)
def test_an_expression_that_cannot_be_read_matches_nothing(odd: Any) -> None:
    assert not matches(odd)


@pytest.mark.parametrize(
    ("terms", "allowed"),
    [
        ([], False),
        (None, False),
        ("all", False),
        ([{}], False),
        ([None], False),
        ([{"matchExpressions": []}], False),
        ([{"matchExpressions": "all"}], False),
        ([{"matchFields": {}}], False),
        ([{"matchExpressions": [expression("pool", "In", "a"), expression("zone", "In", "us")]}], False),
        (
            [
                {"matchExpressions": [expression("pool", "In", "b")]},
                {"matchExpressions": [expression("pool", "Exists")]},
            ],
            True,
        ),
        ([{"matchFields": [expression("metadata.name", "In", "n1")]}], True),
        ([{"matchFields": [expression("metadata.name", "In", "n2")]}], False),
        ([{"matchFields": [expression("metadata.name", "NotIn", "n2")]}], True),
        ([{"matchFields": [expression("pool", "In", "a")]}], False),
        (
            [
                {
                    "matchFields": [expression("metadata.name", "In", "n1")],
                    "matchExpressions": [expression("pool", "In", "b")],
                }
            ],
            False,
        ),
    ],
)
def test_one_term_must_match_in_all_of_its_parts(terms: Any, allowed: bool) -> None:
    pod = Pod(affinity={"nodeSelectorTerms": terms})
    assert allows(pod, Node("n1", labels=LABELS)) is allowed


def test_selector_and_affinity_must_both_match() -> None:
    affinity = {"nodeSelectorTerms": [{"matchExpressions": [expression("pool", "In", "a")]}]}
    node = Node("n1", labels=LABELS)
    assert allows(Pod(node_selector={"zone": "eu"}, affinity=affinity), node)
    assert not allows(Pod(node_selector={"zone": "us"}, affinity=affinity), node)
    assert not allows(Pod(node_selector={"zone": "eu"}, affinity=affinity), Node("n2", labels={"zone": "eu"}))


KEYS, VALUES = st.sampled_from(["pool", "cards", "zone"]), st.sampled_from(["", "a", "1", "2", "-3", "07"])
OPERATORS = st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
EXPRESSIONS = st.builds(
    lambda key, operator, values: {"key": key, "operator": operator, "values": values},
    KEYS,
    OPERATORS,
    st.lists(VALUES, max_size=2),
)
TERMS = st.lists(st.lists(EXPRESSIONS, max_size=3), max_size=3)


def _holds(requirement: dict[str, Any], labels: Mapping[str, str]) -> bool:
    """One expression, read again from Kubernetes' own words."""
    key, values = requirement["key"], requirement["values"]
    present = key in labels
    if requirement["operator"] in {"Gt", "Lt"}:
        try:
            (bound,) = map(int, values)
            label = int(labels[key])
        except (ValueError, KeyError):
            return False
        return label > bound if requirement["operator"] == "Gt" else label < bound
    answers = {
        "In": present and labels[key] in values,
        "NotIn": not present or labels[key] not in values,
        "Exists": present,
        "DoesNotExist": not present,
    }
    return bool(answers[requirement["operator"]])


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(KEYS, VALUES), st.dictionaries(KEYS, VALUES, max_size=1), TERMS)
def test_selection_equals_a_plain_reading_of_the_rules(
    labels: dict[str, str], selector: dict[str, str], terms: list[list[dict[str, Any]]]
) -> None:
    pod = Pod(node_selector=selector, affinity={"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]})
    expected = selector.items() <= labels.items() and any(
        term and all(_holds(item, labels) for item in term) for term in terms
    )
    assert allows(pod, Node("n1", labels=labels)) is expected


# Taints.


def taint(key: Any = "pool", value: Any = "gpu", effect: Any = "NoSchedule") -> dict[str, Any]:
    return {"key": key, "value": value, "effect": effect}


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "pool", "operator": "Exists"}, True),
        ({"key": "pool", "operator": "Equal", "value": "gpu"}, True),
        ({"key": "pool", "value": "gpu"}, True),
        ({"key": "pool", "operator": "", "value": "gpu"}, True),
        ({"key": "pool", "value": "gpu", "effect": "NoSchedule"}, True),
        ({"key": "pool", "value": "gpu", "effect": ""}, True),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "pool", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "pool", "value": "cpu"}, False),
        ({"key": "pool"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "pool", "operator": "AnOperatorOfTomorrow", "value": "1"}, True),
        ({"key": ["pool"], "operator": "Exists"}, False),
        ({"key": "pool", "operator": "Exists", "effect": ["NoSchedule"]}, False),
        ({"key": "pool", "value": {"gpu": 1}}, False),
    ],
)
def test_a_toleration_speaks_of_a_taint_by_key_value_and_effect(toleration: dict[str, Any], tolerated: bool) -> None:
    node = Node("n1", taints=(taint(),))
    assert (untolerated_taint(Pod(tolerations=(toleration,)), node) is None) is tolerated


def test_a_taint_without_a_value_is_tolerated_by_a_toleration_without_one() -> None:
    node = Node("n1", taints=({"key": "pool", "effect": "NoExecute"},))
    assert untolerated_taint(Pod(tolerations=({"key": "pool"},)), node) is None
    assert untolerated_taint(Pod(tolerations=({"key": "pool", "value": ""},)), node) is None


@pytest.mark.parametrize(
    "mild",
    [
        taint(effect="PreferNoSchedule"),
        taint(key="node.kubernetes.io/unschedulable"),
        taint(key="node.kubernetes.io/not-ready", effect="NoExecute"),
        taint(effect=""),
        taint(effect=None),
        taint(effect=["NoSchedule"]),
        {},
    ],
)
def test_preferences_and_kubernetes_own_taints_keep_no_pod_off(mild: dict[str, Any]) -> None:
    assert untolerated_taint(Pod(), Node("n1", taints=(mild,))) is None


def test_the_first_lasting_taint_that_is_not_tolerated_is_named() -> None:
    taints = (taint("a"), taint("b", effect="PreferNoSchedule"), taint("c", effect="NoExecute"), taint("d"))
    pod = Pod(tolerations=({"key": "a", "operator": "Exists"},))
    assert untolerated_taint(pod, Node("n1", taints=taints)) == taints[2]
    assert untolerated_taint(Pod(), Node("n1", taints=taints)) == taints[0]
    assert untolerated_taint(Pod(), Node("n1")) is None
