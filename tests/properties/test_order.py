"""The same cluster gives the same answers, in whatever order its objects and their fields are written."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policy.keys import ASSIGNED_TIME, REGISTER
from policy.placement.order import Order
from tests.properties import shapes
from tests.properties.happenings import is_pending, refit_request
from tests.properties.ledger import Object
from tests.properties.shapes import QUOTAS, STYLES, Wanted
from tests.properties.world import World

ShapedPod = tuple[Sequence[Wanted], Mapping[str, str]]


def rewritten(value: Any, random: Random) -> Any:
    """The same plain object with its fields, and a node's cards, in another order."""
    if isinstance(value, dict):
        shuffled = {key: rewritten(value[key], random) for key in random.sample(list(value), len(value))}
        if REGISTER in shuffled:
            cards = json.loads(shuffled[REGISTER])
            shuffled[REGISTER] = json.dumps(random.sample(cards, len(cards)))
        return shuffled
    return [rewritten(item, random) for item in value] if isinstance(value, list) else value


def crowd(pods: Sequence[ShapedPod], number: int) -> list[Object]:
    """Nodes, a quota, and pods that others have placed."""
    nodes = shapes.nodes()
    objects = [*(node.source() for node in nodes.values()), shapes.quota("q", QUOTAS[number % len(QUOTAS)])]
    for at, (containers, wishes) in enumerate(pods, start=number):
        node, style = list(nodes.values())[at % 2], list(STYLES)[at % len(STYLES)]
        held = shapes.held_elsewhere(containers, node, at // 2, style)
        objects.append(shapes.pod(f"p{at}", "team", f"uid-{at}", containers, {**wishes, **held}))
    return objects


def outcome(
    objects: Sequence[Object], new: ShapedPod, nodes: Sequence[str], allowed: Sequence[str], order: Order
) -> object:
    """All pods' annotations after one pod was placed and the first pending one refitted."""
    world = World(objects, Counter(), order)
    world.wanted["new"] = new[0]
    world.place(shapes.pod("new", "team", "new", *new), nodes, late=False)
    pending = sorted((pod for pod in world.books().pods.values() if is_pending(pod)), key=lambda pod: pod.uid)
    for pod in pending[:1]:
        world.refit(refit_request(pod, 0, allowed), late=False)
    return world.counts, {
        pod.uid: {key: text for key, text in pod.annotations.items() if key != ASSIGNED_TIME}
        for pod in world.books().pods.values()
    }


UUIDS = [uuid for node in shapes.nodes().values() for uuid in node.uuids]


@given(
    crowd=st.builds(crowd, st.lists(shapes.pods(), max_size=3), st.integers(0, 50)),
    new=shapes.pods(),
    allowed=st.lists(st.sampled_from(UUIDS), unique=True),
    order=st.sampled_from(Order),
    random=st.randoms(use_true_random=False),
)
def test_the_order_in_which_things_are_written_changes_no_answer(
    crowd: list[Object], new: ShapedPod, allowed: list[str], order: Order, random: Random
) -> None:
    shuffled = [rewritten(source, random) for source in random.sample(crowd, len(crowd))]
    again = outcome(shuffled, new, ["n2", "n1"], random.sample(allowed, len(allowed)), order)
    assert again == outcome(crowd, new, ["n1", "n2"], allowed, order)
