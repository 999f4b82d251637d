"""Files of plain objects: every shape in which people keep them, and what is said of those that are none."""

import json
from pathlib import Path

import pytest

from tests.cluster.build import listed, node, pod
from webhook.cluster.documents import load
from webhook.cluster.interface import UnreadableFileError

NODES_AND_PODS = [("Node", "gpu-1"), ("Pod", "p")]
YAML = """
apiVersion: v1
kind: Node
metadata:
  name: gpu-1
---
# nothing here
---
apiVersion: v1
kind: Pod
metadata: {name: p, creationTimestamp: 2026-11-30T11:20:31Z}
"""


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.json", json.dumps(listed(node(), pod()))),
        ("list.txt", json.dumps(listed(node(), pod()))),
        ("marked.json", b"\xef\xbb\xbf" + json.dumps(listed(node(), pod())).encode()),
        ("json.yaml", json.dumps(listed(node(), pod()))),
        ("array.json", json.dumps([node(), pod()])),
        ("nested.json", json.dumps(listed(listed(node()), listed(listed(pod()))))),
        ("documents.yaml", YAML),
        (
            "flow.yml",
            "{kind: List, items: [{kind: Node, metadata: {name: gpu-1}}, {kind: Pod, metadata: {name: p}}]}",
        ),
    ],
)
def test_objects_load_in_every_shape_that_kubectl_prints(tmp_path: Path, name: str, content: str | bytes) -> None:
    objects = load([written(tmp_path, name, content)]).objects
    assert [(one["kind"], one["metadata"]["name"]) for one in objects] == NODES_AND_PODS


def test_several_files_are_read_one_after_the_other(tmp_path: Path) -> None:
    paths = [written(tmp_path, "a.json", json.dumps(node())), written(tmp_path, "b.json", json.dumps(pod()))]
    assert [one["kind"] for one in load(paths).objects] == ["Node", "Pod"]


def test_items_of_a_typed_list_get_the_kind_that_an_api_server_leaves_out(tmp_path: Path) -> None:
    content = '{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"p"}}]}'
    assert load([written(tmp_path, "pods.json", content)]).objects == (
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}},
    )


def test_what_is_no_object_in_a_list_is_reported_and_hides_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, "list.json", json.dumps({**listed(pod()), "items": [7, pod(), "x", None]}))
    content = load([path])
    assert [one["kind"] for one in content.objects] == ["Pod"]
    assert content.problems == (
        f"{path}[0]: 7 is no Kubernetes object",
        f"{path}[2]: 'x' is no Kubernetes object",
        f"{path}[3]: null is no Kubernetes object",
    )


def test_a_list_says_when_it_was_taken(tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", json.dumps(listed(listed(taken_at="2026-11-30T12:00:00Z"))))
    assert load([path]).taken_at == ("2026-11-30T12:00:00Z",)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-11-30T11:20:31Z", "2026-11-30T11:20:31Z"),
        ("12:30:45", "12:30:45"),
        ("1:30.5", "1:30.5"),
        ("'on'", "on"),
        ("true", True),
        ("12", 12),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("20k", "20k"),
        ("~", None),
    ],
)
def test_yaml_scalars_are_read_as_kubectl_reads_them(tmp_path: Path, text: str, value: object) -> None:
    path = written(tmp_path, "a.yaml", f"kind: Pod\nvalue: {text}\n")
    assert load([path]).objects == ({"kind": "Pod", "value": value},)


def test_keys_in_yaml_are_text_whatever_they_look_like(tmp_path: Path) -> None:
    path = written(tmp_path, "a.yaml", "kind: Pod\n1: a\ntrue: b\n")
    assert load([path]).objects == ({"kind": "Pod", "1": "a", "true": "b"},)


def test_yaml_anchors_and_merges_work(tmp_path: Path) -> None:
    text = "kind: Pod\nmetadata: &m {name: p, uid: u}\nother: {<<: *m, uid: v}\nagain: *m\n"
    assert load([written(tmp_path, "a.yaml", text)]).objects == (
        {
            "kind": "Pod",
            "metadata": {"name": "p", "uid": "u"},
            "other": {"name": "p", "uid": "v"},
            "again": {"name": "p", "uid": "u"},
        },
    )


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{last}'] * 9)}]\n" for last, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", '{"kind": "Li', "not JSON: Input data was truncated"),
        ("a.json", "[" * 100_000, "not JSON: nested too deeply"),
        ("a.json", '{"a": 1e999}', "not JSON: Number out of range - at `$[...]`"),
        ("a.json", b"\xff\xfe{}", "not UTF-8 text (invalid start byte at byte 0)"),
        ("a.json", "", "empty; Kubernetes objects in JSON or YAML were expected"),
        ("a.yaml", "---\n", "empty; Kubernetes objects in JSON or YAML were expected"),
        ("a.txt", "apples and pears", "holds 'apples and pears'; Kubernetes objects in JSON or YAML were expected"),
        ("a.yaml", "a: 1\nb: {c: 2, c: 3}", "not YAML: key 'c' stands twice, line 2, column 11; keep one"),
        ("a.yaml", "a: &a [*a]", "not YAML: an alias leads to itself, line 1, column 4"),
        ("a.yaml", "? [1]\n: 2", "not YAML: a key is a list or an object, line 1, column 3; keys are text"),
        (
            "a.yaml",
            BOMB,
            "not YAML: aliases add more than 100000 values (last repeated: line 5, column 4); use fewer of them",
        ),
    ],
)
def test_an_unreadable_file_is_refused_with_its_name_and_the_cause(
    tmp_path: Path, name: str, content: str | bytes, said: str
) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(UnreadableFileError) as caught:
        load([path])
    assert str(caught.value) == f"{path}: {said}"


@pytest.mark.parametrize(
    "content",
    [
        "[" * 3000,
        "{a: " * 3000,
        "- " * 3000,
        "a: !!python/object:os.system x",
        "a: !!binary eA==",
        "a: !!int x",
        "a: \x00",
        "a: [",
        "\t- x",
        "a: *b",
        "<<: 3",
    ],
)
def test_hostile_yaml_is_refused_and_nothing_else(tmp_path: Path, content: str) -> None:
    with pytest.raises(UnreadableFileError, match=r"a\.yaml: not (YAML|JSON): "):
        load([written(tmp_path, "a.yaml", content)])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match=r"none\.json: cannot be read: No such file or directory"):
        load([tmp_path / "none.json"])
