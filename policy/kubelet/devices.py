"""The device manager: hints, and which devices a container may get (Kubernetes: devicemanager)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Final

from policy.kubelet.demand import Amounts, ContainerDemand, Demand
from policy.kubelet.families import count_on, hints_of, narrowest, too_many
from policy.kubelet.held import DeviceKey, Held, Ids, Reuse, used_by_owner
from policy.kubelet.machine import Resource, resource_of
from policy.kubelet.masks import mask_of, members, subsets
from policy.kubelet.outcome import IMPOSSIBLE, Call, DeviceChoice, End, Hints, Panic, Stall, unexpected
from policy.kubelet.picks import Picks
from policy.pod import Phase

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
        resource = self.resources.get(name, _UNREGISTERED)
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
        width = narrowest(nodes, count_on(nodes, resource.installed), want)
        open_to = count_on(nodes, Counter(masks[each] for each in free))
        need, pinning = want - len(pins), set(pins)
        fitting = (
            mask
            for mask, count in zip(subsets(nodes), open_to, strict=True)
            if mask and count >= need and all(mask & pin for pin in pinning)
        )
        return hints_of(fitting, width)

    def _walked(self, resource: Resource) -> tuple[int, ...]:
        """Return the NUMA nodes whose sets are walked."""
        if not self.on_device_nodes:
            return self.nodes
        hosting = 0
        for mask in resource.masks.values():
            hosting |= mask
        return tuple(members(hosting & mask_of(self.nodes))) or self.nodes

    def allocate(
        self, held: Held, reuse: Reuse, demand: Demand, container: ContainerDemand, mask: int | None
    ) -> "Iterator[Allocation]":
        """Yield what may come of giving one container its devices, arbitrary choices on the lowest ids first.

        Choices that nothing later can tell apart are yielded once.
        """
        branches: Iterable[Allocation] = [Allocation(held, {})]
        for name, want in self.wants(container.limits, held).items():
            branches = self._next(branches, reuse, Asked(demand.name, demand.uid, container.name, name, want, mask))
        for branch in branches:
            yield (
                branch if branch.end else replace(branch, reuse=_left_for_later(branch.held, reuse, demand, container))
            )

    def _next(self, branches: "Iterable[Allocation]", reuse: Reuse, asked: "Asked") -> "Iterator[Allocation]":
        for branch in branches:
            if branch.end:
                yield branch
            else:
                yield from self._one(branch, reuse.devices.get(asked.resource, _NONE), asked)

    def _one(self, before: "Allocation", reusable: Ids, asked: "Asked") -> "Iterator[Allocation]":
        """Yield what may come of one resource."""
        held, name = before.held, asked.resource
        recorded = held.devices.get(asked.key)
        choice = self._settled(recorded, asked)
        if isinstance(choice, End):
            yield replace(before, end=choice)
            return
        if choice is not None:
            yield replace(before, devices={**before.devices, name: choice})
            return
        picks = self._picks(held, reusable, asked)
        if isinstance(picks, End):
            yield replace(before, end=picks)
            return
        failure = self.plugin.failures.get(asked.pod)
        if failure and failure.call == "GetPreferredAllocation" and picks.choice.call:
            error = f"device plugin GetPreferredAllocation rpc failed with err: {failure.text}"
            yield replace(before, held=_marked(held, name, picks.fixed), end=unexpected(error))
            return
        if failure and failure.call == "Allocate":
            yield replace(before, held=replace(held, in_use=used_by_owner(held.devices)), end=unexpected(failure.text))
            return
        for picked in picks.results():
            choice = replace(picks.choice, picked=picked)
            devices = {**held.devices, asked.key: picked}
            changed = _marked(replace(held, devices=devices), name, picked)
            yield replace(before, held=changed, devices={**before.devices, name: choice})

    def _settled(self, recorded: Ids | None, asked: "Asked") -> DeviceChoice | End | None:
        """Return the end or the choice where nothing new is taken, None where something is."""
        name, want = asked.resource, asked.want
        if recorded is not None and len(recorded) != want:
            changed = f'changed request for resource "{name}" from {len(recorded)} to {want}'
            return unexpected(f'pod "{asked.uid}" container "{asked.container}" {changed}')
        cards = self._cards(name)
        if (asked.pod, asked.container) in self.running:
            return _fixed_choice(recorded or _NONE, cards)
        if name not in self.resources and name not in self.plugin.down:
            return unexpected(f"cannot allocate unregistered device {name}")
        healthy = self.resources.get(name, _UNREGISTERED).healthy
        if not healthy:
            return unexpected(f"no healthy devices present; cannot allocate unhealthy devices {name}")
        if (recorded or _NONE) - healthy:
            text = "previously allocated devices are no longer healthy; cannot allocate unhealthy devices"
            return unexpected(f"{text} {name}")
        return _fixed_choice(recorded or _NONE, cards) if recorded is not None or not want else None

    def _cards(self, name: str) -> Mapping[str, str]:
        devices = self.resources.get(name, _UNREGISTERED).devices
        return {each.id: each.card or each.id for each in devices.values()}

    def _picks(self, held: Held, reusable: Ids, asked: "Asked") -> Picks | End:
        """Say from which devices the result is drawn, in kubelet's order of steps."""
        name, want = asked.resource, asked.want
        resource = self.resources[name]
        cards = self._cards(name)
        if len(reusable) >= want:
            return Picks.of_reused(resource, reusable, want, cards)
        need = want - len(reusable)
        free = resource.healthy - held.in_use.get(name, _NONE)
        if len(free) < need:
            numbers = f"Requested: {need}, Available: {len(free)}"
            return unexpected(f"requested number of devices unavailable for {name}. {numbers}")
        aligned, unaligned = _split(resource, free, asked.mask)
        pools = (aligned,) if need <= len(aligned) else (unaligned, free - aligned - unaligned)
        fixed = reusable if need < len(aligned) else reusable | aligned
        offered = aligned | reusable if need < len(aligned) else free | reusable
        allowed = fixed | aligned if need <= len(aligned) else fixed | free
        choice = self._choice(want, fixed, allowed, offered, asks=need != len(aligned))
        choice = replace(choice, aligned=aligned, unaligned=unaligned, cards=cards)
        return Picks(resource, choice, fixed, pools, self._answered(name, choice.call))

    def _choice(self, want: int, fixed: Ids, allowed: Ids, offered: Ids, *, asks: bool) -> DeviceChoice:
        call = Call(offered, fixed, want) if asks and self.plugin.has_preference else None
        if len(allowed) == want:
            return DeviceChoice(want, allowed, allowed, "forced", call)
        return DeviceChoice(want, fixed, allowed, "plugin" if call else "arbitrary", call)

    def _answered(self, name: str, call: Call | None) -> tuple[str, ...] | None:
        """Return the ids that the plugin answers with, None where that is not known."""
        if call is None:
            return ()
        if self.plugin.preference is None:
            return None
        liked = [each for each in self.plugin.preference.get(name, ()) if each in call.available]
        listed = [*sorted(call.must_include), *(each for each in liked if each not in call.must_include)]
        return tuple(listed[: call.size])


