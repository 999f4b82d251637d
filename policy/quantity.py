"""Kubernetes quantities, read exactly.

A quantity is decimal text with an optional suffix (`20k`, `16Gi`, `1500m`, `1e3`). The API server sends them
in canonical form, `20000` as `20k`, so amounts are parsed and never compared as digits (Kubernetes:
resource.Quantity).
"""

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

_TEXT: Final = re.compile(
    r"([+-]?)(\d{1,64}(?:\.\d{0,64})?|\.\d{1,64})([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,19})?", re.ASCII
)
_SUFFIXES: Final = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{letter: Fraction(1000**power) for power, letter in enumerate(("", "k", "M", "G", "T", "P", "E"))},
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
}
_TOO_LARGE: Final = 10**64
"""A number with more digits is read no more than text with more digits is."""
_EXPONENT_LIMIT: Final = 40
"""Exponents are cut here: far beyond int64 on both sides, and small enough to stay cheap."""


def parse(value: object) -> Fraction | None:
    """Return the exact amount of ``value`` (text or a JSON number), None if it is no quantity."""
    if isinstance(value, str):
        return _parse_text(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Fraction(value) if abs(value) < _TOO_LARGE else None
    return _parse_text(format(Decimal(repr(value)), "f")) if isinstance(value, float) else None


def whole(value: object) -> int | None:
    """Return ``value`` as an integer, None if it is no quantity or not a whole number."""
    if type(value) is int:
        return value if abs(value) < _TOO_LARGE else None
    return _whole_text(value) if isinstance(value, str) else _integer(parse(value))


@lru_cache(maxsize=4096)
def _whole_text(text: str) -> int | None:
    return _integer(_parse_text(text))


def _integer(amount: Fraction | None) -> int | None:
    return amount.numerator if amount is not None and amount.denominator == 1 else None


@lru_cache(maxsize=4096)
def _parse_text(text: str) -> Fraction | None:
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    sign, digits, suffix = match.groups(default="")
    amount = Fraction(digits.rstrip(".")) * _factor(suffix)
    return -amount if sign == "-" else amount


def _factor(suffix: str) -> Fraction:
    known = _SUFFIXES.get(suffix)
    if known is not None:
        return known
    exponent = int(suffix[1:])
    return Fraction(10) ** max(-_EXPONENT_LIMIT, min(_EXPONENT_LIMIT, exponent))
