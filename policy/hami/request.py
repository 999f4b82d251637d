"""What a container asks HAMi for, and how HAMi is configured to read it."""

from dataclasses import dataclass
from typing import Final

from policy import quantity
from policy.hami.errors import shown
from policy.hami.golang import MAX_INT32
from policy.pod import Container

PERCENT_UNSET: Final = 101
"""HAMi's mark for "no percentage given"; outside 0-100 on purpose."""

WHOLE_CARD: Final = 100
"""Percent of a card's memory or cores that leave nothing to others."""


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

    @property
    def resources(self) -> tuple[str, ...]:
        """The names of the five resources."""
        return self.count, self.memory, self.percent, self.cores, self.priority


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


class InvalidRequestError(ValueError):
    """A container asks for an amount that HAMi cannot read; the text names resource, value and legal values."""


def given(container: Container, resource: str) -> object:
    """Return the amount of ``resource`` that counts: the limit, else the request, None for neither."""
    return container.limits[resource] if resource in container.limits else container.requests.get(resource)


def read_request(container: Container, config: HamiConfig) -> Request | None:
    """Return what ``container`` asks for, None if it asks for no card (HAMi: request of one container).

    Raises:
        InvalidRequestError: count, memory or cores are not whole or out of range. A percentage never is: HAMi
            ignores one that is not whole and takes 100 for a larger one; refusing it is admission's business.
    """
    nums = _amount(container, config.count, MAX_INT32)
    if not nums:
        return None
    factor = max(config.memory_factor, 1)
    memory = (_amount(container, config.memory, MAX_INT32 // factor) or 0) * factor
    percent = _percent(given(container, config.percent))
    if memory == 0 and percent == PERCENT_UNSET:
        memory, percent = config.default_memory, PERCENT_UNSET if config.default_memory else WHOLE_CARD
    cores = _amount(container, config.cores, WHOLE_CARD)
    return Request(nums, memory, percent, config.default_cores if cores is None else cores)


def _amount(container: Container, resource: str, largest: int) -> int | None:
    value = given(container, resource)
    if value is None and resource not in container.limits and resource not in container.requests:
        return None
    amount = quantity.whole(value)
    if amount is None or not 0 <= amount <= largest:
        raise InvalidRequestError(
            f'{resource} of container "{container.name}" is {shown(value)}; '
            f"it must be a whole number from 0 to {largest}"
        )
    return amount


def _percent(value: object) -> int:
    percent = quantity.whole(value)
    return PERCENT_UNSET if percent is None or percent <= 0 else min(percent, WHOLE_CARD)
