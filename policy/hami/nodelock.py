"""The lock that a node carries while a pod waits there for its devices."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from policy.hami.errors import shown

_PARTS: Final = 3
_RFC3339: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})", re.ASCII)


class NodeLockError(ValueError):
    """A node's lock cannot be read."""


@dataclass(frozen=True, slots=True)
class NodeLock:
    """Who waits on a node.

    Attributes:
        time: when the lock was taken, as written (RFC 3339).
        namespace: of the pod; empty in locks of old releases, as the name is.
        name: of the pod.
    """

    time: str
    namespace: str = ""
    name: str = ""

    @property
    def taken_at(self) -> datetime:
        """When the lock was taken, to the microsecond."""
        return datetime.fromisoformat(self.time)


def parse_lock(text: str) -> NodeLock:
    """Read the value of a node's lock annotation (HAMi: node lock).

    Raises:
        NodeLockError: the text is neither a time nor time, namespace and name.
    """
    parts = text.split(",")
    if len(parts) not in {1, _PARTS} or not _is_time(parts[0]):
        raise NodeLockError(f"the lock is {shown(text)}; it must be <RFC 3339 time>,<namespace>,<pod>")
    return NodeLock(*parts)


def format_lock(lock: NodeLock) -> str:
    """Return the annotation value of ``lock``."""
    return f"{lock.time},{lock.namespace},{lock.name}"


def _is_time(text: str) -> bool:
    if _RFC3339.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
