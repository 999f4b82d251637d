"""Moving a container's reservation to cards that kubelet left it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.facts import Card, Device, Facts, Quota, Use
from policy.hami.codec import raw_entries
from policy.hami.usage import reserve
from policy.keys import (
    ALLOCATED,
    GPU_POLICY,
    NOUSE_UUID,
    NUMA_ALIGNMENT,
    NUMA_BIND,
    SCORING_WEIGHTS,
    TO_ALLOCATE,
    USE_UUID,
)
from policy.placement.order import Order
from policy.placement.refit import MAX_ALLOWED, REFIT_CODES, Kept, Moved, RefitRequest
from policy.pod import Phase, Pod
from tests.policy.placement.build import (
    APP,
    INIT,
    SIDECAR,
    ask,
    card,
    cluster,
    device,
    moved,
    other,
    pod,
    refit,
    refused,
)

AB = (card("a", 1), card("b", 0))
ONE = pod([(device("a"),)])
VALUE_A = "GPU-a,NVIDIA,20000,30:;"
VALUE_B = "GPU-b,NVIDIA,20000,30:;"


def annotated(**changes: str) -> Pod:
    keys = {"pending": TO_ALLOCATE, "recorded": ALLOCATED}
    return replace(ONE, annotations={**ONE.annotations, **{keys[name]: text for name, text in changes.items()}})


def test_moves_both_annotations_and_the_reservation() -> None:
    found = moved(refit(ask("b"), cluster(AB, ONE)))
    assert found.container_devices == "GPU-b,NVIDIA,20000,30:"
    assert found.annotations == {TO_ALLOCATE: VALUE_B, ALLOCATED: VALUE_B}
    assert (found.old, found.new) == (("GPU-a",), ("GPU-b",))
    assert found.message == "Refit: container 0 went from [GPU-a] to [GPU-b]"
    assert found.reservation.devices == {"GPU-b": Use(1, 20000, 30)}
    assert found.reservation.entries == ((device("b"),),)
    assert found.reservation.pod.annotations[ALLOCATED] == VALUE_B


def test_the_next_decision_on_the_moved_reservation_writes_nothing() -> None:
    facts = cluster(AB, ONE)
    first = moved(refit(ask("b"), facts))
    assert refit(ask("b"), facts.with_reservation(first.reservation)) == Kept(first.container_devices)


NO_NODE = cluster(AB, ONE).without_node("node-1")
PROBLEM = cluster(AB, ONE).with_node(replace(cluster(AB).inventory.nodes["node-1"], problem="half JSON"))
UNEVEN = pod([(device("a", 10000), device("c", 20000))])
FULL = other(device("b", 39999))


def tracked(pod: Pod) -> Facts:
    """Facts in which the reservation outlives the state of its pod, as between two updates."""
    facts = cluster(AB, ONE)
    (reservation,) = facts.nodes["node-1"].reservations.values()
    return facts.with_reservation(replace(reservation, pod=pod))


REFUSALS: Sequence[tuple[str, RefitRequest, Facts, str, bool]] = [
    ("refit-incomplete", ask("b", pod_uid=""), cluster(AB, ONE), "podUID", False),
    ("refit-incomplete", ask("b", pod_namespace=""), cluster(AB, ONE), "podNamespace", False),
    ("refit-incomplete", ask("b", pod_name=""), cluster(AB, ONE), "podName", False),
    ("refit-incomplete", ask("b", node_name=""), cluster(AB, ONE), "nodeName", False),
    ("refit-allowed-empty", ask(), cluster(AB, ONE), "allowedDeviceUUIDs", False),
    ("refit-allowed-too-many", ask(*["b"] * (MAX_ALLOWED + 1)), cluster(AB, ONE), "513", False),
    ("refit-vendor-unknown", ask("b", device_type="nvidia"), cluster(AB, ONE), "'nvidia'", False),
    ("refit-vendor-unsupported", ask("b", device_type="DCU"), cluster(AB, ONE), "'DCU'", False),
    ("refit-pod-unknown", ask("b", pod_uid="v"), cluster(AB, ONE), "'v'", False),
    ("refit-pod-unknown", ask("b"), cluster(AB), "'u'", False),
    ("refit-pod-unknown", ask("b"), cluster(AB, replace(ONE, terminating=True)), "'u'", False),
    ("refit-pod-unknown", ask("b"), tracked(replace(ONE, status_phase="Failed")), "'u'", False),
    ("refit-pod-unknown", ask("b"), tracked(replace(ONE, status_phase="Succeeded")), "'u'", False),
    ("refit-pod-unknown", ask("b"), cluster(AB, replace(ONE, annotations={})), "'u'", False),
    ("refit-identity-mismatch", ask("b", pod_name="q"), cluster(AB, ONE), "'team/q'", False),
    ("refit-identity-mismatch", ask("b", pod_namespace="other"), cluster(AB, ONE), "team/p", False),
    ("refit-node-mismatch", ask("b", node_name="node-2"), cluster(AB, ONE), "'node-2'", True),
    ("refit-container-index", ask("b", container=1), cluster(AB, ONE), "0 to 0", True),
    ("refit-container-index", ask("b", container=-1), cluster(AB, ONE), "-1", True),
    ("refit-container-name", ask("b", container_name="c1"), cluster(AB, ONE), "'c1'", True),
    ("refit-annotation-unreadable", ask("b"), cluster(AB, annotated(pending="x,y")), TO_ALLOCATE, True),
    ("refit-annotation-unreadable", ask("b"), cluster(AB, annotated(recorded="x,y")), ALLOCATED, True),
    ("refit-nothing-pending", ask("b"), cluster(AB, annotated(pending=";")), TO_ALLOCATE, True),
    ("refit-nothing-pending", ask("a"), cluster(AB, annotated(pending="")), TO_ALLOCATE, True),
    ("refit-nothing-recorded", ask("b"), cluster(AB, annotated(recorded=";")), ALLOCATED, True),
    ("refit-uneven-reservation", ask("b", "d"), cluster(AB, UNEVEN), "different amounts", True),
    ("refit-node-unavailable", ask("b"), NO_NODE, "node unregistered", True),
    ("refit-node-unavailable", ask("b"), PROBLEM, "half JSON", True),
    ("refit-mig-card", ask("b", "c"), cluster([*AB, card("c", mode="mig")], ONE), "GPU-c", True),
    ("refit-allowed-unmatched", ask("a-0", "b::1"), cluster(AB, ONE), "AllowedDeviceSetUnmatched", True),
    ("refit-no-fit", ask("b"), cluster(AB, ONE, FULL), "1/1 CardInsufficientMemory", True),
    ("refit-quota", ask("b"), cluster(AB, ONE, quota=Quota(memory=19999)), "1/1 ResourceQuotaNotFit", True),
    (
        "refit-weights-invalid",
        ask("b"),
        cluster(AB, pod([(device("a"),)], annotations={SCORING_WEIGHTS: "slot=1"})),
        SCORING_WEIGHTS,
        True,
    ),
]


@pytest.mark.parametrize(("code", "request_", "facts", "part", "event"), REFUSALS)
def test_a_refusal_has_a_code_and_says_what_was_seen(
    code: str, request_: RefitRequest, facts: Facts, part: str, event: bool
) -> None:
    found = refused(refit(request_, facts))
    assert (found.code, found.event) == (code, event)
    assert part in found.reason


def test_every_code_is_refused_with_somewhere_and_none_is_unknown() -> None:
    assert {row[0] for row in REFUSALS} == set(REFIT_CODES)


@pytest.mark.parametrize("worse", range(len(REFUSALS)))
def test_a_refused_request_holds_no_more_than_a_short_reason(worse: int) -> None:
    assert len(refused(refit(REFUSALS[worse][1], REFUSALS[worse][2])).reason) < 300


def test_as_many_ids_as_a_node_may_have_cards_are_allowed() -> None:
    assert moved(refit(ask(*["b"] * MAX_ALLOWED), cluster(AB, ONE))).new == ("GPU-b",)


def test_hostile_text_is_cut_in_the_reason() -> None:
    found = refused(refit(ask("b", pod_uid="x" * 100_000, container_name="y" * 100_000), cluster(AB, ONE)))
    assert len(found.reason) < 200


@pytest.mark.parametrize(
    ("facts", "request_"),
    [
        (cluster(AB, ONE), ask("a", "b")),
        (cluster(AB, ONE, cordoned=["GPU-a"]), ask("a")),
        (cluster(AB, ONE, quota=Quota(memory=0)), ask("a")),
        (cluster([*AB, card("c", mode="mig")], ONE), ask("a", "c")),
        (cluster([card("a", healthy=False)], ONE), ask("a", container_name="c0")),
        (NO_NODE, ask("a")),
    ],
    ids=["also another", "cordoned", "over quota", "beside a MIG card", "unhealthy", "node gone"],
)
def test_cards_that_are_allowed_already_are_kept_whatever_else_is_wrong(facts: Facts, request_: RefitRequest) -> None:
    assert refit(request_, facts) == Kept("GPU-a,NVIDIA,20000,30:")


def test_uneven_amounts_are_kept_where_they_are_allowed() -> None:
    assert refit(ask("a", "c"), cluster(AB, UNEVEN)) == Kept("GPU-a,NVIDIA,10000,30:GPU-c,NVIDIA,20000,30:")


@pytest.mark.parametrize(
    ("phase", "others", "fits"),
    [(INIT, 0, True), (SIDECAR, 0, False), (INIT, 15000, False), (SIDECAR, 15000, False), (INIT, 10000, True)],
)
def test_phases_that_do_not_run_together_are_not_added_up(phase: Phase, others: int, fits: bool) -> None:
    """An init container's 30,000 MiB move onto the card where the pod's app holds 20,000 of 40,000."""
    job = pod([(device("a", 30000, 0),), (device("b", 20000, 0),)], [phase, APP])
    facts = cluster(AB, job, other(device("b", others, 0)))
    found = refit(ask("b"), facts)
    if fits:
        assert moved(found).reservation.devices == {"GPU-b": Use(1, 30000, 0)}
    else:
        assert "1/1 CardInsufficientMemory" in refused(found).reason


def test_an_ended_init_container_no_longer_counts() -> None:
    """The app container of a pod whose init container has ended may go where the two together would not fit."""
    job = pod([(device("b", 30000, 0),), (device("a", 20000, 0),)], [INIT, APP])
    ended = tuple(replace(each, ended=each.phase is INIT) for each in job.containers)
    facts = cluster(AB, replace(job, containers=ended), other(device("b", 20000, 0)))
    found = moved(refit(ask("b", container=1), facts))
    assert found.reservation.init_released
    assert found.reservation.devices == {"GPU-b": Use(1, 20000, 0)}
    assert found.annotations[ALLOCATED] == "GPU-b,NVIDIA,30000,0:;GPU-b,NVIDIA,20000,0:;"


def test_moving_an_ended_init_container_does_not_hide_what_others_hold() -> None:
    """Its share no longer counts for its pod, so there is nothing of it to take off what is used there."""
    job = pod([(device("a"),), (device("a"),)], [INIT, APP], {GPU_POLICY: "mutex"})
    ended = tuple(replace(each, ended=each.phase is INIT) for each in job.containers)
    facts = cluster(AB, replace(job, containers=ended), other(device("b", 1, 1)))
    assert "1/1 ExclusiveDeviceAllocateConflict" in refused(refit(ask("b"), facts)).reason


@pytest.mark.parametrize(("limit", "fits"), [(12000, False), (14999, False), (15000, True), (20000, True)])
def test_a_quota_is_asked_for_the_whole_new_layout(limit: int, fits: bool) -> None:
    """Init 5,000 and two apps of 5,000 on one card hold 10,000; with the init elsewhere they hold 15,000."""
    job = pod([(device("a", 5000, 10),)] * 3, [INIT, APP, APP])
    found = refit(ask("b"), cluster(AB, job, quota=Quota(memory=limit)))
    if fits:
        assert moved(found).reservation.total.memory == 15000
    else:
        assert refused(found).code == "refit-quota"


def test_a_quota_counts_what_other_pods_of_the_namespace_hold() -> None:
    sibling = other(device("a", 5000, 10), namespace="team")
    assert moved(refit(ask("b"), cluster(AB, ONE, sibling, quota=Quota(25000, 40))))
    assert refused(refit(ask("b"), cluster(AB, ONE, sibling, quota=Quota(24999)))).code == "refit-quota"
    assert refused(refit(ask("b"), cluster(AB, ONE, sibling, quota=Quota(None, 39)))).code == "refit-quota"


@pytest.mark.parametrize("inits", range(4))
@pytest.mark.parametrize("apps", range(1, 4))
def test_the_position_counts_init_containers_first_and_moves_that_entry_alone(inits: int, apps: int) -> None:
    phases = [INIT] * inits + [APP] * apps
    entries = [(device("a", 1000 + place, 1),) for place in range(inits + apps)]
    facts = cluster(AB, pod(entries, phases))
    for position in range(inits + apps):
        found = moved(refit(ask("b", container=position, container_name=f"c{position}"), facts))
        texts = [f"GPU-{'b' if at == position else 'a'},NVIDIA,{1000 + at},1:" for at in range(inits + apps)]
        assert found.annotations == dict.fromkeys((TO_ALLOCATE, ALLOCATED), "".join(f"{text};" for text in texts))
    for position in (-1, inits + apps):
        assert refused(refit(ask("b", container=position), facts)).code == "refit-container-index"
    wrong = ask("b", container=0, container_name=f"c{inits + apps - 1}")
    assert inits + apps == 1 or refused(refit(wrong, facts)).code == "refit-container-name"


def test_bytes_that_the_refit_does_not_own_stay() -> None:
    """The plugin leaves one `;` more for each container served; blank entries and extra fields are not tidied."""
    job = pod([(), (device("a"),), (device("b", 1, 1),)])
    held = {TO_ALLOCATE: ";GPU-a,NVIDIA,20000,30:;;;", ALLOCATED: ";GPU-a,NVIDIA,20000,30:;GPU-b,NVIDIA,1,1,1,x:;"}
    facts = cluster([*AB, card("c")], replace(job, annotations={**job.annotations, **held}))
    found = moved(refit(ask("c", container=1), facts))
    assert found.annotations == {
        TO_ALLOCATE: ";GPU-c,NVIDIA,20000,30:;;;",
        ALLOCATED: ";GPU-c,NVIDIA,20000,30:;GPU-b,NVIDIA,1,1,1,x:;",
    }


def test_a_container_is_refitted_while_another_is_still_pending_or_served() -> None:
    job = pod([(device("a"),), (device("b", 1, 1),)])
    served = replace(job, annotations={**job.annotations, TO_ALLOCATE: ";GPU-b,NVIDIA,1,1:;;"})
    facts = cluster([*AB, card("c")], served)
    assert refused(refit(ask("c", container=0), facts)).code == "refit-nothing-pending"
    assert moved(refit(ask("c", container=1), facts)).annotations[TO_ALLOCATE] == ";GPU-c,NVIDIA,1,1:;;"


@pytest.mark.parametrize(
    ("annotations", "allowed", "taken"),
    [
        ({USE_UUID: "GPU-a"}, "b", "CardUuidMismatch"),
        ({USE_UUID: "GPU-a,GPU-c"}, "bc", "c"),
        ({NOUSE_UUID: "GPU-b"}, "b", "CardUuidMismatch"),
        ({NOUSE_UUID: "GPU-b"}, "bc", "c"),
        ({NUMA_ALIGNMENT: "strict"}, "b", "b"),
        ({GPU_POLICY: "spread"}, "bc", "c"),
        ({GPU_POLICY: "binpack"}, "bc", "b"),
        ({GPU_POLICY: "numa,binpack"}, "bc", "b"),
        ({GPU_POLICY: "mutex"}, "b", "ExclusiveDeviceAllocateConflict"),
        ({GPU_POLICY: "mutex"}, "bc", "c"),
        ({GPU_POLICY: "topology-aware"}, "bc", "c"),
    ],
)
def test_the_pods_own_wishes_hold_among_the_allowed_cards(
    annotations: Mapping[str, str], allowed: str, taken: str
) -> None:
    """Card b is half full, card c is idle and on another NUMA node."""
    cards = [card("a", 1), card("b", 0), card("c", 1)]
    facts = cluster(cards, pod([(device("a", 1000),)], annotations=annotations), other(device("b", 20000)))
    found = refit(ask(*allowed), facts)
    if taken in allowed:
        assert moved(found).new == (f"GPU-{taken}",)
    else:
        assert f"1/1 {taken}" in refused(found).reason


def test_two_cards_under_numa_bind_come_from_one_node_although_scores_interleave() -> None:
    cards = [card("a", 0), card("b", 1), card("c", 0), card("d", 1), card("e", 5)]
    job = pod([(device("e", 1000), device("a", 1000))], annotations={NUMA_BIND: "true"})
    facts = cluster(cards, job, other(device("b", 30000)), other(device("c", 10000), uid="third"))
    assert moved(refit(ask("b", "c", "d", "e"), facts)).new == ("GPU-d", "GPU-b")
    assert "1/2 NumaNotFit" in refused(refit(ask("c", "d"), facts)).reason


@pytest.mark.parametrize(("order", "new"), [(Order.HAMI, ("GPU-d", "GPU-b")), (Order.NUMAFIT, ("GPU-c", "GPU-b"))])
def test_the_order_breaks_ties(order: Order, new: tuple[str, ...]) -> None:
    cards = [card("a", 0), card("b", 1), card("c", 0), card("d", 1)]
    job = pod([(device("a"), device("b"))])
    assert moved(refit(ask("b", "c", "d"), cluster(cards, job), order)).new == new


def test_a_refused_card_is_named_with_what_is_needed_and_free() -> None:
    facts = cluster(AB, ONE, other(device("b", 20001)))
    assert "(GPU-b: 20000 MiB needed, 19999 free)" in refused(refit(ask("b"), facts)).reason
    facts = cluster(AB, ONE, other(device("b", 1, 71)))
    assert "(GPU-b: 30 % of cores needed, 29 free)" in refused(refit(ask("b"), facts)).reason


@pytest.mark.parametrize(("letters", "end"), [("bcde", "GPU-e: 20000 MiB needed, 1 free)"), ("bcdefg", "and 2 more)")])
def test_only_the_first_shortfalls_are_named(letters: str, end: str) -> None:
    found = refused(refit(ask(*letters), cluster([card(letter, memory=1) for letter in letters], ONE)))
    assert f"{len(letters)}/{len(letters)} CardInsufficientMemory" in found.reason
    assert found.reason.count("MiB needed") == 4
    assert found.reason.endswith(end)


@pytest.mark.parametrize(("cores", "policy"), [(100, "spread"), (30, "mutex")])
@pytest.mark.parametrize(("taken", "fits"), [((), True), ((device("b", 1, 0),), False)])
def test_several_shares_of_one_container_are_not_in_each_others_way(
    cores: int, policy: str, taken: Sequence[Device], fits: bool
) -> None:
    """Whole cores, and mutex, ask for a card that nobody else uses."""
    job = pod([(device("a", 10, cores, slots=2),)], annotations={GPU_POLICY: policy})
    found = refit(ask("b"), cluster(AB, job, other(*taken)))
    if fits:
        assert moved(found).container_devices == f"GPU-b,NVIDIA,10,{cores},2:"
    else:
        assert "1/1 ExclusiveDeviceAllocateConflict" in refused(found).reason


def test_mutex_is_a_hint_for_placing_and_no_lock() -> None:
    """A pod without it moves onto a card that a mutex pod holds, as HAMi's placement would (user reports differ)."""
    mutex = pod([(device("b"),)], annotations={GPU_POLICY: "mutex"}, uid="m", name="m")
    assert moved(refit(ask("b"), cluster(AB, ONE, mutex))).new == ("GPU-b",)


