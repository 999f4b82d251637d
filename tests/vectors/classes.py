"""What the collection of vectors calls a refusal, beside numafit's own codes.

Names that were seen are compared exactly. A name that nobody has seen yet is read by its words: it means a code if it
holds one of the words by which that code's refusal is usually called.
"""

from collections.abc import Iterable, Mapping
from typing import Final

SEEN: Final[Mapping[str, tuple[str, ...]]] = {
    "container_index_range": ("refit-container-index",),
    "container_name_mismatch": ("refit-container-name",),
    "empty_allowed_set": ("refit-allowed-empty",),
    "heterogeneous_reservation": ("refit-uneven-reservation",),
    "mig_device": ("refit-mig-card",),
    "no_fit": ("refit-no-fit", "refit-allowed-unmatched", "refit-quota"),
    "no_pending_allocation": ("refit-nothing-pending",),
    "node_mismatch": ("refit-node-mismatch",),
    "pod_not_tracked": ("refit-pod-unknown",),
    "too_many_allowed": ("refit-allowed-too-many",),
    "unknown_device_type": ("refit-vendor-unknown",),
    "no_containers": ("no-containers",),
    "protected_annotation_preset": ("forged-reservation",),
    "invalid_numa_alignment": ("alignment-unknown",),
    "invalid_weights": ("weights-malformed",),
}
"""Name of a class, up to its first colon -> the codes that it stands for."""

WORDS: Final[Mapping[str, frozenset[str]]] = {
    "refit-incomplete": frozenset({"incomplete", "missing", "required", "bad"}),
    "refit-vendor-unsupported": frozenset({"unsupported", "supported", "vendor"}),
    "refit-identity-mismatch": frozenset({"identity", "namespace", "match"}),
    "refit-annotation-unreadable": frozenset({"decode", "decoding", "undecodable", "annotation", "malformed"}),
    "refit-nothing-recorded": frozenset({"recorded", "allocated", "record"}),
    "refit-node-unavailable": frozenset({"unavailable", "unregistered", "usage"}),
    "refit-weights-invalid": frozenset({"weights", "weight", "scoring"}),
    "refit-quota": frozenset({"quota"}),
    "forged-reservation": frozenset({"protected", "owned", "scheduler"}),
    "privileged-gpu": frozenset({"privileged"}),
    "node-name-preset": frozenset({"node", "assigned"}),
    "quota-never-fits": frozenset({"quota"}),
    "quota-full": frozenset({"quota"}),
    "quantity-not-whole": frozenset({"request", "quantity"}),
    "cores-out-of-range": frozenset({"request", "cores", "core", "mutation", "mutate"}),
    "percent-out-of-range": frozenset({"request", "percent", "percentage", "mutation", "mutate"}),
}
"""Code -> words of names that were not seen yet."""


def means(name: str, codes: Iterable[str]) -> bool:
    """Tell whether one of ``codes`` is what the collection calls ``name``."""
    head = name.partition(":")[0]
    if head in SEEN:
        return any(code in SEEN[head] for code in codes)
    words = set(head.lower().replace("-", "_").split("_"))
    return any(words & WORDS.get(code, frozenset()) for code in codes)


def usual_name(code: str) -> str:
    """What the collection calls ``code``, the code itself where nobody has seen that."""
    return next((name for name, codes in SEEN.items() if code in codes), code)
