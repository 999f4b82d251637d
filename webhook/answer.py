"""What an operation answers; apart from the application, so that nothing but the server needs Flask."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Answer:
    """What an operation answers.

    `verdict` is a metric label, so from a small closed set. `log` holds further fields of the decision line, never a
    token or a whole object.
    """

    status: int
    body: bytes
    content_type: str
    verdict: str
    log: Mapping[str, object] = field(default_factory=dict)