@dataclass(frozen=True, slots=True)
class Asked:
    """One resource of one container, and the hint that is stored for it."""

    pod: str
    uid: str
    container: str
    resource: str
    want: int
    mask: int | None

    @property
    def key(self) -> DeviceKey:
        """Under which its devices are recorded."""
        return DeviceKey(self.pod, self.container, self.resource)


@dataclass(frozen=True, slots=True)
class Allocation:
    """What came of giving a container its devices.

    Attributes:
        held: what is held afterwards.
        devices: resource -> what was chosen.
        end: why it ended, None if it did not.
        reuse: what later containers may reuse.
    """

    held: Held
    devices: Mapping[str, DeviceChoice]
    end: End | None = None
    reuse: Reuse = field(default_factory=Reuse)


def _fixed_choice(ids: Ids, cards: Mapping[str, str]) -> DeviceChoice:
    return DeviceChoice(len(ids), ids, ids, "forced", picked=ids, cards=cards)


def _marked(held: Held, name: str, ids: Ids) -> Held:
    return replace(held, in_use={**held.in_use, name: held.in_use.get(name, _NONE) | ids})


def _split(resource: Resource, free: Ids, mask: int | None) -> tuple[Ids, Ids]:
    """Return free devices that touch ``mask`` and those on other NUMA nodes; none of either without a hint."""
    if mask is None or not resource.aligned:
        return _NONE, _NONE
    aligned = frozenset(each for each in free if resource.masks[each] & mask)
    return aligned, frozenset(each for each in free - aligned if resource.devices[each].nodes)


def _left_for_later(held: Held, reuse: Reuse, demand: Demand, container: ContainerDemand) -> Reuse:
    devices = dict(reuse.devices)
    for key, ids in held.devices.items():
        if key[:2] == (demand.name, container.name):
            before = devices.get(key.resource, _NONE)
            devices[key.resource] = before | ids if container.phase is Phase.INIT else before - ids
    return replace(reuse, devices=devices)
