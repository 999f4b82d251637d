"""What a device plugin asks of the refit, and what is refused on sight of the request alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from policy.hami.errors import shown
from policy.keys import NVIDIA, OTHER_VENDORS

MAX_ALLOWED: Final = 512
"""Card ids in one request, repeated ones counted (HAMi: refit)."""

REFIT_CODES: Final[Mapping[str, str]] = {
    "refit-incomplete": "The request lacks the pod's UID, namespace or name, or the node's name.",
    "refit-allowed-empty": "The request allows no card.",
    "refit-allowed-too-many": f"The request names more than {MAX_ALLOWED} card ids.",
    "refit-vendor-unknown": "The request is for a vendor that HAMi does not know; the word is case-sensitive.",
    "refit-vendor-unsupported": "The request is for a vendor whose cards the refit does not serve.",
    "refit-pod-unknown": "The pod holds no reservation: never placed, over, being deleted, or unknown.",
    "refit-identity-mismatch": "The pod of that UID has another namespace or name.",
    "refit-node-mismatch": "The pod's reservation is on another node than the one that asks.",
    "refit-container-index": "The pod has no container at that position; init containers count first.",
    "refit-container-name": "The container at that position has another name.",
    "refit-annotation-unreadable": "One of the pod's two device annotations cannot be read.",
    "refit-nothing-pending": "The container has no cards waiting to be handed over: none asked, or all served.",
    "refit-nothing-recorded": "The pod's reservation records no cards for the container.",
    "refit-uneven-reservation": "The container's cards are reserved with different amounts each.",
    "refit-node-unavailable": "The node's cards are not known.",
    "refit-mig-card": "An allowed card is in MIG mode.",
    "refit-weights-invalid": "The pod's scoring weights cannot be read.",
    "refit-allowed-unmatched": "No allowed id is a card of the node, for instance because they are replica ids.",
    "refit-no-fit": "The allowed cards cannot take the reservation; the reason names each cause.",
    "refit-quota": "The namespace's quota does not hold with the reservation on an allowed card.",
}
"""Why a refit is refused: code -> meaning. Codes never change (docs/stability.md)."""


@dataclass(frozen=True, slots=True)
class RefitRequest:
    """One container's cards are to become some of those that kubelet left.

    Attributes:
        container_index: init containers count first.
        container_name: empty if the plugin does not say.
        device_type: the vendor word.
        allowed: UUIDs of cards, not ids of replicas.
    """

    pod_uid: str
    pod_namespace: str
    pod_name: str
    node_name: str
    container_index: int = 0
    container_name: str = ""
    device_type: str = NVIDIA
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """The reservation stays as it is.

    Attributes:
        code: one of `REFIT_CODES`.
        reason: for people; holds HAMi's own words where the fit refuses.
        event: whether the pod's owner is told by a Warning event. Nothing is recorded on a pod before the request
            is known to mean it (HAMi: refit).
    """

    code: str
    reason: str
    event: bool


def check_request(request: RefitRequest) -> Refused | None:
    """Return why ``request`` is refused on sight, None if it is not."""
    missing = _missing(request)
    if missing:
        return Refused("refit-incomplete", f"{', '.join(missing)} empty or missing; all are needed", event=False)
    if not request.allowed:
        reason = "allowedDeviceUUIDs is empty; name the cards that kubelet left"
        return Refused("refit-allowed-empty", reason, event=False)
    if len(request.allowed) > MAX_ALLOWED:
        reason = f"allowedDeviceUUIDs names {len(request.allowed)} ids; at most {MAX_ALLOWED} are allowed"
        return Refused("refit-allowed-too-many", reason, event=False)
    return _check_vendor(request.device_type)


def _missing(request: RefitRequest) -> list[str]:
    needed = {
        "podUID": request.pod_uid,
        "podNamespace": request.pod_namespace,
        "podName": request.pod_name,
        "nodeName": request.node_name,
    }
    return [name for name, value in needed.items() if not value]


def _check_vendor(vendor: str) -> Refused | None:
    if vendor == NVIDIA:
        return None
    if vendor in OTHER_VENDORS:
        reason = f"deviceType is {shown(vendor)}; only {NVIDIA} cards can be refitted"
        return Refused("refit-vendor-unsupported", reason, event=False)
    reason = f"deviceType {shown(vendor)} is not known; only {NVIDIA}, spelt so, can be refitted"
    return Refused("refit-vendor-unknown", reason, event=False)
