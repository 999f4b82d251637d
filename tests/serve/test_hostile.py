"""Whatever is sent to whichever operation: a timely answer below 500, no traceback, nothing of it in the log."""

import json
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Final

import pytest

from policy.keys import REGISTER
from tests.serve import hostile
from tests.serve.objects import asking, card, node, placed, refit, review
from tests.serve.running import Client, Numafit

ANSWER_SECONDS: Final = 2.0
"""The device plugin waits no longer; of these the worker may compute so many on one request."""

LOG_LINE: Final = 4096
IN_BAND: Final = ("/refit", "/filter", "/bind")


@pytest.fixture(scope="module")
def server(serve: Callable[..., Numafit]) -> Iterator[Numafit]:
    server = serve([node("n", cards=8), placed("p", "n", 0)]).wait_until_up()
    yield server
    server.kill()


@pytest.fixture
def client(server: Numafit) -> Iterator[Client]:
    """A client; afterwards the server is asked whether it is as well as before."""
    with Client(server) as client:
        yield client
        assert client.say("/refit", refit("p", "n", [0]))["succeeded"] is True
    assert not [line for line in server.log if "Traceback" in line or len(line) > LOG_LINE]
    assert server.metric('numafit_refits_total{code="refit-internal",result="refused"}') == 0
    assert server.metric('numafit_requests_total{path="/webhook",verdict="failed"}') == 0


def check(server: Numafit, client: Client, path: str, body: object) -> None:
    before = server.cpu_seconds()
    status, answer = client.post(path, body)
    assert server.cpu_seconds() - before < ANSWER_SECONDS
    assert status == 200 if path in IN_BAND else status in {200, 400}, answer[:200]
    if status == 200:
        said = json.loads(answer)
        assert "succeeded" in said if path == "/refit" else said is not None


@pytest.mark.parametrize("path", ["/webhook", *IN_BAND])
@pytest.mark.parametrize("body", hostile.RAW.values(), ids=hostile.RAW)
def test_any_bytes_are_answered(server: Numafit, client: Client, path: str, body: bytes) -> None:
    check(server, client, path, body)


LITERALS: Final = {
    place: [body for _, _, body in found]
    for place, found in groupby(hostile.with_literals(), lambda case: " ".join(case[0].split(" ")[:2]))
}


@pytest.mark.parametrize("place", LITERALS)
def test_any_value_in_any_place_is_answered(server: Numafit, client: Client, place: str) -> None:
    for body in LITERALS[place]:
        check(server, client, place.partition(" ")[0], body)


LARGE: Final = list(hostile.large_pods())


@pytest.mark.parametrize("at", range(len(LARGE)), ids=[name for name, _ in LARGE])
def test_a_pod_that_is_long_in_one_respect_is_judged_and_placed_in_time(
    server: Numafit, client: Client, at: int
) -> None:
    _, pod = LARGE[at]
    check(server, client, "/webhook", review(pod))
    own = {"uid": f"long-{at}", "name": pod["metadata"]["name"] + str(at)}
    check(
        server, client, "/filter", {"pod": {**pod, "metadata": {**pod["metadata"], **own}}, "nodenames": ["n"] * 10_000}
    )


def test_a_body_that_is_not_what_its_header_says_is_read_as_what_it_is(client: Client) -> None:
    headers = {"Content-Encoding": "gzip", "Content-Type": "image/png"}
    assert client.post("/webhook", review(asking("p")), headers)[0] == 200


def broken_nodes() -> Iterator[tuple[str, str, str]]:
    whole = node("huge", cards=10_000)["metadata"]["annotations"][REGISTER]
    yield "nulls", "[null]", "entry 0 of hami.io/node-nvidia-register is null"
    yield "half", whole[:1000], "hami.io/node-nvidia-register is "
    yield "huge", whole, "hami.io/node-nvidia-register has 1595560 characters; at most 262144 are read"
    yield "deep", "[" * 100_000, "hami.io/node-nvidia-register is "
    yield "text", "not JSON at all", "hami.io/node-nvidia-register is "


def test_a_node_that_nobody_can_read_is_named_and_the_others_are_served(serve: Callable[..., Numafit]) -> None:
    broken = [
        {**node(name), "metadata": {"name": name, "annotations": {REGISTER: text}}} for name, text, _ in broken_nodes()
    ]
    server = serve([*broken, node("n"), placed("p", "n", 0)]).wait_until_up()
    assert server.cpu_seconds() < ANSWER_SECONDS
    warnings = [line.partition(" warning ")[2] for line in server.log if " warning " in line]
    with Client(server) as client:
        for name, _, what in broken_nodes():
            told = [line for line in warnings if line.startswith(f"cluster: Node {name}: ")]
            assert len(told) == 1
            assert what in told[0]
            assert len(told[0]) < LOG_LINE
            refused = client.say("/filter", {"pod": asking(f"for-{name}"), "nodenames": [name]})
            assert refused["failedNodes"][name].startswith("node usage unavailable: ")
        assert client.say("/refit", refit("p", "n", [1]))["containerDevices"] == f"{card('n', 1)},NVIDIA,1000,1:"
        assert client.say("/webhook", review(asking("p")))["response"]["allowed"] is True
    page = server.ops("/readyz?verbose")[1]
    assert page.count("[!] cluster: Node ") == len(broken)
    server.kill()
