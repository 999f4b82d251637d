"""The words by which HAMi says why a card or a node cannot serve a request.

Events, dashboards and device plugins look for them byte for byte; numafit's own codes stand beside them.
"""

from typing import Final

CARD_NOT_HEALTH: Final = "CardNotHealth"
CARD_CORDONED: Final = "CardCordoned"
CARD_TYPE_MISMATCH: Final = "CardTypeMismatch"
NUMA_NOT_FIT: Final = "NumaNotFit"
CARD_UUID_MISMATCH: Final = "CardUuidMismatch"
CARD_TIME_SLICING_EXHAUSTED: Final = "CardTimeSlicingExhausted"
EXCLUSIVE_DEVICE_ALLOCATE_CONFLICT: Final = "ExclusiveDeviceAllocateConflict"
RESOURCE_QUOTA_NOT_FIT: Final = "ResourceQuotaNotFit"
CARD_INSUFFICIENT_MEMORY: Final = "CardInsufficientMemory"
CARD_INSUFFICIENT_CORE: Final = "CardInsufficientCore"
CARD_COMPUTE_UNITS_EXHAUSTED: Final = "CardComputeUnitsExhausted"
CARD_MIG_TOPOLOGY_INFEASIBLE: Final = "CardMigTopologyInfeasible"
ALLOCATED_CARDS_INSUFFICIENT_REQUEST: Final = "AllocatedCardsInsufficientRequest"
NODE_INSUFFICIENT_DEVICE: Final = "NodeInsufficientDevice"
ALLOWED_DEVICE_SET_UNMATCHED: Final = "AllowedDeviceSetUnmatched"

NODE_UNREGISTERED: Final = "node unregistered"
NODE_USAGE_UNAVAILABLE: Final = "node usage unavailable"
