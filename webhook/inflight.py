"""What may be in hand at once, requests and bytes, and how a body is read within it."""

import threading
from collections.abc import Iterator
from typing import Any

PIECE_BYTES = 128 << 10
"""A body is read in pieces of this size, so that what a client only announced costs nothing."""


FREE_BYTES = 256 << 10
"""The beginning of every body counts for nothing, so that a few huge ones never keep out the usual ones."""


class Allowance:
    """An amount that may be in use at once. Taking more fails at once; nobody waits."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self.used = 0

    def take(self, amount: int = 1) -> bool:
        """Whether `amount` was still free; it is taken then."""
        with self._lock:
            if self.used + amount > self._most:
                return False
            self.used += amount
            return True

    def give(self, amount: int = 1) -> None:
        """Free what was taken."""
        with self._lock:
            self.used -= amount


class BodyError(Exception):
    """A body that is not read to its end: too large, no room for it, or unreadable."""


class TooLargeError(BodyError):
    """The body is longer than its limit."""


class NoRoomError(BodyError):
    """The bodies of all requests together take all the memory they may."""


class UnreadableError(BodyError):
    """The body did not arrive whole. The text says how far it came, and never what was in it."""


def read_body(environ: dict[str, Any], limit: int, held: Allowance) -> bytes:
    """The whole body of a WSGI request, at most `limit` bytes.

    Its bytes beyond FREE_BYTES are taken from `held`; the caller gives `counted` of them back when the request is
    answered. Raises BodyError, and nothing is held then.
    """
    length = environ.get("CONTENT_LENGTH")
    announced = int(length) if length else None
    if announced is not None and announced > limit:
        raise TooLargeError
    taken: list[bytes] = []
    read = 0
    try:
        for piece in _pieces(environ["wsgi.input"], limit + 1 if announced is None else announced):
            _take(held, read, len(piece))
            taken.append(piece)
            read += len(piece)
        return _whole(taken, limit, announced)
    except BodyError:
        held.give(counted(read))
        raise


def counted(length: int) -> int:
    """How many bytes of a body of ``length`` count against what all of them may hold."""
    return max(0, length - FREE_BYTES)


def _pieces(stream: Any, most: int) -> Iterator[bytes]:
    """What comes, up to `most` bytes and no further, so that nothing is waited for that need not come."""
    left = most
    try:
        while left and (piece := stream.read(min(PIECE_BYTES, left))):
            left -= len(piece)
            yield piece
    except Exception as failure:
        reason = failure if isinstance(failure, ConnectionError) else "cut short, or its chunks are malformed"
        raise UnreadableError(f"after {most - left} bytes: {reason}") from failure


def _take(held: Allowance, read: int, more: int) -> None:
    if not held.take(counted(read + more) - counted(read)):
        raise NoRoomError


def _whole(pieces: list[bytes], limit: int, announced: int | None) -> bytes:
    body = b"".join(pieces)
    if len(body) > limit:
        raise TooLargeError
    if announced is not None and len(body) < announced:
        raise UnreadableError(f"the connection ended after {len(body)} of {announced} bytes")
    return body
