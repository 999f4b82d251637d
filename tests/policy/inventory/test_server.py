"""A server merged from its sources: who counts, what is unknown, what contradicts, and what differs between servers."""

from dataclasses import replace
from fractions import Fraction

import pytest

from policy.facts import UNKNOWN_NUMA, Card
from policy.inventory.differences import differences
from policy.inventory.kubelet import CpuState, KubeletSetup
from policy.inventory.links import read_links
from policy.inventory.lscpu import read_lscpu, read_lscpu_table
from policy.inventory.merge import merge
from policy.inventory.numactl import read_numactl
from policy.inventory.server import Collected, Cpus, Nic, Server
from policy.inventory.zones import Amounts, Zone
from policy.kubelet.masks import read_list
from tests.policy.inventory import samples

SETUP = KubeletSetup("restricted", "pod", {}, "static", {}, "None", read_list("0-1"), Fraction(0), True)
CARDS = tuple(Card(f"GPU-{n}", n, memory=80000, type="NVIDIA H100", numa=n // 4) for n in range(8))
WHOLE = Collected(
    "gpu-1",
    cards=CARDS,
    config=SETUP,
    state=CpuState("static", read_list("0-3,8-127"), {"uid/main": read_list("4-7")}),
    links=read_links(samples.fabric())[0],
    hardware=read_numactl(samples.numactl(2, 64, 21, 21))[0],
    processors=(read_lscpu_table(samples.lscpu_table(2, 64))[0],),
)


def cpus(text: str) -> Cpus:
    return Cpus(read_list(text).bit_count(), read_list(text))


def test_a_server_of_which_everything_was_collected_has_no_gaps() -> None:
    server = merge(WHOLE)
    assert (server.unknown, server.contradictions) == ((), ())
    assert (server.sockets, server.threads_per_core, server.kubelet) == (2, 2, SETUP)
    first, second = server.numas
    assert (first.socket, second.socket, first.memory, second.distances) == (0, 1, 128800, {0: 21, 1: 10})
    assert (first.cpus, first.reserved, first.exclusive) == (cpus("0-31,64-95"), cpus("0-1"), cpus("4-7"))
    assert first.shared == cpus("0-3,8-31,64-95")
    assert (second.reserved, second.exclusive, second.shared) == (Cpus(0, 0), Cpus(0, 0), cpus("32-63,96-127"))
    assert [card.numa for card in server.cards] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert server.links is not None
    assert server.links[0] == dict.fromkeys(range(1, 8), "NV18")
    assert server.nics == tuple(Nic(f"mlx5_{n}", (2 * n, 2 * n + 1), "PIX") for n in range(4))


def test_a_server_of_which_nothing_was_collected_says_what_to_collect() -> None:
    server = merge(Collected("gpu-1", cards=CARDS))
    assert [numa.id for numa in server.numas] == [0, 1]
    assert [one.what for one in server.unknown] == [
        "sockets",
        "which CPUs each NUMA node has",
        "which socket each NUMA node is on",
        "distances between NUMA nodes",
        "which CPUs are reserved",
        "which CPUs containers have to themselves",
        "links between cards, and NICs",
        "the kubelet's topology policy, CPU policy, memory policy",
    ]
    assert all(one.needs for one in server.unknown)


def zone(node: int) -> Zone:
    return Zone(node, {"cpu": Amounts(64, 62, 30)}, {node: 10, 1 - node: 21})


def test_an_exporter_counts_cpus_and_does_not_name_them() -> None:
    first, _ = merge(Collected("gpu-1", zones=(zone(0), zone(1)))).numas
    assert (first.cpus, first.reserved, first.exclusive, first.shared) == (Cpus(64), Cpus(2), Cpus(32), Cpus())
    assert first.distances == {0: 10, 1: 21}


def changed_setup(**changes: object) -> Server:
    return merge(replace(WHOLE, state=None, config=replace(SETUP, **changes)))  # type: ignore[arg-type]  # table of fields


@pytest.mark.parametrize(
    ("changes", "shared", "unknown"),
    [
        ({"cpu_policy": "none", "reserved_cpus": 0}, cpus("0-31,64-95"), []),
        ({"cpu_policy": "none", "cpu_options": {"strict-cpu-reservation": "true"}}, cpus("2-31,64-95"), []),
        ({"cpu_policy": "static"}, Cpus(), ["which CPUs containers have to themselves"]),
        (
            {"cpu_policy": "none", "reserved_cpus": 0, "reserved_amount": Fraction(3, 2)},
            cpus("0-31,64-95"),
            ["which CPUs are reserved"],
        ),
    ],
)
def test_shared_cpus_follow_from_policy_and_reservation(
    changes: dict[str, object], shared: Cpus, unknown: list[str]
) -> None:
    server = changed_setup(**changes)
    assert server.numas[0].shared == shared
    assert [one.what for one in server.unknown] == unknown


def test_what_two_sources_say_differently_is_named_and_the_nearer_one_counts() -> None:
    cards = (*(replace(card, numa=0) for card in CARDS[:5]), *CARDS[5:7], Card("GPU-9", 9))
    declared = KubeletSetup(topology_policy="best-effort", topology_scope="pod")
    other = read_lscpu(samples.lscpu(4, 32))[0]
    server = merge(replace(WHOLE, cards=cards, declared=declared, processors=(*WHOLE.processors, other)))
    assert server.contradictions == (
        "GPU4: HAMi's annotation says NUMA node 0, nvidia-smi 1",
        "GPU9: HAMi registers it, nvidia-smi does not list it",
        "GPU7: nvidia-smi lists it, HAMi does not register it",
        "topology policy: the kubelet's configuration says restricted, the cluster best-effort",
        "NUMA nodes: lscpu and numactl give them different CPUs; were they collected at the same time?",
    )
    assert (server.cards[4].numa, server.kubelet.topology_policy) == (1, "restricted")


def test_a_card_that_nobody_places_stays_without_a_numa_node() -> None:
    server = merge(Collected("gpu-1", cards=(Card("GPU-0", numa=UNKNOWN_NUMA),)))
    assert (server.cards[0].numa, server.numas) == (None, ())
    assert "the NUMA node of every card" in [one.what for one in server.unknown]


def named(name: str, **changes: object) -> Server:
    return merge(replace(WHOLE, name=name, **changes))  # type: ignore[arg-type]  # table of fields


def test_servers_with_the_same_cards_are_compared_trait_by_trait() -> None:
    reserved = replace(SETUP, reserved_cpus=read_list("0,64"), cpu_options={"full-pcpus-only": "true"})
    moved = tuple(replace(card, numa=1 - card.numa) for card in CARDS)
    found = differences(
        [
            named("a"),
            named("b", config=reserved),
            named("c"),
            named("d", cards=moved, links=None),
            named("e", cards=(Card("GPU-0", type="NVIDIA L40S"),), links=None, hardware=None, processors=()),
        ]
    )
    assert [(one.models, one.trait, dict(one.values)) for one in found] == [
        (
            "NVIDIA H100",
            "NUMA node of each card",
            {
                "GPU0 on 0, GPU1 on 0, GPU2 on 0, GPU3 on 0, GPU4 on 1, GPU5 on 1, GPU6 on 1, GPU7 on 1": (
                    "a",
                    "b",
                    "c",
                ),
                "GPU0 on 1, GPU1 on 1, GPU2 on 1, GPU3 on 1, GPU4 on 0, GPU5 on 0, GPU6 on 0, GPU7 on 0": ("d",),
            },
        ),
        ("NVIDIA H100", "reserved CPUs", {"0-1": ("a", "c", "d"), "0,64": ("b",)}),
        ("NVIDIA H100", "CPU options", {"none": ("a", "c", "d"), "full-pcpus-only=true": ("b",)}),
    ]


def test_reservations_are_compared_by_list_by_amount_or_as_an_exporter_counts_them() -> None:
    amount = replace(SETUP, reserved_cpus=0, reserved_amount=Fraction(3, 2))
    counted = merge(Collected("c", cards=CARDS, zones=(zone(0), zone(1))))
    found = {one.trait: one.values for one in differences([named("a"), named("b", config=amount), counted])}
    assert found["reserved CPUs"] == {"0-1": ("a",), "1.5 of kubelet's choice": ("b",), "node 0: 2, node 1: 2": ("c",)}
    assert found["CPUs by NUMA node"] == {
        "node 0: 0-31,64-95, node 1: 32-63,96-127": ("a", "b"),
        "node 0: 64, node 1: 64": ("c",),
    }


def test_cards_that_nobody_places_are_not_compared_by_place() -> None:
    adrift = tuple(replace(card, numa=UNKNOWN_NUMA) for card in CARDS)
    assert differences([named("a"), merge(Collected("b", cards=adrift))]) == ()


def test_strict_reservation_without_a_list_leaves_shared_cpus_unknown() -> None:
    strict = {"cpu_policy": "none", "cpu_options": {"strict-cpu-reservation": "true"}}
    assert changed_setup(**strict, reserved_cpus=0, reserved_amount=Fraction(1)).numas[0].shared == Cpus()


def test_a_state_that_names_no_shared_cpus_leaves_those_that_nobody_has_alone() -> None:
    state = CpuState("static", None, {"uid/main": read_list("4-7")})
    assert named("a", state=state).numas[0].shared == cpus("0-3,8-31,64-95")


def test_one_socket_needs_nobody_to_say_which_node_is_on_it() -> None:
    one = replace(read_lscpu(samples.lscpu(2, 64))[0], sockets=1)
    assert [numa.socket for numa in named("a", processors=(one,)).numas] == [0, 0]


def test_servers_that_are_alike_or_unknown_do_not_differ() -> None:
    assert differences([named("a"), named("b"), merge(Collected("c", cards=CARDS))]) == ()
