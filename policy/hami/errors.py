"""How a value that cannot be read is shown to people."""

from typing import Final

_SHOWN: Final = 80


def shown(value: object) -> str:
    """Return ``value`` quoted for an error text, cut where it is long; annotations may hold 256 KiB."""
    text = repr(value[: _SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
