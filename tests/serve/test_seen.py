"""What an operator sees of a scripted sequence of requests: metrics, one line for each decision, and no secret."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pytest

from tests.serve.objects import asking, node, placed, refit, review
from tests.serve.running import TOKEN, Client, Numafit

SECRET: Final = "hunter2"

GOOD: Final = review(asking("good"), uid="u-good")
WARNED: Final = review(asking("warned", annotations={"nvidia.com/use-gpuuuid": "GPU-n-0,GPU-n-0"}), uid="u-warned")
REFUSED: Final = review(asking("refused", annotations={"nvidia.com/numa-bind": "yes"}), uid="u-refused")
OTHER_KIND: Final = review(
    {"metadata": {"generateName": {"token": SECRET}}, "data": SECRET}, kind={"group": "", "kind": "Secret"}, uid="u-o"
)

SCRIPT: Final[list[tuple[str, Any, Mapping[str, str]]]] = [
    ("/webhook", GOOD, {}),
    ("/webhook", {**GOOD, "request": {**GOOD["request"], "dryRun": True}}, {}),
    ("/webhook", WARNED, {}),
    ("/webhook", REFUSED, {}),
    ("/webhook", OTHER_KIND, {}),
    ("/webhook", {"kind": SECRET}, {}),
    ("/refit", refit("p", "n", [1]), {"Authorization": f"Bearer {TOKEN}"}),
    ("/refit", refit("p", "n", [1]), {"Authorization": f"Bearer {TOKEN}"}),
    ("/refit", refit("p", "n", [1]), {"Authorization": f"Bearer {SECRET}"}),
    ("/refit", {**refit("p", "n", [1]), "containerName": "other"}, {"Authorization": f"Bearer {TOKEN}"}),
    ("/refit", {"podUID": [SECRET]}, {"Authorization": f"Bearer {TOKEN}"}),
    ("/filter", {"pod": asking("new"), "nodenames": ["n"]}, {}),
    ("/filter", {"pod": asking("huge", 50_000), "nodenames": ["n"]}, {}),
    ("/bind", {"podName": "new", "podNamespace": "default", "podUID": "uid-new", "node": "n"}, {}),
    ("/bind", {"podName": "new", "podNamespace": "default", "podUID": "uid-new", "node": "m"}, {}),
]

LINES: Final = [
    "path=/webhook verdict=allowed operation=CREATE namespace=default name=good uid=u-good injected=schedulerName",
    (
        "path=/webhook verdict=allowed operation=CREATE namespace=default name=good uid=u-good injected=schedulerName "
        "dry_run=True"
    ),
    (
        "path=/webhook verdict=warned operation=CREATE namespace=default name=warned uid=u-warned "
        "codes=pin-duplicate/warn injected=schedulerName"
    ),
    (
        "path=/webhook verdict=refused operation=CREATE namespace=default name=refused uid=u-refused "
        "codes=bind-not-boolean/enforce"
    ),
    'path=/webhook verdict=allowed operation=CREATE namespace=default name="" uid=u-o',
    (
        'path=/webhook verdict=error error="the body is no AdmissionReview: Object missing required field `request`; '
        'send admission.k8s.io/v1 as the API server does"'
    ),
    "path=/refit verdict=moved namespace=default name=p uid=uid-p node=n container=0 allowed=1 old=GPU-n-0 new=GPU-n-1",
    "path=/refit verdict=kept namespace=default name=p uid=uid-p node=n container=0 allowed=1",
    (
        "path=/refit verdict=refused namespace=default name=p uid=uid-p node=n container=0 allowed=1 "
        'codes=caller-token-invalid reason="caller authentication: the token is not the expected one"'
    ),
    (
        "path=/refit verdict=refused namespace=default name=p uid=uid-p node=n container=0 allowed=1 "
        'codes=refit-container-name reason="container 0 of default/p is \\"main\\", not \'other\'"'
    ),
    'path=/refit verdict=refused codes=refit-malformed reason="podUID is a list; it must be text"',
    "path=/filter verdict=placed namespace=default name=new uid=uid-new nodes=1 node=n",
    "path=/filter verdict=nowhere namespace=default name=huge uid=uid-huge nodes=0",
    "path=/bind verdict=bound namespace=default name=new uid=uid-new node=n",
    (
        "path=/bind verdict=error namespace=default name=new uid=uid-new node=m "
        "error=\"pod default/new holds its cards on node n, not on 'm'\""
    ),
]

SERIES: Final = {
    'numafit_requests_total{path="/webhook",verdict="allowed"}': 3,
    'numafit_requests_total{path="/webhook",verdict="warned"}': 1,
    'numafit_requests_total{path="/webhook",verdict="refused"}': 1,
    'numafit_requests_total{path="/webhook",verdict="error"}': 1,
    'numafit_requests_total{path="/refit",verdict="moved"}': 1,
    'numafit_requests_total{path="/refit",verdict="kept"}': 1,
    'numafit_requests_total{path="/refit",verdict="refused"}': 3,
    'numafit_requests_total{path="/filter",verdict="placed"}': 1,
    'numafit_requests_total{path="/filter",verdict="nowhere"}': 1,
    'numafit_requests_total{path="/bind",verdict="bound"}': 1,
    'numafit_requests_total{path="/bind",verdict="error"}': 1,
    'numafit_findings_total{code="pin-duplicate",level="warn"}': 1,
    'numafit_findings_total{code="bind-not-boolean",level="enforce"}': 1,
    'numafit_refits_total{code="",result="moved"}': 1,
    'numafit_refits_total{code="",result="kept"}': 1,
    'numafit_refits_total{code="caller-token-invalid",result="refused"}': 1,
    'numafit_refits_total{code="refit-container-name",result="refused"}': 1,
    'numafit_refits_total{code="refit-malformed",result="refused"}': 1,
    'numafit_request_duration_seconds_count{path="/webhook"}': 6,
    'numafit_request_duration_seconds_count{path="/refit"}': 5,
    "numafit_in_flight": 0,
    "numafit_certificate_problem": 0,
    "numafit_levels_problem": 0,
}


@pytest.fixture(scope="module", params=["text", "json"])
def server(serve: Callable[..., Numafit], request: pytest.FixtureRequest) -> Iterator[Numafit]:
    """A server to which the script was sent once."""
    server = serve([node("n"), placed("p", "n", 0)], f"--log-format={request.param}").wait_until_up()
    with Client(server) as client:
        for path, body, headers in SCRIPT:
            client.post(path, body, headers)
    yield server
    server.kill()


def plain_lines(server: Numafit) -> list[str]:
    """The decision lines without their duration."""
    return [re.sub(r" ms=[0-9.]+", "", line) for line in server.decisions()]


def test_each_request_leaves_one_line_with_its_codes(server: Numafit) -> None:
    server.line("holds its cards on node")
    told = [json.loads(line) for line in server.log if line.startswith("{")]
    if told:
        found = [one for one in told if one["message"] == "decision"]
        assert [(one["path"], one["verdict"]) for one in found] == [
            tuple(re.findall(r"(?:path|verdict)=(\S+)", line)) for line in LINES
        ]
        assert [one["codes"] for one in found if "codes" in one] == [
            line.partition("codes=")[2].split(" ")[0].split(",") for line in LINES if "codes=" in line
        ]
    else:
        assert plain_lines(server) == LINES


def test_no_line_holds_a_token_or_what_was_in_a_body(server: Numafit) -> None:
    assert [line for line in server.log if SECRET in line or TOKEN in line] == []


@pytest.mark.parametrize(("series", "value"), SERIES.items())
def test_each_request_is_counted_once(server: Numafit, series: str, value: float) -> None:
    assert f"\n{series} {float(value)}\n" in server.ops("/metrics")[1] or value == 0
    assert server.metric(series) == value


def test_durations_begin_at_half_a_millisecond_and_gauges_say_how_old_and_until_when(server: Numafit) -> None:
    page = server.ops("/metrics")[1]
    bounds = re.findall(r'duration_seconds_bucket\{le="([^"]+)",path="/refit"\}', page)
    assert bounds[:3] == ["0.0005", "0.001", "0.0025"]
    assert server.metric("numafit_certificate_expiry_timestamp_seconds") > 1_700_000_000
    assert re.search(r"^numafit_facts_age_seconds \d", page, re.MULTILINE)
    assert re.search(r'^numafit_build_info\{python="[0-9.]+",version="[^"]+"\} 1.0$', page, re.MULTILINE)


def test_the_readiness_page_lists_what_was_checked(server: Numafit) -> None:
    assert server.ops("/readyz?verbose") == (200, "[+] drain\n[+] certificate\nready\n")
    assert server.ops("/healthz") == (200, "ok\n")


def test_requests_above_what_may_be_in_hand_are_shed_in_each_operations_way(serve: Callable[..., Numafit]) -> None:
    server = serve([node("n"), placed("p", "n", 0)], "--limits-held-bytes=1024").wait_until_up()
    large = asking("large", annotations={"note": "x" * 300_000})
    with Client(server) as client:
        assert client.post("/webhook", review(large)) == (429, b"too many requests in hand; ask again\n")
    asked = {**refit("p", "n", [1]), "note": "x" * 300_000}
    said = {"succeeded": False, "failureReason": "refit-overloaded: too many requests in hand; ask again"}
    assert server.say("/refit", asked) == said
    error = {"error": "too many requests in hand; ask again"}
    assert server.say("/filter", {"pod": large, "nodenames": ["n"]}) == error
    for path in ("/webhook", "/refit", "/filter"):
        assert server.metric(f'numafit_shed_total{{path="{path}"}}') == 1
    assert server.metric('numafit_refits_total{code="refit-overloaded",result="refused"}') == 1
    assert server.metric('numafit_requests_total{path="/webhook",verdict="shed"}') == 1
    server.kill()
