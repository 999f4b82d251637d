"""The admission operation: what is read of a review, what is answered, and what bytes cannot do to it."""

import base64
import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy import keys
from tests.serve.objects import asking, node, placed, review
from webhook.answer import Answer
from webhook.cluster.documents import Content
from webhook.cluster.file import FileCluster
from webhook.levels.file import LevelsFile
from webhook.levels.reading import read
from webhook.review import Admission

CLUSTER: Final = FileCluster(Content((dict(node("n", cards=4)), placed("p", "n", 0))))


def admission(levels: str = "") -> tuple[Admission, list[tuple[str, str]]]:
    """The operation under a policy file, and what it counts."""
    judging = LevelsFile(read(f"version: numafit.io/v1\n{levels}"))
    counted: list[tuple[str, str]] = []
    return Admission(CLUSTER, lambda: judging, lambda code, level: counted.append((code, level))), counted


def ask(asked: object, levels: str = "") -> Answer:
    body = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
    return admission(levels)[0].handle(body, {})


def response(asked: object, levels: str = "") -> dict[str, Any]:
    answer = ask(asked, levels)
    assert (answer.status, answer.content_type) == (200, "application/json")
    body = json.loads(answer.body)
    assert (body["apiVersion"], body["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    return dict(body["response"])


def updated(old: Mapping[str, str], new: Mapping[str, str], user: str = "somebody") -> dict[str, Any]:
    before, after = asking("p", annotations=old), asking("p", annotations=new)
    return review(after, operation="UPDATE", oldObject=before, userInfo={"username": user})


def test_an_allowed_pod_gets_a_patch_and_nothing_else() -> None:
    found = response(review(asking("p"), uid="u-1"))
    patch = json.loads(base64.b64decode(found.pop("patch")))
    assert found == {"uid": "u-1", "allowed": True, "patchType": "JSONPatch"}
    stored = jsonpatch.apply_patch(asking("p"), json.dumps(patch))
    assert stored["spec"]["schedulerName"] == "hami-scheduler"
    assert sorted(stored["metadata"]["annotations"]) == [keys.INJECTED, keys.JUDGED]


def test_a_refusal_has_one_line_for_each_finding_and_warnings_beside_them() -> None:
    marks = {keys.NUMA_ALIGNMENT: "strct", keys.NUMA_BIND: "yes", keys.USE_UUID: "GPU-n-0,GPU-n-0,GPU-n-1"}
    found = response(review(asking("p", annotations=marks)))
    assert (found["allowed"], found["status"]["code"], found["status"]["reason"]) == (False, 403, "Forbidden")
    assert [line.partition(": ")[0] for line in found["status"]["message"].splitlines()] == [
        "alignment-unknown",
        "bind-not-boolean",
    ]
    assert [warning.partition(": ")[0] for warning in found["warnings"]] == ["pin-duplicate"]
    assert "patch" not in found


def test_a_pod_without_gpus_is_allowed_without_a_word() -> None:
    source = asking("p")
    source["spec"]["containers"][0]["resources"] = {}
    assert response(review(source)) == {"uid": "r-1", "allowed": True}


def test_a_pod_of_a_controller_is_logged_by_its_generated_name() -> None:
    source = asking("p")
    source["metadata"] = {"generateName": "web-", "namespace": "default"}
    answer = ask(review(source, name=None))
    assert answer.log["name"] == "web-*"
    assert answer.verdict == "allowed"


def test_a_dry_run_is_answered_the_same_and_leaves_no_trace_in_the_cluster() -> None:
    before = CLUSTER.facts()
    assert response(review(asking("p"), dryRun=True)) == response(review(asking("p")))
    assert CLUSTER.facts() is before
    assert ask(review(asking("p"), dryRun=True)).log["dry_run"] is True


def test_findings_are_counted_by_code_and_level_the_silent_ones_too() -> None:
    operation, counted = admission("levels: {pin-duplicate: audit}")
    marks = {keys.NUMA_BIND: "yes", keys.USE_UUID: "GPU-n-0,GPU-n-0"}
    answer = operation.handle(json.dumps(review(asking("p", annotations=marks))).encode(), {})
    assert counted == [("bind-not-boolean", "enforce"), ("pin-duplicate", "audit")]
    assert b"pin-duplicate" not in answer.body
    assert answer.log["codes"] == ["bind-not-boolean/enforce", "pin-duplicate/audit"]


@pytest.mark.parametrize(
    "changes",
    [
        {"operation": "DELETE", "object": None, "oldObject": asking("p")},
        {"operation": "CONNECT"},
        {"kind": {"group": "", "kind": "Service"}},
        {"kind": {"group": "pods.example.com", "kind": "Pod"}},
        {"kind": {}},
    ],
)
def test_what_is_no_creation_or_change_of_a_pod_is_allowed(changes: Mapping[str, Any]) -> None:
    forged = asking("p", annotations={keys.ALLOCATED: "x"})
    assert response(review(forged, **changes)) == {"uid": "r-1", "allowed": True}


@pytest.mark.parametrize(
    ("old", "new", "user", "allowed", "codes"),
    [
        ({}, {"note": "x"}, "somebody", True, []),
        ({}, {keys.BIND_PHASE: "success"}, "somebody", False, ["forged-reservation"]),
        ({}, {keys.BIND_PHASE: ""}, "somebody", True, []),
        ({keys.ASSIGNED_NODE: "n"}, {}, "somebody", False, ["forged-reservation"]),
        ({}, {keys.BIND_PHASE: "success"}, "system:serviceaccount:hami-system:hami-device-plugin", True, []),
        ({}, {keys.NUMA_BIND: "true"}, "somebody", True, ["key-changed-late"]),
        ({keys.NUMA_BIND: "true"}, {keys.NUMA_BIND: "yes"}, "somebody", True, ["key-changed-late", "bind-not-boolean"]),
    ],
)
def test_an_update_is_blocked_by_a_forged_reservation_alone(
    old: Mapping[str, str], new: Mapping[str, str], user: str, allowed: bool, codes: list[str]
) -> None:
    found = response(updated(old, new, user))
    lines = [*found.get("status", {}).get("message", "").splitlines(), *found.get("warnings", ())]
    assert found["allowed"] is allowed
    assert "patch" not in found
    assert [line.partition(": ")[0] for line in lines] == codes


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (
            b"",
            "the body is no AdmissionReview: Input data was truncated; send admission.k8s.io/v1 as the API server does",
        ),
        (
            {},
            "the body is no AdmissionReview: Object missing required field `kind`; send admission.k8s.io/v1 as the API",
        ),
        ({**review(asking("p")), "kind": "Pod"}, "the body is 'admission.k8s.io/v1' 'Pod'; send an AdmissionReview of"),
        (
            {**review(asking("p")), "apiVersion": "admission.k8s.io/v1beta1"},
            "the body is 'admission.k8s.io/v1beta1' 'AdmissionReview'; send an AdmissionReview of admission.k8s.io/v1",
        ),
        (review(asking("p"), uid=""), "the AdmissionReview's request has no uid; send it as the API server does"),
        (
            review(asking("p"), object=None),
            "the AdmissionReview's request has no object; send it as the API server does",
        ),
        (
            review(asking("p"), operation="UPDATE"),
            "the AdmissionReview's request has no oldObject; send it as the API server does",
        ),
    ],
)
def test_what_is_no_review_of_a_pod_is_400_with_what_is_wrong(asked: object, text: str) -> None:
    answer = ask(asked)
    assert (answer.status, answer.verdict) == (400, "error")
    assert answer.body.decode().startswith(text)


