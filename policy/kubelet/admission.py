"""One pod before kubelet: hints, merge and allocation, container by container (Kubernetes: topologymanager scopes)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from policy.kubelet import allotment, memory, memory_hints
from policy.kubelet.demand import ContainerDemand, Demand
from policy.kubelet.held import NO_REUSE, ContainerKey, Held, Reuse, release
from policy.kubelet.merge import Merger
from policy.kubelet.outcome import (
    NO_AFFINITY,
    TOPOLOGY_AFFINITY,
    Answers,
    ContainerOutcome,
    End,
    Hints,
    Merged,
    Refusal,
    Stall,
)
from policy.kubelet.start import Kubelet

_NO_LOCALITY: Final = Refusal(TOPOLOGY_AFFINITY, "Resources cannot be allocated with Topology locality")
_POD_LEVEL_TEXT: Final = "Pod Scope pod with pod-level resources failed admission"
_NO_LOCALITY_OF_POD: Final = Refusal(TOPOLOGY_AFFINITY, f"{_POD_LEVEL_TEXT} under pod-scope topology manager")
_NO_LOCALITY_IN_POD: Final = Refusal(TOPOLOGY_AFFINITY, f"{_POD_LEVEL_TEXT} with a container-level topology manager")


@dataclass(frozen=True, slots=True)
class Path:
    """One way through a pod's admission.

    Attributes:
        end: why it ended, None if the pod is let in.
        held: what is held afterwards, nothing of a pod that was refused.
        containers, hints, merged: see Prediction.
    """

    end: End | None
    held: Held
    containers: tuple[ContainerOutcome, ...] = ()
    hints: Answers | None = None
    merged: Merged | None = None


def paths(kubelet: Kubelet, held: Held, demand: Demand, *, last: bool = True) -> Iterator[Path]:
    """Yield the ways through the admission of one pod; what a refused pod had taken is given back at the end.

    Args:
        kubelet: as `start` made it.
        held: what pods hold already.
        demand: what the pod asks for.
        last: whether no pod comes after it, so that picks matter to its own containers only.
    """
    for path in _Admission(kubelet, demand, last).paths(held):
        yield path if path.end is None else replace(path, held=release(path.held, demand.name))


@dataclass(frozen=True, slots=True)
class _Admission:
    """One pod before one kubelet."""

    kubelet: Kubelet
    demand: Demand
    last: bool

    def paths(self, held: Held) -> Iterator[Path]:
        merger = self.kubelet.merger
        if merger is None or not self.kubelet.by_pod:
            yield from self._containers(held, None)
            return
        answers = self._pod_answers(held)
        merged = _merged(merger, answers)
        if not isinstance(merged, Merged):
            yield Path(merged, held, hints=_known(answers))
            return
        shown = Path(None, held, hints=_known(answers), merged=merged)
        if not self._admits(merged):
            yield replace(shown, end=_NO_LOCALITY_OF_POD if self.demand.by_pod else _NO_LOCALITY)
        elif self.demand.by_pod:
            yield self._block(shown, merged)
        else:
            for path in self._containers(held, merged):
                yield replace(path, hints=shown.hints, merged=merged)

    def _picks_matter(self, container: ContainerDemand) -> bool:
        """Tell whether which devices ``container`` gets can decide what becomes of later containers or pods.

        Where no hint is made after it, or a hint neither refuses nor tells the memory manager where to look, only
        the number of devices counts.
        """
        later = not self.last or (not self.kubelet.by_pod and container is not self.demand.containers[-1])
        return later and self.kubelet.obeys_hints

    def _admits(self, merged: Merged) -> bool:
        return merged.preferred or self.kubelet.settings.topology_policy == "best-effort"

    def _pod_answers(self, held: Held) -> Answers | End:
        devices = self.kubelet.devices.pod_hints(held, self.demand)
        cpus = self.kubelet.cpus.pod_hints(held, self.demand) if self.kubelet.cpus else None
        kept = memory_hints.pod_hints(held, self.demand) if self.kubelet.keeps_memory else {}
        return _joined(devices, cpus, kept)

    def _answers(self, held: Held, reuse: Reuse, container: ContainerDemand) -> Answers | End:
        devices = self.kubelet.devices.hints(held, reuse, self.demand, container)
        cpus = self.kubelet.cpus.hints(held, reuse, self.demand, container) if self.kubelet.cpus else None
        kept = memory_hints.container_hints(held, reuse, self.demand, container) if self.kubelet.keeps_memory else {}
        return _joined(devices, cpus, kept)

    def _containers(self, held: Held, merged: Merged | None) -> Iterator[Path]:
        """Walk the containers; ``merged`` is the hint of the pod, None if each container gets its own."""
        yield from self._rest(Path(None, held), NO_REUSE, self.demand.containers, merged)

    def _rest(
        self, path: Path, reuse: Reuse, containers: Sequence[ContainerDemand], merged: Merged | None
    ) -> Iterator[Path]:
        if not containers:
            yield path
            return
        for step, left in self._container(path.held, reuse, containers[0], merged):
            after = replace(path, end=step.end, held=step.held, containers=path.containers + step.containers)
            if after.end is not None:
                yield after
            else:
                yield from self._rest(after, left, containers[1:], merged)

    def _container(
        self, held: Held, reuse: Reuse, container: ContainerDemand, merged: Merged | None
    ) -> Iterator[tuple[Path, Reuse]]:
        """Yield what may come of one container, and what it leaves for later ones."""
        outcome = ContainerOutcome(container.name)
        merger = self.kubelet.merger
        if merged is not None or merger is None:
            yield from self._allocated(held, reuse, container, outcome, merged or NO_AFFINITY)
            return
        answers = self._answers(held, reuse, container)
        own = _merged(merger, answers)
        if not isinstance(own, Merged):
            yield Path(own, held, (replace(outcome, hints=_known(answers)),)), reuse
            return
        outcome = replace(outcome, hints=_known(answers), merged=own)
        if self._admits(own):
            yield from self._allocated(held, reuse, container, outcome, own)
        else:
            refused = _NO_LOCALITY_IN_POD if self.demand.by_pod else _NO_LOCALITY
            yield Path(refused, held, (outcome,)), reuse

    def _allocated(
        self, held: Held, reuse: Reuse, container: ContainerDemand, outcome: ContainerOutcome, hint: Merged
    ) -> Iterator[tuple[Path, Reuse]]:
        allocations = allotment.allocate(self.kubelet.devices, held, reuse, self.demand, container, hint.mask)
        for allocation in allocations if self._picks_matter(container) else islice(allocations, 1):
            shown = replace(outcome, devices=allocation.devices)
            if allocation.end is not None:
                yield Path(allocation.end, allocation.held, (shown,)), reuse
            else:
                yield self._with_cpus(allocation.held, allocation.reuse, container, shown, hint)

    def _with_cpus(
        self, held: Held, reuse: Reuse, container: ContainerDemand, outcome: ContainerOutcome, hint: Merged
    ) -> tuple[Path, Reuse]:
        manager = self.kubelet.cpus
        if manager is not None:
            done = manager.allocate(held, reuse, self.demand, container, hint.mask)
            if not isinstance(done, tuple):
                return Path(done, held, (outcome,)), reuse
            held, reuse = done
        outcome = replace(outcome, cpus=held.cpus.get(ContainerKey(self.demand.name, container.name)))
        if not self.kubelet.keeps_memory:
            return Path(None, held, (outcome,)), reuse
        kept = memory.allocate(held, reuse, self.demand, container, hint)
        if not isinstance(kept, tuple):
            return Path(kept, held, (outcome,)), reuse
        held, reuse, nodes = kept
        return Path(None, held, (replace(outcome, memory_nodes=nodes),)), reuse

    def _block(self, shown: Path, merged: Merged) -> Path:
        """Give the pod one block of CPUs and memory; devices are left out (Kubernetes: AllocatePod)."""
        held = shown.held
        if self.kubelet.cpus is not None:
            done = self.kubelet.cpus.allocate_pod(held, self.demand, merged.mask)
            if not isinstance(done, Held):
                return replace(shown, end=done)
            held = done
        if self.kubelet.keeps_memory:
            kept = memory.allocate_pod(held, self.demand, merged)
            if not isinstance(kept, Held):
                return replace(shown, end=kept, held=held)
            held = kept
        return replace(shown, held=held, containers=tuple(self._part(held, each) for each in self.demand.containers))

    def _part(self, held: Held, container: ContainerDemand) -> ContainerOutcome:
        key = ContainerKey(self.demand.name, container.name)
        nodes = 0
        for block in held.blocks.get(key, ()):
            nodes |= block.nodes
        return ContainerOutcome(container.name, cpus=held.cpus.get(key), memory_nodes=nodes)


def _joined(
    devices: Mapping[str, Hints | None] | End, cpus: Hints | Stall | None, kept: Mapping[str, Hints | None] | End
) -> Answers | End:
    """Join the answers of the providers in kubelet's order, or return the first end."""
    if not isinstance(devices, Mapping):
        return devices
    if isinstance(cpus, Stall):
        return cpus
    if not isinstance(kept, Mapping):
        return kept
    return {**devices, **({} if cpus is None else {"cpu": cpus}), **kept}


def _merged(merger: Merger, answers: Answers | End) -> Merged | End:
    return merger.merge(answers.values()) if isinstance(answers, Mapping) else answers


def _known(answers: Answers | End) -> Answers | None:
    return answers if isinstance(answers, Mapping) else None
