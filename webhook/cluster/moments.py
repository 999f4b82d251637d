"""When a cluster was last seen, from the timestamps that its objects carry."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from webhook.cluster.shapes import mapping, mappings

_LISTS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def moment(text: object) -> float | None:
    """Read an RFC 3339 time as seconds since the epoch, None if ``text`` is none."""
    if not isinstance(text, str):
        return None
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return read.timestamp() if read.tzinfo is not None else None


def rfc3339(seconds: float) -> str:
    """Write ``seconds`` since the epoch as Kubernetes writes times."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def newest(objects: Iterable[Mapping[str, Any]]) -> float | None:
    """Return the latest moment at which any of ``objects`` is known to have been written, None if none says.

    Deletion timestamps lie ahead, and handshake annotations are local time without a zone: neither counts.
    """
    read = (moment(text) for source in objects for text in _texts(source))
    return max((at for at in read if at is not None), default=None)


def _texts(source: Mapping[str, Any]) -> Iterator[object]:
    metadata, status = mapping(source.get("metadata")), mapping(source.get("status"))
    yield metadata.get("creationTimestamp")
    for field in mappings(metadata.get("managedFields")):
        yield field.get("time")
    yield status.get("startTime")
    for condition in mappings(status.get("conditions")):
        yield condition.get("lastTransitionTime")
        yield condition.get("lastHeartbeatTime")
        yield condition.get("lastProbeTime")
    for key in _LISTS:
        for container in mappings(status.get(key)):
            for state in mapping(container.get("state")).values():
                yield mapping(state).get("startedAt")
                yield mapping(state).get("finishedAt")
