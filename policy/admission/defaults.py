"""What is filled in: the operations of a JSON patch that touch numafit's own paths only (docs/decisions.md 13).

An explicit value always wins, and filling in what was filled in adds nothing. No `test`, for a failing one reaches the
user as a server error; no `replace` of a whole list, for other mutators add to it too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from policy import keys
from policy.admission.case import Case, amount
from policy.admission.levels import Levels
from policy.hami.mutation import Mutation, MutationError, mutate, overwrites_env
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
        for container in case.pod.containers:
            _container(draft, case, container)
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


def _container(draft: "_Draft", case: Case, container: Container) -> None:
    limits = _default_memory(case, container)
    mutation = _mutation(case, replace(container, limits={**container.limits, **limits}))
    if mutation is None:
        return
    limits |= mutation.limits
    limits |= _default_cores(case, container, limits)
    for resource, value in limits.items():
        draft.limit(container, resource, value)
    present = {entry.get("name") for entry in container.env}
    for name, text in mutation.env:
        if name not in present:
            draft.variable(container, name, text)


def _mutation(case: Case, container: Container) -> Mutation | None:
    hami = case.operator.hami
    try:
        return mutate(container, hami, overwrites_env(case.pod.annotations, container.name, hami))
    except MutationError:
        # Its rule refuses such a container; where the operator turned that off, nothing is guessed into it.
        return None


def _default_memory(case: Case, container: Container) -> dict[str, int]:
    """The configured memory, in the unit that HAMi multiplies with its factor; nothing where that leaves a rest."""
    hami = case.operator.hami
    if not hami.default_memory or not _asks(case, container):
        return {}
    if amount(container, hami.memory) is not None or amount(container, hami.percent) is not None:
        return {}
    units, rest = divmod(hami.default_memory, max(hami.memory_factor, 1))
    return {} if rest else {hami.memory: units}


def _default_cores(case: Case, container: Container, filled: Mapping[str, int]) -> dict[str, int]:
    hami = case.operator.hami
    if not hami.default_cores or hami.cores in filled or amount(container, hami.cores) is not None:
        return {}
    return {hami.cores: hami.default_cores} if _asks(case, container) else {}


def _asks(case: Case, container: Container) -> bool:
    return any(gpu.container is container for gpu in case.gpus)


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
