"""Rules about what an alignment mode or numa-bind can do for a pod, which need no facts."""

from typing import Final

from policy import keys
from policy.admission.case import SIBLING_MAKERS, Case, GpuContainer
from policy.admission.finding import Mild
from policy.admission.spelling import quoted
from policy.pod import Container, Phase
from policy.quantity import parse, whole

_MIG_RESOURCE: Final = "nvidia.com/mig-"


def alignment_on_mig(case: Case) -> str | None:
    """An alignment mode on a pod that asks for MIG devices, which are neither advertised with a NUMA node nor refitted.

    Best-effort, and a mode beside a `nvidia.com/mig-…` resource, only warn.
    """
    if not case.mode:
        return None
    if case.is_mig:
        message = f"{keys.NUMA_ALIGNMENT} has no effect on a MIG pod: MIG devices are not aligned; remove it."
        return message if case.mode == "strict" else Mild(message)
    resource = min((name for name in case.resources if name.startswith(_MIG_RESOURCE)), default=None)
    if resource is None:
        return None
    return Mild(f"{keys.NUMA_ALIGNMENT} has no effect on {quoted(resource)}, a MIG device; remove it.")


def strict_not_enforced(case: Case) -> str | None:
    """`strict` on a cluster whose device plugins do not call the refit: a mismatch is only logged on the node."""
    if case.mode != "strict" or case.operator.refit_enabled:
        return None
    return "strict is not enforced here: the NUMA refit is off and a mismatch is only logged; use best-effort."


def alignment_without_exclusive_cpus(case: Case) -> str | None:
    """An alignment mode on a pod that gets no exclusive CPUs (not Guaranteed, no whole CPUs, or pod-level resources).

    Kubelet has no CPU side to align with.
    """
    if not case.mode:
        return None
    if case.pod.pod_level_resources:
        return "with spec.resources no container gets exclusive CPUs; ask per container."
    shared = next((gpu for gpu in case.gpus if not has_whole_cpus(gpu.container)), None)
    if shared is not None:
        name = quoted(shared.container.name)
        return f"container {name} needs whole CPUs, and every container cpu and memory limits."
    unlimited = next((c for c in case.pod.containers if not is_guaranteed(c)), None)
    if unlimited is None:
        return None
    name = quoted(unlimited.name)
    return f"container {name} needs cpu and memory limits, or none gets exclusive CPUs."


def has_whole_cpus(container: Container) -> bool:
    """Tell whether the CPU request is a whole number of at least one (Kubernetes: static CPU manager)."""
    cpus = container.requests.get("cpu")
    return (whole(container.limits.get("cpu") if cpus is None else cpus) or 0) >= 1


def is_guaranteed(container: Container) -> bool:
    """Tell whether cpu and memory have limits, and requests that are equal or left out (Kubernetes: QoS classes)."""
    return _limits_equal_requests(container, "cpu") and _limits_equal_requests(container, "memory")


def _limits_equal_requests(container: Container, name: str) -> bool:
    limit, request = container.limits.get(name), container.requests.get(name)
    if limit is None:
        return False
    amount = parse(limit)
    positive = amount is not None and amount.numerator > 0  # Fraction's own comparison costs as much as ten rules
    return positive and (request is None or request == limit or parse(request) == amount)


def alignment_with_gpu_init(case: Case) -> str | None:
    """An ordinary init container with GPUs comes before another GPU container.

    Kubelet reuses its replicas without asking the device plugin, so no refit happens.
    """
    if not case.mode:
        return None
    first = next((gpu for gpu in case.gpus[:-1] if gpu.container.phase is Phase.INIT), None)
    if first is None:
        return None
    name = quoted(first.container.name)
    return f"later containers get the GPUs of init container {name} without a refit; ask in app containers."


def strict_restarts_forever(case: Case) -> str | None:
    """`strict` in a pod of a controller that replaces failed pods at once: every failure to align makes a new pod."""
    if case.mode != "strict" or case.pod.owner_kind not in SIBLING_MAKERS:
        return None
    return f"a strict pod that fails to align is replaced by its {case.pod.owner_kind}; use best-effort."


def strict_in_group(case: Case) -> str | None:
    """`strict` in a member of a gang: one member's failure stops all of them while their GPUs are held."""
    if case.mode != "strict" or not case.pod.group:
        return None
    return (
        f"one strict failure stops the whole group {quoted(case.pod.group)} while it holds its GPUs; use best-effort."
    )


def bind_without_effect(case: Case) -> str | None:
    """`nvidia.com/numa-bind` where every container asks for one GPU."""
    if not case.binds or case.most != 1:
        return None
    return f"{keys.NUMA_BIND} has no effect: every container asks for 1 GPU."


def visible_devices_env(case: Case) -> str | None:
    """A GPU container sets `NVIDIA_VISIBLE_DEVICES` itself, which wins over what the device plugin sets."""
    found = next(filter(_sets_visible_devices, case.gpus), None)
    if found is None:
        return None
    name = quoted(found.container.name)
    return f"container {name} sets NVIDIA_VISIBLE_DEVICES, which wins over the assigned GPUs; remove it."


def _sets_visible_devices(gpu: GpuContainer) -> bool:
    return "NVIDIA_VISIBLE_DEVICES" in [entry.get("name") for entry in gpu.container.env]


def is_foreign(case: Case) -> bool:
    """Tell whether the pod is for another scheduler than HAMi's."""
    name, hami = case.pod.scheduler_name, case.operator.hami
    return name not in {"", keys.DEFAULT_SCHEDULER, hami.scheduler_name}


def foreign_scheduler(case: Case) -> str | None:
    """A GPU pod for a scheduler that is neither HAMi's nor Kubernetes' default one.

    It does not read HAMi's annotations. Everything that is found in such a pod warns at most.
    """
    if not is_foreign(case):
        return None
    return (
        f"scheduler {quoted(case.pod.scheduler_name)} does not read HAMi's annotations; "
        f"use {case.operator.hami.scheduler_name or keys.DEFAULT_SCHEDULER}."
    )
