"""Rules about how kubelet is set up on the nodes that the pod can reach. They need facts."""

from policy import keys
from policy.admission.capacity import every_reachable
from policy.admission.case import Case
from policy.admission.finding import Mild
from policy.admission.room import Spot
from policy.admission.spelling import quoted


def pin_not_honoured(case: Case) -> str | None:
    """Pins without an alignment mode on a node whose kubelet chooses by NUMA node.

    It may hand over an unpinned GPU, and only a log line tells.
    """
    if not case.pins or case.mode or not any(_may_choose_otherwise(spot) for spot in case.room.reachable):
        return None
    return f"kubelet may hand over a GPU that {keys.USE_UUID} does not name; add {keys.NUMA_ALIGNMENT}."


def _may_choose_otherwise(spot: Spot) -> bool:
    kubelet = spot.node.kubelet
    return spot.narrows and kubelet.topology_policy not in {None, "none"} and kubelet.advertises_numa is True


def alignment_without_topology_manager(case: Case) -> str | None:
    """An alignment mode where every node for the pod runs topology manager policy none."""
    if not case.mode or not every_reachable(case, lambda spot: spot.node.kubelet.topology_policy == "none"):
        return None
    return f"{keys.NUMA_ALIGNMENT} has no effect: its nodes run topology policy none; remove it."


def alignment_without_numa_hints(case: Case) -> str | None:
    """An alignment mode where no node for the pod tells kubelet its cards' NUMA nodes, HAMi's default."""
    if not case.mode or not every_reachable(case, lambda spot: spot.node.kubelet.advertises_numa is False):
        return None
    return f"{keys.NUMA_ALIGNMENT} has no effect: enableNumaTopology is off on its nodes; remove it."


def alignment_uneven_cards(case: Case) -> str | None:
    """Several cards asked for by percentage on a node with unequal cards.

    The amounts differ, and such a reservation is never refitted.
    """
    if not case.refits or not any(gpu.need > 1 and gpu.percent for gpu in case.gpus):
        return None
    if not any(len({card.memory for card in spot.candidates}) > 1 for spot in case.room.reachable):
        return None
    name = next(gpu for gpu in case.gpus if gpu.need > 1 and gpu.percent).container.name
    return f"container {quoted(name)} would get unequal amounts, which are never refitted; ask for memory in MiB."


def alignment_on_mig_cards(case: Case) -> str | None:
    """An alignment mode where every card that the pod can reach is in MIG mode though the pod does not ask for it.

    Best-effort only warns.
    """
    if not case.mode or not every_reachable(case, lambda spot: all(card.mode == "mig" for card in spot.candidates)):
        return None
    message = f"{keys.NUMA_ALIGNMENT} has no effect: every GPU for this pod is in MIG mode; remove the key."
    return message if case.mode == "strict" else Mild(message)
