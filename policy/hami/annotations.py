"""What HAMi reads from the annotations that people write on pods."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from policy.hami.errors import shown
from policy.hami.golang import MAX_INT64, go_bool, go_int, parts, trim
from policy.keys import (
    GPU_POLICY,
    NODE_POLICY,
    NOUSE_TYPE,
    NOUSE_UUID,
    NUMA_ALIGNMENT,
    NUMA_BIND,
    SCORING_WEIGHTS,
    USE_TYPE,
    USE_UUID,
    VGPU_MODE,
)

__all__ = [
    "ALIGNMENTS",
    "CARD_POLICY_WORDS",
    "AnnotationError",
    "CardFilter",
    "Weights",
    "WeightsError",
    "WeightsFault",
    "alignment",
    "allows_mode",
    "allows_type",
    "allows_uuid",
    "go_bool",
    "gpu_policy",
    "is_valid_policy",
    "items",
    "node_policy",
    "numa_bind",
    "weights",
]

ALIGNMENTS: Final = ("best-effort", "strict")
"""The legal values of `hami.io/numa-alignment`."""

CARD_POLICY_WORDS: Final = ("binpack", "spread", "numa", "mutex", "topology-aware")
"""The words that a policy for cards may be made of; several stand in a comma list."""


class AnnotationError(ValueError):
    """An annotation's value cannot be read; the text names key, value and legal values."""


def items(text: str) -> tuple[str, ...]:
    """Return the items of a comma list, trimmed, without the blank ones."""
    return tuple(filter(None, parts(text))) if text else ()


def numa_bind(annotations: Mapping[str, str]) -> bool:
    """Tell whether all cards of a container must share a NUMA node; nonsense counts as no, as in HAMi."""
    return go_bool(annotations.get(NUMA_BIND, "")) is True


def alignment(annotations: Mapping[str, str]) -> str:
    """Return `best-effort` or `strict`, empty if the pod does not ask for alignment.

    Raises:
        AnnotationError: the key is there with another value, the empty one included.
    """
    value = annotations.get(NUMA_ALIGNMENT)
    if value is None:
        return ""
    mode = trim(value).lower()
    if mode not in ALIGNMENTS:
        raise AnnotationError(f"{NUMA_ALIGNMENT} is {shown(value)}; it must be {' or '.join(ALIGNMENTS)}")
    return mode


@dataclass(frozen=True, slots=True)
class CardFilter:
    """Which cards a pod's annotations leave, read once for all cards of all nodes.

    Attributes:
        use_uuids: the only cards allowed, None for any. Compared byte for byte.
        use_types: one of these must occur in the card's type, upper case on both sides; None for any.
        modes: text in which the card's mode must occur, None for any.
    """

    use_uuids: frozenset[str] | None
    nouse_uuids: frozenset[str]
    use_types: tuple[str, ...] | None
    nouse_types: tuple[str, ...]
    modes: str | None
    _types: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)
    _modes: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)
    # Answers given before: a cluster has few types and modes and many cards, and a list may be as long as its writer
    # likes.

    @classmethod
    def of(cls, annotations: Mapping[str, str]) -> "CardFilter":
        """Read the five keys. A blank list is no constraint; a list of nothing but commas matches no card."""
        use_uuids = annotations.get(USE_UUID, "")
        nouse_uuids = annotations.get(NOUSE_UUID, "")
        use_types = annotations.get(USE_TYPE, "")
        return cls(
            use_uuids=frozenset(parts(use_uuids)) if trim(use_uuids) else None,
            nouse_uuids=frozenset(parts(nouse_uuids)) if trim(nouse_uuids) else frozenset(),
            use_types=items(use_types.upper()) if trim(use_types) else None,
            nouse_types=items(annotations.get(NOUSE_TYPE, "").upper()),
            modes=annotations.get(VGPU_MODE),
        )

    def allows_uuid(self, uuid: str) -> bool:
        """Tell whether the lists of UUIDs leave the card ``uuid``."""
        return (self.use_uuids is None or uuid in self.use_uuids) and uuid not in self.nouse_uuids

    def allows_type(self, type_: str) -> bool:
        """Tell whether the lists of types leave cards of ``type_``; any part of a type's name matches."""
        if type_ not in self._types:
            name = type_.upper()
            wanted = self.use_types is None or any(item in name for item in self.use_types)
            self._types[type_] = wanted and not any(item in name for item in self.nouse_types)
        return self._types[type_]

    def allows_mode(self, mode: str) -> bool:
        """Tell whether the pod may use cards in ``mode``; a card without a mode always passes."""
        if mode not in self._modes:
            self._modes[mode] = self.modes is None or mode in self.modes
        return self._modes[mode]


