"""What the Static memory manager gives: memory by NUMA node (Kubernetes: memorymanager policy_static)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from policy.kubelet.demand import ContainerDemand, Demand
from policy.kubelet.held import NO_REUSE, Block, ContainerKey, Held, MemoryNode, Reuse, take
from policy.kubelet.masks import members
from policy.kubelet.memory_hints import Kinds, mixes_groups, offer, starved
from policy.kubelet.outcome import End, Hints, Merged, unexpected
from policy.pod import Phase

_NOT_WHOLE: Final = "[memorymanager] failed to represent quantity as int64"
_NO_DEFAULT: Final = (
    "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
)
_DEFAULT_NOT_PREFERRED: Final = "[memorymanager] failed to find the default preferred hint"
_NOTHING_TO_EXTEND: Final = "[memorymanager] failed to find NUMA nodes to extend the current topology hint"
_EXTENDED_NOT_PREFERRED: Final = "[memorymanager] failed to find the extended preferred hint"
_VIOLATES: Final = "[memorymanager] preferred hint violates NUMA node allocation"


def allocate(
    held: Held, reuse: Reuse, demand: Demand, container: ContainerDemand, hint: Merged
) -> tuple[Held, Reuse, int] | End:
    """Give one container its memory; return also its NUMA nodes, 0 if the manager keeps none for it."""
    if not demand.guaranteed or demand.silent:
        return held, reuse, 0
    key = ContainerKey(demand.name, container.name)
    recorded = held.blocks.get(key)
    if recorded is not None:
        return held, _left_for_later(reuse, container, recorded), _nodes_of(recorded)
    if container.memory is None:
        return unexpected(_NOT_WHOLE)
    mask = _place(held, reuse, container.memory, hint)
    if not isinstance(mask, int):
        return mask
    blocks = tuple(Block(mask, kind, size) for kind, size in container.memory.items())
    memory = held.memory
    for block in blocks:
        memory = take(memory, mask, block.kind, max(0, block.size - reuse.memory.get((mask, block.kind), 0)))
    kept = _less_reused(held.blocks, demand, container, blocks)
    changed = replace(held, memory=memory, blocks={**kept, key: blocks} if blocks else kept)
    return changed, _left_for_later(reuse, container, blocks), _nodes_of(blocks)


def allocate_pod(held: Held, demand: Demand, hint: Merged) -> Held | End:
    """Give the pod its memory as one block and divide it (PodLevelResourceManagers)."""
    if not demand.guaranteed or demand.memory is None:
        return held
    refused = starved(demand)
    if refused:
        return refused
    mask = _place(held, NO_REUSE, demand.memory, hint)
    if not isinstance(mask, int):
        return mask
    if any(each.memory is None for each in demand.containers):
        return unexpected(_NOT_WHOLE)
    memory = held.memory
    for kind, size in demand.memory.items():
        memory = take(memory, mask, kind, size)
    parts = {
        ContainerKey(demand.name, name): tuple(Block(mask, kind, size) for kind, size in kinds.items() if size > 0)
        for name, kinds in _divided(demand).items()
    }
    whole = tuple(Block(mask, kind, size) for kind, size in demand.memory.items())
    return replace(
        held,
        memory=memory,
        blocks={**held.blocks, **parts},
        pod_blocks={**held.pod_blocks, demand.name: whole},
    )


def _divided(demand: Demand) -> dict[str, Kinds]:
    """Return what each container gets of the pod's memory; those without an amount of their own share the rest."""
    parts: dict[str, Kinds] = {}
    rest = dict(demand.memory or {})
    for each in demand.containers:
        own = each.memory or {}
        if own:
            parts[each.name] = own
        elif each.phase is Phase.INIT:
            parts[each.name] = dict(rest)
        if each.phase is not Phase.INIT:
            rest = {kind: size - own.get(kind, 0) for kind, size in rest.items()}
    return {each.name: parts.get(each.name, rest) for each in demand.containers}


def _place(held: Held, reuse: Reuse, want: Kinds, hint: Merged) -> int | End:
    """Choose the NUMA nodes: those of the hint, a wider set where they lack memory, the best where there is no hint."""
    mask = hint.mask
    if mask is None:
        offered = offer(held.memory, reuse, want)
        if not isinstance(offered, Hints):
            return offered
        if not offered.masks:
            return unexpected(_NO_DEFAULT)
        mask = _best(offered.masks, offered)
        if hint.preferred and mask not in offered.preferred:
            return unexpected(_DEFAULT_NOT_PREFERRED)
    if not _has(held.memory, mask, want):
        offered = offer(held.memory, reuse, want)
        if not isinstance(offered, Hints):
            return offered
        wider = [each for each in offered.masks if not mask & ~each]
        if not wider:
            return unexpected(_NOTHING_TO_EXTEND)
        mask = _best(wider, offered)
        if hint.preferred and mask not in offered.preferred:
            return unexpected(_EXTENDED_NOT_PREFERRED)
    return unexpected(_VIOLATES) if mixes_groups(held.memory, mask) else mask


def _best(masks: Iterable[int], offered: Hints) -> int:
    return min(masks, key=lambda mask: (mask not in offered.preferred, mask.bit_count(), mask))


def _has(memory: Mapping[int, MemoryNode], mask: int, want: Kinds) -> bool:
    """Tell whether ``mask`` has ``want`` free; reusable memory does not count here (Kubernetes)."""
    return all(sum(memory[node].free.get(kind, 0) for node in members(mask)) >= size for kind, size in want.items())


def _nodes_of(blocks: Iterable[Block]) -> int:
    nodes = 0
    for block in blocks:
        nodes |= block.nodes
    return nodes


def _less_reused(
    recorded: Mapping[ContainerKey, tuple[Block, ...]],
    demand: Demand,
    container: ContainerDemand,
    blocks: Iterable[Block],
) -> dict[ContainerKey, tuple[Block, ...]]:
    """Shrink what init containers before ``container`` have on record by what it reuses, so that sums stay true."""
    kept = dict(recorded)
    for block in blocks:
        left = block.size
        for earlier in demand.containers:
            if earlier.name == container.name:
                break
            key = ContainerKey(demand.name, earlier.name)
            if earlier.phase is Phase.INIT and key in kept:
                kept[key], left = _shrunk(kept[key], block, left)
    return kept


def _shrunk(blocks: tuple[Block, ...], used: Block, left: int) -> tuple[tuple[Block, ...], int]:
    shrunk = []
    for block in blocks:
        alike = block.kind == used.kind and block.nodes == used.nodes
        less = min(block.size, left) if alike else 0
        left -= less
        shrunk.append(block._replace(size=block.size - less))
    return tuple(shrunk), left


def _left_for_later(reuse: Reuse, container: ContainerDemand, blocks: Iterable[Block]) -> Reuse:
    """An ended init container raises what is reusable to its own amount, any other container uses it up."""
    memory = dict(reuse.memory)
    for block in blocks:
        key = (block.nodes, block.kind)
        before = memory.get(key, 0)
        memory[key] = max(before, block.size) if container.phase is Phase.INIT else max(0, before - block.size)
    return replace(reuse, memory=memory)