@pytest.mark.parametrize(
    ("reserved", "taken", "fits"),
    [(1, 9, True), (1, 10, False), (3, 7, True), (3, 8, False)],
)
def test_no_card_gets_more_shares_than_it_has(reserved: int, taken: int, fits: bool) -> None:
    job = pod([(device("a", 10, 1, slots=reserved),)])
    found = refit(ask("b"), cluster(AB, job, other(device("b", 10, 1, slots=taken))))
    if fits:
        entry = f"GPU-b,NVIDIA,10,1{',3' if reserved > 1 else ''}:"
        assert moved(found).container_devices == entry
    else:
        assert "1/1 CardTimeSlicingExhausted" in refused(found).reason


@pytest.mark.parametrize(
    ("cards", "allowed", "text"),
    [
        ([card("b"), card("c")], "b", "NodeInsufficientDevice"),
        ([card("b"), card("c", healthy=False)], "bc", "1/2 AllocatedCardsInsufficientRequest, 1/2 CardNotHealth"),
        ([card("b"), card("c", type="Tesla-T4")], "bc", "NodeInsufficientDevice"),
    ],
)
def test_two_cards_are_not_moved_to_one(cards: Sequence[Card], allowed: str, text: str) -> None:
    job = pod([(device("a"), device("d"))])
    assert text in refused(refit(ask(*allowed), cluster(cards, job))).reason


