"""Help texts: examples first, for that is what people look for."""

from collections.abc import Sequence
from typing import Final

AS_WRITTEN: Final = "\b"
"""Where it stands alone on a line, the lines of the paragraph are not joined."""


def beginning_with(examples: Sequence[str], text: str) -> str:
    """Write a command's help: ``examples``, the first of which runs as it is written, then ``text``."""
    return "\n".join([AS_WRITTEN, "Examples:", *(f"  $ {example}" for example in examples), "", text])
