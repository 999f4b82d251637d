"""What kubelet makes of its settings, and why it does not start."""

from dataclasses import replace
from fractions import Fraction

import pytest

from policy.kubelet.held import Held
from policy.kubelet.machine import Machine, lay_out
from policy.kubelet.masks import read_list, write_list
from policy.kubelet.outcome import Verdict
from policy.kubelet.predict import predict
from policy.kubelet.settings import Settings, StartError
from policy.kubelet.start import Kubelet, pool_without, start
from policy.kubelet.versions import VERSIONS
from tests.policy.kubelet import build

ALPHA = {"CPUManagerPolicyAlphaOptions": True}
NINE = build.machine({node: str(node) for node in range(9)}, {})
TWO = build.machine()
MORE_SOCKETS = build.machine({0: "0-7"}, {})


def _cpu(**options: str) -> dict[str, str]:
    return {name.replace("_", "-"): text for name, text in options.items()}


@pytest.mark.parametrize(
    ("machine", "settings", "text"),
    [
        (NINE, build.static("restricted"), "unsupported on machines with more than 8 NUMA Nodes"),
        (
            TWO,
            build.static("restricted", topology_options={"max-allowable-numa-nodes": "7"}),
            'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
        ),
        (
            TWO,
            build.static("restricted", topology_options={"max-allowable-numa-nodes": "many"}),
            (
                'unable to convert policy option to integer "max-allowable-numa-nodes": '
                'strconv.Atoi: parsing "many": invalid syntax'
            ),
        ),
        (
            TWO,
            build.static("restricted", topology_options={"prefer-closest-numa-nodes": "yes"}),
            'bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: parsing "yes": invalid syntax',
        ),
        (
            TWO,
            build.static("restricted", topology_options={"prefer-closest-numa-nodes": "true"}),
            "cannot discover NUMA topology: error getting NUMA distances from cadvisor",
        ),
        (
            TWO,
            build.static("restricted", topology_options={"prefer-numa": "true"}),
            'unknown Topology Manager Policy option: "prefer-numa"',
        ),
        (
            TWO,
            replace(
                build.static("restricted", topology_options={"max-allowable-numa-nodes": "9"}), rules=VERSIONS["1.30"]
            ),
            'unknown Topology Manager Policy option: "max-allowable-numa-nodes"',
        ),
        (
            TWO,
            replace(
                build.static("restricted", topology_options={"max-allowable-numa-nodes": "9"}),
                rules=VERSIONS["1.34"],
                gates={"TopologyManagerPolicyBetaOptions": False},
            ),
            'topology manager policy beta-level options not enabled, but option "max-allowable-numa-nodes" provided',
        ),
        (
            TWO,
            build.static("none", ""),
            "[cpumanager] unable to determine reserved CPU resources for static policy",
        ),
        (
            TWO,
            build.static("none", "", reserved_amount=Fraction(17)),
            (
                "new static policy error: [cpumanager] unable to reserve the required amount of CPUs "
                "(size of  did not equal 17)"
            ),
        ),
        (
            TWO,
            build.static("none", "40"),
            (
                "new static policy error: [cpumanager] unable to build the reserved physical CPUs from "
                "the reserved set: unknown CPU ID: 40"
            ),
        ),
        (
            TWO,
            Settings(cpu_options=_cpu(full_pcpus_only="true")),
            "new none policy error: None policy: received unsupported options=map[full-pcpus-only:true]",
        ),
        (
            TWO,
            build.static("none", cpu_options=_cpu(full_pcpus_only="maybe")),
            (
                'new static policy error: bad value for option "full-pcpus-only": '
                'strconv.ParseBool: parsing "maybe": invalid syntax'
            ),
        ),
        (
            TWO,
            build.static("restricted", cpu_options=_cpu(align_by_socket="true")),
            (
                "new static policy error: CPU Manager Policy Alpha-level Options not enabled, "
                'but option "align-by-socket" provided'
            ),
        ),
        (
            TWO,
            build.static("single-numa-node", cpu_options=_cpu(align_by_socket="true"), gates=ALPHA),
            (
                "new static policy error: Topolgy manager single-numa-node policy is incompatible with CPUManager "
                "align-by-socket policy option"
            ),
        ),
        (
            build.machine({0: "0-3", 1: "4-7"}, {}, sockets={0: 0, 1: 0}),
            build.static(
                "none", cpu_options=_cpu(full_pcpus_only="true", distribute_cpus_across_cores="true"), gates=ALPHA
            ),
            (
                "new static policy error: static policy options full-pcpus-only and distribute-cpus-across-cores "
                "can not be used at the same time"
            ),
        ),
        (
            TWO,
            build.static(
                "none",
                cpu_options=_cpu(prefer_align_cpus_by_uncorecache="true", distribute_cpus_across_numa="true"),
            ),
            (
                "new static policy error: static policy options prefer-align-cpus-by-uncorecache and "
                "distribute-cpus-across-numa can not be used at the same time"
            ),
        ),
    ],
)
def test_says_in_kubelets_words_why_it_does_not_start(machine: Machine, settings: Settings, text: str) -> None:
    assert start(machine, settings, build.held(machine)) == StartError(text)


