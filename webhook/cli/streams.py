"""The standard streams: what stands in for a closed one, and what becomes of output that nobody takes."""

import os
import sys
from errno import EBADF, EDQUOT, EFBIG, EIO, ENOSPC, EPIPE
from typing import Final, TextIO

_STAND_INS: Final = (
    ("stdin", os.O_RDONLY, "r"),
    ("stdout", os.O_RDONLY, "w"),
    ("stderr", os.O_WRONLY, "w"),
)
"""By descriptor: a closed stdin is empty, a closed stderr takes all, and writing to a closed stdout fails."""

_OF_WRITING: Final = frozenset({EPIPE, ENOSPC, EDQUOT, EFBIG, EIO, EBADF})
"""What writing ends with where no file is named: commands name the files that they write themselves."""


def complete() -> None:
    """Open what the caller closed, so that no file of ours takes its number and is written to by mistake."""
    for number, (name, flags, mode) in enumerate(_STAND_INS):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - a descriptor, open until the end


def escape(*streams: TextIO) -> None:
    """Have characters that a stream's encoding lacks written as Python writes them."""
    for stream in streams:
        stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]  # what Python opens is a TextIOWrapper


def unwritten(error: Exception) -> OSError | None:
    """Return ``error`` if it says that stdout takes nothing more, else None; what stdout did not take is forgotten."""
    if not isinstance(error, OSError) or error.filename is not None or error.errno not in _OF_WRITING:
        return None
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would try again at its end
    return error