def allows_type(annotations: Mapping[str, str], type_: str) -> bool:
    """Tell whether the annotations leave cards of ``type_``."""
    return CardFilter.of(annotations).allows_type(type_)


def allows_uuid(annotations: Mapping[str, str], uuid: str) -> bool:
    """Tell whether the annotations leave the card ``uuid``."""
    return CardFilter.of(annotations).allows_uuid(uuid)


def allows_mode(annotations: Mapping[str, str], mode: str) -> bool:
    """Tell whether the annotations leave cards in ``mode``."""
    return CardFilter.of(annotations).allows_mode(mode)


def is_valid_policy(text: str) -> bool:
    """Tell whether every part of a policy for cards is one of the words that HAMi knows."""
    return all(part in CARD_POLICY_WORDS for part in parts(text))


def gpu_policy(annotations: Mapping[str, str], default: str) -> str:
    """Return the policy for cards, its parts trimmed.

    A list with one unknown or blank part counts as absent, as a whole (HAMi: resolve GPU policy).
    """
    text = annotations.get(GPU_POLICY, "")
    return ",".join(parts(text if is_valid_policy(text) else default))


def node_policy(annotations: Mapping[str, str], default: str) -> str:
    """Return `spread` or `binpack`, the policy for nodes; HAMi takes every other text for `binpack`."""
    return "spread" if trim(annotations.get(NODE_POLICY, default)) == "spread" else "binpack"


@dataclass(frozen=True, slots=True)
class Weights:
    """How much shares, cores and memory count in a card's score."""

    slot: int = 1
    core: int = 1
    memory: int = 1


class WeightsFault(StrEnum):
    """What is wrong with a text of weights, in the order in which HAMi looks."""

    PART_COUNT = "part_count"
    FORM = "form"
    DUPLICATE = "duplicate"
    NOT_INTEGER = "not_integer"
    NEGATIVE = "negative"
    UNKNOWN = "unknown"
    ALL_ZERO = "all_zero"


class WeightsError(AnnotationError):
    """Scoring weights cannot be read.

    Attributes:
        fault: what is wrong.
        key: the part that is wrong, empty where it is the whole.
    """

    def __init__(self, text: str, fault: WeightsFault, key: str = "") -> None:
        self.fault = fault
        self.key = key
        where = f" ({fault.replace('_', ' ')}{f': {shown(key)}' if key else ''})"
        super().__init__(
            f"{SCORING_WEIGHTS} is {shown(text)}{where}; it must be slot=N,core=N,memory=N with whole numbers "
            "from 0, not all of them 0"
        )


_WEIGHT_NAMES: Final = ("slot", "core", "memory")


def weights(text: str | None) -> Weights:
    """Return the scoring weights in ``text``, the default for None.

    Raises:
        WeightsError: the text is not three different weights, or all are zero.
    """
    if text is None:
        return Weights()
    found = text.split(",")
    if len(found) != len(_WEIGHT_NAMES):
        raise WeightsError(text, WeightsFault.PART_COUNT)
    read: dict[str, int] = {}
    for part in found:
        key, value = _weight(text, part, read)
        read[key] = value
    if not any(read.values()):
        raise WeightsError(text, WeightsFault.ALL_ZERO)
    return Weights(**read)


def _weight(text: str, part: str, seen: Mapping[str, int]) -> tuple[str, int]:
    name, equals, amount = part.partition("=")
    key = trim(name)
    if not equals:
        raise WeightsError(text, WeightsFault.FORM)
    if key in seen:
        raise WeightsError(text, WeightsFault.DUPLICATE, key)
    value = go_int(trim(amount), MAX_INT64)
    if value is None:
        raise WeightsError(text, WeightsFault.NOT_INTEGER, key)
    if value < 0:
        raise WeightsError(text, WeightsFault.NEGATIVE, key)
    if key not in _WEIGHT_NAMES:
        raise WeightsError(text, WeightsFault.UNKNOWN, key)
    return key, value
