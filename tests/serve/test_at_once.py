"""Many requests at the same time, on one node and for one share: nothing is given away twice."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from policy.hami.codec import decode
from policy.keys import USE_UUID
from tests.serve.objects import asking, card, node, placed, refit, review
from tests.serve.running import Client, Numafit

Body = dict[str, Any]

CONNECTIONS: Final = 25
"""As many as the API server keeps open to one webhook."""

CROWD: Final = 200
GAMES: Final = 20


def crowd() -> Iterator[Mapping[str, Any]]:
    """One node: four cards that 200 pods hold, and two free ones that can hold 50 of them each."""
    yield node("busy", cards=6, slots=50)
    yield from (placed(f"p{number}", "busy", number % 4, memory=800) for number in range(CROWD))


def games() -> Iterator[Mapping[str, Any]]:
    """In each game two pods hold card 0, card 1 has room for one of them, and a third pod wants it too."""
    for game in range(GAMES):
        yield node(f"n{game}", slots=2)
        yield placed(f"filler{game}", f"n{game}", 1, memory=20000)
        yield from (placed(f"{one}{game}", f"n{game}", 0, memory=20000) for one in ("left", "right"))


@pytest.fixture(scope="module")
def server(serve: Callable[..., Numafit]) -> Iterator[Numafit]:
    server = serve([*crowd(), *games()]).wait_until_up()
    yield server
    server.kill()


def at_once(server: Numafit, requests: list[tuple[str, Body]], connections: int) -> list[Any]:
    """Ask all of ``requests`` over so many connections that are kept alive; they start together."""
    barrier, mine = threading.Barrier(connections), threading.local()
    clients: list[Client] = []

    def connect() -> None:
        mine.client = Client(server)
        clients.append(mine.client)
        mine.client.say("/webhook", review(asking("warm")))
        barrier.wait()

    def ask(request: tuple[str, Body]) -> Any:
        return mine.client.say(*request)

    with ThreadPoolExecutor(connections, initializer=connect) as pool:
        answers = list(pool.map(ask, requests))
    for client in clients:
        client.__exit__(None, None, None)
    return answers


def test_200_refits_on_one_node_never_fill_a_card_beyond_what_it_has(server: Numafit) -> None:
    requests = [("/refit", refit(f"p{number}", "busy", [4, 5])) for number in range(CROWD)]
    answers = at_once(server, requests, CONNECTIONS)
    moved = [decode(answer["containerDevices"])[0][0] for answer in answers if answer["succeeded"]]
    # 40,000 MiB hold 50 shares of 800, and a card has 50.
    assert Counter(device.uuid for device in moved) == {card("busy", 4): 50, card("busy", 5): 50}
    refusals = [answer["failureReason"] for answer in answers if not answer["succeeded"]]
    assert len(refusals) == CROWD - 100
    assert {reason.partition(":")[0] for reason in refusals} == {"refit-no-fit"}
    assert server.metric('numafit_refits_total{code="",result="moved"}') == 100
    assert server.metric('numafit_refits_total{code="refit-no-fit",result="refused"}') == 100
    assert at_once(server, requests, CONNECTIONS) == answers, "each gets the same answer when it asks again"
    assert server.metric('numafit_refits_total{code="",result="kept"}') == 100
    assert server.metric('numafit_requests_total{path="/refit",verdict="moved"}') == 100
    assert server.metric('numafit_request_duration_seconds_count{path="/refit"}') == 2 * CROWD
    assert server.reaches("numafit_in_flight", 0)


@pytest.mark.parametrize("game", range(GAMES))
def test_two_refits_and_a_new_pod_compete_for_the_last_share_and_one_of_them_has_it(server: Numafit, game: int) -> None:
    wanted, here = {USE_UUID: card(f"n{game}", 1)}, f"n{game}"
    newcomer = {"pod": asking(f"new{game}", 20000, wanted), "nodenames": [here]}
    requests = [
        ("/refit", refit(f"left{game}", here, [1])),
        ("/refit", refit(f"right{game}", here, [1])),
        ("/filter", newcomer),
    ]
    turned = requests[game % 3 :] + requests[: game % 3]
    answers = at_once(server, turned, 3)
    winners = [one for one in answers if one.get("succeeded") or one.get("nodenames") == [here]]
    assert len(winners) == 1, json.dumps(answers)


def test_one_refit_asked_many_times_at_once_moves_once(serve: Callable[..., Numafit]) -> None:
    server = serve([node("n"), placed("p", "n", 0)]).wait_until_up()
    answers = at_once(server, [("/refit", refit("p", "n", [1]))] * 100, CONNECTIONS)
    assert answers == [{"succeeded": True, "containerDevices": f"{card('n', 1)},NVIDIA,1000,1:"}] * 100
    assert server.metric('numafit_refits_total{code="",result="moved"}') == 1
    assert server.metric('numafit_refits_total{code="",result="kept"}') == 99
    server.kill()


def test_25_connections_of_reviews_are_all_answered_and_counted(server: Numafit) -> None:
    series = 'numafit_requests_total{path="/webhook",verdict="allowed"}'
    before = server.metric(series)
    asked = [("/webhook", review(asking(f"a{number}"), uid=f"u-{number}")) for number in range(500)]
    answers = at_once(server, asked, CONNECTIONS)
    assert [answer["response"]["uid"] for answer in answers] == [f"u-{number}" for number in range(500)]
    assert {answer["response"]["allowed"] for answer in answers} == {True}
    assert server.metric(series) == before + 500 + CONNECTIONS
