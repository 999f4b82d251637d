"""Which devices a container may get, who decides, and what the plugin is asked."""

from dataclasses import replace
from typing import Any

import pytest

from policy.kubelet.devices import Failure, Plugin
from policy.kubelet.held import DeviceKey
from policy.kubelet.machine import Device, Machine
from policy.kubelet.outcome import IMPOSSIBLE, Call, DeviceChoice, Prediction, Verdict
from policy.kubelet.predict import predict, predict_all
from policy.kubelet.settings import Settings
from policy.kubelet.start import start
from tests.policy.kubelet.build import GPU, ask, demand, gpus, held, machine, pod, static

SINGLE = static("single-numa-node")
BEST = static("best-effort")
NONE = static("none")
EMPTY = Plugin(preference={})


def _choice(found: Prediction, place: int = 0, resource: str = GPU) -> DeviceChoice:
    return found.containers[place].devices[resource]


def _ids(text: str) -> frozenset[str]:
    return frozenset(text.split())


@pytest.mark.parametrize(
    ("settings", "nodes", "want", "forced", "allowed", "asked"),
    [
        pytest.param(SINGLE, (0, 0, 1, 1), 1, "", "g0 g1", "g0 g1", id="more aligned than needed: asked among them"),
        pytest.param(SINGLE, (0, 0, 1, 1), 2, "g0 g1", "g0 g1", None, id="as many aligned as needed: not asked"),
        pytest.param(NONE, (0, 0, 1, 1), 1, "", "g0 g1 g2 g3", "g0 g1 g2 g3", id="no hint: asked among all"),
        pytest.param(NONE, (0,), 1, "g0", "g0", "g0", id="no hint, nothing to choose: asked nevertheless"),
        pytest.param(SINGLE, (None, None), 1, "", "g0 g1", "g0 g1", id="no topology: the hint does not matter"),
    ],
)
def test_bounds_the_choice(
    settings: Settings, nodes: tuple[int | None, ...], want: int, forced: str, allowed: str, asked: str | None
) -> None:
    found = ask(machine(devices={GPU: gpus(*nodes)}), settings, pod({GPU: want}))
    choice = _choice(found)
    assert (choice.size, choice.forced, choice.allowed) == (want, _ids(forced), _ids(allowed))
    assert choice.call == (None if asked is None else Call(_ids(asked), frozenset(), want))
    assert choice.decided_by == ("forced" if forced == allowed else "plugin")
    assert choice.picked == frozenset(sorted(choice.allowed)[:want])


def test_takes_aligned_devices_first_where_they_do_not_suffice() -> None:
    of = machine()
    found = ask(of, BEST, pod({"cpu": 4, "memory": 8, GPU: 2}), held(of, "8-15", gpus="g1"))
    choice = _choice(found)
    assert (choice.aligned, choice.unaligned, choice.forced) == (_ids("g0"), _ids("g2 g3"), _ids("g0"))
    assert choice.call == Call(_ids("g0 g2 g3"), _ids("g0"), 2)
    assert choice.picked == _ids("g0 g2")


def test_a_plugin_without_preference_leaves_the_choice_to_kubelet() -> None:
    found = ask(machine(), SINGLE, pod({GPU: 1}), plugin=Plugin(has_preference=False))
    assert (_choice(found).call, _choice(found).decided_by) == (None, "arbitrary")


@pytest.mark.parametrize(
    ("preference", "picked"),
    [(("g1", "g3"), "g1"), ((), "g0"), (("g3",), "g0"), (("gone", "g1"), "g1")],
)
def test_follows_the_plugins_preference_inside_the_hint(preference: tuple[str, ...], picked: str) -> None:
    found = ask(machine(), SINGLE, pod({GPU: 1}), plugin=Plugin(preference={GPU: preference}))
    assert _choice(found).picked == _ids(picked)


def test_reuses_what_an_init_container_leaves_and_does_not_ask() -> None:
    found = ask(machine(), SINGLE, pod({GPU: 1}, init=({GPU: 1},)), plugin=Plugin(preference={GPU: ("g1",)}))
    choice = _choice(found, 1)
    assert (choice.forced, choice.allowed, choice.call, choice.decided_by) == (_ids("g1"), _ids("g1"), None, "forced")


