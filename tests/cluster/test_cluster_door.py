"""What every cluster behind the door promises. A live cluster joins by one more way to open one."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from policy import keys
from policy.facts import Facts, Kubelet, Quota, Use
from policy.hami.request import HamiConfig
from policy.hami.usage import reserve
from policy.pod import Pod, read_pod
from tests.cluster.build import Object, node, placed, pod, quota, reservation
from webhook.cluster.commit import objection
from webhook.cluster.documents import Content
from webhook.cluster.file import FileCluster
from webhook.cluster.interface import (
    Change,
    Cluster,
    Committed,
    Conflict,
    Declared,
    Event,
    EventType,
    Expected,
    Outcome,
    Outdated,
)

Open = Callable[..., Cluster]
A, B = "GPU-gpu-1-0", "GPU-gpu-1-1"


def open_file(*objects: Object) -> Cluster:
    return FileCluster(Content(objects))


@pytest.fixture(params=[open_file], ids=["file"])
def open_cluster(request: pytest.FixtureRequest) -> Open:
    return request.param  # type: ignore[no-any-return]  # pytest does not know the type of a parameter


def held(cluster: Cluster, name: str = "p") -> Pod:
    found = cluster.pod("default", name)
    assert found is not None
    return found


def change(seen: Pod, card: str = B, node: str = "gpu-1", **rest: Any) -> Change:
    """A change that gives ``seen`` 20,000 MiB of ``card``."""
    annotations = reservation(card, node)
    planned = reserve(replace(seen, annotations={**seen.annotations, **annotations}))
    assert planned is not None
    return Change(annotations=annotations, reservation=planned, **rest)


def move(cluster: Cluster, seen: Pod, facts: Facts | None = None, **rest: Any) -> Outcome:
    return cluster.commit(Expected(seen, facts or cluster.facts()), change(seen, **rest))


def test_a_commit_moves_annotations_accounting_and_answer_together(open_cluster: Open) -> None:
    cluster = open_cluster(node(), placed())
    before = held(cluster)
    done = move(cluster, before)
    assert isinstance(done, Committed)
    assert done.pod == held(cluster)
    assert done.pod.annotations == {**before.annotations, **reservation(B)}
    assert done.pod.resource_version != before.resource_version
    assert cluster.facts().nodes["gpu-1"].use == {B: Use(1, 20000, 30)}
    assert cluster.facts().reservation("uid-p") == reserve(done.pod)


def test_annotations_and_labels_that_are_not_changed_stay(open_cluster: Open) -> None:
    source = placed()
    source["metadata"]["annotations"]["team"] = "a"
    source["metadata"]["labels"] = {"app": "x"}
    cluster = open_cluster(node(), source)
    move(cluster, held(cluster), labels={keys.ASSIGNED_NODE: "gpu-1"})
    assert held(cluster).annotations["team"] == "a"
    assert held(cluster).labels == {"app": "x", keys.ASSIGNED_NODE: "gpu-1"}


def test_a_pending_pod_is_reserved_and_bound(open_cluster: Open) -> None:
    cluster = open_cluster(node(), pod())
    done = move(cluster, held(cluster), card=A, bind_to="gpu-1")
    assert isinstance(done, Committed)
    assert done.pod.node_name == "gpu-1"
    assert cluster.facts().pod_nodes == {"uid-p": "gpu-1"}


def test_a_pod_that_is_bound_elsewhere_is_a_conflict(open_cluster: Open) -> None:
    source = pod()
    source["spec"]["nodeName"] = "gpu-2"
    cluster = open_cluster(node(), source)
    assert move(cluster, held(cluster), bind_to="gpu-1") == Conflict(
        "pod default/p is bound to node gpu-2 already, not to gpu-1"
    )


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (
            {"resource_version": "6"},
            "pod default/p was changed meanwhile: resourceVersion 6 expected, 7 found",
        ),
        ({"uid": "uid-x"}, "pod default/p with UID 'uid-x' does not exist any more"),
        ({"name": "q"}, "UID 'uid-p' belongs to pod default/p, not to default/q"),
        ({"namespace": "team"}, "UID 'uid-p' belongs to pod default/p, not to team/p"),
    ],
)
def test_another_pod_or_version_is_a_conflict_and_changes_nothing(
    open_cluster: Open, seen: dict[str, str], reason: str
) -> None:
    cluster = open_cluster(node(), placed())
    before = cluster.facts()
    assert move(cluster, replace(held(cluster), **seen)) == Conflict(reason)  # type: ignore[arg-type]  # all are text
    assert cluster.facts() is before
    assert held(cluster).annotations == reservation(A)


def test_without_a_version_only_the_identity_is_compared(open_cluster: Open) -> None:
    cluster = open_cluster(node(), placed())
    assert isinstance(move(cluster, replace(held(cluster), resource_version="")), Committed)


def test_of_two_decisions_from_the_same_facts_the_second_is_outdated(open_cluster: Open) -> None:
    cluster = open_cluster(node(), placed("p"), placed("q"))
    facts = cluster.facts()
    assert isinstance(move(cluster, held(cluster, "p"), facts), Committed)
    assert move(cluster, held(cluster, "q"), facts) == Outdated(
        "node gpu-1 or what is held on it has changed since the decision"
    )
    assert isinstance(move(cluster, held(cluster, "q")), Committed)


def test_a_decision_about_another_node_is_not_outdated(open_cluster: Open) -> None:
    cluster = open_cluster(node(), node("gpu-2"), placed("p"), pod("q"))
    facts = cluster.facts()
    move(cluster, held(cluster, "p"), facts)
    assert isinstance(move(cluster, held(cluster, "q"), facts, card="GPU-gpu-2-0", node="gpu-2"), Committed)


def test_what_a_namespace_holds_of_its_quota_must_not_have_changed(open_cluster: Open) -> None:
    cluster = open_cluster(node(), node("gpu-2"), quota(gpumem="30k"), pod("p"), pod("q"))
    facts = cluster.facts()
    move(cluster, held(cluster, "p"), facts, card=A)
    assert move(cluster, held(cluster, "q"), facts, card="GPU-gpu-2-0", node="gpu-2") == Outdated(
        "what namespace default holds of its quota has changed since the decision"
    )


def test_limits_that_changed_make_a_decision_outdated(open_cluster: Open) -> None:
    """On its own, as where quotas are watched apart from nodes and pods."""
    cluster = open_cluster(node(), quota(gpumem="30k"), pod())
    now, seen = cluster.facts(), held(cluster)
    before = replace(now, quotas={"default": Quota(memory=90_000)})
    assert objection(seen, now, Expected(seen, before), change(seen)) == Outdated(
        "the quota of namespace default has changed since the decision"
    )


def test_facts_that_somebody_holds_never_change(open_cluster: Open) -> None:
    cluster = open_cluster(node(), placed())
    seen = cluster.facts()
    use = dict(seen.nodes["gpu-1"].use)
    pod_seen = held(cluster)
    move(cluster, pod_seen)
    assert seen.nodes["gpu-1"].use == use
    assert pod_seen.annotations == reservation(A)
    assert cluster.facts() is not seen


def test_of_many_commits_on_one_version_one_succeeds(open_cluster: Open) -> None:
    cluster = open_cluster(node(), placed())
    seen, facts = held(cluster), cluster.facts()
    outcomes = at_once(16, lambda _: move(cluster, seen, facts))
    assert sorted(type(one).__name__ for one in outcomes) == ["Committed"] + ["Conflict"] * 15


def test_no_card_is_ever_booked_twice_by_decisions_at_the_same_time(open_cluster: Open) -> None:
    """Forty pods want 20,000 MiB of a card of 40,000: two get them, the others learn that it is full."""
    names = [f"p{index}" for index in range(40)]
    cluster = open_cluster(node(cards=1), *(pod(name) for name in names))

    def decide(index: int) -> Outcome | None:
        seen = held(cluster, names[index])
        while True:
            facts = cluster.facts()
            if facts.nodes["gpu-1"].use.get(A, Use()).memory > 20000:
                return None
            outcome = move(cluster, seen, facts, card=A)
            if not isinstance(outcome, Outdated):
                return outcome

    outcomes = at_once(len(names), decide)
    assert sum(isinstance(one, Committed) for one in outcomes) == 2
    assert outcomes.count(None) == 38
    assert cluster.facts().nodes["gpu-1"].use == {A: Use(2, 40000, 60)}
    assert cluster.facts().quota_use == {"default": Use(2, 40000, 60)}


def at_once(number: int, work: Callable[[int], Any]) -> list[Any]:
    barrier = threading.Barrier(number)
    results: list[Any] = [None] * number

    def run(index: int) -> None:
        barrier.wait()
        results[index] = work(index)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Lingering(Mapping[str, str]):
    """Annotations that keep whoever reads them waiting."""

    def __init__(self, annotations: Mapping[str, str]) -> None:
        self._annotations = annotations
        self.reached, self.let_go = threading.Event(), threading.Event()

    def __getitem__(self, key: str) -> str:
        return self._annotations[key]

    def __iter__(self) -> Iterator[str]:
        self.reached.set()
        self.let_go.wait(5)
        return iter(self._annotations)

    def __len__(self) -> int:
        return len(self._annotations)


def test_a_commit_that_begins_within_another_one_sees_what_that_one_did(open_cluster: Open) -> None:
    cluster = open_cluster(node(), placed("p"), placed("q"))
    facts, slow, quick = cluster.facts(), held(cluster, "p"), held(cluster, "q")
    lingering = Lingering(reservation(B))
    outcomes: dict[str, Outcome] = {}

    def commit(seen: Pod, planned: Change) -> None:
        outcomes[seen.name] = cluster.commit(Expected(seen, facts), planned)

    first = threading.Thread(target=commit, args=(slow, replace(change(slow), annotations=lingering)))
    second = threading.Thread(target=commit, args=(quick, change(quick)))
    first.start()
    assert lingering.reached.wait(5)
    second.start()
    second.join(0.05)  # time to go wrong in: it must still be waiting
    lingering.let_go.set()
    first.join()
    second.join()
    assert {name: type(one) for name, one in outcomes.items()} == {"p": Committed, "q": Outdated}


def test_a_pod_that_does_not_exist_is_none(open_cluster: Open) -> None:
    assert open_cluster(node(), pod()).pod("default", "other") is None


def test_a_pod_is_read_whole(open_cluster: Open) -> None:
    assert open_cluster(node(), placed()).pod("default", "p") == read_pod(placed())


def test_what_the_operator_declares_is_taken_over_at_once(open_cluster: Open) -> None:
    cluster = open_cluster(node(labels={"pool": "a"}))
    cluster.declare([Declared({"pool": "a"}, Kubelet("restricted"))], HamiConfig())
    found = cluster.facts().nodes["gpu-1"].node
    assert found is not None
    assert found.kubelet == Kubelet("restricted")


def test_a_commit_after_a_new_declaration_is_outdated(open_cluster: Open) -> None:
    cluster = open_cluster(node(), placed())
    facts = cluster.facts()
    cluster.declare([Declared({}, Kubelet("restricted"))], HamiConfig())
    assert isinstance(move(cluster, held(cluster), facts), Outdated)


def test_what_cannot_be_read_of_a_reservation_is_said_and_the_rest_counted(open_cluster: Open) -> None:
    source = placed()
    source["metadata"]["annotations"][keys.ALLOCATED] = f"{A},NVIDIA,20000,30:;nonsense:;"
    cluster = open_cluster(node(), source)
    assert cluster.facts().nodes["gpu-1"].use == {A: Use(1, 20000, 30)}
    assert len(cluster.problems()) == 1
    assert cluster.problems()[0].startswith("Pod default/p: ")
    assert cluster.problems()[0].endswith("; what can be read of it is counted")


def test_recording_never_fails_and_closing_ends_quietly(open_cluster: Open) -> None:
    cluster = open_cluster(node())
    cluster.record(Event(EventType.WARNING, "NumaRefitFailed", "why", "default", "gone", "uid-gone", "numafit"))
    cluster.close()
