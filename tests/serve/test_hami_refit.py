"""What device plugins asked HAMi's refit is asked numafit's, over TLS; each difference is a rule."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Final

import pytest

from tests.serve.exchanges import MIB, Exchange, recorded
from tests.serve.refit_rules import LIVE_TOKENS, RULES, Answered, Rule, is_same, rule_of
from tests.serve.rounds import Round, rounds
from tests.serve.running import TOKEN, Numafit
from webhook.caller import TokenFile
from webhook.cluster.file import FileCluster
from webhook.levels.source import LevelsSource
from webhook.refit import Refit, Rules


def left_out(exchange: Exchange) -> str:
    """Why an exchange cannot be repeated, empty if it can."""
    if exchange.response["status"] is None:
        return "HAMi did not answer"
    if exchange.request["version"] == "HTTP/2":
        return "HTTP/2 is not offered"
    if any(word in exchange.reason for word in ("TimeSlicing", "InsufficientCore")):
        return "what other pods hold was not recorded"
    return ""


ROUNDS: Final = rounds(exchange for exchange in recorded() if not left_out(exchange))
REPEATED: Final = [(number, exchange) for number, one in enumerate(ROUNDS) for exchange in one.exchanges]


@dataclass(slots=True)
class Stage:
    """One round's server, and the same operation on the same file in this process."""

    server: Numafit
    cluster: FileCluster
    refit: Refit

    def send(self, exchange: Exchange) -> Answered:
        """Send the bytes as recorded, with the tokens of this test."""
        with self.server.connect() as sock:
            sock.sendall(head(exchange, self.server.port) + exchange.body)
            with HTTPResponse(sock, method=exchange.request["method"]) as answer:
                answer.begin()
                assert answer.status != 200 or answer.getheader("Content-Type") == "application/json"
                return Answered(answer.status, answer.read(), answer.getheader("Location"))

    def decide(self, exchange: Exchange) -> Answered:
        """Ask the operation itself."""
        tokens = ",".join(token_sent(token) for token in exchange.tokens)
        answer = self.refit.handle(exchange.body, {"Authorization": tokens} if tokens else {})
        return Answered(answer.status, answer.body)

    def annotations(self, exchange: Exchange) -> Mapping[str, str | None] | None:
        """What the pod carries now of what was recorded."""
        state = self.cluster.facts().reservation(exchange.asked.get("podUID", ""))
        return None if state is None else {key: state.pod.annotations.get(key) for key in exchange.after or {}}


def head(exchange: Exchange, port: int) -> bytes:
    """Request line and header; only host and token are those of this test."""
    request = exchange.request
    own = {"Host": lambda _: f"localhost:{port}", "Authorization": token_sent}
    lines = [f"{name}: {own.get(name, str)(value)}" for name, value in request["headers"]]
    return "\r\n".join([f"{request['method']} {request['path']} {request['version']}", *lines, "\r\n"]).encode()


def token_sent(recorded: str) -> str:
    """The recorded header with the shared token in the place of a live one."""
    for live in LIVE_TOKENS:
        recorded = recorded.replace(live.removeprefix("Bearer "), TOKEN)
    return recorded


@pytest.fixture(scope="module")
def stages(serve: Callable[..., Numafit]) -> Iterator[list[Stage]]:
    servers = [serve(one.objects()) for one in ROUNDS]
    yield [stage(server) for server in servers]
    for server in servers:
        server.kill()


def stage(server: Numafit) -> Stage:
    server.wait_until_up()
    levels = LevelsSource(None).current
    cluster = FileCluster.load([server.directory / "cluster.json"])
    tokens = TokenFile(server.directory / "token")
    rules = Rules(levels.operator.hami, levels.order)
    refit = Refit(cluster, lambda: rules, lambda token, _: tokens.check(token), lambda _result, _code: None)
    return Stage(server, cluster, refit)


@pytest.mark.parametrize(("number", "exchange"), REPEATED, ids=[exchange.case for _, exchange in REPEATED])
def test_numafit_answers_as_hami_did_or_as_a_rule_says(stages: list[Stage], number: int, exchange: Exchange) -> None:
    stage, rule = stages[number], rule_of(exchange)
    answer = stage.send(exchange)
    assert is_same(exchange, answer) if rule is None else rule.holds(exchange, answer), (rule and rule.name, answer)
    if answer.status == 200 and len(exchange.body) <= MIB:
        assert answer.body == stage.decide(exchange).body
    if rule is None and stage.annotations(exchange) is not None:
        assert stage.annotations(exchange) == exchange.after


def test_the_recorded_bodies_are_sent_at_their_length() -> None:
    assert [exchange.case for exchange in recorded() if len(exchange.body) != exchange.request["body_bytes"]] == []


def test_each_exchange_is_repeated_or_left_out_for_a_reason() -> None:
    rules = (rule_of(exchange) for _, exchange in REPEATED)
    assert Counter(rule.name if rule else "as HAMi" for rule in rules) == {
        "as HAMi": 94,
        "callers-are-known-by-one-token": 9,
        "one-of-several-cards": 6,
        "conflicts-are-decided-anew": 4,
        "cards-in-own-order": 2,
        "one-token-for-all-nodes": 2,
        "too-large-is-called-so": 2,
        "no-redirects": 2,
        "unreadable-pods-stay-known": 1,
        "own-writes-pass": 1,
        "host-header-is-not-needed": 1,
        "two-tokens-are-none": 1,
    }
    assert Counter(filter(None, map(left_out, recorded()))) == {
        "HAMi did not answer": 2,
        "HTTP/2 is not offered": 1,
        "what other pods hold was not recorded": 3,
    }


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_can_fail(rule: Rule) -> None:
    exchange = next(exchange for _, exchange in REPEATED if rule_of(exchange) is rule)
    refused = Answered(200, b'{"succeeded":false,"failureReason":"refit-internal: x"}')
    elsewhere = Answered(200, b'{"succeeded":true,"containerDevices":"other,NVIDIA,1,1:"}')
    assert not rule.holds(exchange, refused)
    assert not rule.holds(exchange, elsewhere)


def test_the_codes_in_refusals_are_stable_words_before_the_reason() -> None:
    answer = Answered(200, json.dumps({"succeeded": False, "failureReason": "refit-no-fit: why: so"}).encode())
    assert (answer.code, answer.reason, answer.devices) == ("refit-no-fit", "refit-no-fit: why: so", "")


def test_a_round_holds_each_pod_in_one_state() -> None:
    one = Round()
    taken = [exchange for exchange in recorded() if one.takes(exchange)]
    assert 0 < len(taken) < len(recorded())
    assert all(one.pods[e.asked["podUID"]] == e.before for e in taken if e.asked.get("podUID") in one.pods)