def test_an_app_that_needs_more_than_is_left_must_include_it() -> None:
    of = machine(devices={GPU: gpus(0, 0, 0, 1)})
    found = ask(of, SINGLE, pod({GPU: 2}, init=({GPU: 1},)), plugin=Plugin(preference={GPU: ("g2", "g1")}))
    assert _choice(found, 1).call == Call(_ids("g0 g1 g2"), _ids("g2"), 2)
    assert _choice(found, 1).picked == _ids("g1 g2")


def test_a_sidecar_keeps_what_it_takes() -> None:
    sidecar = {GPU: 1, "restartPolicy": "Always"}
    found = ask(machine(), SINGLE, pod({GPU: 1}, init=({GPU: 1}, sidecar)))
    assert [_choice(found, place).picked for place in range(3)] == [_ids("g0"), _ids("g0"), _ids("g1")]


@pytest.mark.parametrize(
    ("devices", "want", "error"),
    [
        (gpus(0), 2, f"requested number of devices unavailable for {GPU}. Requested: 2, Available: 1"),
        ([], 1, f"no healthy devices present; cannot allocate unhealthy devices {GPU}"),
        (
            [Device("g0", frozenset({0}), healthy=False)],
            0,
            f"no healthy devices present; cannot allocate unhealthy devices {GPU}",
        ),
    ],
)
def test_refuses_where_devices_lack(devices: list[Device], want: int, error: str) -> None:
    found = ask(machine(devices={GPU: devices}), NONE, pod({GPU: want}))
    assert (found.reason, found.message) == (
        "UnexpectedAdmissionError",
        f"Allocate failed due to {error}, which is unexpected",
    )


def test_ignores_resources_that_no_plugin_registers() -> None:
    found = ask(machine(), SINGLE, pod({"nvidia.com/gpumem": 100}))
    assert (found.verdict, found.containers[0].hints) == (Verdict.ADMIT, {})


def test_zero_devices_are_a_request_that_takes_nothing() -> None:
    found = ask(machine(), SINGLE, pod({GPU: 0}))
    assert (found.verdict, _choice(found).size, _choice(found).allowed) == (Verdict.ADMIT, 0, frozenset())


def _restarted(
    recorded: str, *, of: Machine | None = None, want: int = 1, running: bool = False, **plugin: Any
) -> Prediction:
    of = machine() if of is None else of
    state = replace(
        held(of),
        devices={DeviceKey("pod", "c0", GPU): _ids(recorded)},
        in_use={GPU: _ids(recorded)},
    )
    runs = frozenset({("pod", "c0")}) if running else frozenset()
    booted = start(of, SINGLE, state, Plugin(preference={}, **plugin), runs)
    return predict(booted, state, demand(pod({GPU: want}), SINGLE))


def test_keeps_what_is_recorded_after_a_restart() -> None:
    found = _restarted("g2")
    assert found.verdict is Verdict.ADMIT
    assert _choice(found).forced == _ids("g2")
    hints = found.containers[0].hints
    assert hints is not None
    gpu_hints = hints[GPU]
    assert gpu_hints is not None
    assert gpu_hints.listed() == [(0b10, True), (0b11, False)]


def test_a_changed_request_is_refused_after_a_restart() -> None:
    found = _restarted("g2", want=2)
    assert found.reason == "TopologyAffinityError"
    state = replace(held(machine()), devices={DeviceKey("pod", "c0", GPU): _ids("g2")}, in_use={GPU: _ids("g2")})
    found = ask(machine(), NONE, pod({GPU: 2}), state)
    changed = f'pod "uid" container "c0" changed request for resource "{GPU}" from 1 to 2'
    assert found.message == f"Allocate failed due to {changed}, which is unexpected"


def test_a_recorded_device_that_fell_ill_is_refused_after_a_restart() -> None:
    ill = [Device("g0", frozenset({0}), healthy=False), Device("g1", frozenset({0}))]
    found = _restarted("g0", of=machine(devices={GPU: ill}))
    text = "previously allocated devices are no longer healthy; cannot allocate unhealthy devices"
    assert found.message == f"Allocate failed due to {text} {GPU}, which is unexpected"


