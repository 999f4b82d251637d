"""What a container asks HAMi for, and how HAMi is configured to read it."""

from dataclasses import dataclass
from typing import Final

PERCENT_UNSET: Final = 101
"""HAMi's mark for "no percentage given"; outside 0-100 on purpose."""

MAX_INT32: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class HamiConfig:
    """HAMi's settings for NVIDIA cards, with the defaults of its chart (HAMi: device-config, `nvidia:`).

    Attributes:
        count: resource name of the number of cards; the four after it name memory (MiB), memory (percent of a
            card), cores (percent of a card) and priority.
        default_memory: MiB for a container that names no memory, 0 for the whole card.
        default_cores: percent of a card for a container that names no cores.
        default_count: cards for a container that names only amounts.
        memory_factor: what a memory amount is multiplied with.
        core_policy: `default`, `force` or `disable`.
        overwrite_env: whether containers without a GPU get `NVIDIA_VISIBLE_DEVICES=none`.
        runtime_class: runtime class of GPU pods, empty for none.
        scheduler_name: HAMi's scheduler, empty if pods are not to be handed to it.
        overwrite_default_scheduler: whether pods that name Kubernetes' default scheduler are handed over too.
        default_gpu_policy: order of cards where a pod names none.
        default_node_policy: order of nodes where a pod names none.
    """

    count: str = "nvidia.com/gpu"
    memory: str = "nvidia.com/gpumem"
    percent: str = "nvidia.com/gpumem-percentage"
    cores: str = "nvidia.com/gpucores"
    priority: str = "nvidia.com/priority"
    default_memory: int = 0
    default_cores: int = 0
    default_count: int = 1
    memory_factor: int = 1
    core_policy: str = "default"
    overwrite_env: bool = False
    runtime_class: str = ""
    scheduler_name: str = "hami-scheduler"
    overwrite_default_scheduler: bool = True
    default_gpu_policy: str = "spread"
    default_node_policy: str = "binpack"


@dataclass(frozen=True, slots=True)
class Request:
    """One container's request as HAMi reads it.

    Attributes:
        nums: number of cards.
        memory: MiB on each card, 0 where the percentage decides.
        percent: percent of each card's memory, `PERCENT_UNSET` where the amount decides.
        cores: percent of each card's cores.
    """

    nums: int
    memory: int = 0
    percent: int = PERCENT_UNSET
    cores: int = 0