def test_a_reserved_card_that_left_the_node_does_not_keep_the_pod() -> None:
    assert moved(refit(ask("b"), cluster([card("b")], ONE))).new == ("GPU-b",)


def test_two_pods_compete_for_what_one_can_have() -> None:
    twin = replace(ONE, uid="v", name="q")
    facts = cluster([card("a"), card("b", memory=30000)], ONE, twin)
    after = facts.with_reservation(moved(refit(ask("b"), facts)).reservation)
    assert after.nodes["node-1"].use == {"GPU-a": Use(1, 20000, 30), "GPU-b": Use(1, 20000, 30)}
    second = refused(refit(ask("b", pod_uid="v", pod_name="q"), after))
    assert "1/1 CardInsufficientMemory" in second.reason


def test_only_the_recorded_entry_decides_and_the_pending_one_is_replaced_whole() -> None:
    facts = cluster(AB, annotated(pending="GPU-b,NVIDIA,1,1:;"))
    assert moved(refit(ask("b"), facts)).annotations == {TO_ALLOCATE: VALUE_B, ALLOCATED: VALUE_B}


SHARES = st.builds(device, st.sampled_from("abcd"), st.sampled_from([1, 15000, 25000]), st.sampled_from([0, 40, 100]))


@st.composite
def jobs(draw: st.DrawFn) -> Pod:
    phases = sorted(draw(st.lists(st.sampled_from(Phase), min_size=1, max_size=4)), key=lambda phase: phase is APP)
    return pod([(draw(SHARES),) if draw(st.booleans()) else () for _ in phases], phases)


