"""What the operator sees: health, readiness, metrics, the log."""

import http.client
import json
from collections.abc import Callable
from pathlib import Path

from tests.server.running import ROOT, Server


def test_the_plain_port_has_health_and_metrics_and_no_operation(server: Server) -> None:
    assert server.ops("/healthz") == (200, "ok\n")
    assert server.ops("/readyz") == (200, "ready\n")
    assert server.ops("/readyz?verbose") == (200, "[+] drain\n[+] facts\nready\n")
    assert server.ops("/webhook")[0] == 404
    client = http.client.HTTPConnection("127.0.0.1", server.ops_port, timeout=10)
    for path, status in (("/webhook", 404), ("/refit", 404), ("/metrics", 405)):
        client.request("POST", path, b"{}")
        answer = client.getresponse()
        assert (answer.status, b"<" in answer.read()) == (status, False)
    client.close()


def test_readiness_names_the_check_that_fails_and_why(server: Server, pair: Path) -> None:
    marker = pair / "unready"
    marker.write_text("the facts are 90 s old")
    try:
        assert server.ops("/readyz") == (503, "[-] facts: the facts are 90 s old\nnot ready\n")
        assert server.ops("/readyz?verbose") == (503, "[+] drain\n[-] facts: the facts are 90 s old\nnot ready\n")
        assert server.ops("/healthz") == (200, "ok\n")
    finally:
        marker.unlink()


def test_requests_are_counted_by_path_and_verdict_with_closed_labels(server: Server) -> None:
    allowed = 'numafit_requests_total{path="/refit",verdict="allowed"}'
    unknown = 'numafit_requests_total{path="other",verdict="http-404"}'
    before = server.metric(allowed), server.metric(unknown)
    server.post("/refit", b"x")
    server.post("/some/path", b"x")
    assert (server.metric(allowed), server.metric(unknown)) == (before[0] + 1, before[1] + 1)
    text = server.ops("/metrics")[1]
    assert "/some/path" not in text
    for line in (
        'numafit_findings_total{code="pinned-fewer-than-requested",level="enforce"} 1.0',
        'numafit_refits_total{code="",result="moved"} 1.0',
        "numafit_facts_age_seconds 1.5",
        "numafit_certificate_expiry_timestamp_seconds 1.8e+09",
        "numafit_certificate_problem 0.0",
        "numafit_levels_problem 0.0",
        "numafit_in_flight 0.0",
    ):
        assert f"{line}\n" in text
    assert 'numafit_request_duration_seconds_bucket{le="0.0005",path="/refit"}' in text
    assert 'numafit_build_info{python="3.' in text
    assert "_created" not in text


def test_each_decision_is_one_line_without_token_or_body(server: Server) -> None:
    client = server.client()
    client.request("POST", "/refit", b"the-body", {"Authorization": "Bearer the-token", "Content-Type": "a b"})
    client.getresponse().read()
    client.close()
    line = server.line('type="a b"')
    assert " info decision path=/refit verdict=allowed ms=" in line
    assert line.endswith(' uid=u-1 bytes=8 type="a b"')
    assert not [line for line in server.log if "the-token" in line or "the-body" in line]


def test_a_json_log_has_one_object_per_line(start: Callable[..., Server]) -> None:
    server = start("log.format=json", "drain_seconds=0").wait_until_up()
    server.post("/webhook", b'{"a": "b c"}')
    server.post("/webhook", b"raise x")
    server.process.terminate()
    assert server.end() == 0
    lines = [json.loads(line) for line in server.log]
    assert {line["level"] for line in lines} == {"info", "error"}
    decision = next(line for line in lines if line["message"] == "decision")
    assert {"path": "/webhook", "verdict": "refused", "codes": ["failed"]}.items() <= lines[-1].items()
    assert (decision["uid"], type(decision["ms"])) == ("u-1", float)


def test_the_page_about_metrics_has_a_row_for_each(server: Server) -> None:
    lines = (ROOT / "docs/metrics.md").read_text().splitlines()
    documented = {line.split("`")[1] for line in lines if line.startswith("| `")}
    served = {line.split(" ")[2] for line in server.ops("/metrics")[1].splitlines() if line.startswith("# TYPE")}
    assert documented == served
