"""What differs between kubelet's versions, one row each.

`verified` says how a row is known: `ran` where that version's own managers were asked and agreed, `read` where its
source was read. Levels of options decide which feature gate they need (Kubernetes: policy_options).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal

FULL_CORES: Final = "full-pcpus-only"
ACROSS_NUMA: Final = "distribute-cpus-across-numa"
BY_SOCKET: Final = "align-by-socket"
ACROSS_CORES: Final = "distribute-cpus-across-cores"
STRICT_RESERVATION: Final = "strict-cpu-reservation"
BY_CACHE: Final = "prefer-align-cpus-by-uncorecache"
CLOSEST: Final = "prefer-closest-numa-nodes"
MOST_NODES: Final = "max-allowable-numa-nodes"


class Level(StrEnum):
    """How mature an option is: alpha needs a gate that is off by default, beta one that is on, stable none."""

    ALPHA = "alpha"
    BETA = "beta"
    STABLE = "stable"


Levels = Mapping[str, Level]


@dataclass(frozen=True, slots=True)
class Rules:
    """How one minor version decides.

    Attributes:
        version: e.g. `1.36`.
        verified: how this row is known.
        cpu_options: options of the static CPU manager that exist -> level.
        topology_options: the same for the topology manager.
        hints_on_device_nodes: whether device hints range over the NUMA nodes that have a device of the resource,
            rather than over all.
        pod_level_resources: whether `spec.resources` is honoured by default.
        pod_level_managers: whether the gate PodLevelResourceManagers exists (off by default in every version).
        silent_on_pod_level: whether CPU and memory manager leave pods with `spec.resources` alone without that gate.
        keeps_recorded_first: whether CPUs on record are kept before the check of full-pcpus-only, which otherwise
            can refuse a running container.
        says_none_left: whether that check's text names a shortage also when no physical CPU is free.
        rounds_up_in_caches: whether prefer-align-cpus-by-uncorecache serves odd requests on machines with two threads.
        distributes_in_sockets: whether distribute-cpus-across-numa heeds align-by-socket.
    """

    version: str
    verified: Literal["ran", "read"]
    cpu_options: Levels
    topology_options: Levels
    hints_on_device_nodes: bool = False
    pod_level_resources: bool = True
    pod_level_managers: bool = False
    silent_on_pod_level: bool = True
    keeps_recorded_first: bool = False
    says_none_left: bool = True
    rounds_up_in_caches: bool = True
    distributes_in_sockets: bool = False


def _levels(alpha: str = "", beta: str = "", stable: str = "") -> Levels:
    by_level = {Level.ALPHA: alpha, Level.BETA: beta, Level.STABLE: stable}
    return MappingProxyType({option: level for level, options in by_level.items() for option in options.split()})


_CPU_130: Final = _levels(f"{ACROSS_NUMA} {BY_SOCKET}", FULL_CORES)
_CPU_131: Final = _levels(f"{ACROSS_NUMA} {BY_SOCKET} {ACROSS_CORES}", FULL_CORES)
_CPU_132: Final = _levels(f"{ACROSS_NUMA} {BY_SOCKET} {ACROSS_CORES} {STRICT_RESERVATION} {BY_CACHE}", FULL_CORES)
_CPU_133: Final = _levels(f"{BY_SOCKET} {ACROSS_CORES} {BY_CACHE}", f"{STRICT_RESERVATION} {ACROSS_NUMA}", FULL_CORES)
_CPU_134: Final = _levels(f"{BY_SOCKET} {ACROSS_CORES}", f"{STRICT_RESERVATION} {ACROSS_NUMA} {BY_CACHE}", FULL_CORES)
_CPU_135: Final = _levels(
    f"{BY_SOCKET} {ACROSS_CORES}", f"{ACROSS_NUMA} {BY_CACHE}", f"{FULL_CORES} {STRICT_RESERVATION}"
)
_CPU_136: Final = _levels(f"{BY_SOCKET} {ACROSS_CORES}", ACROSS_NUMA, f"{FULL_CORES} {STRICT_RESERVATION} {BY_CACHE}")

_TOPOLOGY_130: Final = _levels(beta=CLOSEST)
_TOPOLOGY_131: Final = _levels(beta=f"{CLOSEST} {MOST_NODES}")
_TOPOLOGY_132: Final = _levels(beta=MOST_NODES, stable=CLOSEST)
_TOPOLOGY_135: Final = _levels(stable=f"{CLOSEST} {MOST_NODES}")

_OLD: Final = Rules("1.32", "read", _CPU_132, _TOPOLOGY_132, pod_level_resources=False, rounds_up_in_caches=False)

_ROWS: Final = (
    replace(_OLD, version="1.30", cpu_options=_CPU_130, topology_options=_TOPOLOGY_130, says_none_left=False),
    replace(_OLD, version="1.31", cpu_options=_CPU_131, topology_options=_TOPOLOGY_131, says_none_left=False),
    replace(_OLD, silent_on_pod_level=False),
    replace(_OLD, version="1.33", cpu_options=_CPU_133, silent_on_pod_level=False),
    Rules("1.34", "read", _CPU_134, _TOPOLOGY_132),
    Rules("1.35", "read", _CPU_135, _TOPOLOGY_135),
    Rules("1.36", "ran", _CPU_136, _TOPOLOGY_135, hints_on_device_nodes=True, pod_level_managers=True),
    Rules(
        "1.37",
        "read",
        _CPU_136,
        _TOPOLOGY_135,
        hints_on_device_nodes=True,
        pod_level_managers=True,
        keeps_recorded_first=True,
        distributes_in_sockets=True,
    ),
)

VERSIONS: Final[Mapping[str, Rules]] = MappingProxyType({row.version: row for row in _ROWS})
"""Minor version -> its row."""

VERIFIED: Final = VERSIONS["1.36"]
"""The version whose own code answered the vectors."""


def rules_of(version: str) -> Rules | None:
    """Return the row of a kubelet version such as `v1.36.3`, None if it is outside of 1.30 to 1.37."""
    return VERSIONS.get(".".join(version.removeprefix("v").split(".")[:2]))
