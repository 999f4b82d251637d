"""GPU time and money, exactly: fractions inside, rounded once, where they are shown."""

from decimal import Decimal
from fractions import Fraction
from typing import Final

MINUTE: Final = 60
HOUR: Final = 3600


def amount(value: str | float | Decimal | Fraction) -> Fraction:
    """Return ``value`` exactly as it is written: 2.99 is 299/100, not the nearest binary number.

    Raises:
        ValueError: it is no finite number.
    """
    if isinstance(value, Fraction):
        return value
    try:
        return Fraction(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is no amount; write a decimal number such as 2.99") from None


def cost(gpu_seconds: Fraction, price: Fraction) -> Fraction:
    """Return what ``gpu_seconds`` cost at ``price`` per GPU-hour."""
    return gpu_seconds * price / HOUR


def money(value: Fraction) -> str:
    """Return ``value`` with two decimals; half a cent goes to the even cent."""
    cents = round(value * 100)
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"