@pytest.mark.parametrize(
    ("running", "text"),
    [(True, ""), (False, f"no healthy devices present; cannot allocate unhealthy devices {GPU}")],
)
def test_a_plugin_that_is_not_back_refuses_all_but_running_containers(running: bool, text: str) -> None:
    found = _restarted("g0", down=frozenset({GPU}), running=running)
    assert found.message == (f"Allocate failed due to {text}, which is unexpected" if text else "")


def test_a_recorded_resource_that_nobody_registers_is_refused() -> None:
    of = machine(devices={})
    found = _restarted("g0", of=of)
    assert found.message == f"Allocate failed due to cannot allocate unregistered device {GPU}, which is unexpected"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("Allocate", "no luck"),
        ("GetPreferredAllocation", "device plugin GetPreferredAllocation rpc failed with err: no luck"),
    ],
)
def test_a_failing_plugin_refuses_the_pod(call: str, message: str) -> None:
    plugin = Plugin(preference={}, failures={"pod": Failure(call, "no luck")})
    found = ask(machine(), SINGLE, pod({GPU: 1}), plugin=plugin)
    assert found.message == f"Allocate failed due to {message}, which is unexpected"


def test_devices_of_a_failed_call_are_lost_until_a_pod_with_devices_leaves() -> None:
    of = machine()
    state = held(of, "8-15", gpus="g1")
    booted = start(of, BEST, state, Plugin(preference={}, failures={"first": Failure("GetPreferredAllocation", "no")}))
    # The CPUs are on node 0, so its one free GPU is taken before the plugin is asked for the other.
    failing = demand(pod({"cpu": 4, "memory": 8, GPU: 2}, name="first"), BEST)
    refused = demand(pod({GPU: 1}, {GPU: 3}, name="second"), BEST)
    asking = demand(pod({GPU: 3}), BEST)
    lost = predict_all(booted, state, (failing, asking))[-1]
    numbers = "Requested: 3, Available: 2"
    text = f"requested number of devices unavailable for {GPU}. {numbers}"
    assert lost.message == f"Allocate failed due to {text}, which is unexpected"
    assert predict_all(booted, state, (failing, refused, asking))[-1].verdict is Verdict.ADMIT


def test_tells_which_sets_of_cards_may_result() -> None:
    replicas = [Device(f"{card}-{place}", frozenset({0}), card=card) for card in ("A", "B", "C") for place in (0, 1)]
    found = ask(machine(devices={GPU: replicas}), SINGLE, pod({GPU: 2}))
    choice = _choice(found)
    assert choice.possible_cards == _ids("A B C")
    assert list(choice.distinct_sets()) == [_ids("A B"), _ids("A C"), _ids("B C")]
    assert choice.may_be(_ids("A C"))
    assert not choice.may_be(_ids("A"))
    assert not choice.may_be(_ids("A D"))


def test_two_replicas_of_one_card_are_no_two_cards() -> None:
    replicas = [Device(f"A-{place}", frozenset({0}), card="A") for place in (0, 1)]
    choice = _choice(ask(machine(devices={GPU: replicas}), SINGLE, pod({GPU: 2})))
    assert list(choice.distinct_sets()) == []
    assert not choice.may_be(_ids("A"))


def test_an_empty_topology_message_pins_like_no_node_at_all() -> None:
    devices = [Device("g0", frozenset()), Device("g1", frozenset({0})), Device("g2", frozenset({1}))]
    of = machine(devices={GPU: devices})
    # The init container holds g0, which touches no NUMA node, so that no hint is left for the app.
    recorded = _ids("g0")
    state = replace(held(of), devices={DeviceKey("pod", "i0", GPU): recorded}, in_use={GPU: recorded})
    found = ask(of, BEST, pod({GPU: 2}, init=({GPU: 1},)), state)
    hints = found.containers[1].hints
    assert hints == {GPU: IMPOSSIBLE}
