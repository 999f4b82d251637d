"""What HAMi's webhook adds to a container (HAMi: mutation of one container)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from policy import quantity
from policy.hami.annotations import go_bool
from policy.hami.errors import shown
from policy.hami.request import WHOLE_CARD, HamiConfig, given
from policy.keys import OVERWRITE_ENV, OVERWRITE_ENV_CONTAINERS
from policy.pod import Container

_UNSAID: Final = frozenset({"", "default"})
"""Words for HAMi's own policy of limiting cores, which no variable has to say."""


class MutationError(ValueError):
    """A container names an amount that HAMi refuses; the text names resource, value and legal values."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """What is to be added to one container.

    Attributes:
        has_resource: whether the pod is HAMi's business because of this container.
        limits: resource name -> amount.
        env: names and values, in the order in which they are appended.
    """

    has_resource: bool
    limits: Mapping[str, int]
    env: tuple[tuple[str, str], ...]


def mutate(container: Container, config: HamiConfig, overwrite_env: bool) -> Mutation:
    """Return what HAMi adds to ``container``.

    A second call adds nothing, which HAMi does not promise: a variable that the container ends with already is
    not added again, and no count is added beside one that stands among the requests.

    Args:
        container: as written.
        config: HAMi's settings.
        overwrite_env: whether NVIDIA's variable is closed where no GPU is asked for (`overwrites_env`).

    Raises:
        MutationError: percent, cores or priority are not whole or out of range.
    """
    _check_range(container, config.percent)
    _check_range(container, config.cores)
    counted = _names(container, config.count)
    countable = _names_amount(container, config) and (counted or config.default_count > 0)
    has_resource = countable or config.count in container.limits
    limits = {config.count: config.default_count} if countable and not counted else {}
    if _is_exclusive(container, config, counted=counted or bool(limits)):
        limits[config.cores] = WHOLE_CARD
        has_resource = True
    env = _environment(container, config, close=overwrite_env and not has_resource)
    return Mutation(has_resource, limits, env)


def adds_to_all(annotations: Mapping[str, str], config: HamiConfig) -> bool:
    """Tell whether HAMi may add something to containers that name none of its resources."""
    closes = config.overwrite_env or OVERWRITE_ENV in annotations or OVERWRITE_ENV_CONTAINERS in annotations
    return closes or config.core_policy not in _UNSAID


def overwrites_env(annotations: Mapping[str, str], container: str, config: HamiConfig) -> bool:
    """Tell whether NVIDIA's variable is closed in ``container``: its own word, else the pod's, else the config.

    Text that spells no boolean counts as absent and never refuses a pod (HAMi: overwrite-env).
    """
    own = go_bool(_per_container(annotations.get(OVERWRITE_ENV_CONTAINERS, "")).get(container, ""))
    pod = go_bool(annotations.get(OVERWRITE_ENV, ""))
    return next((said for said in (own, pod) if said is not None), config.overwrite_env)


def _per_container(text: str) -> dict[str, str]:
    try:
        found = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or not all(isinstance(said, str) for said in found.values()):
        return {}
    return found


def _check_range(container: Container, resource: str) -> None:
    for amounts in (container.limits, container.requests):
        if resource in amounts:
            value = quantity.whole(amounts[resource])
            if value is None or not 0 <= value <= WHOLE_CARD:
                raise MutationError(_wrong(container, resource, amounts[resource], f"from 0 to {WHOLE_CARD}"))


def _names_amount(container: Container, config: HamiConfig) -> bool:
    return not {config.cores, config.memory, config.percent}.isdisjoint(container.limits)


def _is_exclusive(container: Container, config: HamiConfig, *, counted: bool) -> bool:
    """Tell whether the container takes whole cards without saying so in cores."""
    if not counted or _names(container, config.cores):
        return False
    if _names(container, config.percent):
        return quantity.whole(given(container, config.percent)) == WHOLE_CARD
    return not _names(container, config.memory)


def _names(container: Container, resource: str) -> bool:
    return resource in container.limits or resource in container.requests


def _environment(container: Container, config: HamiConfig, *, close: bool) -> tuple[tuple[str, str], ...]:
    wanted: list[tuple[str, str]] = []
    if config.priority in container.limits:
        wanted.append(("CUDA_TASK_PRIORITY", _priority(container, config.priority)))
    if config.core_policy not in _UNSAID:
        wanted.append(("GPU_CORE_UTILIZATION_POLICY", config.core_policy))
    if close:
        wanted.append(("NVIDIA_VISIBLE_DEVICES", "none"))
    return tuple((name, value) for name, value in wanted if _last(container, name) != value)


def _last(container: Container, name: str) -> object:
    """Return the value of the last variable ``name``, the one that counts; None if there is none."""
    found = (entry.get("value") for entry in reversed(container.env) if entry.get("name") == name)
    return next(found, None)


def _priority(container: Container, resource: str) -> str:
    value = quantity.whole(container.limits[resource])
    if value is None:
        raise MutationError(_wrong(container, resource, container.limits[resource], "of any size"))
    return str(value)


def _wrong(container: Container, resource: str, value: object, allowed: str) -> str:
    return f'{resource} of container "{container.name}" is {shown(value)}; it must be a whole number {allowed}'
