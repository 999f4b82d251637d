"""What numafit's webhook promises where it decides otherwise than HAMi's."""

from policy.keys import NUMA_ALIGNMENT, is_owned
from policy.quantity import whole
from tests.vectors.runner import Vector
from tests.vectors.webhook import WRITERS


def _asks_for_gpus(vector: Vector) -> bool:
    pod = vector.input["pod"]
    containers = [*pod.get("initContainers", []), *pod.get("containers", [])]
    return any(
        name.startswith("nvidia.com/") and whole(amount) != 0
        for container in containers
        for name, amount in {**container.get("requests", {}), **container.get("limits", {})}.items()
    )


def misspells_on_a_pod_without_gpus(vector: Vector) -> bool:
    """Tell whether a pod that asks for no GPU carries an alignment mode that is none."""
    annotations = vector.input["pod"].get("annotations") or {}
    return vector.input.get("operation") != "UPDATE" and NUMA_ALIGNMENT in annotations and not _asks_for_gpus(vector)


def is_allowed_unchanged(_: Vector, got: object) -> bool:
    """Tell whether the pod passes and nothing is filled in."""
    return isinstance(got, dict) and got["allowed"] is True and got["patch"] is None


def leaves_the_pod_as_it_is(vector: Vector) -> bool:
    """Tell whether HAMi changes nothing of a pod that asks for GPUs, as it looks after it no further."""
    answer = vector.expected
    silent = isinstance(answer, dict) and answer.get("allowed") is True and answer.get("patch", "") is None
    return silent and vector.input.get("operation") != "UPDATE" and _asks_for_gpus(vector)


def only_marks_it(_: Vector, got: object) -> bool:
    """Tell whether the pod passes and gets numafit's marks alone."""
    if not isinstance(got, dict) or got["allowed"] is not True or got["patch_sets"]:
        return False
    return set(got["patch"]) == {"/metadata/annotations/numafit.io~1judged"}


def writes_owned_keys(vector: Vector) -> bool:
    """Tell whether scheduler-owned annotations are brought, changed or removed."""
    new = vector.input["pod"].get("annotations") or {}
    if vector.input.get("operation") != "UPDATE":
        return any(is_owned(key) for key in new)
    old = vector.input.get("oldAnnotations") or {}
    return any(is_owned(key) and old.get(key, "") != new.get(key, "") for key in {**old, **new})


def only_listed_writers_pass(vector: Vector, got: object) -> bool:
    """Tell whether exactly the listed writers pass, and nobody on creation."""
    listed = vector.input.get("operation") == "UPDATE" and vector.input.get("user") in WRITERS
    return isinstance(got, dict) and got["allowed"] is listed
