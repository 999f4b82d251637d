"""Objects of any shape: an error that says where, or a verdict."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policy import keys
from policy.admission.case import Operator
from policy.admission.judge import Verdict
from policy.admission.levels import resolve
from policy.facts import Node
from policy.hami.request import HamiConfig
from policy.plain import MalformedObjectError
from tests.policy.admission.build import COUNT, MEMORY, cluster, judged, patched
from tests.policy.admission.strategies import JSON

STATIC_LEVELS = resolve({}, static_cluster=True)
PLACES = [
    ("metadata",),
    ("metadata", "annotations"),
    ("metadata", "annotations", keys.USE_UUID),
    ("metadata", "labels"),
    ("metadata", "namespace"),
    ("metadata", "ownerReferences"),
    ("metadata", "deletionTimestamp"),
    ("spec",),
    ("spec", "containers"),
    ("spec", "containers", 0),
    ("spec", "containers", 0, "resources"),
    ("spec", "containers", 0, "resources", "limits"),
    ("spec", "containers", 0, "resources", "limits", COUNT),
    ("spec", "containers", 0, "resources", "limits", MEMORY),
    ("spec", "containers", 0, "env"),
    ("spec", "containers", 0, "env", 0),
    ("spec", "containers", 0, "env", 0, "name"),
    ("spec", "containers", 0, "securityContext"),
    ("spec", "initContainers"),
    ("spec", "nodeSelector"),
    ("spec", "tolerations"),
    ("spec", "tolerations", 0, "effect"),
    ("spec", "tolerations", 0, "key"),
    ("spec", "affinity"),
    ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"),
    ("spec", "resources"),
    ("spec", "schedulingGroup"),
    ("spec", "schedulerName"),
    ("status",),
    ("status", "initContainerStatuses"),
    ("status", "initContainerStatuses", 0, "state"),
]
EVERYTHING: dict[str, Any] = {
    "metadata": {"namespace": "team", "annotations": {keys.USE_UUID: "a"}, "ownerReferences": [{"controller": True}]},
    "spec": {
        "containers": [
            {
                "name": "main",
                "resources": {"limits": {COUNT: 1, "nvidia.com/priority": 1}},
                "env": [{"name": "A"}],
            }
        ],
        "tolerations": [{"effect": "NoSchedule"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
    },
    "status": {"initContainerStatuses": [{"name": "i", "state": {}}]},
}
TAINTED = cluster(Node("n1", taints=({"key": "a", "effect": "NoSchedule"},), cards=()), Node("n2", problem="x"))
FORCING = Operator(hami=HamiConfig(core_policy="force", overwrite_env=True, runtime_class="nvidia"))


def _outcome(source: Any) -> Verdict | str:
    try:
        return judged(source, TAINTED, STATIC_LEVELS, FORCING)
    except MalformedObjectError as error:
        return str(error)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PLACES), JSON)
def test_any_value_in_any_place_is_an_error_that_says_where_or_a_verdict(place: tuple[Any, ...], value: Any) -> None:
    source = copy.deepcopy(EVERYTHING)
    inner: Any = source
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    found = _outcome(source)
    if isinstance(found, Verdict):
        patched(source, found)
    else:
        assert " must be " in found


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_any_json_is_an_error_that_says_where_or_a_verdict(source: Any) -> None:
    found = _outcome(source)
    assert found.filled.operations == () if isinstance(found, Verdict) else " must be " in found