@pytest.mark.parametrize(
    ("word", "arguments", "status"),
    [("shed", (), 429), ("too_large", (7,), 413), ("unreadable", ("after 3 bytes",), 400), ("failed", (), 422)],
)
def test_what_never_comes_to_a_verdict_has_a_status_below_500(
    word: str, arguments: tuple[Any, ...], status: int
) -> None:
    answer = getattr(admission()[0], word)(*arguments)
    assert (answer.status, answer.body.endswith(b"\n")) == (status, True)


def test_other_objects_are_neither_read_nor_logged() -> None:
    secret = {"metadata": {"name": {"token": "hunter2"}, "generateName": {"token": "hunter2"}}, "data": ["hunter2"]}
    answer = ask(review(secret, kind={"group": "", "kind": "Secret"}, name=None))
    assert (answer.status, "hunter2" in repr(answer)) == (200, False)


KNOWN: Final = [*keys.USER_KEYS, *keys.OWNED_KEYS, "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"]
FIELDS: Final = [
    *("metadata", "spec", "status", "annotations", "labels", "name", "namespace", "generateName", "ownerReferences"),
    *("containers", "initContainers", "ephemeralContainers", "resources", "limits", "requests", "env", "restartPolicy"),
    *("schedulerName", "nodeName", "nodeSelector", "affinity", "nodeAffinity", "tolerations", "securityContext"),
    *("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", "matchExpressions", "matchFields", "key"),
    *("operator", "values", "value", "effect", "privileged", "runtimeClassName", "workloadRef", "controller", "kind"),
]
SCALARS: Final = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["", " ", "1", "-1", "1.5", "20k", "1e400", "strict", "true", "In", "Always", "mutex,", "GPU-n-0", ","]
    )
    | st.text(max_size=8)
)
NAMES: Final = st.sampled_from(FIELDS + KNOWN) | st.text(max_size=4)
VALUES: Final = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5), max_leaves=25
)
TEXTS: Final = st.dictionaries(st.sampled_from(KNOWN) | st.text(max_size=4), SCALARS.map(str), max_size=6)


