"""The static CPU manager: hints and exclusive CPUs (Kubernetes: cpumanager policy_static)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from policy.kubelet.demand import ContainerDemand, Demand
from policy.kubelet.distributed import take_distributed
from policy.kubelet.families import at_least, hints_of, narrowest, too_many
from policy.kubelet.held import ContainerKey, Held, Reuse
from policy.kubelet.machine import Layout, mask_of_sets
from policy.kubelet.masks import mask_of, sums
from policy.kubelet.outcome import IMPOSSIBLE, SMT_ALIGNMENT, End, Hints, Refusal, Stall, unexpected
from policy.kubelet.packed import take_packed
from policy.kubelet.settings import CpuOptions
from policy.pod import Phase


@dataclass(frozen=True, slots=True)
class CpuManager:
    """The static CPU manager of one kubelet.

    Attributes:
        reserved: CPUs that are never given out.
        keeps_recorded_first, says_none_left: see Rules.
    """

    layout: Layout
    options: CpuOptions
    reserved: int
    keeps_recorded_first: bool = False
    says_none_left: bool = True

    def hints(self, held: Held, reuse: Reuse, demand: Demand, container: ContainerDemand) -> Hints | Stall | None:
        """Return what can be offered to one container, None for no preference."""
        if not container.cpus or demand.silent:
            return None
        recorded = held.cpus.get(ContainerKey(demand.name, container.name))
        if recorded is None:
            return self._hints(held.shared & ~self.reserved, reuse.cpus, container.cpus)
        if recorded.bit_count() != container.cpus:
            return IMPOSSIBLE
        return self._hints(recorded, 0, container.cpus)

    def pod_hints(self, held: Held, demand: Demand) -> Hints | Stall | None:
        """Return what can be offered to the pod as a whole, None for no preference."""
        if not demand.cpus or demand.silent:
            return None
        if demand.by_pod and _starved(demand):
            return IMPOSSIBLE
        recorded = 0
        for each in demand.containers:
            cpus = held.cpus.get(ContainerKey(demand.name, each.name))
            if cpus is not None and cpus.bit_count() != each.cpus:
                return IMPOSSIBLE
            recorded |= cpus or 0
        if recorded.bit_count() == demand.cpus:
            return self._hints(recorded, 0, demand.cpus)
        return self._hints(held.shared & ~self.reserved, recorded, demand.cpus)

    def _hints(self, free: int, reusable: int, want: int) -> Hints | Stall:
        nodes = self.layout.nodes
        stall = too_many(nodes, "cpu")
        if stall:
            return stall
        areas = [cpus for _, cpus in self.layout.numas]
        pinned = mask_of(node for node, cpus in self.layout.numas if cpus & reusable)
        width = narrowest([area.bit_count() for area in areas], want)
        open_to = sums([(area & free).bit_count() for area in areas])
        fitting = at_least(nodes, open_to, want - reusable.bit_count())
        hints = hints_of([mask for mask in fitting if not pinned & ~mask] if pinned else fitting, width)
        return self._with_sockets(hints, width) if self.options.by_socket else hints

    def _with_sockets(self, hints: Hints, width: int) -> Hints:
        """Prefer also what touches as few sockets as the request needs (align-by-socket)."""
        per_socket = len(self.layout.numas) // len(self.layout.sockets)
        least = -(-width // per_socket)
        aligned = {mask for mask in hints.masks if len(self.layout.sockets_of(self.layout.on(mask))) == least}
        return replace(hints, preferred=hints.preferred | aligned)

    def allocate(
        self, held: Held, reuse: Reuse, demand: Demand, container: ContainerDemand, mask: int | None
    ) -> tuple[Held, Reuse] | End:
        """Give one container its CPUs; ``mask`` is the stored hint."""
        if not container.cpus or demand.silent:
            return held, reuse
        key = ContainerKey(demand.name, container.name)
        recorded = held.cpus.get(key)
        refused = self._misaligned(held, container.cpus)
        if refused and (recorded is None or not self.keeps_recorded_first):
            return refused
        if recorded is not None:
            return held, left_for_later(reuse, container, recorded)
        picked = self.pick(held.shared & ~self.reserved | reuse.cpus, container.cpus, mask)
        if not isinstance(picked, int):
            return picked
        changed = replace(held, shared=held.shared & ~picked, cpus={**held.cpus, key: picked})
        return changed, left_for_later(reuse, container, picked)

    def allocate_pod(self, held: Held, demand: Demand, mask: int | None) -> Held | End:
        """Give the pod one block of CPUs and divide it among its containers (PodLevelResourceManagers)."""
        if not demand.cpus:
            return held
        starved = _starved(demand)
        if starved:
            return starved
        refused = self._misaligned(held, demand.cpus)
        if refused:
            return refused
        block = self.pick(held.shared & ~self.reserved, demand.cpus, mask)
        if not isinstance(block, int):
            return block
        parts = self._divided(demand, block)
        if not isinstance(parts, Mapping):
            return parts
        cpus = {ContainerKey(demand.name, name): part for name, part in parts.items()}
        return replace(
            held,
            shared=held.shared & ~block,
            cpus={**held.cpus, **cpus},
            pod_cpus={**held.pod_cpus, demand.name: block},
        )

    def _divided(self, demand: Demand, block: int) -> Mapping[str, int] | End:
        parts: dict[str, int] = {}
        kept = 0
        for each in demand.containers:
            if not each.cpus:
                if each.phase is Phase.INIT:
                    parts[each.name] = block & ~kept
                continue
            part = self._take(block & ~kept, each.cpus)
            if not isinstance(part, int):
                return part
            parts[each.name] = part
            if each.phase is not Phase.INIT:
                kept |= part
        return {each.name: parts.get(each.name, block & ~kept) for each in demand.containers}

    def _misaligned(self, held: Held, want: int) -> Refusal | None:
        """Apply the check of full-pcpus-only; it looks at the whole machine, not at the hint."""
        if not self.options.full_cores:
            return None
        per_core = self.layout.per_core
        available = (held.shared & ~self.layout.siblings(self.reserved)).bit_count()
        if want % per_core or (want > available and not available and not self.says_none_left):
            return Refusal(
                SMT_ALIGNMENT, f"SMT Alignment Error: requested {want} cpus not multiple cpus per core = {per_core}"
            )
        if want <= available:
            return None
        return Refusal(
            SMT_ALIGNMENT,
            "SMT Alignment Error: not enough free physical CPUs: "
            f"available physical CPUs = {available}, requested CPUs = {want}, CPUs per core = {per_core}",
        )

    def pick(self, free: int, want: int, mask: int | None) -> int | End:
        """Pick ``want`` CPUs out of ``free``, those on the NUMA nodes of ``mask`` first."""
        picked = 0
        if mask is not None:
            near = free & self._near(mask)
            first = self._take(near, min(want, near.bit_count()))
            if not isinstance(first, int):
                return first
            picked = first
        rest = self._take(free & ~picked, want - picked.bit_count())
        return rest | picked if isinstance(rest, int) else rest

    def _near(self, mask: int) -> int:
        cpus = self.layout.on(mask)
        return mask_of_sets(area for _, area in self.layout.sockets_of(cpus)) if self.options.by_socket else cpus

    def _take(self, free: int, want: int) -> int | End:
        picked = take(self.layout, free, want, self.options)
        if picked is not None:
            return picked
        return unexpected(
            f"not enough cpus available to satisfy request: requested={want}, available={free.bit_count()}"
        )


def take(layout: Layout, free: int, want: int, options: CpuOptions) -> int | Stall | None:
    """Pick ``want`` CPUs out of ``free`` as the options say, None if there are not enough."""
    if want < 1:
        return 0
    if options.across_numa:
        return take_distributed(layout, free, want, options)
    return take_packed(layout, free, want, options)


def left_for_later(reuse: Reuse, container: ContainerDemand, cpus: int) -> Reuse:
    """Return what later containers may reuse once ``container`` has ``cpus``."""
    kept = reuse.cpus | cpus if container.phase is Phase.INIT else reuse.cpus & ~cpus
    return replace(reuse, cpus=kept)


def _starved(demand: Demand) -> Refusal | None:
    """Refuse a pod whose exclusive containers leave nothing to the shared ones (Kubernetes: EmptyPodSharedPool)."""
    lasting = 0
    shared = False
    for each in demand.containers:
        if each.phase is not Phase.INIT:
            lasting += each.cpus
            shared = shared or not each.cpus
        elif not each.cpus and lasting >= demand.cpus:
            return empty_pool("pod rejected, pod has shared init containers but no cpus available for them")
    if not shared or lasting < demand.cpus:
        return None
    return empty_pool(
        "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers"
    )


def empty_pool(text: str) -> Refusal:
    """Return the refusal of a pod whose shared pool is empty."""
    return Refusal("EmptyPodSharedPoolError", text)
