"""The log on stderr: one line per event, as text for people or as JSON for machines."""

import json
import logging
import re
import sys
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_DECISIONS = logging.getLogger("numafit.decision")


def configure(level: str, form: str) -> None:
    """Send all logging of the process to stderr. `form` is text or json; `level` the least that is written."""
    handler = _Lines()
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # What no line names need not be found out for each record.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False


class _Lines(logging.Handler):
    """Writes each record as one line to stderr, and makes it before others have to wait."""

    def handle(self, record: logging.LogRecord) -> bool:
        """Make the line, then take one's turn to write it."""
        try:
            self._write(f"{self.format(record)}\n".encode(errors="backslashreplace"))
        except Exception:  # noqa: BLE001 - whatever it is, a line that cannot be written ends no request
            self.handleError(record)
        return True

    def _write(self, line: bytes) -> None:
        self.acquire()
        try:
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()
        finally:
            self.release()


def decision(path: str, verdict: str, seconds: float, fields: Mapping[str, object]) -> None:
    """Write the line of one answered request. `fields` are the operation's; the line's own names win."""
    if _DECISIONS.isEnabledFor(logging.INFO):
        # Not through info(): finding the calling line would cost as much as writing this one.
        record = logging.LogRecord(_DECISIONS.name, logging.INFO, "", 0, "decision", (), None)
        own = {"path": path, "verdict": verdict, "ms": round(seconds * 1000, 3)}
        record.fields = {**own, **{name: _short(value) for name, value in fields.items()}, **own}
        _DECISIONS.handle(record)


_LONGEST = 256
"""Characters of one text on a decision line, and items of one list: a caller may send megabytes of either."""


def _short(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    if isinstance(value, list | tuple):
        more = len(value) - _LONGEST
        return [*map(_short, value[:_LONGEST]), *([f"and {more} more"] if more > 0 else [])]
    return value


class TextLines(logging.Formatter):
    """`2026-11-30T10:00:00.123Z info decision path=/webhook verdict=allowed ms=0.31`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; further lines only for a traceback."""
        fields = getattr(record, "fields", {})
        pairs = "".join(f" {name}={_plain(value)}" for name, value in fields.items())
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        return f"{_instant(record)} {record.levelname.lower()} {message}{pairs}{trace}"


class JsonLines(logging.Formatter):
    """The same as one JSON object: time, level, message, then the fields."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, a traceback as text in `trace`."""
        own = {"time": _instant(record), "level": record.levelname.lower(), "message": record.getMessage()}
        fields: dict[str, Any] = {**own, **getattr(record, "fields", {}), **own}
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str)


def _instant(record: logging.LogRecord) -> str:
    return f"{_second(int(record.created))}.{int(record.msecs):03d}Z"


@lru_cache(maxsize=2)
def _second(created: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(created))


def _plain(value: object) -> str:
    """A value without blanks as it is, everything else quoted as JSON does, a list as one text with commas."""
    if isinstance(value, str):
        return value if _BARE.fullmatch(value) else json.dumps(value)
    if isinstance(value, list | tuple):
        return _plain(",".join(map(str, value)))
    return _plain(str(value))


_BARE = re.compile(r"[!#-<>-~]+")
