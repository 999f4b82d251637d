"""How a kubelet is set up: what its configuration file says, and the options read from their text.

The names and values are those of KubeletConfiguration; what kubelet would not start with is reported in its own
words, the options of one manager in alphabetical order (kubelet itself walks them in no order).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Literal

from policy.kubelet import versions
from policy.kubelet.versions import Level, Levels, Rules

TopologyPolicy = Literal["none", "best-effort", "restricted", "single-numa-node"]
Scope = Literal["container", "pod"]

MOST_NODES_BY_DEFAULT: Final = 8
POD_LEVEL_MANAGERS: Final = "PodLevelResourceManagers"
POD_LEVEL_RESOURCES: Final = "PodLevelResources"

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_INTEGER: Final = re.compile(r"[+-]?\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Settings:
    """One kubelet's configuration.

    Attributes:
        rules: what its version decides.
        topology_options, cpu_options: policy options, name -> text.
        reserved_cpus: reservedSystemCPUs as a set, 0 if not set.
        reserved_amount: kubeReserved.cpu + systemReserved.cpu in CPUs, used where no set is given.
        gates: feature gates that are set otherwise than by default.
    """

    rules: Rules = versions.VERIFIED
    topology_policy: TopologyPolicy = "none"
    scope: Scope = "container"
    topology_options: Mapping[str, str] = field(default_factory=dict)
    cpu_policy: Literal["none", "static"] = "none"
    cpu_options: Mapping[str, str] = field(default_factory=dict)
    memory_policy: Literal["None", "Static"] = "None"
    reserved_cpus: int = 0
    reserved_amount: Fraction = Fraction(0)
    gates: Mapping[str, bool] = field(default_factory=dict)

    @property
    def pod_level_resources(self) -> bool:
        """Whether `spec.resources` is honoured."""
        return self.gates.get(POD_LEVEL_RESOURCES, self.rules.pod_level_resources)

    @property
    def pod_level_managers(self) -> bool:
        """Whether CPU and memory manager divide what `spec.resources` asks for."""
        return self.rules.pod_level_managers and self.pod_level_resources and self.gates.get(POD_LEVEL_MANAGERS, False)


@dataclass(frozen=True, slots=True)
class CpuOptions:
    """Options of the static CPU manager, read.

    Attributes:
        rounds_up_in_caches, distributes_in_sockets: how this version's pickers work, see Rules.
    """

    full_cores: bool = False
    across_numa: bool = False
    by_socket: bool = False
    across_cores: bool = False
    strict_reservation: bool = False
    by_cache: bool = False
    rounds_up_in_caches: bool = True
    distributes_in_sockets: bool = False


@dataclass(frozen=True, slots=True)
class TopologyOptions:
    """Options of the topology manager, read.

    Attributes:
        closest: whether the shorter mean distance breaks ties.
        most_nodes: how many NUMA nodes the machine may have.
    """

    closest: bool = False
    most_nodes: int = MOST_NODES_BY_DEFAULT


@dataclass(frozen=True, slots=True)
class StartError:
    """Why kubelet does not start, in its words."""

    text: str


_CPU_FIELDS: Final = {
    versions.FULL_CORES: "full_cores",
    versions.ACROSS_NUMA: "across_numa",
    versions.BY_SOCKET: "by_socket",
    versions.ACROSS_CORES: "across_cores",
    versions.STRICT_RESERVATION: "strict_reservation",
    versions.BY_CACHE: "by_cache",
}
_EXCLUDING: Final = (
    (versions.FULL_CORES, versions.ACROSS_CORES),
    (versions.ACROSS_NUMA, versions.ACROSS_CORES),
    (versions.BY_CACHE, versions.ACROSS_CORES),
    (versions.BY_CACHE, versions.ACROSS_NUMA),
)


def read_cpu_options(settings: Settings) -> CpuOptions | StartError:
    """Read the options of the static CPU manager."""
    read: dict[str, bool] = {}
    for name, text in sorted(settings.cpu_options.items()):
        error = _closed(name, settings, settings.rules.cpu_options, "CPUManagerPolicy", "CPU Manager Policy")
        if error:
            return StartError(error)
        if text not in _TRUE | _FALSE:
            return StartError(_no_boolean(name, text))
        read[name] = text in _TRUE
    for one, other in _EXCLUDING:
        if read.get(one) and read.get(other):
            return StartError(f"static policy options {one} and {other} can not be used at the same time")
    return CpuOptions(
        **{_CPU_FIELDS[name]: value for name, value in read.items()},
        rounds_up_in_caches=settings.rules.rounds_up_in_caches,
        distributes_in_sockets=settings.rules.distributes_in_sockets,
    )


def read_topology_options(settings: Settings) -> TopologyOptions | StartError:
    """Read the options of the topology manager."""
    closest, most = False, MOST_NODES_BY_DEFAULT
    for name, text in sorted(settings.topology_options.items()):
        levels = settings.rules.topology_options
        error = _closed(name, settings, levels, "TopologyManagerPolicy", "Topology Manager Policy")
        if error:
            return StartError(error)
        if name == versions.CLOSEST:
            if text not in _TRUE | _FALSE:
                return StartError(_no_boolean(name, text))
            closest = text in _TRUE
            continue
        if not _INTEGER.fullmatch(text):
            parsing = f'strconv.Atoi: parsing "{text}": invalid syntax'
            return StartError(f'unable to convert policy option to integer "{name}": {parsing}')
        most = int(text)
        if most < MOST_NODES_BY_DEFAULT:
            return StartError(f'the minimum value of "{name}" should not be less than {MOST_NODES_BY_DEFAULT}')
    return TopologyOptions(closest, most)


def _closed(name: str, settings: Settings, levels: Levels, gate: str, manager: str) -> str:
    level = levels.get(name)
    if level is None:
        return f'unknown {manager} option: "{name}"'
    if level is Level.STABLE or settings.gates.get(f"{gate}{level.title()}Options", level is Level.BETA):
        return ""
    if manager.startswith("CPU"):
        return f'{manager} {level.title()}-level Options not enabled, but option "{name}" provided'
    return f'{manager.lower()} {level}-level options not enabled, but option "{name}" provided'


def _no_boolean(name: str, text: str) -> str:
    return f'bad value for option "{name}": strconv.ParseBool: parsing "{text}": invalid syntax'
