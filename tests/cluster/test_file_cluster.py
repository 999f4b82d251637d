"""What only a cluster in memory does: it is loaded from files, and its objects come, change and go."""

import json
from pathlib import Path
from typing import Any

import pytest

from policy.facts import Quota, Use
from tests.cluster.build import Object, listed, node, placed, pod, quota, reservation
from webhook.cluster.documents import Content
from webhook.cluster.file import FileCluster
from webhook.cluster.interface import Event, EventType, RejectedObjectError
from webhook.cluster.moments import moment

A, B = "GPU-gpu-1-0", "GPU-gpu-1-1"


def cluster(*objects: Object) -> FileCluster:
    return FileCluster(Content(objects), clock=lambda: 1000.0)


def file(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def test_nodes_and_pods_may_stand_in_files_of_their_own(tmp_path: Path) -> None:
    loaded = FileCluster.load([file(tmp_path, "n.json", listed(node())), file(tmp_path, "p.json", placed())])
    assert loaded.facts().nodes["gpu-1"].use == {A: Use(1, 20000, 30)}
    assert loaded.problems() == ()


def test_of_an_object_given_twice_the_last_one_counts(tmp_path: Path) -> None:
    paths = [file(tmp_path, "a.json", listed(node(), placed())), file(tmp_path, "b.json", placed(card=B))]
    loaded = FileCluster.load(paths)
    assert loaded.facts().nodes["gpu-1"].use == {B: Use(1, 20000, 30)}
    assert loaded.problems() == ("Pod default/p: given twice; the last one counts",)


def test_pods_written_by_hand_get_what_an_api_server_would_fill_in() -> None:
    source = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}
    one, other = cluster(source).pod("default", "p"), cluster(source).pod("default", "p")
    assert one is not None
    assert other is not None
    assert (one.namespace, one.resource_version, len(one.uid)) == ("default", "1", 36)
    assert one == other
    assert source["metadata"] == {"name": "p"}


@pytest.mark.parametrize(
    ("content", "at"),
    [
        (Content((pod(creationTimestamp="2026-11-30T11:00:00Z"),), ("2026-11-30T12:00:00Z",)), "2026-11-30T12:00:00Z"),
        (Content((), ("2026-11-30T12:00:00Z", "2026-11-30T13:00:00+00:00")), "2026-11-30T13:00:00Z"),
        (Content((pod(creationTimestamp="2026-11-30T11:00:00Z"), node())), "2026-11-30T11:00:00Z"),
        (
            Content((pod(managedFields=[{"time": "2026-11-30T11:00:01Z"}, 7]),)),
            "2026-11-30T11:00:01Z",
        ),
        (
            Content((pod() | {"status": {"conditions": [{"lastTransitionTime": "2026-11-30T11:00:02Z"}]}},)),
            "2026-11-30T11:00:02Z",
        ),
        (
            Content(
                (
                    pod()
                    | {
                        "status": {
                            "containerStatuses": [{"state": {"terminated": {"finishedAt": "2026-11-30T11:00:03Z"}}}]
                        }
                    },
                )
            ),
            "2026-11-30T11:00:03Z",
        ),
        (Content((pod(creationTimestamp="2026-11-30"), pod(name="q", deletionTimestamp="2030-01-01T00:00:00Z"))), None),
    ],
)
def test_a_file_is_as_old_as_it_says_else_as_its_newest_timestamp(content: Content, at: str | None) -> None:
    loaded = FileCluster(content)
    assert loaded.facts().taken_at == (None if at is None else moment(at))
    assert not loaded.is_stale(0)


def test_an_age_that_is_no_time_is_reported_and_the_newest_timestamp_counts() -> None:
    loaded = FileCluster(Content((pod(creationTimestamp="2026-11-30T11:00:00Z"),), ("yesterday",)))
    assert loaded.facts().taken_at == moment("2026-11-30T11:00:00Z")
    assert loaded.problems() == (
        "the file says that it was taken at 'yesterday', which is no RFC 3339 time; its newest timestamp counts",
    )


def test_a_created_pod_counts_and_a_deleted_one_does_not() -> None:
    held = cluster(node())
    made = held.create(placed())
    assert made["metadata"]["resourceVersion"] == "2"
    assert held.facts().nodes["gpu-1"].use == {A: Use(1, 20000, 30)}
    held.delete("uid-p")
    assert held.facts().nodes["gpu-1"].use == {}
    assert held.pod("default", "p") is None
    assert [one["kind"] for one in held.objects()] == ["Node"]


def test_a_pod_without_a_name_gets_one_and_a_uid_of_its_own() -> None:
    held = cluster()
    source = {"kind": "Pod", "metadata": {"generateName": "job-"}, "spec": {}}
    made = [held.create(source)["metadata"] for _ in range(2)]
    assert [one["name"] for one in made] == ["job-1", "job-3"]
    assert len({one["uid"] for one in made}) == 2
    assert source["metadata"] == {"generateName": "job-"}


