"""The refit operation on a cluster in memory: what is answered, written, told and counted."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from policy.facts import Facts
from policy.keys import ALLOCATED, TO_ALLOCATE
from policy.pod import Pod
from tests.serve.objects import asking, card, node, placed, refit
from webhook.caller import Unauthenticated
from webhook.cluster.documents import Content
from webhook.cluster.file import FileCluster
from webhook.cluster.interface import Ambiguous, Change, Expected, Outcome, UnreachableError
from webhook.levels.source import LevelsSource
from webhook.refit import ALL_CODES, Refit, Rules


class Disturbed(FileCluster):
    """A cluster in which something happens just before a commit, or with its answer."""

    before: Callable[[], object] = staticmethod(lambda: None)
    lost: Callable[[Outcome], Outcome] = staticmethod(lambda outcome: outcome)
    unreachable = False

    def commit(self, expected: Expected, change: Change) -> Outcome:  # type: ignore[override]  # an API server's answer
        self.before()
        return self.lost(super().commit(expected, change))

    def pod(self, namespace: str, name: str) -> Pod | None:
        if self.unreachable:
            raise UnreachableError("nobody answers")
        return super().pod(namespace, name)


@dataclass
class Stage:
    """The operation, its cluster, and what it counted."""

    cluster: Disturbed
    counted: Counter[tuple[str, str]] = field(default_factory=Counter)
    stranger: Unauthenticated | None = None

    def ask(self, request: Mapping[str, Any]) -> Any:
        levels = LevelsSource(None).current
        rules = Rules(levels.operator.hami, levels.order)
        operation = Refit(self.cluster, lambda: rules, lambda _token, _request: self.stranger, self._count)
        answer = operation.handle(json.dumps(request).encode(), {})
        assert (answer.status, answer.content_type) == (200, "application/json")
        return json.loads(answer.body)

    def _count(self, result: str, code: str) -> None:
        self.counted[result, code] += 1

    def annotations(self, name: str) -> tuple[str, str]:
        pod = self.cluster.pod("default", name)
        assert pod is not None
        return pod.annotations[TO_ALLOCATE], pod.annotations[ALLOCATED]

    def events(self) -> list[tuple[str, str, int]]:
        return [(one.event.reason, one.event.message, one.count) for one in self.cluster.events()]


@pytest.fixture
def stage() -> Stage:
    given = [dict(node("n", slots=25)), placed("p", "n", 0), placed("full", "n", 1, memory=30000), asking("unplaced")]
    return Stage(Disturbed(Content(tuple(given))))


MOVED = {"succeeded": True, "containerDevices": "GPU-n-1,NVIDIA,1000,1:"}


def test_a_move_writes_both_annotations_at_once_and_tells_of_it_once(stage: Stage) -> None:
    assert stage.ask(refit("p", "n", [1])) == MOVED
    assert stage.annotations("p") == ("GPU-n-1,NVIDIA,1000,1:;", "GPU-n-1,NVIDIA,1000,1:;")
    assert stage.ask(refit("p", "n", [1])) == MOVED
    assert stage.counted == {("moved", ""): 1, ("kept", ""): 1}
    assert stage.events() == [("NumaRefitSucceed", "Refit: container 0 went from [GPU-n-0] to [GPU-n-1]", 1)]
    use = stage.cluster.facts().nodes["n"].use
    assert {uuid: amount.memory for uuid, amount in use.items()} == {"GPU-n-1": 31000}


def test_a_card_that_is_allowed_already_is_kept_and_nothing_is_written(stage: Stage) -> None:
    before = stage.cluster.pod("default", "p")
    kept = {"succeeded": True, "containerDevices": "GPU-n-0,NVIDIA,1000,1:"}
    assert stage.ask(refit("p", "n", [1, 0])) == kept
    assert stage.cluster.pod("default", "p") is before
    assert stage.events() == []


REFUSALS: list[tuple[dict[str, Any], str, bool]] = [
    ({"podUID": ""}, "refit-incomplete", False),
    ({"nodeName": ""}, "refit-incomplete", False),
    ({"allowedDeviceUUIDs": []}, "refit-allowed-empty", False),
    ({"allowedDeviceUUIDs": ["x"] * 513}, "refit-allowed-too-many", False),
    ({"deviceType": "nvidia"}, "refit-vendor-unknown", False),
    ({"deviceType": "DCU"}, "refit-vendor-unsupported", False),
    ({"podUID": "uid-nobody"}, "refit-pod-unknown", False),
    ({"podUID": "uid-unplaced", "podName": "unplaced"}, "refit-pod-unknown", False),
    ({"podName": "full"}, "refit-identity-mismatch", False),
    ({"podNamespace": "other"}, "refit-identity-mismatch", False),
    ({"nodeName": "m"}, "refit-node-mismatch", True),
    ({"containerIndex": 1}, "refit-container-index", True),
    ({"containerIndex": -1}, "refit-container-index", True),
    ({"containerName": "other"}, "refit-container-name", True),
    ({"allowedDeviceUUIDs": ["GPU-n-1::0"]}, "refit-allowed-unmatched", True),
]


@pytest.mark.parametrize(("changes", "code", "told"), REFUSALS, ids=lambda value: str(value)[:40])
def test_a_refusal_says_its_code_changes_nothing_and_tells_the_pod_only_if_it_is_meant(
    stage: Stage, changes: dict[str, Any], code: str, told: bool
) -> None:
    before = stage.cluster.facts()
    answer = stage.ask({**refit("p", "n", [1]), **changes})
    assert (answer["succeeded"], answer["failureReason"].partition(": ")[0]) == (False, code)
    assert "containerDevices" not in answer
    assert stage.cluster.facts() is before
    assert stage.counted == {("refused", code): 1}
    assert [reason for reason, _, _ in stage.events()] == (["NumaRefitFailed"] if told else [])


def test_a_card_without_room_is_refused_with_hamis_word_and_the_amounts(stage: Stage) -> None:
    assert stage.ask(refit("full", "n", [0]))["succeeded"] is True
    assert stage.ask(refit("full", "n", [1]))["succeeded"] is True
    stage.cluster.create(placed("other", "n", 0, memory=20000))
    assert stage.ask(refit("full", "n", [0]))["failureReason"] == (
        "refit-no-fit: the allowed cards cannot take the reservation: 1/1 CardInsufficientMemory "
        "(GPU-n-0: 30000 MiB needed, 19000 free)"
    )
    assert stage.annotations("full")[0] == "GPU-n-1,NVIDIA,30000,1:;"


def test_a_stranger_is_refused_before_anything_is_looked_up_but_after_what_the_request_shows(stage: Stage) -> None:
    stage.stranger = Unauthenticated("caller-token-invalid", "caller authentication: no")
    unknown = {**refit("p", "n", [1]), "podUID": "uid-nobody"}
    assert stage.ask(unknown)["failureReason"] == "caller-token-invalid: caller authentication: no"
    assert stage.ask({**unknown, "nodeName": ""})["failureReason"].startswith("refit-incomplete: ")
    assert stage.events() == []


def test_an_unrelated_write_to_the_pod_is_no_reason_to_refuse(stage: Stage) -> None:
    def label() -> None:
        stage.cluster.before = lambda: None
        pod = next(one for one in stage.cluster.objects() if one["metadata"]["name"] == "p")
        stage.cluster.update({**pod, "metadata": {**pod["metadata"], "labels": {"a": "b"}}})

    stage.cluster.before = label
    assert stage.ask(refit("p", "n", [1])) == MOVED
    after = stage.cluster.pod("default", "p")
    assert after is not None
    assert after.labels == {"a": "b"}


def test_room_that_another_refit_took_meanwhile_is_not_given_twice(stage: Stage) -> None:
    stage.cluster.create(placed("rival", "n", 0, memory=6000))
    stage.cluster.create(placed("late", "n", 0, memory=6000))

    def overtake() -> None:
        stage.cluster.before = lambda: None
        assert stage.ask(refit("rival", "n", [1]))["succeeded"] is True

    stage.cluster.before = overtake
    assert stage.ask(refit("late", "n", [1]))["failureReason"].endswith("(GPU-n-1: 6000 MiB needed, 4000 free)")
    assert stage.annotations("late")[1] == "GPU-n-0,NVIDIA,6000,1:;"


def test_an_entry_that_was_consumed_meanwhile_stays_consumed(stage: Stage) -> None:
    def consume() -> None:
        stage.cluster.before = lambda: None
        pod = next(one for one in stage.cluster.objects() if one["metadata"]["name"] == "p")
        marks = {**pod["metadata"]["annotations"], TO_ALLOCATE: ";"}
        stage.cluster.update({**pod, "metadata": {**pod["metadata"], "annotations": marks}})

    stage.cluster.before = consume
    assert stage.ask(refit("p", "n", [1]))["failureReason"].startswith("refit-nothing-pending: ")
    assert stage.annotations("p") == (";", "GPU-n-0,NVIDIA,1000,1:;")


def test_a_pod_that_is_deleted_meanwhile_is_unknown(stage: Stage) -> None:
    stage.cluster.before = lambda: stage.cluster.delete("uid-p") if stage.cluster.pod("default", "p") else None
    assert stage.ask(refit("p", "n", [1]))["failureReason"].startswith("refit-pod-unknown: ")


def test_a_write_whose_answer_was_lost_is_looked_for_before_an_answer_is_given(stage: Stage) -> None:
    stage.cluster.lost = lambda _: Ambiguous("the connection was lost")
    assert stage.ask(refit("p", "n", [1])) == MOVED
    assert stage.counted == {("moved", ""): 1}
    assert [reason for reason, _, _ in stage.events()] == ["NumaRefitSucceed"]


def test_a_write_that_nobody_can_confirm_is_refused_and_the_next_try_knows(stage: Stage) -> None:
    stage.cluster.lost = lambda _: Ambiguous("the connection was lost")
    stage.cluster.unreachable = True
    answer = stage.ask(refit("p", "n", [1]))
    assert answer == {"succeeded": False, "failureReason": "refit-unconfirmed: the connection was lost"}
    stage.cluster.unreachable = False
    assert stage.ask(refit("p", "n", [1])) == MOVED
    assert stage.counted == {("refused", "refit-unconfirmed"): 1, ("kept", ""): 1}


def test_who_is_always_beaten_gives_up_in_time(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.refit.BUDGET_SECONDS", 0.05)

    def label() -> None:
        pod = next(one for one in stage.cluster.objects() if one["metadata"]["name"] == "p")
        stage.cluster.update(pod | {"metadata": {**pod["metadata"], "resourceVersion": ""}})

    stage.cluster.before = label
    assert stage.ask(refit("p", "n", [1]))["failureReason"].startswith("refit-contended: ")


def test_threads_that_move_pods_to_and_fro_leave_every_view_in_agreement(stage: Stage) -> None:
    names = [f"t{number}" for number in range(40)]
    for number, name in enumerate(names):
        stage.cluster.create(placed(name, "n", number % 2, memory=400))
    barrier = threading.Barrier(8)

    def wander(worker: int) -> None:
        barrier.wait()
        for step in range(60):
            name = names[(worker * 7 + step * 3) % len(names)]
            stage.ask(refit(name, "n", [(worker + step) % 2]))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(wander, range(8)))
    facts: Facts = stage.cluster.facts()
    assert stage.counted.total() == 8 * 60
    assert not [code for result, code in stage.counted if code not in {"", "refit-no-fit", "refit-contended"}]
    held: Counter[str] = Counter()
    for name in (*names, "p", "full"):
        to_allocate, allocated = stage.annotations(name)
        assert to_allocate == allocated
        uuid, _, memory, _ = allocated.rstrip(";:").split(",")
        held[uuid] += int(memory)
        reservation = facts.reservation(f"uid-{name}")
        assert reservation is not None
        assert list(reservation.devices) == [uuid]
    assert held == {uuid: amount.memory for uuid, amount in facts.nodes["n"].use.items()}
    assert all(
        held[card("n", index)] <= 40000 and facts.nodes["n"].use[card("n", index)].slots <= 25 for index in (0, 1)
    )


@pytest.mark.parametrize(
    ("word", "code"),
    [("shed", "refit-overloaded"), ("failed", "refit-internal")],
)
def test_what_never_comes_to_a_decision_is_refused_in_band(stage: Stage, word: str, code: str) -> None:
    operation = Refit(stage.cluster, lambda: pytest.fail("not asked"), lambda _token, _request: None, stage._count)
    answer = getattr(operation, word)()
    assert (answer.status, json.loads(answer.body)["succeeded"]) == (200, False)
    assert stage.counted == {("refused", code): 1}
    assert code in ALL_CODES


def test_every_code_is_kebab_case_and_says_what_it_means() -> None:
    assert all(code.replace("-", "").isalpha() and code == code.lower() for code in ALL_CODES)
    assert all(meaning.endswith(".") for meaning in ALL_CODES.values())
