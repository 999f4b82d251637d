"""The device manager: hints, and which devices a container may get (Kubernetes: devicemanager)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from policy.kubelet.demand import Amounts, ContainerDemand, Demand
from policy.kubelet.families import at_least, count_on, hints_of, narrowest_touching, too_many
from policy.kubelet.held import DeviceKey, Held, Ids, Reuse
from policy.kubelet.machine import Resource, resource_of
from policy.kubelet.masks import mask_of, members
from policy.kubelet.outcome import IMPOSSIBLE, End, Hints, Panic, Stall

_NONE: Final[Ids] = frozenset()
_UNREGISTERED: Final = resource_of(())
NIL_POINTER: Final = "runtime error: invalid memory address or nil pointer dereference"


@dataclass(frozen=True, slots=True)
class Failure:
    """A call of the plugin that returns an error."""

    call: str
    text: str


@dataclass(frozen=True, slots=True)
class Plugin:
    """How the device plugins of a machine behave.

    Attributes:
        has_preference: whether they offer GetPreferredAllocation.
        preference: resource -> ids that the plugin answers with, best first, empty for an empty answer; None where
            nobody knows what it answers.
        failures: pod -> the call that fails for it.
        down: resources that kubelet knows from before its start and whose plugin has not registered again.
    """

    has_preference: bool = True
    preference: Mapping[str, tuple[str, ...]] | None = None
    failures: Mapping[str, Failure] = field(default_factory=dict)
    down: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DeviceManager:
    """The device manager of one kubelet.

    Attributes:
        nodes: every NUMA node of the machine.
        resources: resource name -> registered devices.
        on_device_nodes: see Rules.hints_on_device_nodes.
        running: containers that run while kubelet starts and has not heard of all pods; they are left alone.
    """

    nodes: tuple[int, ...]
    resources: Mapping[str, Resource]
    plugin: Plugin
    on_device_nodes: bool = True
    running: frozenset[tuple[str, str]] = frozenset()

    def resource(self, name: str) -> Resource:
        """Return the registered devices of a resource; it may have none."""
        return self.resources.get(name, _UNREGISTERED)

    def wants(self, limits: Amounts, held: Held) -> dict[str, int]:
        """Return how many devices ``limits`` ask for, of resources that kubelet knows, by name."""
        known = [name for name in limits if name in self.resources or name in self.plugin.down or name in held.in_use]
        return {name: ceil(limits[name]) for name in sorted(known)}

    def hints(
        self, held: Held, reuse: Reuse, demand: Demand, container: ContainerDemand
    ) -> dict[str, Hints | None] | End:
        """Return what can be offered to one container by resource, None for no preference."""
        answers: dict[str, Hints | None] = {}
        for name, want in self.wants(container.limits, held).items():
            recorded = held.devices.get(DeviceKey(demand.name, container.name, name), _NONE)
            answer = self._answer(held, name, want, recorded, reuse.devices.get(name, _NONE))
            if isinstance(answer, Panic | Stall):
                return answer
            answers[name] = answer
        return answers

    def pod_hints(self, held: Held, demand: Demand) -> dict[str, Hints | None] | End:
        """Return what can be offered to the pod as a whole; reusable devices do not count here (Kubernetes)."""
        answers: dict[str, Hints | None] = {}
        for name, want in self.wants(demand.devices, held).items():
            mine = [ids for key, ids in held.devices.items() if key.pod == demand.name and key.resource == name]
            answer = self._answer(held, name, want, _NONE.union(*mine), _NONE)
            if isinstance(answer, Panic | Stall):
                return answer
            answers[name] = answer
        return answers

    def _answer(self, held: Held, name: str, want: int, recorded: Ids, reusable: Ids) -> Hints | Panic | Stall | None:
        resource = self.resource(name)
        if not resource.aligned:
            return None
        if not recorded:
            free = resource.healthy - held.in_use.get(name, _NONE)
            return self._hints(name, resource, free, reusable, want) if len(free | reusable) >= want else IMPOSSIBLE
        if len(recorded) != want:
            return IMPOSSIBLE
        if recorded - resource.devices.keys():
            return Panic(NIL_POINTER)
        return self._hints(name, resource, recorded, _NONE, want)

    def _hints(self, name: str, resource: Resource, free: Ids, reusable: Ids, want: int) -> Hints | Stall:
        nodes = self._walked(resource)
        stall = too_many(nodes, name)
        if stall:
            return stall
        masks = resource.masks
        pins = [masks[each] for each in reusable if resource.devices[each].nodes is not None]
        open_to = count_on(nodes, Counter(masks[each] for each in free))
        fitting = at_least(nodes, open_to, want - len(pins))
        for pin in set(pins):
            fitting = [mask for mask in fitting if mask & pin]
        return hints_of(fitting, narrowest_touching(nodes, resource.installed, want))

    def _walked(self, resource: Resource) -> tuple[int, ...]:
        """Return the NUMA nodes whose sets are walked."""
        if not self.on_device_nodes:
            return self.nodes
        hosting = 0
        for mask in resource.masks.values():
            hosting |= mask
        return tuple(members(hosting & mask_of(self.nodes))) or self.nodes
