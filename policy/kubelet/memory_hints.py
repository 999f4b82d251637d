"""What the Static memory manager can offer: sets of NUMA nodes (Kubernetes: memorymanager policy_static)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from policy.kubelet.demand import MEMORY, ContainerDemand, Demand
from policy.kubelet.families import hints_of, too_many
from policy.kubelet.held import NO_REUSE, Block, ContainerKey, Held, MemoryNode, Reuse
from policy.kubelet.masks import mask_of, members, subsets, sums
from policy.kubelet.outcome import EMPTY_POD_POOL, Hints, Panic, Refusal, Stall
from policy.pod import Phase

Kinds = Mapping[str, int]
"""Kind of memory -> amount."""

_NIL_POINTER: Final = "runtime error: invalid memory address or nil pointer dereference"


def container_hints(
    held: Held, reuse: Reuse, demand: Demand, container: ContainerDemand
) -> dict[str, Hints | None] | Panic | Stall:
    """Return what can be offered to one container by kind of memory.

    Nothing at all means no preference, and is the answer also where no set of NUMA nodes has enough (Kubernetes).
    """
    if not demand.guaranteed or demand.silent or container.memory is None:
        return {}
    recorded = held.blocks.get(ContainerKey(demand.name, container.name))
    if recorded is not None:
        return _recorded_hints(recorded, container.memory)
    return _hints(held, reuse, container.memory)


def pod_hints(held: Held, demand: Demand) -> dict[str, Hints | None] | Panic | Stall:
    """Return what can be offered to the pod as a whole."""
    if not demand.guaranteed or demand.silent or demand.memory is None:
        return {}
    if demand.by_pod and starved(demand):
        return {kind: Hints() for kind in demand.memory}
    for each in demand.containers:
        recorded = held.blocks.get(ContainerKey(demand.name, each.name))
        if recorded is not None and demand.memory:
            return _recorded_hints(recorded, demand.memory)
    return _hints(held, NO_REUSE, demand.memory) if demand.memory else {}


def _recorded_hints(blocks: Iterable[Block], want: Kinds) -> dict[str, Hints | None]:
    """Repeat the hint of what is recorded; nothing where it is not what is asked for now."""
    listed = tuple(blocks)
    if len(listed) != len(want) or any(want.get(block.kind) != block.size for block in listed):
        return {}
    return {block.kind: Hints((block.nodes,), frozenset({block.nodes})) for block in listed}


def _hints(held: Held, reuse: Reuse, want: Kinds) -> dict[str, Hints | None] | Panic | Stall:
    offered = offer(held.memory, reuse, want)
    if not isinstance(offered, Hints):
        return offered
    return dict.fromkeys(want, offered) if offered.masks else {}


def offer(memory: Mapping[int, MemoryNode], reuse: Reuse, want: Kinds) -> Hints | Panic | Stall:
    """Return the sets of NUMA nodes that can hold ``want``: one answer for all kinds (Kubernetes: calculateHints)."""
    nodes = tuple(sorted(memory))
    stall = too_many(nodes, MEMORY)
    if stall:
        return stall
    if any(kind not in memory[node].free for kind in want for node in nodes):
        return Panic(_NIL_POINTER)
    if not want:
        return Hints()
    able = subsets(nodes)[1:]
    for kind, size in want.items():
        installed = dict(zip(subsets(nodes), sums([memory[node].allocatable[kind] for node in nodes]), strict=True))
        able = tuple([mask for mask in able if installed[mask] >= size])
    width = min(map(int.bit_count, able), default=len(nodes))
    for kind, size in want.items():
        free = dict(zip(subsets(nodes), sums([memory[node].free[kind] for node in nodes]), strict=True))
        able = tuple([mask for mask in able if free[mask] + reuse.memory.get((mask, kind), 0) >= size])
    return hints_of(_ungrouped(memory, able), width)


def _ungrouped(memory: Mapping[int, MemoryNode], masks: Sequence[int]) -> list[int]:
    """Return the masks that mix no groups: free nodes, a whole group, or one node that is in no group."""
    taken = mask_of(number for number, node in memory.items() if node.assignments)
    grouped = mask_of(number for number, node in memory.items() if node.group.bit_count() > 1)
    groups = {node.group for node in memory.values() if not mixes_groups(memory, node.group)}
    several = [mask for mask in masks if mask & (mask - 1) and (not mask & taken or mask in groups)]
    return sorted([*several, *(mask for mask in masks if not mask & (mask - 1) and not mask & grouped)])


def mixes_groups(memory: Mapping[int, MemoryNode], mask: int) -> bool:
    """Tell whether a set of several NUMA nodes has one that is used alone or together with others."""
    several = mask & (mask - 1)
    return bool(several) and any(memory[node].assignments and memory[node].group != mask for node in members(mask))


def starved(demand: Demand) -> Refusal | None:
    """Refuse a pod whose exclusive containers leave no memory to the shared ones."""
    lasting: dict[str, int] = {}
    shared = False
    for each in demand.containers:
        own = each.memory or {}
        if each.phase is not Phase.INIT:
            shared = shared or not own
            lasting = {kind: lasting.get(kind, 0) + own.get(kind, 0) for kind in {*lasting, *own}}
            continue
        short = [kind for kind, size in (demand.memory or {}).items() if lasting.get(kind, 0) >= size]
        if short and not own:
            text = f"pod rejected, pod has shared init containers but no {short[0]} available for them"
            return Refusal(EMPTY_POD_POOL, text)
    short = [kind for kind, size in (demand.memory or {}).items() if lasting.get(kind, 0) >= size]
    if not shared or not short:
        return None
    text = f"pod rejected, sum of exclusive container {short[0]} requests equals pod budget"
    return Refusal(EMPTY_POD_POOL, f"{text}, leaving no memory for shared containers")
