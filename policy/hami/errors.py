"""How a value that cannot be read is shown to people."""

import json
from typing import Final

_SHOWN: Final = 80


def shown(value: object) -> str:
    """Return ``value`` as an error text names it: scalars quoted and cut, others by the name of their type."""
    if isinstance(value, str):
        text = repr(value[: _SHOWN + 1])
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return json.dumps(value) if value is None or isinstance(value, int | float) else type(value).__name__
