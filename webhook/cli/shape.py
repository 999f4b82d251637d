"""A member in one line: `gpus=2,cpus=16,mem=64Gi,locality=zone:gpu+cpu`."""

import difflib
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil
from typing import Final

from policy import quantity
from policy.capacity.shapes import ANY_CARD, NO_GPU, Locality, Member
from policy.hami.annotations import CardFilter
from policy.hami.request import PERCENT_UNSET, WHOLE_CARD, HamiConfig, Request
from policy.keys import USE_TYPE
from webhook.cli.errors import InputError

_MILLI: Final = 1000
_MIB: Final = 1024**2
_MOST: Final = 10**9
_PERCENT: Final = 100


def read_shape(text: str, config: HamiConfig, count: int) -> Member:
    """Read a shape.

    Raises:
        InputError: a key is unknown or given twice, or a value is none of its key.
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (each.strip() for each in part.partition("="))
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            raise InputError(f"--shape knows no {key!r}; {f'did you mean {near[0]}?' if near else _known()}")
        if not equals or not value or key in found:
            raise InputError(f"--shape gives {key} {'twice' if key in found else 'no value'}; write {key}=VALUE once")
        found[key] = value
    return Member(
        name="shape",
        count=count,
        request=_request(found, config),
        cpus=ceil(_amount(found, "cpus") * _MILLI),
        memory=ceil(_amount(found, "mem") / _MIB),
        locality=_locality(found),
        filter=CardFilter.of({USE_TYPE: found["type"]}) if "type" in found else ANY_CARD,
    )


_KEYS: Final[Mapping[str, str]] = {
    "gpus": "cards, different ones",
    "gpumem": "MiB on each card",
    "gpumem-percentage": "percent of each card's memory",
    "gpucores": "percent of each card's cores",
    "cpus": "CPUs",
    "mem": "memory of the host, such as 64Gi",
    "locality": "what must come from one NUMA node",
    "type": "a word of the cards' type",
}


def _known() -> str:
    return f"it knows {', '.join(_KEYS)}"


def _request(found: Mapping[str, str], config: HamiConfig) -> Request:
    """Where nothing of a card is named the configured defaults count, as for a pod (HAMi: request of one container)."""
    nums = _whole(found, "gpus")
    if not nums:
        return NO_GPU
    memory, percent = _whole(found, "gpumem"), _whole(found, "gpumem-percentage", _PERCENT)
    if not memory and not percent:
        memory, percent = config.default_memory, 0 if config.default_memory else WHOLE_CARD
    takes_all = percent == WHOLE_CARD and not memory and "gpucores" not in found
    cores = _whole(found, "gpucores", _PERCENT) if "gpucores" in found else config.default_cores
    return Request(nums, memory, percent or PERCENT_UNSET, WHOLE_CARD if takes_all and not cores else cores)


def _whole(found: Mapping[str, str], key: str, most: int = _MOST) -> int:
    return int(_read(found, key, f"a whole number from 0 to {most}", lambda n: n.denominator == 1 and n <= most))


def _amount(found: Mapping[str, str], key: str) -> Fraction:
    return _read(found, key, "an amount such as 16, 500m or 64Gi", lambda _: True)


def _read(found: Mapping[str, str], key: str, wanted: str, allows: Callable[[Fraction], bool]) -> Fraction:
    amount = quantity.parse(found.get(key, "0"))
    if amount is None or amount < 0 or not allows(Fraction(amount)):
        raise InputError(f"--shape: {key} is {found[key]!r}; write {wanted}")
    return Fraction(amount)


def _locality(found: Mapping[str, str]) -> Locality:
    word = found.get("locality", Locality.NODE)
    if word not in set(Locality):
        raise InputError(f"--shape: locality is {word!r}; write one of {', '.join(Locality)}")
    return Locality(word)
