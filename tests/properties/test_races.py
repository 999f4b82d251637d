"""Two decisions made on the same facts: the second never gets what the first has taken."""

from collections import Counter
from collections.abc import Mapping

import pytest

from policy import keys
from policy.placement.order import Order
from tests.properties import shapes
from tests.properties.happenings import refit_request
from tests.properties.shapes import Wanted
from tests.properties.world import World

CARD = {keys.USE_UUID: "GPU-n1-2"}
A_CARD = Wanted("app", {"gpu": "1", "gpumem": "6000"})


def place(world: World, name: str, node: str, wishes: Mapping[str, str], *, late: bool) -> None:
    world.wanted[name] = [A_CARD]
    world.place(shapes.pod(name, "team", name, [A_CARD], wishes), [node], late=late)
    world.audit()


def refit(world: World, name: str, card: str, *, late: bool) -> None:
    world.refit(refit_request(world.books().pods[name], 1, [card]), late=late)
    world.audit()


@pytest.fixture
def world() -> World:
    return World([node.source() for node in shapes.nodes().values()], Counter(), Order.NUMAFIT)


def test_two_new_pods_never_share_a_cards_memory(world: World) -> None:
    world.hold_facts()
    place(world, "first", "n1", CARD, late=False)
    place(world, "second", "n1", CARD, late=True)
    assert world.counts == {"filter: placed": 1, "filter: nowhere": 1}


@pytest.mark.parametrize(("limit", "placed"), [("11999", 1), ("12k", 2)])
def test_two_new_pods_on_two_nodes_never_share_a_quota(world: World, limit: str, placed: int) -> None:
    world.others_put(shapes.quota("q", {"gpumem": limit}))
    world.hold_facts()
    place(world, "first", "n1", {}, late=False)
    place(world, "second", "n2", {}, late=True)
    assert world.counts["filter: placed"] == placed


def test_a_new_pod_and_a_refit_never_share_a_cards_memory(world: World) -> None:
    place(world, "moving", "n1", {keys.GPU_POLICY: "spread"}, late=False)
    world.hold_facts()
    place(world, "new", "n1", CARD, late=False)
    refit(world, "moving", "GPU-n1-2", late=True)
    assert world.counts["refit: refused"] == 1


def test_two_refits_never_share_a_cards_memory(world: World) -> None:
    place(world, "first", "n1", {keys.GPU_POLICY: "spread"}, late=False)
    place(world, "second", "n1", {keys.GPU_POLICY: "spread"}, late=False)
    world.hold_facts()
    refit(world, "first", "GPU-n1-3", late=False)
    refit(world, "second", "GPU-n1-3", late=True)
    assert world.counts["refit: moved"] == world.counts["refit: refused"] == 1
