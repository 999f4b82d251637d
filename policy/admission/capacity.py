"""Rules about room: whether any node could ever hold the pod. They need facts (docs/admission.md).

Of these rules at most the first that holds is reported, in the order of the table. None holds because of a node whose
cards could not be read: nobody knows what fits there (docs/decisions.md 1).
"""

from collections.abc import Callable

from policy import keys
from policy.admission.case import Case
from policy.admission.pins import gpus
from policy.admission.room import Spot
from policy.admission.spelling import quoted


def pin_unknown(case: Case) -> str | None:
    """No node has any of the pinned GPUs.

    UUIDs compare byte for byte.
    """
    unknown = unknown_pins(case)
    if not unknown or len(unknown) < len(case.pins):
        return None
    return f"no node has {_named(unknown)} of {keys.USE_UUID}{_nearest(case, unknown[0])}"


def pin_partly_unknown(case: Case) -> str | None:
    """Some of the pinned GPUs are on no node."""
    unknown = unknown_pins(case)
    if not unknown or len(unknown) == len(case.pins):
        return None
    return f"no node has {_named(unknown)} of {keys.USE_UUID}{_nearest(case, unknown[0])}"


def unknown_pins(case: Case) -> tuple[str, ...]:
    """The pins that no node holds, none where some node's cards are not known; UUIDs compare byte for byte."""
    if not case.room.knows_every_card:
        return ()
    return tuple(pin for pin in case.pins if case.room.node_of(pin) is None)


def _named(uuids: tuple[str, ...]) -> str:
    more = f" and {len(uuids) - 1} more" if len(uuids) > 1 else ""
    return f"{quoted(uuids[0])}{more}"


def _nearest(case: Case, uuid: str) -> str:
    near = case.room.nearest(uuid)
    return f"; the nearest known is {near}." if near else "; nvidia-smi -L on the node lists its UUIDs."


def pinned_on_no_one_node(case: Case) -> str | None:
    """The pinned GPUs are spread over nodes, and no one node has as many of them as a container asks for."""
    if not case.pins or not case.room.knows_every_card:
        return None
    best = max((len(spot.candidates) for spot in case.room.holders), default=0)
    if best >= case.most:
        return None
    return (
        f"container {quoted(case.first_of_most.container.name)} needs {gpus(case.most)} of one node, "
        f"{keys.USE_UUID} has {best} on any; name {case.most} of one."
    )


def pinned_node_excluded(case: Case) -> str | None:
    """Only nodes that the pod's node selector or affinity excludes have enough of the pinned GPUs."""
    room = case.room
    if not case.pins or room.reachable or room.has_unread_nodes:
        return None
    if not any(len(spot.candidates) >= case.most for spot in room.holders):
        return None
    return "the pod's node selector or affinity excludes the node of its pinned GPUs; drop one of the two."


def request_exceeds_every_node(case: Case) -> str | None:
    """No node that the pod may use has as many GPUs as one container asks for."""
    if case.pins or case.room.reachable or case.room.has_unread_nodes:
        return None
    if not case.room.eligible:
        return "no GPU node matches the pod's node selector and affinity; change them."
    best = max(len(spot.candidates) for spot in case.room.eligible)
    name = quoted(case.first_of_most.container.name)
    return f"container {name} asks for {gpus(case.most)}, the largest node that may run it has {best}; ask for fewer."


def whole_cards_exceed_every_node(case: Case) -> str | None:
    """No node that the pod may use has as many GPUs as its containers take whole at the same time."""
    room = case.room
    if room.has_unread_nodes or any(len(spot.candidates) >= case.at_once for spot in room.eligible):
        return None
    best = max((len(spot.candidates) for spot in room.eligible), default=0)
    return f"the containers take {gpus(case.at_once)} at once, the largest node has {best}; ask for shares of them."


def every_reachable(case: Case, test: Callable[[Spot], bool]) -> bool:
    """Tell whether ``test`` holds on every reachable node, of which there must be one.

    A node whose cards could not be read may be one that it fails on.
    """
    room = case.room
    return bool(room.reachable) and not room.has_unread_nodes and all(map(test, room.reachable))


def _too_small(case: Case) -> Callable[[Spot], bool]:
    def test(spot: Spot) -> bool:
        largest = spot.largest_numa_group
        return largest is not None and largest < case.most

    return test


def _bind_is_too_large(case: Case) -> bool:
    return case.binds and case.most > 1 and every_reachable(case, _too_small(case))


def _strict_is_too_large(case: Case) -> bool:
    if case.mode != "strict" or case.binds or case.most <= 1 or not case.operator.refit_enabled:
        return False
    too_small = _too_small(case)
    return every_reachable(case, lambda spot: _crosses_nothing(spot) and too_small(spot))


def _crosses_nothing(spot: Spot) -> bool:
    kubelet = spot.node.kubelet
    return kubelet.topology_policy == "single-numa-node" and kubelet.advertises_numa is True


def _largest(case: Case) -> int:
    return max(spot.largest_numa_group or 0 for spot in case.room.reachable)


def bind_larger_than_numa(case: Case) -> str | None:
    """`nvidia.com/numa-bind` asks for more GPUs of one NUMA node than any NUMA node has."""
    if case.pins or not _bind_is_too_large(case):
        return None
    return (
        f"{keys.NUMA_BIND} asks for {gpus(case.most)} of one NUMA node, the largest has {_largest(case)}; "
        f"ask for {_largest(case)} or drop it."
    )


def pinned_across_numa(case: Case) -> str | None:
    """The pinned GPUs lie on several NUMA nodes.

    And `numa-bind`, or `strict` under single-numa-node, needs them on one.
    """
    if not case.pins or not (_bind_is_too_large(case) or _strict_is_too_large(case)):
        return None
    key = keys.NUMA_BIND if case.binds else f"{keys.NUMA_ALIGNMENT} strict"
    largest = _largest(case)
    return f"{key} needs {gpus(case.most)} of one NUMA node, the pins have {largest} on any; pin {case.most} of one."


def strict_larger_than_numa(case: Case) -> str | None:
    """`strict` asks for more GPUs than one NUMA node has.

    Where every kubelet runs single-numa-node and knows the cards' NUMA nodes.
    """
    if case.pins or not _strict_is_too_large(case):
        return None
    key, largest = f"{keys.NUMA_ALIGNMENT} strict", _largest(case)
    return f"{key} needs {gpus(case.most)} of one NUMA node, the largest has {largest}; ask for {largest}."
