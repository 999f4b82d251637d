"""Nodes' cards: HAMi's formats are read, and hostile values end as an error that says what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.facts import UNKNOWN_NUMA, Card
from policy.hami.register import (
    MAX_CARDS,
    RegisterError,
    parse_cards,
    physical_id,
    read_cards,
    read_cordon,
    read_legacy,
    read_pair_scores,
)
from policy.keys import REGISTER

RECORDED = Path(__file__).parents[2] / "data" / "hami-cluster.json"

few = settings(max_examples=80, deadline=None)

FIELDS = {"id", "index", "count", "devmem", "devcore", "type", "numa", "mode", "health", "migProfiles"}
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5)
OBJECTS = st.dictionaries(st.sampled_from(sorted(FIELDS)), SCALARS)


def register(*cards: dict[str, Any]) -> str:
    return json.dumps(cards)


def test_reads_every_field() -> None:
    text = register(
        {
            "id": "GPU-a",
            "index": 3,
            "count": 10,
            "devmem": 40000,
            "devcore": 100,
            "type": "NVIDIA-A100",
            "numa": 1,
            "mode": "hami-core",
            "health": True,
        }
    )
    assert read_cards(text) == (Card("GPU-a", 3, 10, 40000, 100, "NVIDIA-A100", 1, "hami-core", healthy=True),)


def test_absent_and_null_fields_are_zero_and_unhealthy() -> None:
    bare = Card("GPU-a", index=0, slots=0, memory=0, cores=0, type="", numa=0, mode="", healthy=False)
    assert read_cards('[{"id":"GPU-a"}]') == (bare,)
    assert read_cards('[{"id":"GPU-a","index":null,"numa":null,"health":null,"type":null}]') == (bare,)


def test_field_names_are_read_in_any_case_and_others_are_skipped() -> None:
    assert read_cards('[{"ID":"GPU-a","DevMem":5,"migProfiles":7,"future":{"a":[1]}}]')[0].memory == 5


@pytest.mark.parametrize(("numa", "known"), [(0, 0), (7, 7), (33, 33), (-1, UNKNOWN_NUMA), (-9, UNKNOWN_NUMA)])
def test_a_negative_numa_node_is_unknown(numa: int, known: int) -> None:
    assert read_cards(register({"id": "GPU-a", "numa": numa}))[0].numa == known


def test_cards_come_by_index_then_uuid_whatever_the_order_of_the_text() -> None:
    cards: list[dict[str, Any]] = [{"id": "c", "index": 1}, {"id": "b"}, {"id": "a", "index": 1}]
    assert [card.uuid for card in read_cards(register(*cards))] == ["b", "a", "c"]
    assert read_cards(register(*cards)) == read_cards(register(*reversed(cards)))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "the node has no annotation hami.io/node-nvidia-register"),
        ("", "is ''; it must be JSON"),
        ("not-valid-json", "is 'not-valid-json'; it must be JSON"),
        ('[{"id":"GPU-a"', "it must be JSON"),
        ('[{"id":"GPU-a"}] trailing', "it must be JSON"),
        ('[{"id":"GPU-a","numa":NaN}]', "NaN is no JSON number"),
        ("[" * 100_000, "it must be JSON"),
        ('[{"id":"GPU-a","devmem":' + "9" * 5000 + "}]", "it must be JSON"),
        ("{}", "it must be a JSON array"),
        ('"text"', "it must be a JSON array"),
        ("[]", "names no card"),
        ("null", "names no card"),
        ("[null]", "entry 0 of hami.io/node-nvidia-register is null; it must be an object"),
        ("[[]]", "entry 0 of hami.io/node-nvidia-register is list; it must be an object"),
        ('[{"id":7}]', "card 0 of hami.io/node-nvidia-register has the id 7; it must be text"),
        ("[{}]", "names a card ''; a UUID is printable text"),
        ('[{"id":"a,b"}]', "names a card 'a,b'"),
        ('[{"id":"a\\u0000"}]', "names a card"),
        ('[{"id":"a"},{"id":"a"}]', "names the card 'a' twice"),
        ('[{"id":"a","index":-1}]', "has the index -1; it must be a whole number from 0"),
        ('[{"id":"a","count":1.0}]', "has the count 1.0; it must be a whole number"),
        ('[{"id":"a","count":true}]', "has the count true; it must be a whole number"),
        ('[{"id":"a","count":"10"}]', "has the count '10'; it must be a whole number"),
        ('[{"id":"a","devmem":2147483648}]', "from 0 to 2147483647"),
        ('[{"id":"a","devcore":-1}]', "has the devcore -1"),
        ('[{"id":"a","health":"true"}]', "has the health 'true'; it must be true or false"),
        ('[{"id":"a","health":1}]', "has the health 1; it must be true or false"),
        (" " * 300_000, "has 300000 characters; at most 262144 are read"),
    ],
)
def test_a_hostile_value_is_refused_and_named(text: str | None, why: str) -> None:
    with pytest.raises(RegisterError) as refusal:
        read_cards(text)
    assert why in str(refusal.value)
    assert len(str(refusal.value)) < 400


def test_a_node_may_have_512_cards_and_no_more() -> None:
    cards = [{"id": f"GPU-{number}", "index": number} for number in range(MAX_CARDS)]
    assert len(read_cards(register(*cards))) == 512
    with pytest.raises(RegisterError, match="more than 512 cards"):
        read_cards(register(*cards, {"id": "GPU-x"}))


def test_half_a_character_in_a_type_is_replaced_so_that_it_can_be_sent_on() -> None:
    card = read_cards('[{"id":"GPU-a","type":"A\\ud800B \\u00e9"}]')[0]
    assert card.type == "A\ufffdB é"


@few
@given(st.text(max_size=40) | st.lists(SCALARS | OBJECTS, max_size=3).map(json.dumps))
def test_any_text_is_cards_or_an_error(text: str) -> None:
    try:
        cards = parse_cards(text)
    except RegisterError as error:
        assert str(error).encode()  # noqa: PT017 - either outcome is right, and both are looked at
    else:
        assert all(card.uuid and min(card.slots, card.memory, card.cores, card.index) >= 0 for card in cards)
        assert json.dumps([card.uuid + card.type + card.mode for card in cards], ensure_ascii=False).encode()


def test_reads_what_a_real_cluster_registered() -> None:
    items = json.loads(RECORDED.read_text())["items"]
    values = [item["metadata"].get("annotations", {}).get(REGISTER) for item in items if item["kind"] == "Node"]
    nodes = [read_cards(value) for value in values if value is not None]
    assert sorted(len({card.numa for card in cards}) for cards in nodes) == [2, 4, 8]
    assert all(card.healthy and card.slots == 10 and card.mode == "hami-core" for cards in nodes for card in cards)
    assert all([card.index for card in cards] == list(range(len(cards))) for cards in nodes)


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        (None, {}),
        ("[]", {}),
        ("null", {}),
        ('[{"uuid":"a","score":{"b":100}},{"uuid":"b","score":{"a":100}}]', {"a": {"b": 100}, "b": {"a": 100}}),
        ('[{"uuid":"a"}]', {"a": {}}),
        ('[{"uuid":"a","score":{"B":1,"b":2}}]', {"a": {"B": 1, "b": 2}}),
    ],
)
def test_reads_scores_of_links(text: str | None, scores: dict[str, dict[str, int]]) -> None:
    assert read_pair_scores(text) == scores


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x", "it must be JSON"),
        ("[null]", "must be an object"),
        ('[{"uuid":"a","score":[1]}]', "has the score list; it must be an object"),
        ('[{"uuid":"a","score":{"b":1.5}}]', "has the b 1.5; it must be a whole number"),
        ('[{"uuid":3}]', "has the uuid 3; it must be text"),
    ],
)
def test_scores_that_cannot_be_read_are_refused(text: str, why: str) -> None:
    with pytest.raises(RegisterError, match=why):
        read_pair_scores(text)


def test_reads_the_old_format_with_seven_and_with_nine_fields() -> None:
    cards = read_legacy("GPU-1,10,7680,100,T,0,true,1,mig:GPU-0,5,100,50,NVIDIA-Tesla P4,-1,0:")
    assert cards == (
        Card("GPU-0", 0, 5, 100, 50, "NVIDIA-Tesla P4", UNKNOWN_NUMA, "hami-core", healthy=False),
        Card("GPU-1", 1, 10, 7680, 100, "T", 0, "mig", healthy=True),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must be followed by `:`"),
        (",:", "has 2 fields; it must have 7 or 9"),
        ("garbage:", "has 1 fields"),
        ("GPU-1,10,7680,100,T,0,true,0:", "has 8 fields"),
        ("GPU-1,x,7680,100,T,0,true:", "has the count 'x'"),
        ("GPU-1,10,-1,100,T,0,true:", "has the memory '-1'"),
        ("GPU-1,10,1,100,T,0,yes:", "has the health 'yes'"),
        ("GPU-1,10,1,100,T,0,true,-1,hami-core:", "has the index '-1'"),
        (",10,1,100,T,0,true:", "names a card ''"),
        ("a,1,1,1,T,0,true:a,1,1,1,T,0,true:", "names the card 'a' twice"),
        (":" * 300_000, "at most 262144 are read"),
    ],
)
def test_an_old_value_that_cannot_be_read_is_refused(text: str, why: str) -> None:
    with pytest.raises(RegisterError, match=why):
        read_legacy(text)


@few
@given(st.text(st.sampled_from(list("GPU-1,:true09")), max_size=60))
def test_any_old_text_is_cards_or_an_error(text: str) -> None:
    try:
        cards = read_legacy(text)
    except RegisterError:
        return
    assert len({card.uuid for card in cards}) == len(cards)


@pytest.mark.parametrize(
    ("replica", "card"),
    [
        ("GPU-936619fc-f6a1-74a8-0bc6-ecf6b3269313-7", "GPU-936619fc-f6a1-74a8-0bc6-ecf6b3269313"),
        ("GPU-936619fc-f6a1-74a8-0bc6-ecf6b3269313::7", "GPU-936619fc-f6a1-74a8-0bc6-ecf6b3269313"),
        ("GPU-936619fc-f6a1-74a8-0bc6-ecf6b3269313", "GPU-936619fc-f6a1-74a8-0bc6-ecf6b3269313"),
        ("GPU-936619fc-f6a1-74a8-0bc6-ecf6b3269313-x", "GPU-936619fc-f6a1-74a8-0bc6-ecf6b3269313-x"),
        ("GPU-a-0", "GPU-a-0"),
        ("", ""),
    ],
)
def test_a_replica_is_a_share_of_its_card(replica: str, card: str) -> None:
    assert physical_id(replica) == card


def test_a_cordon_names_cards() -> None:
    assert read_cordon(" GPU-a,, GPU-b ") == {"GPU-a", "GPU-b"}
    assert read_cordon("") == frozenset()