def test_an_updated_pod_is_counted_anew() -> None:
    held = cluster(node(), placed())
    made = held.update(placed(card=B))
    assert made["metadata"]["resourceVersion"] == "9"
    assert held.facts().nodes["gpu-1"].use == {B: Use(1, 20000, 30)}
    held.update(made | {"status": {"phase": "Succeeded"}})
    assert held.facts().nodes["gpu-1"].use == {}


def test_nodes_and_quotas_come_change_and_go() -> None:
    held = cluster(placed())
    held.create(node())
    limit = held.create(quota(gpumem="30k"))
    state = held.facts().nodes["gpu-1"]
    assert state.node is not None
    assert (len(state.node.cards), state.use) == (2, {A: Use(1, 20000, 30)})
    assert held.facts().quotas == {"default": Quota(30000)}
    held.update({**limit, "spec": {"hard": {"limits.nvidia.com/gpumem": "1"}}})
    assert held.facts().quotas == {"default": Quota(1)}
    for one in held.objects():
        if one["kind"] != "Pod":
            held.delete(one["metadata"]["uid"])
    assert held.facts().nodes["gpu-1"].node is None
    assert held.facts().quotas == {}


def test_a_pod_that_could_not_be_read_counts_once_it_is_mended() -> None:
    held = cluster(node(), pod() | {"spec": {"containers": 7}})
    assert [one.split(", ")[0] for one in held.problems()] == ["Pod default/p: spec.containers must be a list"]
    held.update(placed() | {"metadata": {**pod()["metadata"], "annotations": reservation(A)}})
    assert held.facts().nodes["gpu-1"].use == {A: Use(1, 20000, 30)}
    assert held.problems() == ()


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda held: held.create(pod()), "Pod default/p exists already; delete it first or give another name"),
        (
            lambda held: held.create(pod("q", uid="uid-p")),
            "Pod default/q has the UID of another object; leave it out",
        ),
        (
            lambda held: held.create({"kind": "Node", "metadata": {}}),
            "Node without a name: metadata.name or metadata.generateName must be given",
        ),
        (lambda held: held.create(pod("q", labels=7)), "metadata.labels must be an object"),
        (lambda held: held.update(pod("q")), "Pod default/q does not exist; create it first"),
        (
            lambda held: held.update(pod(uid="uid-x")),
            "Pod default/p has uid uid-p, not uid-x; read it again and repeat the change",
        ),
        (
            lambda held: held.update(pod(resourceVersion="3")),
            "Pod default/p has resourceVersion 7, not 3; read it again and repeat the change",
        ),
        (lambda held: held.delete("uid-x"), "no object has the UID 'uid-x'"),
    ],
)
def test_what_an_api_server_would_refuse_is_refused_and_changes_nothing(act: Any, said: str) -> None:
    held = cluster(node(), placed())
    facts, objects = held.facts(), held.objects()
    with pytest.raises(RejectedObjectError) as caught:
        act(held)
    assert str(caught.value).startswith(said)
    assert held.facts() is facts
    assert held.objects() == objects


def test_objects_that_somebody_holds_never_change() -> None:
    held = cluster(node(), placed())
    seen = held.objects()
    copy = json.loads(json.dumps(seen))
    held.update(placed(card=B))
    assert json.loads(json.dumps(seen)) == copy
    assert held.objects()[1]["metadata"]["annotations"] == reservation(B)


def event(message: str, uid: str = "u") -> Event:
    return Event(EventType.WARNING, "NumaRefitFailed", message, "default", "p", uid, "numafit")


def test_events_are_kept_and_repetitions_folded() -> None:
    now = iter((1.0, 2.0, 3.0))
    held = FileCluster(Content(()), clock=lambda: next(now))
    for message in ("full", "other", "full"):
        held.record(event(message))
    assert [(one.event.message, one.count, one.first, one.last) for one in held.events()] == [
        ("other", 1, 2.0, 2.0),
        ("full", 2, 1.0, 3.0),
    ]


def test_from_the_tenth_different_message_on_they_share_one_record() -> None:
    held = cluster()
    for number in range(1, 13):
        held.record(event(f"m{number}"))
    held.record(event("m1"))
    found = {one.event.message: one.count for one in held.events()}
    assert found == {f"m{number}": 1 for number in range(2, 10)} | {
        "m1": 2,
        "(combined from similar events): m12": 3,
    }


def test_a_thousand_refusals_leave_a_bounded_memory() -> None:
    held = cluster()
    for number in range(9):
        held.record(event(f"m{number}", uid="first"))
    for number in range(3000):
        held.record(event("full", uid=str(number)))
    assert [one.event.uid for one in held.events()] == [str(number) for number in range(2000, 3000)]
    held.record(event("again", uid="first"))
    assert held.events()[-1].event.message == "again"
