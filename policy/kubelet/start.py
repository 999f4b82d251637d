"""What kubelet makes of its settings on a machine when it starts, or why it does not start.

Checked in the order in which kubelet makes its managers: topology, CPU, then the CPU manager's state file.
"""

from dataclasses import dataclass
from math import ceil

from policy.kubelet.cpus import CpuManager, take
from policy.kubelet.devices import DeviceManager, Plugin
from policy.kubelet.held import Held
from policy.kubelet.machine import Layout, Machine
from policy.kubelet.masks import members, write_list
from policy.kubelet.merge import Merger
from policy.kubelet.settings import (
    CpuOptions,
    Settings,
    StartError,
    TopologyOptions,
    read_cpu_options,
    read_topology_options,
)


@dataclass(frozen=True, slots=True)
class Kubelet:
    """A kubelet that has started.

    Attributes:
        merger: None under the policy none.
        cpus: None unless the CPU manager's policy is static.
    """

    settings: Settings
    merger: Merger | None
    devices: DeviceManager
    cpus: CpuManager | None

    @property
    def keeps_memory(self) -> bool:
        """Whether the Static memory manager runs."""
        return self.settings.memory_policy == "Static"

    @property
    def obeys_hints(self) -> bool:
        """Whether a merged hint can decide over a pod, rather than only over which CPUs and devices it gets."""
        whole_cores = self.cpus is not None and self.cpus.options.full_cores
        follows = self.settings.topology_policy != "best-effort" or self.keeps_memory or whole_cores
        return self.merger is not None and follows

    @property
    def by_pod(self) -> bool:
        """Whether one hint is made for the whole pod."""
        return self.settings.scope == "pod"


def start(
    machine: Machine,
    settings: Settings,
    held: Held,
    plugin: Plugin = Plugin(),  # noqa: B008 - frozen
    running: frozenset[tuple[str, str]] = frozenset(),
) -> Kubelet | StartError:
    """Start kubelet on ``machine``.

    Args:
        machine: what it finds.
        settings: what its configuration says.
        held: what its state files say.
        plugin: how device plugins behave.
        running: pods and containers that run already while kubelet has not yet heard of all pods.
    """
    merger = _merger(machine, settings)
    if isinstance(merger, StartError):
        return merger
    cpus = _cpu_manager(machine.layout, settings, held)
    if isinstance(cpus, StartError):
        return cpus
    on_device_nodes = settings.rules.hints_on_device_nodes
    registered = {name: each for name, each in machine.resources.items() if name not in plugin.down}
    devices = DeviceManager(machine.nodes, registered, plugin, on_device_nodes, running)
    return Kubelet(settings, merger, devices, cpus)


def pool_without(layout: Layout, settings: Settings, taken: int) -> int:
    """Return the shared pool that is left where containers hold ``taken``, as the state file has it."""
    options = read_cpu_options(settings)
    if settings.cpu_policy == "none" or isinstance(options, StartError) or not options.strict_reservation:
        return layout.all & ~taken
    return layout.all & ~taken & ~(_reserved(layout, settings, options) or 0)


def _reserved(layout: Layout, settings: Settings, options: CpuOptions) -> int | None:
    """Return the reserved CPUs: the set that is given, else as many as are given, picked as for a container."""
    picked = settings.reserved_cpus or take(layout, layout.all, ceil(settings.reserved_amount), options)
    return picked if isinstance(picked, int) else None


def _merger(machine: Machine, settings: Settings) -> Merger | StartError | None:
    if settings.topology_policy == "none":
        return None
    options = read_topology_options(settings)
    if isinstance(options, StartError):
        return options
    if options.closest and any(not machine.distances.get(node) for node in machine.nodes):
        return StartError("cannot discover NUMA topology: error getting NUMA distances from cadvisor")
    if len(machine.nodes) > options.most_nodes:
        return StartError(f"unsupported on machines with more than {options.most_nodes} NUMA Nodes")
    return _merger_of(machine, settings, options)


def _merger_of(machine: Machine, settings: Settings, options: TopologyOptions) -> Merger:
    single = settings.topology_policy == "single-numa-node"
    return Merger(machine.everywhere, single, machine.distances if options.closest and not single else {})


def _cpu_manager(layout: Layout, settings: Settings, held: Held) -> CpuManager | StartError | None:
    if settings.cpu_policy == "none":
        if not settings.cpu_options:
            return None
        options = " ".join(f"{name}:{text}" for name, text in sorted(settings.cpu_options.items()))
        return StartError(f"new none policy error: None policy: received unsupported options=map[{options}]")
    amount = settings.reserved_cpus.bit_count() or ceil(settings.reserved_amount)
    if amount < 1:
        return StartError("[cpumanager] unable to determine reserved CPU resources for static policy")
    error = _options_error(layout, settings)
    if isinstance(error, StartError):
        return StartError(f"new static policy error: {error.text}")
    return _static(layout, settings, error, amount, held)


def _options_error(layout: Layout, settings: Settings) -> CpuOptions | StartError:
    options = read_cpu_options(settings)
    if isinstance(options, StartError) or not options.by_socket:
        return options
    if settings.topology_policy == "single-numa-node":
        pair = "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
        return StartError(pair)
    if len(layout.sockets) > len(layout.numas):
        hardware = "hardware where number of sockets are more than number of NUMA"
        return StartError(f"Align by socket is not compatible with {hardware}")
    return options


def _static(
    layout: Layout, settings: Settings, options: CpuOptions, amount: int, held: Held
) -> CpuManager | StartError:
    reserved = _reserved(layout, settings, options)
    if reserved is None:
        text = "[cpumanager] unable to reserve the required amount of CPUs (size of  did not equal"
        return StartError(f"new static policy error: {text} {amount})")
    strange = next(members(reserved & ~layout.all), None)
    if strange is not None:
        text = "[cpumanager] unable to build the reserved physical CPUs from the reserved set"
        return StartError(f"new static policy error: {text}: unknown CPU ID: {strange}")
    rules = settings.rules
    wrong = _state_error(layout, options, reserved, held)
    return wrong or CpuManager(layout, options, reserved, rules.keeps_recorded_first, rules.says_none_left)


def _state_error(layout: Layout, options: CpuOptions, reserved: int, held: Held) -> StartError | None:
    """Check the shared pool and what is recorded against each other (Kubernetes: validateState)."""
    if not held.shared:
        return StartError("default cpuset cannot be empty") if held.cpus else None
    pool = write_list(held.shared)
    if options.strict_reservation and reserved & held.shared:
        inside = write_list(reserved & held.shared)
        return StartError(f'some of strictly reserved cpus: "{inside}" are present in defaultCpuSet: "{pool}"')
    if not options.strict_reservation and reserved & ~held.shared:
        return StartError(f'not all reserved cpus: "{write_list(reserved)}" are present in defaultCpuSet: "{pool}"')
    for key, cpus in sorted(held.cpus.items()):
        if cpus & held.shared:
            overlap = f'cpuset: "{write_list(cpus)}" overlaps with default cpuset "{pool}"'
            return StartError(f"pod: {key.pod}, container: {key.container} {overlap}")
    known = held.shared
    for cpus in (*held.cpus.values(), *held.pod_cpus.values()):
        known |= cpus
    expected = layout.all & ~reserved if options.strict_reservation else layout.all
    if known == expected:
        return None
    lists = f'"{write_list(expected)}" doesn\'t match with CPUs in state "{write_list(known)}"'
    return StartError(f"current set of available CPUs {lists}")