def test_align_by_socket_needs_as_many_numa_nodes_as_sockets() -> None:
    areas = build.cpus({0: "0-7"})
    split = [replace(cpu, socket=cpu.id // 4) for cpu in areas]
    machine = Machine((0,), lay_out(split))
    settings = build.static("none", cpu_options=_cpu(align_by_socket="true"), gates=ALPHA)
    text = "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA"
    assert start(machine, settings, build.held(machine)) == StartError(f"new static policy error: {text}")


@pytest.mark.parametrize(
    ("shared", "taken", "strict", "text"),
    [
        ("", "1-15", True, "default cpuset cannot be empty"),
        ("2-15", "1", True, ""),
        ("1-15", "0", False, 'not all reserved cpus: "0" are present in defaultCpuSet: "1-15"'),
        ("0-15", "1", False, 'pod: others, container: c cpuset: "1" overlaps with default cpuset "0-15"'),
        (
            "0-14",
            "",
            False,
            'current set of available CPUs "0-15" doesn\'t match with CPUs in state "0-14"',
        ),
        ("0-15", "", True, 'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0-15"'),
    ],
)
def test_holds_the_state_file_against_the_machine(shared: str, taken: str, strict: bool, text: str) -> None:
    options = _cpu(strict_cpu_reservation="true") if strict else {}
    state = Held(read_list(shared), {build.OTHERS: read_list(taken)} if taken else {})
    found = start(TWO, build.static("none", cpu_options=options), state)
    assert (found.text if isinstance(found, StartError) else "") == text


def test_reserves_whole_cores_where_only_an_amount_is_given() -> None:
    machine = build.machine({0: "0-3,8-11", 1: "4-7,12-15"}, {}, threads=2)
    booted = start(machine, build.static("none", "", reserved_amount=Fraction("2.5")), build.held(machine))
    assert isinstance(booted, Kubelet)
    assert booted.cpus is not None
    assert write_list(booted.cpus.reserved) == "0-1,8"


def test_does_not_read_topology_options_under_the_policy_none() -> None:
    settings = build.static("none", topology_options={"max-allowable-numa-nodes": "7"})
    assert isinstance(start(NINE, settings, build.held(NINE)), Kubelet)


def test_a_kubelet_that_does_not_start_admits_nothing() -> None:
    settings = build.static("restricted")
    booted = start(NINE, settings, build.held(NINE))
    found = predict(booted, build.held(NINE), build.demand(build.pod({"cpu": 1, "memory": 1}), settings))
    assert (found.verdict, found.qos, found.outcomes) == (Verdict.NO_START, "Guaranteed", frozenset({"no-start"}))
    assert found.message == "unsupported on machines with more than 8 NUMA Nodes"


@pytest.mark.parametrize(
    ("settings", "pool"),
    [
        (build.static("none", "0"), "0-7,9-15"),
        (build.static("none", "0-1", cpu_options=_cpu(strict_cpu_reservation="1")), "2-7,9-15"),
        (
            build.static("none", "", reserved_amount=Fraction(1), cpu_options=_cpu(strict_cpu_reservation="true")),
            "1-7,9-15",
        ),
        (Settings(), "0-7,9-15"),
    ],
)
def test_the_shared_pool_is_what_nobody_holds_alone(settings: Settings, pool: str) -> None:
    assert write_list(pool_without(TWO.layout, settings, 1 << 8)) == pool
