"""Placing new pods: HAMi's own decisions on a recorded cluster, and what numafit does where HAMi errs."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.facts import NOTHING, Facts, Node, Quota, Use, gather
from policy.hami.quota import read_quotas
from policy.hami.register import read_cards
from policy.hami.usage import reserve
from policy.keys import (
    ALLOCATED,
    ASSIGNED_NODE,
    ASSIGNED_TIME,
    GPU_POLICY,
    NODE_POLICY,
    NUMA_BIND,
    OWNED_KEYS,
    REGISTER,
    SCORING_WEIGHTS,
    TO_ALLOCATE,
)
from policy.placement.order import Order
from policy.placement.place import Placement, fullness, place
from policy.pod import Container, Phase, Pod, read_pod
from tests.policy.placement.build import APP, CONFIG, INIT, SIDECAR, card, cluster, device, held, other

DATA = Path(__file__).parents[2] / "data"
RECORDED: Final[list[dict[str, Any]]] = json.loads((DATA / "hami-cluster.json").read_text())["items"]
EVENTS: Final[list[dict[str, Any]]] = json.loads((DATA / "hami-events.json").read_text())["items"]


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [item for item in RECORDED if item["kind"] == kind]


def as_placed(pod: Pod) -> Pod:
    """The pod when HAMi had just placed it: no container had ended."""
    return replace(pod, containers=tuple(replace(each, ended=False) for each in pod.containers))


RECORDED_NODES = [
    Node(item["metadata"]["name"], cards=read_cards(item["metadata"]["annotations"][REGISTER]))
    for item in of_kind("Node")
]
QUOTAS = read_quotas(of_kind("ResourceQuota"), CONFIG)
RECORDED_PODS = sorted(
    (as_placed(read_pod(item)) for item in of_kind("Pod")),
    key=lambda pod: (pod.annotations.get(ASSIGNED_TIME, "never"), pod.name),
)


def asked_again(pod: Pod) -> tuple[Placement, Facts]:
    """Place a recorded pod anew, on the cluster as it was when HAMi did."""
    before = RECORDED_PODS[: RECORDED_PODS.index(pod)]
    facts = gather(RECORDED_NODES, held(*before), QUOTAS, {}, None)
    annotations = {key: value for key, value in pod.annotations.items() if key not in OWNED_KEYS}
    return place(replace(pod, annotations=annotations), facts, None, CONFIG, Order.HAMI, 7), facts


def messages(pod: Pod) -> set[str]:
    return {
        event["message"]
        for event in EVENTS
        if event["reason"].startswith("Filtering") and event["involvedObject"]["name"] == pod.name
    }


@pytest.mark.parametrize("pod", RECORDED_PODS[:-1], ids=lambda pod: pod.name)
def test_chooses_the_node_the_cards_and_the_scores_that_hami_chose(pod: Pod) -> None:
    found, _ = asked_again(pod)
    assert found.annotations[ASSIGNED_NODE] == pod.annotations[ASSIGNED_NODE]
    assert found.annotations[ALLOCATED].rstrip(";") == pod.annotations[ALLOCATED].rstrip(";")
    (message,) = messages(pod)
    scores = dict(re.findall(r"([\w-]+):(\d+\.\d+)", message))
    assert scores == {name: f"{verdict.score:.2f}" for name, verdict in found.verdicts.items() if not verdict.reason}


def test_refuses_with_the_words_that_hami_refused_with() -> None:
    pod = RECORDED_PODS[-1]
    found, _ = asked_again(pod)
    assert found.reservation is None
    assert found.verdicts["gpu-rtx6000-1"].reason == (
        "1/8 AllocatedCardsInsufficientRequest, 3/8 NumaNotFit, 4/8 CardInsufficientMemory"
    )
    by_word: dict[str, list[str]] = {}
    for name, verdict in sorted(found.verdicts.items()):
        for word in verdict.fits[0].counts:
            by_word.setdefault(word, []).append(name)
    assert messages(pod) == {
        "no available node, 3 nodes do not meet",
        *(f"{len(names)} nodes {word}({','.join(names)})" for word, names in by_word.items()),
    }


def container(place_: int, phase: Phase = APP, **limits: object) -> Container:
    named = {f"nvidia.com/{name}": amount for name, amount in limits.items()}
    return Container(f"c{place_}", phase, path="", limits=named, requests={})


def asking(
    *limits: Mapping[str, object],
    phases: Sequence[Phase] = (),
    annotations: Mapping[str, str] | None = None,
    uid: str = "new",
) -> Pod:
    found = phases or [APP] * len(limits)
    containers = tuple(container(at, found[at], **amounts) for at, amounts in enumerate(limits))
    return Pod(namespace="team", name="new", uid=uid, annotations=dict(annotations or {}), containers=containers)


ONE = {"gpu": "1", "gpumem": "20k", "gpucores": "30"}


def put(pod: Pod, facts: Facts, nodes: Sequence[str] | None = None) -> Placement:
    return place(pod, facts, nodes, CONFIG, Order.NUMAFIT, 1796036039)


def test_writes_what_the_device_plugin_reads_and_holds_what_it_writes() -> None:
    asked = asking({}, ONE, {"gpu": 2, "gpumem": 1000}, annotations={"mine": "stays"})
    found = put(asked, cluster([card("a"), card("b")]))
    value = ";GPU-a,NVIDIA,20000,30:;GPU-b,NVIDIA,1000,0:GPU-a,NVIDIA,1000,0:;"
    assert found.annotations == {
        ASSIGNED_NODE: "node-1",
        ASSIGNED_TIME: "1796036039",
        TO_ALLOCATE: value,
        ALLOCATED: value,
    }
    assert found.labels == {ASSIGNED_NODE: "node-1"}
    assert found.reservation is not None
    assert found.reservation == reserve(found.reservation.pod)
    assert found.reservation.devices == {"GPU-a": Use(2, 21000, 30), "GPU-b": Use(1, 1000, 0)}
    assert found.reservation.pod.annotations["mine"] == "stays"
    assert found.reservation.pod.labels[ASSIGNED_NODE] == "node-1"


def test_a_pod_that_asks_for_no_card_is_nobodys_business() -> None:
    assert put(asking({}, {"gpu": 0}), cluster([card("a")])) == Placement(asks=False)


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        (asking({"gpu": "1500m"}), "nvidia.com/gpu"),
        (asking({"gpu": 1, "gpumem": "16Gi"}), "nvidia.com/gpumem"),
        (asking(ONE, annotations={SCORING_WEIGHTS: "slot=0,core=0,memory=0"}), SCORING_WEIGHTS),
    ],
)
def test_a_pod_that_cannot_be_read_is_placed_nowhere_and_told_why(asked: Pod, part: str) -> None:
    found = put(asked, cluster([card("a")]))
    assert part in found.problem
    assert (found.asks, found.reservation, found.verdicts) == (True, None, {})


def test_nodes_that_cannot_be_judged_say_so() -> None:
    facts = cluster([card("a")]).with_node(Node("cpu")).with_node(Node("odd", problem="half JSON"))
    found = put(asking(ONE), facts, ["node-1", "cpu", "odd", "nowhere"])
    assert {name: verdict.reason for name, verdict in found.verdicts.items()} == {
        "node-1": "",
        "cpu": "node unregistered",
        "odd": "node usage unavailable: half JSON",
        "nowhere": "node unregistered",
    }
    assert set(put(asking(ONE), facts).verdicts) == {"node-1", "cpu", "odd"}


def test_the_first_container_that_does_not_fit_gives_the_reason() -> None:
    found = put(asking(ONE, {"gpu": 3}, ONE), cluster([card("a"), card("b")]))
    verdict = found.verdicts["node-1"]
    assert verdict.reason == "NodeInsufficientDevice"
    assert {position: fit.fits for position, fit in verdict.fits.items()} == {0: True, 1: False}
    assert verdict.entries == ()


def test_what_the_pod_itself_holds_is_free_for_it() -> None:
    first = put(asking({"gpu": 1}), cluster([card("a")]))
    assert first.reservation is not None
    facts = cluster([card("a")]).with_reservation(first.reservation)
    assert put(asking({"gpu": 1}), facts).annotations[ALLOCATED] == "GPU-a,NVIDIA,40000,0:;"
    assert put(asking({"gpu": 1}, uid="another"), facts).reservation is None


@pytest.mark.parametrize(
    ("phases", "limits", "devices"),
    [
        ([INIT, APP], [30000, 20000], {"GPU-a": Use(1, 30000, 0)}),
        ([INIT, INIT, APP], [40000, 40000, 40000], {"GPU-a": Use(1, 40000, 0)}),
        ([SIDECAR, APP], [20000, 20000], {"GPU-a": Use(2, 40000, 0)}),
        ([SIDECAR, APP], [20000, 20001], None),
        ([APP, APP], [20000, 20001], None),
        ([SIDECAR, INIT], [20000, 20001], None),
        ([INIT, SIDECAR], [20000, 20001], {"GPU-a": Use(1, 20001, 0)}),
        ([INIT, SIDECAR, INIT, APP], [40000, 10000, 30000, 30000], {"GPU-a": Use(2, 40000, 0)}),
    ],
)
def test_containers_share_a_card_with_those_that_run_beside_them(
    phases: Sequence[Phase], limits: Sequence[int], devices: Mapping[str, Use] | None
) -> None:
    asked = asking(*({"gpu": 1, "gpumem": amount} for amount in limits), phases=phases)
    found = put(asked, cluster([card("a")]))
    assert (found.reservation and found.reservation.devices) == devices


@pytest.mark.parametrize(
    ("phases", "limits", "limit", "fits"),
    [
        ([INIT, INIT, APP, APP], [1500, 1500, 500, 500], 2048, True),
        ([INIT, APP, APP], [100, 1500, 1500], 2048, False),
        ([INIT, APP, APP], [100, 1500, 1500], 3000, True),
    ],
)
def test_a_quota_is_asked_for_the_peak_of_the_whole_pod(
    phases: Sequence[Phase], limits: Sequence[int], limit: int, fits: bool
) -> None:
    """HAMi leaves the first of these Pending and lets the second through."""
    asked = asking(*({"gpu": 1, "gpumem": amount} for amount in limits), phases=phases)
    found = put(asked, cluster([card("a")], quota=Quota(memory=limit)))
    assert found.verdicts["node-1"].reason == ("" if fits else "1/1 ResourceQuotaNotFit")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_is_over_is_placed_nowhere(phase: str) -> None:
    found = put(replace(asking(ONE), status_phase=phase), cluster([card("a")]))
    assert phase in found.problem
    assert found.reservation is None


def two_nodes() -> Facts:
    nodes = [Node("node-1", cards=(card("a"),)), Node("node-2", cards=(card("b"),))]
    return gather(nodes, held(other(device("a", 10000, 10))), {}, {}, None)


@pytest.mark.parametrize(("policy", "chosen"), [("binpack", "node-1"), ("spread", "node-2"), ("nonsense", "node-1")])
def test_the_node_policy_chooses_the_fullest_or_the_emptiest(policy: str, chosen: str) -> None:
    assert put(asking(ONE, annotations={NODE_POLICY: policy}), two_nodes()).labels == {ASSIGNED_NODE: chosen}


@pytest.mark.parametrize("policy", ["binpack", "spread"])
@pytest.mark.parametrize("names", [["z", "m"], ["m", "z"]])
def test_of_equal_nodes_the_first_by_name_is_chosen(policy: str, names: Sequence[str]) -> None:
    nodes = [Node(name, cards=(card("a", uuid=f"GPU-{name}"),)) for name in names]
    facts = gather(nodes, [], {}, {}, None)
    found = put(asking(ONE, annotations={NODE_POLICY: policy}), facts, names)
    assert found.labels == {ASSIGNED_NODE: "m"}


def test_a_nodes_score_counts_all_its_cards_and_skips_what_they_lack() -> None:
    cards = [card("a"), card("b", healthy=False)]
    assert fullness(cards, {"GPU-a": Use(5, 20000, 50)}) == 2.5 + 2.5 + 2.5
    assert fullness([], {}) == 0


AMOUNTS = st.fixed_dictionaries(
    {"gpu": st.integers(0, 2), "gpumem": st.sampled_from([1, 15000, 40000]), "gpucores": st.sampled_from([0, 30, 100])}
)


@given(
    pods=st.lists(st.lists(st.tuples(st.sampled_from(Phase), AMOUNTS), min_size=1, max_size=4), min_size=1, max_size=5),
    policy=st.sampled_from(["spread", "binpack", "mutex", "topology-aware"]),
    bind=st.booleans(),
    order=st.sampled_from(Order),
)
@settings(max_examples=60)
def test_placing_one_pod_after_another_never_gives_more_than_there_is(
    pods: Sequence[Sequence[tuple[Phase, Mapping[str, int]]]], policy: str, bind: bool, order: Order
) -> None:
    limit = Quota(memory=60000, cores=150)
    cards = [card("a", 0, slots=3), card("b", 0), card("c", 1)]
    facts = cluster(cards, quota=limit)
    for at, containers in enumerate(pods):
        arranged = sorted(containers, key=lambda each: each[0] is APP)
        asked = asking(
            *(amounts for _, amounts in arranged),
            phases=[phase for phase, _ in arranged],
            annotations={GPU_POLICY: policy, NUMA_BIND: str(bind)},
            uid=str(at),
        )
        found = place(asked, facts, None, CONFIG, order, at)
        if found.reservation is not None:
            facts = facts.with_reservation(found.reservation)
    for each in cards:
        use = facts.nodes["node-1"].use.get(each.uuid, NOTHING)
        assert use.slots <= each.slots
        assert use.memory <= each.memory
        assert use.cores <= each.cores
    used = facts.quota_use.get("team", NOTHING)
    assert used.memory <= 60000
    assert used.cores <= 150
