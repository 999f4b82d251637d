"""`numafit review --show`: manifests as they would be stored."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.conftest import GALLERY, Numafit
from webhook.cli.manifests import Document
from webhook.cli.positions import Lines
from webhook.cli.stored import stored
from webhook.yaml_text import parse

READABLE = ["deployment.yaml", "jobset.yaml", "leaderworkerset.yaml", "list.json", "pods.yaml", "shared.yaml"]
"""Files; of some of them objects are refused."""


def documents(text: str) -> list[Any]:
    return [document for document in parse(text) if document is not None]


def test_a_pod_is_shown_with_what_is_filled_in(numafit: Numafit) -> None:
    container = "{name: m, resources: {limits: {nvidia.com/gpumem: 5}}}"
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{container}]}}\n"
    answer = numafit("review", "-", "--show", stdin=text)
    (pod,) = documents(answer.out)
    assert answer.code == 0
    assert pod["spec"] == {
        "containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpumem": 5, "nvidia.com/gpu": "1"}}}],
        "schedulerName": "hami-scheduler",
    }
    assert pod["metadata"]["annotations"]["numafit.io/injected"] == "schedulerName,m:nvidia.com/gpu=1"


@pytest.mark.parametrize(
    ("file", "left"),
    [
        ("copied.yaml", []),
        ("cronjob.yaml", []),
        ("pods.yaml", [("Service", "web"), ("Pod", None), ("Pod", "trainer")]),
        ("pytorchjob.yaml", []),
    ],
)
def test_what_is_refused_is_left_out_and_named(numafit: Numafit, file: str, left: list[tuple[str, str]]) -> None:
    answer = numafit("review", GALLERY / file, "--show")
    shown = documents(answer.out)
    assert answer.code == 1
    assert [(one["kind"], one["metadata"].get("name")) for one in shown] == left
    assert answer.err.count(": refused, so left out\n") == 1
    assert " enforce " in answer.err


def test_an_item_of_a_list_that_is_refused_is_left_out(numafit: Numafit) -> None:
    answer = numafit("review", GALLERY / "list.json", "--show")
    shown = json.loads(answer.out)
    assert (shown["kind"], [item["metadata"]["name"] for item in shown["items"]]) == ("List", ["probe"])
    line = f"{GALLERY}/list.json:21: StatefulSet research/notebook: refused, so left out"
    assert line in answer.err.splitlines()


def test_positions_hold_where_several_items_are_refused(numafit: Numafit) -> None:
    limits = ({"nvidia.com/gpu": 1, "nvidia.com/gpucores": cores} for cores in (0, 101, 0, 102, 0))
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{position}"},
            "spec": {"containers": [{"name": "main", "resources": {"limits": each}}]},
        }
        for position, each in enumerate(limits)
    ]
    for text in (json.dumps(pods), json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})):
        shown = json.loads(numafit("review", "-", "--show", stdin=text).out)
        items = shown if isinstance(shown, list) else shown["items"]
        assert [item["metadata"]["name"] for item in items] == ["p0", "p2", "p4"]
        assert {item["spec"]["schedulerName"] for item in items} == {"hami-scheduler"}


@pytest.mark.parametrize("file", READABLE)
def test_what_is_shown_is_judged_alike_and_has_nothing_left_to_fill_in(
    numafit: Numafit, tmp_path: Path, file: str
) -> None:
    judged = json.loads(numafit("review", GALLERY / file, "-o", "json").out)["pods"]
    before = [pod for pod in judged if pod["verdict"] != "refused"]
    shown = tmp_path / file
    shown.write_text(numafit("review", GALLERY / file, "--show").out)
    after = json.loads(numafit("review", shown, "-o", "json").out)["pods"]
    assert [pod["filledIn"] for pod in after] == [[] for _ in before]
    assert [[one["code"] for one in pod["findings"]] for pod in after] == [
        [one["code"] for one in pod["findings"]] for pod in before
    ]
    assert numafit("review", shown, "--show").out == shown.read_text()


def test_templates_are_filled_in_where_they_stand(numafit: Numafit) -> None:
    (job,) = documents(numafit("review", GALLERY / "shared.yaml", "--show").out)
    for role in ("Chief", "Worker"):
        template = job["spec"]["tfReplicaSpecs"][role]["template"]
        assert template["spec"]["schedulerName"] == "hami-scheduler"
        injected = "schedulerName,tensorflow:nvidia.com/gpu=1,tensorflow:CUDA_TASK_PRIORITY=1"
        assert template["metadata"]["annotations"]["numafit.io/injected"] == injected
        assert template["spec"]["containers"][0]["env"] == [{"name": "CUDA_TASK_PRIORITY", "value": "1"}]
        assert template["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_nothing_that_numafit_does_not_know_is_lost(numafit: Numafit) -> None:
    shown = documents(numafit("review", GALLERY / "pods.yaml", "--show").out)
    given_ = documents((GALLERY / "pods.yaml").read_text())
    assert shown[0] == given_[0]
    assert [one["kind"] for one in shown] == ["Service", "Pod", "Pod"]
    assert shown[1] == given_[1]


def test_json_stays_json(numafit: Numafit) -> None:
    text = (GALLERY / "list.json").read_text().replace('"mig"', '"hami-core"')
    shown = json.loads(numafit("review", "-", "--show", stdin=text).out)
    assert shown["kind"] == "List"
    assert len(shown["items"]) == 2


def test_json_beside_yaml_is_one_stream(numafit: Numafit) -> None:
    shown = documents(numafit("review", GALLERY / "list.json", GALLERY / "shared.yaml", "--show").out)
    assert [one["kind"] for one in shown] == ["List", "TFJob"]


def written(value: dict[str, Any]) -> str:
    return stored([Document("a.yaml", 1, value, is_json=False, lines=Lines(""))], [])


@pytest.mark.parametrize(
    "text", ["1e3", "0o17", "12:30:00", "y", "N", "no", "null", "~", "1_000", ".5", "2026-11-30", ""]
)
def test_text_that_readers_take_for_something_else_is_quoted(text: str) -> None:
    shown = written({"value": text}).removeprefix("value: ")
    assert shown[0] in "\"'"
    assert yaml.safe_load(shown) == text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="ascii", categories=["L"])), inner),
    max_leaves=20,
)


@given(VALUES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_value_is_read_back_as_it_was(value: Any) -> None:
    assert parse(written({"value": value})) == [{"value": value}]
