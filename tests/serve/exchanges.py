"""Exchanges recorded between device plugins and HAMi's own refit, made ready to be repeated.

Bodies are written as they were sent: what was read as JSON as JSON again, what the record cuts at its full length.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from policy.keys import ALLOCATED, TO_ALLOCATE

RECORDED: Final = Path(__file__).parents[1] / "data" / "hami-refit-exchanges.jsonl"
MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what HAMi answered.

    Attributes:
        before: the pod's annotations, None for a pod that does not exist.
        after: the same afterwards.
        quota: memory and cores in the note, None where it names none.
    """

    case: str
    request: Mapping[str, Any]
    response: Mapping[str, Any]
    before: Mapping[str, str | None] | None
    after: Mapping[str, str | None] | None
    quota: tuple[int | None, int | None] | None

    @property
    def asked(self) -> Mapping[str, Any]:
        """The refit request, empty where the body is none."""
        body = self.request["body"]
        if isinstance(body, str):
            found = re.match(r"\ufeff?(\{.*\})", body)
            body = json.loads(found[1]) if found and "podUID" in body and not body.endswith("…") else {}
        return body if body or not self.is_padded else _padded_request()

    @property
    def is_padded(self) -> bool:
        """Whether the body is a request behind blanks that the record leaves out."""
        return str(self.request["body"]).startswith("   ")

    @property
    def body(self) -> bytes:
        """The bytes that were sent."""
        body, size = self.request["body"], self.request["body_bytes"]
        if self.is_padded:
            return json.dumps(_padded_request()).encode().rjust(size)
        if isinstance(body, str) and body.endswith("…"):
            return body[: body.index("x")].encode() + b"x" * MIB + b'"}'
        if isinstance(body, str):
            return body.encode()
        compact = json.dumps(body, separators=(",", ":")).encode()
        return compact if len(compact) == size else json.dumps(body).encode()

    @property
    def reason(self) -> str:
        """Why HAMi refused, in its words; empty if it did not."""
        body = self.response.get("body")
        return str(body.get("failureReason", "")) if isinstance(body, dict) else ""

    @property
    def devices(self) -> str:
        """The container's entry in HAMi's answer, empty if it refused."""
        body = self.response.get("body")
        return str(body.get("containerDevices", "")) if isinstance(body, dict) else ""

    @property
    def tokens(self) -> list[str]:
        """The Authorization headers as recorded."""
        return [value for name, value in self.request["headers"] if name == "Authorization"]

    @property
    def removes_node(self) -> bool:
        """Whether the node was gone."""
        return self.case.startswith("node removed")

    @property
    def moves(self) -> bool:
        """Whether the pod's annotations changed."""
        return self.before != self.after

    @property
    def may_move(self) -> bool:
        """The same, or that only a caller from another node was in the way, which numafit cannot tell."""
        return self.moves or "caller pod" in self.reason


@cache
def recorded() -> tuple[Exchange, ...]:
    """All recorded exchanges, in their order."""
    return tuple(_exchange(json.loads(line)) for line in RECORDED.read_text(encoding="utf-8").splitlines())


@cache
def _padded_request() -> Mapping[str, Any]:
    return next(found.asked for found in recorded() if found.case == "path with query")


def _exchange(record: Mapping[str, Any]) -> Exchange:
    found = re.search(r"hard (?:(0)$|gpumem (\d+)(?:, gpucores (\d+))?)", record.get("note", ""))
    quota = None
    if found:
        quota = (0, 0) if found[1] else (int(found[2]), int(found[3]) if found[3] else None)
    return Exchange(
        case=record["case"],
        request=record["request"],
        response=record["response"],
        before=_annotations(record["pod_before"]),
        after=_annotations(record["pod_after"]),
        quota=quota,
    )


def _annotations(recorded: Mapping[str, str | None] | None) -> Mapping[str, str | None] | None:
    return None if recorded is None else {key: recorded[key] for key in (TO_ALLOCATE, ALLOCATED)}


@cache
def identities() -> Mapping[str, tuple[str, str, str]]:
    """UID -> namespace, name and node of the pod: what most requests say, for some lie on purpose."""
    said: dict[str, Counter[tuple[str, str, str]]] = {}
    for exchange in recorded():
        asked = exchange.asked
        if all(asked.get(key) for key in ("podUID", "podNamespace", "podName", "nodeName")):
            one = asked["podNamespace"], asked["podName"], asked["nodeName"]
            said.setdefault(asked["podUID"], Counter())[one] += 1
    return {uid: names.most_common(1)[0][0] for uid, names in said.items()}
