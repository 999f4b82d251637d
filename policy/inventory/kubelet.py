"""What a kubelet says of itself: its configuration, and the state file of its CPU manager."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from policy.hami.errors import shown
from policy.inventory.reading import Problem, cpu_list
from policy.quantity import parse

CONFIGZ: Final = "kubeletconfig"
"""Under this key a kubelet's `configz` endpoint answers with its configuration."""

KIND: Final = "KubeletConfiguration"

_CPU_POLICIES: Final = ("none", "static")
_MEMORY_POLICIES: Final = ("None", "Static")
_TOPOLOGY_POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")
_SCOPES: Final = ("container", "pod")


@dataclass(frozen=True, slots=True)
class KubeletSetup:
    """How one kubelet is set up, as far as it is known; None is not known.

    Attributes:
        topology_policy, topology_scope: of the topology manager.
        topology_options, cpu_options: option -> text.
        cpu_policy, memory_policy: of the CPU and memory managers.
        reserved_cpus: reservedSystemCPUs as a set, 0 if there is no such list.
        reserved_amount: kubeReserved.cpu + systemReserved.cpu, which count where there is no list.
        advertises_numa: whether its device plugin tells it the NUMA nodes of cards.
    """

    topology_policy: str | None = None
    topology_scope: str | None = None
    topology_options: Mapping[str, str] | None = None
    cpu_policy: str | None = None
    cpu_options: Mapping[str, str] | None = None
    memory_policy: str | None = None
    reserved_cpus: int | None = None
    reserved_amount: Fraction | None = None
    advertises_numa: bool | None = None


UNKNOWN_SETUP: Final = KubeletSetup()


@dataclass(frozen=True, slots=True)
class CpuState:
    """The CPU manager's state file.

    Attributes:
        policy: the policy that wrote it, empty if it does not say.
        shared: the CPUs of all containers without CPUs of their own, as a set; None if it does not say, which is
            usual under policy `none`, where all share all.
        exclusive: pod UID/container -> its CPUs; a pod's own name alone where the CPUs are the pod's.
    """

    policy: str = ""
    shared: int | None = None
    exclusive: Mapping[str, int] = field(default_factory=dict)


def is_kubelet_config(document: object) -> bool:
    """Tell whether ``document`` is a kubelet's configuration, as a file or as `configz` answers."""
    return isinstance(document, dict) and (document.get("kind") == KIND or CONFIGZ in document)


def is_cpu_state(document: object) -> bool:
    """Tell whether ``document`` is the state of a CPU manager, and not that of a memory manager."""
    return isinstance(document, dict) and {"policyname", "defaultcpuset"} <= {str(key).lower() for key in document}


def read_kubelet_config(document: Mapping[str, Any]) -> tuple[KubeletSetup, tuple[Problem, ...]]:
    """Read a kubelet's configuration. What it leaves out has Kubernetes' default, flags apart."""
    reader = _ConfigReader(document.get(CONFIGZ, document))
    setup = KubeletSetup(
        topology_policy=reader.word("topologyManagerPolicy", _TOPOLOGY_POLICIES),
        topology_scope=reader.word("topologyManagerScope", _SCOPES),
        topology_options=reader.options("topologyManagerPolicyOptions"),
        cpu_policy=reader.word("cpuManagerPolicy", _CPU_POLICIES),
        cpu_options=reader.options("cpuManagerPolicyOptions"),
        memory_policy=reader.word("memoryManagerPolicy", _MEMORY_POLICIES),
        reserved_cpus=reader.cpus("reservedSystemCPUs"),
        reserved_amount=reader.reserved_amount(),
    )
    return setup, tuple(reader.problems)


class _ConfigReader:
    """Reads field by field; what cannot be read is unknown and reported."""

    def __init__(self, source: object) -> None:
        self.problems: list[Problem] = []
        self._source: Mapping[str, Any] = {}
        if isinstance(source, dict):
            self._source = source
        else:
            self._report(CONFIGZ, source, "an object")

    def word(self, key: str, allowed: tuple[str, ...]) -> str | None:
        value = self._source.get(key) or allowed[0]
        if value in allowed:
            return str(value)
        self._report(key, value, f"one of {', '.join(allowed)}")
        return None

    def options(self, key: str) -> Mapping[str, str] | None:
        value = self._source.get(key) or {}
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            self._report(key, value, "an object of texts")
            return None
        return {str(name): text for name, text in sorted(value.items())}

    def cpus(self, key: str) -> int | None:
        value = self._source.get(key) or ""
        found = cpu_list(value) if isinstance(value, str) else None
        if found is None:
            self._report(key, value, "a list of CPUs such as 0-1,64")
        return found

    def reserved_amount(self) -> Fraction | None:
        amounts = [self._amount(key) for key in ("kubeReserved", "systemReserved")]
        known = [amount for amount in amounts if amount is not None]
        return sum(known, Fraction(0)) if len(known) == len(amounts) else None

    def _amount(self, key: str) -> Fraction | None:
        reserved = self._source.get(key) or {}
        value = reserved.get("cpu", 0) if isinstance(reserved, dict) else reserved
        amount = parse(value)
        if amount is None:
            self._report(f"{key}.cpu", value, "an amount of CPUs such as 500m")
        return amount

    def _report(self, key: str, value: object, wanted: str) -> None:
        self.problems.append(Problem(0, f"{key} is {shown(value)}; it must be {wanted}, so it stays unknown"))


def read_cpu_state(document: Mapping[str, Any]) -> tuple[CpuState, tuple[Problem, ...]]:
    """Read a CPU manager's state file, that of kubelets that give CPUs to pods too."""
    fields = {key.lower(): value for key, value in document.items() if isinstance(key, str)}
    problems: list[Problem] = []
    policy = fields.get("policyname")
    shared = fields.get("defaultcpuset")
    exclusive: dict[str, int] = {}
    for owner, value in (*_containers(fields.get("entries")), *_pods(fields.get("podentries"))):
        _keep(exclusive, owner, _set(value, f"the CPUs of {owner}", problems))
    known = _set(shared, "defaultCpuSet", problems) if shared else None
    return CpuState(policy if isinstance(policy, str) else "", known, exclusive), tuple(problems)


def _keep(into: dict[str, int], owner: str, cpus: int | None) -> None:
    if cpus is not None:
        into[owner] = cpus


def _containers(entries: object) -> Iterator[tuple[str, object]]:
    for pod, containers in _items(entries):
        yield from ((f"{pod}/{name}", cpus) for name, cpus in _items(containers))


def _pods(entries: object) -> Iterator[tuple[str, object]]:
    for pod, entry in _items(entries):
        yield pod, next((value for key, value in _items(entry) if key.lower() == "cpuset"), None)


def _items(value: object) -> Iterator[tuple[str, object]]:
    return ((str(key), item) for key, item in value.items()) if isinstance(value, dict) else iter(())


def _set(value: object, what: str, problems: list[Problem]) -> int | None:
    found = cpu_list(value) if isinstance(value, str) else None
    if found is None:
        problems.append(Problem(0, f"{what} is {shown(value)}; it must be a list such as 0-3,8, so it stays unknown"))
    return found
