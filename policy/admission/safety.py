"""Rules about who may write what, and about pods that HAMi cannot look after (HAMi: order of admission checks)."""

from collections.abc import Iterator, Mapping

from policy import keys
from policy.admission.case import Case
from policy.admission.spelling import quoted
from policy.pod import Phase


def forged_on_creation(case: Case) -> str | None:
    """A pod is created with an annotation that only the scheduler writes, or somebody else changes one later."""
    brought = sorted(filter(keys.is_owned, case.pod.annotations))
    if not brought:
        return None
    return f"{_named(brought)} written by the scheduler only; remove that from manifests copied from a running pod."


def _named(brought: list[str]) -> str:
    return f"{', '.join(map(quoted, brought))} {'is' if len(brought) == 1 else 'are'}"


def forged_on_update(old: Mapping[str, str], new: Mapping[str, str], user: str, writers: frozenset[str]) -> str | None:
    """Tell whether ``user`` changes an owned key without being a listed writer; missing and empty are the same."""
    written = sorted(filter(keys.is_owned, changed_keys(old, new)))
    if not written or user in writers:
        return None
    return f"{_named(written)} written by scheduler and device plugin only, not by {quoted(user)}; leave that."


def changed_keys(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """The annotations whose value differs, missing and empty being the same."""
    return (key for key in {**old, **new} if old.get(key, "") != new.get(key, ""))


def no_containers(case: Case) -> str | None:
    """A pod without app containers."""
    if any(container.phase is Phase.APP for container in case.pod.containers):
        return None
    return "the pod has no container; add one to spec.containers."


def privileged_gpu(case: Case) -> str | None:
    """A container of a GPU pod is privileged and sees every card of its node."""
    container = next((container for container in case.pod.containers if container.privileged), None)
    if container is None:
        return None
    name = quoted(container.name)
    return f"container {name} is privileged and would see every GPU of its node; drop that, or ask for no GPU."


def node_name_preset(case: Case) -> str | None:
    """A GPU pod names its node itself, so nobody reserves its cards."""
    if not case.pod.node_name:
        return None
    return (
        f"spec.nodeName {quoted(case.pod.node_name)} skips the scheduler, which reserves the GPUs; "
        "use node affinity instead."
    )
