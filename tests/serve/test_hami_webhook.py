"""Admission reviews as a real API server sent them, to HAMi's webhook and by themselves, answered over TLS."""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import jsonpatch
import pytest

from tests.serve.rounds import Round
from tests.serve.running import Client, Numafit

DATA: Final = Path(__file__).parents[1] / "data"
Review = Mapping[str, Any]


def lines(name: str) -> list[Any]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


EXCHANGES: Final = lines("hami-webhook-exchanges.jsonl")
REVIEWS: Final = lines("admission-reviews.jsonl")

REFUSALS: Final = (
    ("hami.io/numa-alignment annotation", "alignment-unknown"),
    ("is privileged", "privileged-gpu"),
    ("has node assigned", "node-name-preset"),
    ("is written by the scheduler", "forged-reservation"),
    ("exceeding resource quota", "quota-never-fits"),
)
"""HAMi's words in a refusal -> numafit's code."""

ONLY_GPU_PODS: Final = "only-gpu-pods-are-judged (docs/decisions.md 1)"
UNKNOWN_SURVIVES: Final = "unknown-fields-survive (docs/decisions.md 13)"


def deviation(exchange: Mapping[str, Any]) -> str:
    """The name of the rule by which numafit answers otherwise, empty where it answers as HAMi did."""
    response = exchange["response"]
    refused = not response["body"]["response"]["allowed"]
    pod = exchange["request"]["body"]["request"]["object"]
    if refused and not asks_for_gpus(pod) and "numa-alignment" in message(response["body"]):
        return ONLY_GPU_PODS
    removed = any(operation["op"] == "remove" for operation in response["patch_decoded"] or ())
    return UNKNOWN_SURVIVES if removed else ""


def asks_for_gpus(pod: Mapping[str, Any]) -> bool:
    return '"nvidia.com/gpu' in json.dumps([container["resources"] for container in pod["spec"]["containers"]])


def message(review: Review) -> str:
    return str(review["response"].get("status", {}).get("message", ""))


def codes(review: Review) -> list[str]:
    """The codes of refusals and of warnings, in the order in which they are said."""
    said = [message(review), *review["response"].get("warnings", ())]
    return re.findall(r"^([a-z-]+): ", "\n".join(said), re.MULTILINE)


def patch(review: Review) -> list[dict[str, Any]]:
    response = review["response"]
    assert ("patch" in response) == ("patchType" in response)
    return list(json.loads(base64.b64decode(response.get("patch", "W10="))))


def stored(asked: Review, operations: list[dict[str, Any]]) -> dict[str, Any]:
    """The pod as it would be stored."""
    return dict(jsonpatch.apply_patch(deepcopy(asked["request"]["object"]), json.dumps(operations)))


def without_marks(pod: dict[str, Any]) -> dict[str, Any]:
    """The pod without what only numafit writes on it."""
    annotations = pod["metadata"].pop("annotations", {})
    kept = {key: value for key, value in annotations.items() if not key.startswith("numafit.io/")}
    pod["metadata"] |= {"annotations": kept} if kept else {}
    return pod


@pytest.fixture(scope="module")
def client(serve: Callable[..., Numafit]) -> Iterator[Client]:
    """A client of a server whose cluster has room for the recorded pods, and their quota."""
    server = serve(Round(quota=(20000, 60)).objects()).wait_until_up()
    with Client(server) as client:
        yield client
    server.kill()


@pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda exchange: exchange["case"])
def test_a_review_sent_to_hami_is_answered_as_hami_did_or_as_a_rule_says(
    client: Client, exchange: Mapping[str, Any]
) -> None:
    asked, hami, rule = exchange["request"]["body"], exchange["response"]["body"], deviation(exchange)
    answer = client.say("/webhook?timeout=10s", asked)
    assert answer["response"]["uid"] == asked["request"]["uid"]
    assert answer["response"]["allowed"] is (hami["response"]["allowed"] or rule == ONLY_GPU_PODS)
    if not answer["response"]["allowed"]:
        assert codes(answer)[:1] == [code for words, code in REFUSALS if words in message(hami)]
        assert answer["response"]["status"]["code"] == hami["response"]["status"]["code"] == 403
        assert answer["response"]["status"]["reason"] == hami["response"]["status"]["reason"] == "Forbidden"
    theirs = [one for one in exchange["response"]["patch_decoded"] or () if one["op"] != "remove"]
    assert without_marks(stored(asked, patch(answer))) == stored(asked, theirs)


