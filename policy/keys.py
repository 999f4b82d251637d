"""Annotation keys, labels and constants of HAMi's protocol and of numafit's own.

These names cannot be changed: pods, device plugins and dashboards carry them (docs/stability.md).
"""

from typing import Final

NVIDIA: Final = "NVIDIA"
"""HAMi's vendor word: the key of its maps and the type field of a device in a pod annotation."""

# Written by people on pods.
NUMA_ALIGNMENT: Final = "hami.io/numa-alignment"
NUMA_BIND: Final = "nvidia.com/numa-bind"
USE_UUID: Final = "nvidia.com/use-gpuuuid"
NOUSE_UUID: Final = "nvidia.com/nouse-gpuuuid"
USE_TYPE: Final = "nvidia.com/use-gputype"
NOUSE_TYPE: Final = "nvidia.com/nouse-gputype"
VGPU_MODE: Final = "nvidia.com/vgpu-mode"
MIG_PROFILE_PREFERENCE: Final = "nvidia.com/mig-profile-preference"
NODE_POLICY: Final = "hami.io/node-scheduler-policy"
GPU_POLICY: Final = "hami.io/gpu-scheduler-policy"
SCORING_WEIGHTS: Final = "hami.io/device-scoring-weights"
OVERWRITE_ENV: Final = "hami.io/overwrite-env"
OVERWRITE_ENV_CONTAINERS: Final = "hami.io/overwrite-env-containers"

FOUR_KEYS: Final = (NUMA_ALIGNMENT, NUMA_BIND, USE_UUID, NOUSE_UUID)
"""The keys whose combinations numafit judges."""

USER_KEYS: Final = (
    *FOUR_KEYS,
    USE_TYPE,
    NOUSE_TYPE,
    VGPU_MODE,
    MIG_PROFILE_PREFERENCE,
    NODE_POLICY,
    GPU_POLICY,
    SCORING_WEIGHTS,
    OVERWRITE_ENV,
    OVERWRITE_ENV_CONTAINERS,
)
"""Every key that a person may set and HAMi reads."""

# Written by HAMi's scheduler and device plugin on pods.
ASSIGNED_NODE: Final = "hami.io/vgpu-node"
ASSIGNED_TIME: Final = "hami.io/vgpu-time"
TO_ALLOCATE: Final = "hami.io/vgpu-devices-to-allocate"
ALLOCATED: Final = "hami.io/vgpu-devices-allocated"
BIND_TIME: Final = "hami.io/bind-time"
BIND_PHASE: Final = "hami.io/bind-phase"
MIG_ALLOCATIONS: Final = "hami.io/vgpu-mig-allocations"

OTHER_VENDORS: Final = frozenset(
    {
        "AWSNeuron",
        "Ascend310P",
        "Ascend910A",
        "Ascend910B",
        "Ascend910B2",
        "Ascend910B3",
        "Ascend910B4",
        "Biren",
        "DCU",
        "Enflame",
        "GCU",
        "Iluvatar",
        "MLU",
        "Metax-GPU",
        "Metax-SGPU",
        "Mthreads",
        "XPU",
    }
)
"""Vendor words that HAMi knows and the NUMA refit does not serve."""

OWNED_KEYS: Final = (
    ASSIGNED_NODE,
    ASSIGNED_TIME,
    BIND_TIME,
    BIND_PHASE,
    TO_ALLOCATE,
    ALLOCATED,
    MIG_ALLOCATIONS,
)
"""The NVIDIA keys that only the scheduler and the device plugin may write: HAMi's list and the two
that it left out (docs/decisions.md 12)."""

_OWNED: Final = frozenset(OWNED_KEYS)


def is_owned(key: str) -> bool:
    """Tell whether only the scheduler and device plugins may write the annotation ``key``.

    Every vendor's pair of keys follows one pattern, `hami.io/<vendor>-devices-to-allocate` and
    `-devices-allocated`, so vendors that numafit has never heard of are covered too.
    """
    return key in _OWNED or (
        key.startswith("hami.io/") and key.endswith(("-devices-to-allocate", "-devices-allocated"))
    )


# On nodes.
REGISTER: Final = "hami.io/node-nvidia-register"
PAIR_SCORES: Final = "hami.io/node-nvidia-score"
HANDSHAKE: Final = "hami.io/node-handshake"
NODE_LOCK: Final = "hami.io/mutex.lock"
CORDON: Final = "hami.io/device-cordon"

# numafit's own.
INJECTED: Final = "numafit.io/injected"
JUDGED: Final = "numafit.io/judged"
API_VERSION: Final = "numafit.io/v1"

DEFAULT_SCHEDULER: Final = "default-scheduler"
