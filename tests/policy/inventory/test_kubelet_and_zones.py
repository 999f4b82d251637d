"""What a kubelet and an exporter say of themselves, read: defaults, amounts, lists, and what cannot be read."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.inventory.kubelet import (
    CpuState,
    KubeletSetup,
    is_cpu_state,
    is_kubelet_config,
    read_cpu_state,
    read_kubelet_config,
)
from policy.inventory.zones import Amounts, Zone, read_zones
from policy.kubelet.masks import read_list

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["zones", "type", "name", "resources", "kubeletconfig", "entries", "podEntries", "cpu"])
            | st.sampled_from(["cpuManagerPolicy", "reservedSystemCPUs", "kubeReserved", "defaultCpuSet", "policyName"])
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(document=JSON)
def test_any_document_is_read_or_its_problems_are_named(document: Any) -> None:
    assert is_kubelet_config(document) in {True, False}
    assert is_cpu_state(document) in {True, False}
    if isinstance(document, dict):
        for read in (read_kubelet_config, read_cpu_state, read_zones):
            assert all(problem.text for problem in read(document)[1])


def test_what_a_configuration_leaves_out_has_kubernetes_default() -> None:
    setup, problems = read_kubelet_config({"kind": "KubeletConfiguration"})
    assert problems == ()
    assert setup == KubeletSetup("none", "container", {}, "none", {}, "None", 0, Fraction(0))


@pytest.mark.parametrize("wrapped", [False, True], ids=["file", "configz"])
def test_a_configuration_is_read_from_a_file_and_from_configz(*, wrapped: bool) -> None:
    config = {
        "topologyManagerPolicy": "single-numa-node",
        "topologyManagerScope": "pod",
        "topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "16"},
        "cpuManagerPolicy": "static",
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
        "memoryManagerPolicy": "Static",
        "reservedSystemCPUs": "0-1,64",
        "kubeReserved": {"cpu": "500m"},
        "systemReserved": {"cpu": 1},
    }
    document = {"kubeletconfig": config} if wrapped else {"kind": "KubeletConfiguration", **config}
    assert is_kubelet_config(document)
    expected = KubeletSetup(
        "single-numa-node",
        "pod",
        {"max-allowable-numa-nodes": "16"},
        "static",
        {"full-pcpus-only": "true"},
        "Static",
        read_list("0-1,64"),
        Fraction(3, 2),
    )
    assert read_kubelet_config(document) == (expected, ())


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            {"topologyManagerScope": "node"},
            "topologyManagerScope is 'node'; it must be one of container, pod, so it stays unknown",
        ),
        (
            {"memoryManagerPolicy": "static"},
            "memoryManagerPolicy is 'static'; it must be one of None, Static, so it stays unknown",
        ),
        (
            {"reservedSystemCPUs": "0 1"},
            "reservedSystemCPUs is '0 1'; it must be a list of CPUs such as 0-1,64, so it stays unknown",
        ),
        (
            {"kubeReserved": {"cpu": "two"}},
            "kubeReserved.cpu is 'two'; it must be an amount of CPUs such as 500m, so it stays unknown",
        ),
        (
            {"cpuManagerPolicyOptions": {"full-pcpus-only": True}},
            "cpuManagerPolicyOptions is dict; it must be an object of texts, so it stays unknown",
        ),
        ({"kubeletconfig": "none"}, "kubeletconfig is 'none'; it must be an object, so it stays unknown"),
    ],
)
def test_what_a_configuration_says_wrongly_is_unknown_and_said(config: dict[str, Any], said: str) -> None:
    assert [str(problem) for problem in read_kubelet_config(config)[1]] == [said]


def test_the_state_of_the_cpu_manager_names_who_has_which_cpus() -> None:
    state, problems = read_cpu_state(
        {
            "policyName": "static",
            "defaultCpuSet": "0-3,8",
            "entries": {"uid-1": {"main": "4-5", "side": "6"}},
            "podEntries": {"uid-2": {"cpuSet": "7"}},
            "checksum": 1,
        }
    )
    assert problems == ()
    assert state == CpuState("static", read_list("0-3,8"), {"uid-1/main": 48, "uid-1/side": 64, "uid-2": 128})


def test_under_policy_none_nobody_is_listed() -> None:
    document = {"policyName": "none", "defaultCpuSet": "", "checksum": 1353318690}
    assert is_cpu_state(document)
    assert read_cpu_state(document) == (CpuState("none"), ())


def test_the_state_of_a_memory_manager_is_another_file() -> None:
    assert not is_cpu_state({"policyName": "None", "machineState": {}, "checksum": 4236770233})


def test_cpus_of_a_container_that_cannot_be_read_are_said() -> None:
    state, problems = read_cpu_state({"defaultCpuSet": "0-", "entries": {"u": {"c": [1]}}})
    assert state == CpuState()
    assert [str(problem) for problem in problems] == [
        "the CPUs of u/c is list; it must be a list such as 0-3,8, so it stays unknown",
        "defaultCpuSet is '0-'; it must be a list such as 0-3,8, so it stays unknown",
    ]


def zone(name: str, **changes: Any) -> dict[str, Any]:
    cpu = {"name": "cpu", "capacity": "32", "allocatable": 30, "available": "21500m"}
    costs = [{"name": "node-0", "value": 10}, {"name": "node-1", "value": 21}]
    return {"name": name, "type": "Node", "costs": costs, "resources": [cpu], **changes}


def test_zones_are_read_by_node_and_fractions_of_cpus_are_cut() -> None:
    zones, problems = read_zones({"zones": [zone("node-8"), zone("socket-0", type="Socket"), zone("node-0")]})
    assert problems == ()
    assert zones == tuple(Zone(node, {"cpu": Amounts(32, 30, 21)}, {0: 10, 1: 21}) for node in (0, 8))


def test_zones_that_cannot_be_read_are_said() -> None:
    resources = [{"name": "cpu", "capacity": "many"}, {"name": 5}]
    zones, problems = read_zones({"zones": [zone("numa0"), zone("node-1", resources=resources)]})
    assert [one.resources for one in zones] == [{"cpu": Amounts()}]
    assert [str(problem) for problem in problems] == [
        "a zone is named 'numa0'; NUMA nodes are named node-0, node-1, …; it is left out",
        "capacity of cpu on node-1 is 'many', which is no quantity; it stays unknown",
        "a resource of node-1 is named 5; it is left out",
    ]
