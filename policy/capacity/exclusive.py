"""Whether a container gets CPUs of its own, so that local CPUs can run out for it (Kubernetes: CPU manager, static)."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class CpuSettings:
    """How a node's kubelet hands out CPUs.

    Attributes:
        policy: of the CPU manager, `none` or `static`.
        full_cores_only: whether exclusive CPUs come in whole physical cores (`full-pcpus-only`).
        threads_per_core: logical CPUs of a physical core.
    """

    policy: str = "none"
    full_cores_only: bool = False
    threads_per_core: int = 1

    @property
    def step(self) -> int:
        """What exclusive CPUs come in multiples of, in thousandths of a CPU."""
        return 1000 * (self.threads_per_core if self.full_cores_only else 1)


def is_exclusive(qos: str, cpus: Fraction, settings: CpuSettings) -> bool:
    """Tell whether a container that asks for ``cpus`` is given CPUs that nobody else runs on."""
    return settings.policy == "static" and qos == "Guaranteed" and cpus >= 1 and cpus.denominator == 1


def is_admitted(qos: str, cpus: Fraction, settings: CpuSettings) -> bool:
    """Tell whether kubelet admits it: part of a physical core is refused (Kubernetes: SMTAlignmentError)."""
    return not is_exclusive(qos, cpus, settings) or (cpus * 1000) % settings.step == 0
