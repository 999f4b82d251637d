"""A server with trivial operations, started by the tests as a process of its own.

Its arguments are a directory with cert.pem and key.pem, and settings as NAME=VALUE. What /webhook does is in the
body: `sleep S` answers late, `raise` breaks, everything else is echoed.
"""

import os
import ssl
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from webhook.answer import Answer
from webhook.metrics import Metrics
from webhook.server import Service, StartupError, serve
from webhook.sources import load


@dataclass(frozen=True, slots=True)
class Echo:
    """Answers with the body; its own refusals have the status `refusal`."""

    limit_bytes: int
    refusal: int

    def handle(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        word, _, rest = body.partition(b" ")
        if word == b"sleep":
            time.sleep(float(rest))
        if word == b"raise":
            raise LookupError("broken on purpose")
        kind = headers.get("content-type", "none")
        return Answer(200, body, "application/json", "allowed", {"uid": "u-1", "bytes": len(body), "type": kind})

    def shed(self) -> Answer:
        return self._refused(429 if self.refusal != 200 else 200, "shed")

    def too_large(self, limit: int) -> Answer:
        return self._refused(413 if self.refusal != 200 else 200, f"more than {limit} bytes")

    def unreadable(self, reason: str) -> Answer:
        return self._refused(self.refusal, f"unreadable: {reason}")

    def failed(self) -> Answer:
        return self._refused(self.refusal, "failed")

    def _refused(self, status: int, text: str) -> Answer:
        return Answer(status, text.encode(), "text/plain", "refused", {"codes": [text.split(" ", maxsplit=1)[0]]})


def main(directory: Path, given: list[str]) -> None:
    settings = load(None, {}, dict(item.split("=", 1) for item in given)).settings

    def context() -> ssl.SSLContext:
        return made

    def build(metrics: Metrics) -> Service:
        if os.environ.get("BREAK") == "startup":
            raise StartupError("cluster.json: not there; name a file that kubectl printed")
        if os.environ.get("BREAK") == "bug":
            raise KeyError("nodes")
        metrics.facts_age_from(lambda: 1.5)
        metrics.certificate_expiry.set(1_800_000_000)
        metrics.finding("pinned-fewer-than-requested", "enforce")
        metrics.refit("moved", "")
        webhook, refit = settings.limits.webhook_bytes, settings.limits.refit_bytes
        marker = directory / "unready"
        return Service(
            {"/webhook": Echo(webhook, 400), "/refit": Echo(refit, 200)},
            {"facts": lambda: marker.read_text() if marker.exists() else None},
            context,
        )

    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(directory / "cert.pem", directory / "key.pem")
    serve(settings, build, "0.0.0")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
