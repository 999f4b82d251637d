"""What is filled in: the operations of a JSON patch that touch numafit's own paths only (docs/decisions.md 13).

An explicit value always wins, and filling in what was filled in adds nothing. No `test`, for a failing one reaches the
user as a server error; no `replace` of a whole list, for other mutators add to it too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from policy import keys
from policy.admission.case import Case, GpuContainer, amount
from policy.admission.levels import Levels
from policy.hami.mutation import MutationError, adds_to_all, mutate, overwrites_env
from policy.hami.request import HamiConfig
from policy.pod import Container, Pod

Operation = dict[str, Any]
"""One operation of a JSON patch (RFC 6902)."""

_ANNOTATIONS: Final = "/metadata/annotations"


@dataclass(frozen=True, slots=True)
class Filled:
    """What was filled in.

    Attributes:
        operations: the patch.
        names: what was filled in, for people: fields, resources, variables and annotations.
    """

    operations: tuple[Operation, ...] = ()
    names: tuple[str, ...] = ()


def fill_in(source: Mapping[str, Any], case: Case, levels: Levels, mode: str) -> Filled:
    """Fill in a GPU pod's defaults.

    Args:
        source: the plain object.
        case: the same, read; not refused.
        levels: those in force, for the mark.
        mode: the alignment mode to fill in, empty for none.
    """
    draft = _Draft(source)
    if is_handed_over(case.pod, case.operator.hami):
        _scheduling(draft, case)
        gpus = {gpu.container.path: gpu for gpu in case.gpus}
        asking = {ask.container.path for ask in case.asks}
        to_all = adds_to_all(case.pod.annotations, case.operator.hami)
        for container in case.pod.containers:
            if to_all or container.path in asking:
                _container(draft, case, container, gpus.get(container.path))
        if mode:
            draft.annotate(keys.NUMA_ALIGNMENT, mode)
            draft.names.append(keys.NUMA_ALIGNMENT)
    _marks(draft, case.pod, levels)
    return Filled(tuple(draft.operations), tuple(draft.names))


def is_handed_over(pod: Pod, hami: HamiConfig) -> bool:
    """Tell whether HAMi looks after the pod at all (HAMi: admission, different scheduler)."""
    name = pod.scheduler_name
    unnamed = not name or (name == keys.DEFAULT_SCHEDULER and hami.overwrite_default_scheduler)
    return unnamed or (bool(hami.scheduler_name) and name == hami.scheduler_name)


def _scheduling(draft: "_Draft", case: Case) -> None:
    hami = case.operator.hami
    if hami.scheduler_name and case.pod.scheduler_name != hami.scheduler_name:
        draft.add("/spec/schedulerName", hami.scheduler_name, "schedulerName")
    if hami.runtime_class and not case.pod.runtime_class:
        draft.add("/spec/runtimeClassName", hami.runtime_class, "runtimeClassName")


def _container(draft: "_Draft", case: Case, container: Container, gpu: GpuContainer | None) -> None:
    variables = _variables(case, container, is_gpu=gpu is not None)
    if variables is None:
        return
    for resource, value in _limits(gpu, case.operator.hami).items() if gpu else ():
        draft.limit(container, resource, value)
    present = [entry.get("name") for entry in container.env] if variables else []
    for name, text in variables:
        if name not in present:
            draft.variable(container, name, text)


def _limits(gpu: GpuContainer, hami: HamiConfig) -> dict[str, int]:
    """What the container asks for without naming it.

    The configured memory is left to HAMi's scheduler where no whole number of HAMi's units makes it up.
    """
    found: dict[str, int] = {}
    named = {
        name for name in (hami.count, hami.memory, hami.percent, hami.cores) if amount(gpu.container, name) is not None
    }
    if hami.count not in named and hami.default_count:
        found[hami.count] = gpu.need
    units, rest = divmod(gpu.memory, max(hami.memory_factor, 1))
    if units and not rest and not named & {hami.memory, hami.percent}:
        found[hami.memory] = units
    if hami.cores not in named and gpu.cores:
        found[hami.cores] = gpu.cores
    return found


def _variables(case: Case, container: Container, *, is_gpu: bool) -> tuple[tuple[str, str], ...] | None:
    """What HAMi adds to the environment, None where it would refuse the container.

    Its rule refuses such a container; where the operator turned that off, nothing is guessed into it.
    """
    hami = case.operator.hami
    closes = not is_gpu and overwrites_env(case.pod.annotations, container.name, hami)
    try:
        return mutate(container, hami, closes).env
    except MutationError:
        return None


def _marks(draft: "_Draft", pod: Pod, levels: Levels) -> None:
    """List what was filled in, after what an earlier call of the webhook listed, and mark the pod as judged."""
    if draft.names:
        listed = [name for name in pod.annotations.get(keys.INJECTED, "").split(",") if name]
        listed += [name for name in dict.fromkeys(draft.names) if name not in listed]
        draft.annotate(keys.INJECTED, ",".join(listed))
    if pod.annotations.get(keys.JUDGED) != levels.digest:
        draft.annotate(keys.JUDGED, levels.digest)


@dataclass(slots=True)
class _Draft:
    """A patch in the making: it knows which parents exist already."""

    source: Mapping[str, Any]
    operations: list[Operation] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    made: set[str] = field(default_factory=set)

    def add(self, path: str, value: object, name: str) -> None:
        self.operations.append({"op": "add", "path": path, "value": value})
        self.names.append(name)

    def annotate(self, key: str, value: str) -> None:
        self._parent("/metadata", {})
        self._parent(_ANNOTATIONS, {})
        self.operations.append({"op": "add", "path": f"{_ANNOTATIONS}/{escape(key)}", "value": value})

    def limit(self, container: Container, resource: str, value: int) -> None:
        self._parent(f"{container.path}/resources", {})
        self._parent(f"{container.path}/resources/limits", {})
        path = f"{container.path}/resources/limits/{escape(resource)}"
        self.add(path, str(value), f"{container.name}:{resource}={value}")

    def variable(self, container: Container, name: str, value: str) -> None:
        self._parent(f"{container.path}/env", [])
        self.add(f"{container.path}/env/-", {"name": name, "value": value}, f"{container.name}:{name}={value}")

    def _parent(self, path: str, empty: object) -> None:
        if path not in self.made and _at(self.source, path) is None:
            self.operations.append({"op": "add", "path": path, "value": empty})
        self.made.add(path)


def _at(source: object, path: str) -> object:
    found: Any = source
    for step in path.split("/")[1:]:
        if found is None:
            return None
        found = found[int(step)] if isinstance(found, list) else found.get(step)
    return found


def escape(key: str) -> str:
    """Write a key as one step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
