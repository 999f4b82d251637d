"""HAMi's configuration as the policy file repeats it."""

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from policy.hami.golang import MAX_INT32
from policy.hami.request import WHOLE_CARD, HamiConfig
from webhook.levels.groups import Group, sound
from webhook.levels.values import CardPolicies, NameOrNone, Resource

_CHART: Final = HamiConfig()

_Whole = Annotated[int, Field(ge=0, le=MAX_INT32)]


class Hami(Group):
    """HAMi's configuration under HAMi's own names, so that it can be copied from there."""

    # The attributes are those of `HamiConfig`, so that `config` need not name them again.

    count: Resource = Field(
        default=_CHART.count, alias="resourceCountName", description="resource for the number of GPUs"
    )
    memory: Resource = Field(
        default=_CHART.memory, alias="resourceMemoryName", description="resource for memory of each GPU, MiB"
    )
    percent: Resource = Field(
        default=_CHART.percent,
        alias="resourceMemoryPercentageName",
        description="resource for memory of each GPU, percent",
    )
    cores: Resource = Field(
        default=_CHART.cores, alias="resourceCoreName", description="resource for cores of each GPU, percent"
    )
    priority: Resource = Field(
        default=_CHART.priority, alias="resourcePriorityName", description="resource for the task priority"
    )
    default_memory: _Whole = Field(
        default=_CHART.default_memory, description="MiB where a container names no memory; 0 is the whole card"
    )
    default_cores: Annotated[int, Field(ge=0, le=WHOLE_CARD)] = Field(
        default=_CHART.default_cores, description="percent of cores where a container names none"
    )
    default_count: _Whole = Field(
        default=_CHART.default_count,
        alias="defaultGPUNum",
        description="GPUs where a container names memory or cores only; 0 makes it no GPU container",
    )
    memory_factor: Annotated[int, Field(ge=1, le=MAX_INT32)] = Field(
        default=_CHART.memory_factor, description="MiB that one unit of the memory resource stands for"
    )
    core_policy: Literal["default", "force", "disable"] = Field(
        default="default", alias="gpuCorePolicy", description="how the limit of cores is kept"
    )
    overwrite_env: bool = Field(
        default=_CHART.overwrite_env, description="whether containers that ask for no GPU are kept from seeing any"
    )
    runtime_class: NameOrNone = Field(
        default=_CHART.runtime_class, alias="runtimeClassName", description="runtime class of GPU pods; empty is none"
    )
    scheduler_name: NameOrNone = Field(
        default=_CHART.scheduler_name, description="HAMi's scheduler; empty hands no pod to it"
    )
    overwrite_default_scheduler: bool = Field(
        default=_CHART.overwrite_default_scheduler,
        alias="forceOverwriteDefaultScheduler",
        description="whether pods that name `default-scheduler` are handed to HAMi's too",
    )
    default_gpu_policy: CardPolicies = Field(
        default=_CHART.default_gpu_policy,
        alias="gpuSchedulerPolicy",
        description="order of cards where a pod names none",
    )
    default_node_policy: Literal["binpack", "spread"] = Field(
        default="binpack", alias="nodeSchedulerPolicy", description="order of nodes where a pod names none"
    )

    @model_validator(mode="after")
    def _has_one_name_for_each(self) -> "Hami":
        names = (self.count, self.memory, self.percent, self.cores, self.priority)
        twice = sorted({name for name in names if names.count(name) > 1})
        return sound(self, [f"two resources are named {name}; give each its own" for name in twice])

    @property
    def config(self) -> HamiConfig:
        """The same as the engine holds it."""
        return HamiConfig(**dict(self))
