"""Which devices a container may get (Kubernetes: devicesToAllocate, filterByAffinity)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from policy.kubelet.demand import ContainerDemand, Demand
from policy.kubelet.devices import DeviceManager, Plugin
from policy.kubelet.held import NO_REUSE, DeviceKey, Held, Ids, Reuse, used_by_owner
from policy.kubelet.machine import Resource
from policy.kubelet.outcome import Call, DeviceChoice, End, unexpected
from policy.kubelet.picks import Picks
from policy.pod import Phase

_NONE: Final[Ids] = frozenset()


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
    reuse: Reuse = NO_REUSE


def allocate(
    manager: DeviceManager, held: Held, reuse: Reuse, demand: Demand, container: ContainerDemand, mask: int | None
) -> Iterator[Allocation]:
    """Yield what may come of giving one container its devices, arbitrary choices on the lowest ids first.

    Choices that nothing later can tell apart are yielded once.
    """
    branches: Iterable[Allocation] = [Allocation(held, {})]
    for name, want in manager.wants(container.limits, held).items():
        branches = _next(manager, branches, reuse, Asked(demand.name, demand.uid, container.name, name, want, mask))
    for branch in branches:
        yield (branch if branch.end else replace(branch, reuse=_left_for_later(branch.held, reuse, demand, container)))


def _next(manager: DeviceManager, branches: Iterable[Allocation], reuse: Reuse, asked: Asked) -> Iterator[Allocation]:
    for branch in branches:
        if branch.end:
            yield branch
        else:
            yield from _one(manager, branch, reuse.devices.get(asked.resource, _NONE), asked)


def _one(manager: DeviceManager, before: Allocation, reusable: Ids, asked: Asked) -> Iterator[Allocation]:
    """Yield what may come of one resource."""
    held, name = before.held, asked.resource
    recorded = held.devices.get(asked.key)
    choice = _settled(manager, recorded, asked)
    if isinstance(choice, End):
        yield replace(before, end=choice)
        return
    if choice is not None:
        yield replace(before, devices={**before.devices, name: choice})
        return
    picks = _picks(manager, held, reusable, asked)
    if isinstance(picks, End):
        yield replace(before, end=picks)
        return
    failure = manager.plugin.failures.get(asked.pod)
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


def _settled(manager: DeviceManager, recorded: Ids | None, asked: Asked) -> DeviceChoice | End | None:
    """Return the end or the choice where nothing new is taken, None where something is."""
    name, want = asked.resource, asked.want
    if recorded is not None and len(recorded) != want:
        changed = f'changed request for resource "{name}" from {len(recorded)} to {want}'
        return unexpected(f'pod "{asked.uid}" container "{asked.container}" {changed}')
    resource = manager.resource(name)
    if (asked.pod, asked.container) in manager.running:
        return _fixed_choice(recorded or _NONE, resource)
    if name not in manager.resources and name not in manager.plugin.down:
        return unexpected(f"cannot allocate unregistered device {name}")
    if not resource.healthy:
        return unexpected(f"no healthy devices present; cannot allocate unhealthy devices {name}")
    if (recorded or _NONE) - resource.healthy:
        text = "previously allocated devices are no longer healthy; cannot allocate unhealthy devices"
        return unexpected(f"{text} {name}")
    return _fixed_choice(recorded or _NONE, resource) if recorded is not None or not want else None


def _picks(manager: DeviceManager, held: Held, reusable: Ids, asked: Asked) -> Picks | End:
    """Say from which devices the result is drawn, in kubelet's order of steps."""
    name, want = asked.resource, asked.want
    resource = manager.resources[name]
    if len(reusable) >= want:
        return Picks.of_reused(resource, reusable, want)
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
    asks = manager.plugin.has_preference and need != len(aligned)
    call = Call(offered, fixed, want) if asks else None
    choice = replace(_choice(want, fixed, allowed, call), aligned=aligned, unaligned=unaligned, cards=resource.cards)
    return Picks(resource, choice, fixed, pools, _answered(manager.plugin, name, call))


def _choice(want: int, fixed: Ids, allowed: Ids, call: Call | None) -> DeviceChoice:
    if len(allowed) == want:
        return DeviceChoice(want, allowed, allowed, "forced", call)
    return DeviceChoice(want, fixed, allowed, "plugin" if call else "arbitrary", call)


def _answered(plugin: Plugin, name: str, call: Call | None) -> tuple[str, ...] | None:
    """Return the ids that the plugin answers with, None where that is not known."""
    if call is None:
        return ()
    if plugin.preference is None:
        return None
    liked = [each for each in plugin.preference.get(name, ()) if each in call.available]
    listed = [*sorted(call.must_include), *(each for each in liked if each not in call.must_include)]
    return tuple(listed[: call.size])


def _fixed_choice(ids: Ids, resource: Resource) -> DeviceChoice:
    return DeviceChoice(len(ids), ids, ids, "forced", picked=ids, cards=resource.cards)


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