def test_each_deviation_is_seen_as_often_as_it_was_recorded() -> None:
    found = list(map(deviation, EXCHANGES))
    assert {name: found.count(name) for name in found} == {"": 18, ONLY_GPU_PODS: 1, UNKNOWN_SURVIVES: 1}


def test_a_field_that_nobody_knows_is_still_there_after_the_patch(client: Client) -> None:
    asked = next(exchange for exchange in EXCHANGES if deviation(exchange) == UNKNOWN_SURVIVES)["request"]["body"]
    pod = stored(asked, patch(client.say("/webhook", asked)))
    assert {key for key in pod["spec"] if key.startswith("future")} == {"futurePodField"}
    assert pod["spec"]["containers"][0]["futureContainerField"] is not None


def test_a_misspelt_alignment_without_gpus_is_warned_about(client: Client) -> None:
    asked = next(exchange for exchange in EXCHANGES if deviation(exchange) == ONLY_GPU_PODS)["request"]["body"]
    assert codes(client.say("/webhook", asked)) == ["not-a-gpu-pod"]


@pytest.mark.parametrize(
    "asked", [*(one["request"]["body"] for one in EXCHANGES), *REVIEWS], ids=lambda asked: asked["request"]["uid"]
)
def test_a_patched_pod_is_patched_no_more(client: Client, asked: Review) -> None:
    first = client.say("/webhook", asked)
    if first["response"]["allowed"]:
        again = deepcopy(dict(asked))
        again["request"]["object"] = stored(asked, patch(first))
        second = client.say("/webhook", again)
        assert (second["response"]["allowed"], patch(second)) == (True, [])
        assert codes(second) == codes(first)


ANSWERS: Final[list[tuple[bool, list[str], list[tuple[str, str]]]]] = [
    (True, [], [("/spec/schedulerName", "hami-scheduler"), ("injected", "schedulerName"), ("judged", "")]),
    (True, [], [("/spec/schedulerName", "hami-scheduler"), ("injected", "schedulerName"), ("judged", "")]),
    (True, [], []),
    (False, ["bind-not-boolean"], []),
    (
        True,
        ["pinned-no-room-to-refit", "pinned-whole-card-replicated"],
        [
            ("/spec/schedulerName", "hami-scheduler"),
            ("/spec/containers/0/resources/limits/nvidia.com~1gpucores", "100"),
            ("injected", "schedulerName,main:nvidia.com/gpucores=100"),
            ("judged", ""),
        ],
    ),
]
"""For each recorded review: the verdict, the codes, and paths and values of the patch."""


@pytest.fixture(scope="module")
def recorded(serve: Callable[..., Numafit]) -> Iterator[Client]:
    """A client of a server on the recorded cluster."""
    document = json.loads((DATA / "hami-cluster.json").read_text(encoding="utf-8"))
    server = serve(document["items"]).wait_until_up()
    with Client(server) as client:
        yield client
    server.kill()


@pytest.mark.parametrize(("asked", "expected"), list(zip(REVIEWS, ANSWERS, strict=True)))
def test_a_review_of_a_real_api_server_is_answered_exactly(
    recorded: Client, asked: Review, expected: tuple[bool, list[str], list[tuple[str, str]]]
) -> None:
    answer = recorded.say("/webhook", asked)
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    allowed, said, patched = expected
    assert answer["response"]["allowed"] is allowed
    assert codes(answer) == said
    operations = patch(answer)
    assert {operation["op"] for operation in operations} <= {"add"}
    prefix = "/metadata/annotations/numafit.io~1"
    found = [(one["path"].removeprefix(prefix), one["value"]) for one in operations]
    assert [(path, "" if path == "judged" else value) for path, value in found] == patched
    assert all(re.fullmatch("[0-9a-f]{12}", value) for path, value in found if path == "judged")
