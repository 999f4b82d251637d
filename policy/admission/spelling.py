"""Rules about the spelling of the four keys' values (docs/admission.md, "The combination table")."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from policy import keys
from policy.admission.case import MODES, Case
from policy.hami.annotations import go_bool
from policy.hami.golang import trim

_REPLICA: Final = re.compile(
    r"(GPU-[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})(?:-|::)[0-9]+", re.ASCII
)
_SEPARATOR: Final = re.compile(r"[\s;\"'\[\]{}]")
_SHOWN: Final = 80
"""How much of a value is repeated to its writer."""


def quoted(value: str) -> str:
    """A value as it was written, for a message: on one line, and cut where it is long."""
    shown = value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…"
    return '"' + shown.encode("unicode_escape").decode("ascii") + '"' if not shown.isprintable() else f'"{shown}"'


@lru_cache(maxsize=4096)
def flaw(item: str) -> str:
    """Say why ``item`` of a UUID list names no card: `mig`, `index`, `replica`, `separator`, or empty."""
    if item.startswith("MIG-"):
        return "mig"
    if item.isascii() and item.isdigit():
        return "index"
    if _REPLICA.fullmatch(item):
        return "replica"
    return "separator" if _SEPARATOR.search(item) else ""


def has_malformed_pins(case: Case) -> bool:
    """Tell whether use-gpuuuid is written so that HAMi would match no card, or other cards than meant."""
    value = case.pod.annotations.get(keys.USE_UUID)
    if value is None or not trim(value):
        return False
    return not case.pin_items or any(flaw(item) for item in case.pin_items)


def alignment_unknown(case: Case) -> str | None:
    """`hami.io/numa-alignment` is present and neither `best-effort` nor `strict`, blanks and case aside."""
    value = case.pod.annotations.get(keys.NUMA_ALIGNMENT)
    if value is None or case.alignment in MODES:
        return None
    return f'{keys.NUMA_ALIGNMENT} is {quoted(value)}; use "best-effort" or "strict", or remove the key.'


def bind_not_boolean(case: Case) -> str | None:
    """`nvidia.com/numa-bind` is present and no boolean as HAMi's parser reads one; HAMi would take it for false."""
    value = case.pod.annotations.get(keys.NUMA_BIND)
    if value is None or go_bool(value) is not None:
        return None
    return f'{keys.NUMA_BIND} is {quoted(value)}, which HAMi reads as false; write "true" or "false".'


def pin_blank(case: Case) -> str | None:
    """`nvidia.com/use-gpuuuid` is present and blank, so it pins nothing."""
    value = case.pod.annotations.get(keys.USE_UUID)
    if value is None or trim(value):
        return None
    return f"{keys.USE_UUID} is blank and pins nothing; name GPU UUIDs or remove the key."


def pin_list_empty(case: Case) -> str | None:
    """`nvidia.com/use-gpuuuid` holds separators and no UUID, which HAMi matches with no card."""
    value = case.pod.annotations.get(keys.USE_UUID)
    if value is None or not trim(value) or case.pin_items:
        return None
    return f"{keys.USE_UUID} is {quoted(value)}, a list without a UUID; name GPU UUIDs or remove the key."


def pin_duplicate(case: Case) -> str | None:
    """A UUID stands twice in `nvidia.com/use-gpuuuid`; it counts once."""
    seen = case.pin_items
    if len(seen) == len(case.pins):
        return None
    times = Counter(seen)
    twice = next(item for item in seen if times[item] > 1)
    return f"{keys.USE_UUID} names {quoted(twice)} more than once; name it once."


def _flawed(key: str, found: Iterable[str], kind: str) -> str | None:
    wrong = [item for item in found if flaw(item) == kind]
    if not wrong:
        return None
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return f"{key} has {quoted(wrong[0])}{more}, {_EXPLAINED[kind]}; {_remedy(kind, wrong[0])}"


_EXPLAINED: Final = {
    "mig": "a MIG device",
    "index": "a card's index",
    "replica": "a replica of a card",
    "separator": "not a comma list of UUIDs",
}


def _remedy(kind: str, item: str) -> str:
    match = _REPLICA.fullmatch(item)
    if match:
        return f"write {match.group(1)}."
    if kind == "separator":
        return "separate UUIDs by commas, without quotes or brackets."
    return "write the GPU's UUID (nvidia-smi -L lists them)."


def pin_is_mig(case: Case) -> str | None:
    """An item of `nvidia.com/use-gpuuuid` is the UUID of a MIG device; HAMi compares UUIDs of whole GPUs."""
    return _flawed(keys.USE_UUID, case.pin_items, "mig")


def pin_is_index(case: Case) -> str | None:
    """An item of `nvidia.com/use-gpuuuid` is a card's index; HAMi compares UUIDs."""
    return _flawed(keys.USE_UUID, case.pin_items, "index")


def pin_is_replica(case: Case) -> str | None:
    """An item of `nvidia.com/use-gpuuuid` is a replica id of kubelet's device list.

    A UUID with `-N` or `::N` behind it.
    """
    return _flawed(keys.USE_UUID, case.pin_items, "replica")


def pin_has_separator(case: Case) -> str | None:
    """`nvidia.com/use-gpuuuid` is separated by something else than commas, or quoted like JSON."""
    return _flawed(keys.USE_UUID, case.pin_items, "separator")


def exclusion_is_mig(case: Case) -> str | None:
    """An item of `nvidia.com/nouse-gpuuuid` is the UUID of a MIG device, so nothing is excluded."""
    return _flawed(keys.NOUSE_UUID, case.exclusion_items, "mig")


def exclusion_is_index(case: Case) -> str | None:
    """An item of `nvidia.com/nouse-gpuuuid` is a card's index, so nothing is excluded."""
    return _flawed(keys.NOUSE_UUID, case.exclusion_items, "index")


def exclusion_is_replica(case: Case) -> str | None:
    """An item of `nvidia.com/nouse-gpuuuid` is a replica id of kubelet's device list, so nothing is excluded."""
    return _flawed(keys.NOUSE_UUID, case.exclusion_items, "replica")


def exclusion_has_separator(case: Case) -> str | None:
    """`nvidia.com/nouse-gpuuuid` is separated by something else than commas, so nothing is excluded."""
    return _flawed(keys.NOUSE_UUID, case.exclusion_items, "separator")