def stands_up(asked: object, levels: str = "") -> Answer:
    answer = ask(asked, levels)
    assert answer.status in {200, 400}
    if answer.status == 200:
        json.loads(answer.body)
    json.dumps(dict(answer.log))
    return answer


@given(VALUES, VALUES, st.sampled_from(["CREATE", "UPDATE"]))
def test_any_object_in_a_review_is_judged_or_called_malformed(pod: object, old: object, operation: str) -> None:
    stands_up({**review(asking("p")), "request": {**review(asking("p"))["request"], "object": pod, "oldObject": old}})
    source = asking("p")
    for place in ("metadata", "spec"):
        changed = deepcopy(source) | {place: pod}
        stands_up(review(source, object=changed, oldObject=source, operation=operation))
    if isinstance(pod, dict):
        both = {**source, "metadata": {**source["metadata"], **pod}, "spec": {**source["spec"], **pod}}
        stands_up(review(source, object=both, oldObject=source, operation=operation), "staticCluster: true")


@given(TEXTS, TEXTS, TEXTS)
def test_a_pod_of_any_texts_is_judged_and_its_patch_needs_no_second_one(
    annotations: Mapping[str, str], limits: Mapping[str, str], labels: Mapping[str, str]
) -> None:
    source = asking("p", annotations=annotations)
    source["metadata"]["labels"] = dict(labels)
    source["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1", **limits}}
    answer = stands_up(review(source), "namespaces: [{names: [default], defaultAlignment: best-effort}]")
    assert answer.status == 200
    found = json.loads(answer.body)["response"]
    if found["allowed"]:
        patch = base64.b64decode(found.get("patch", "W10=")).decode()
        stored = jsonpatch.apply_patch(source, patch)
        again = response(review(stored), "namespaces: [{names: [default], defaultAlignment: best-effort}]")
        assert (again["allowed"], "patch" in again) == (True, False)


@given(st.binary(max_size=60), st.integers(0, 500), st.integers(0, 40))
def test_a_review_with_any_bytes_in_it_is_answered(noise: bytes, at: int, cut: int) -> None:
    body = json.dumps(review(asking("p"))).encode()
    stands_up(body[:at] + noise + body[at + cut :])
    stands_up(noise)