@given(
    jobs(), st.lists(SHARES, max_size=3), st.integers(0, 3), st.sets(st.sampled_from("abcde")), st.sampled_from(Order)
)
@settings(max_examples=150)
def test_a_move_stays_among_the_allowed_cards_within_their_room_and_touches_nothing_else(
    job: Pod, others: Sequence[Device], container: int, allowed: set[str], order: Order
) -> None:
    cards = {each.uuid: each for each in (card("a", 0), card("b", 1), card("c", 0), card("d", 1, slots=2))}
    facts = cluster(cards.values(), job, *(other(each, uid=str(at)) for at, each in enumerate(others)))
    found = refit(ask(*sorted(allowed), container=container), facts, order)
    if not isinstance(found, Moved):
        return
    assert len(found.new) == len(found.old) == 1
    assert {uuid[-1] for uuid in found.new} <= allowed & set("abcd")
    for key in (TO_ALLOCATE, ALLOCATED):
        before, after = raw_entries(job.annotations[key]), raw_entries(found.annotations[key])
        assert [text for at, text in enumerate(after) if at != container] == [
            text for at, text in enumerate(before) if at != container
        ]
        assert after[container] == found.container_devices
    assert found.reservation == reserve(found.reservation.pod)
    use = facts.with_reservation(found.reservation).nodes["node-1"].use
    for uuid in found.new:
        assert use[uuid].slots <= cards[uuid].slots
        assert use[uuid].memory <= cards[uuid].memory
        assert use[uuid].cores <= cards[uuid].cores
