"""Text as Go's standard library reads it, which is how HAMi reads numbers, booleans and lists."""

import re
from typing import Final

MAX_INT32: Final = 2**31 - 1
MAX_INT64: Final = 2**63 - 1

BLANKS: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""What Go calls white space; Python's own `str.strip` also takes the separators U+001C to U+001F."""

_INTEGER: Final = re.compile(r"([+-]?)0*+([0-9]*)", re.ASCII)
_INT64_DIGITS: Final = len(str(MAX_INT64))

_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def go_bool(text: str) -> bool | None:
    """Return the boolean that ``text`` spells, None if it spells none; nothing is trimmed."""
    return _BOOLEANS.get(text)


def go_int(text: str, largest: int) -> int | None:
    """Return the decimal integer in ``text``, None if it is none or does not fit.

    A sign is accepted; blanks, underscores and other alphabets' digits are not.

    Args:
        text: what to read, of any length.
        largest: `MAX_INT32` or `MAX_INT64`; the smallest is one further from zero.
    """
    match = _INTEGER.fullmatch(text)
    if match is None or not text[-1:].isdigit():
        return None
    sign, digits = match.groups()
    if len(digits) > _INT64_DIGITS:
        return None
    value = int(f"{sign}{digits or '0'}")
    return value if -largest - 1 <= value <= largest else None


def trim(text: str) -> str:
    """Return ``text`` without white space around it."""
    return text.strip(BLANKS)


def parts(text: str) -> tuple[str, ...]:
    """Split at commas and trim each part; blank parts stay."""
    return tuple(trim(part) for part in text.split(","))
