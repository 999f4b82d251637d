"""An application with nothing in it, under numafit's own server: decodes a review, answers, encodes a patch.

`python -m tests.bench.empty CERTIFICATE KEY READY_FILE`. What numafit costs beyond it is what it decides.
"""

import base64
import json
import socket
import ssl
import sys
from pathlib import Path

from flask import Flask, Response, request

from webhook.metrics import Metrics
from webhook.server import Application, Service
from webhook.settings import Listen, Log, Settings

PATCH = [{"op": "add", "path": "/metadata/annotations/example.com~1seen", "value": "yes"}]


class Empty(Application):
    """The server, with another application in it."""

    def load(self) -> Flask:
        """Make the application; called once, in the worker."""
        super().load()
        app = Flask("empty")
        app.add_url_rule("/webhook", "webhook", answer, methods=["POST"])
        return app


def answer() -> Response:
    """Let every pod in."""
    review = json.loads(request.get_data())
    patch = base64.b64encode(json.dumps(PATCH).encode()).decode()
    said = {"uid": review["request"]["uid"], "allowed": True, "patchType": "JSONPatch", "patch": patch}
    whole = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": said}
    return Response(json.dumps(whole), content_type="application/json")


def main(certificate: Path, key: Path, ready_file: Path) -> None:
    """Serve until a signal ends it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    settings = Settings(listen=Listen(host="127.0.0.1"), log=Log(level="warning"), ready_file=ready_file)

    def build(_metrics: Metrics) -> Service:
        return Service({}, {}, lambda: context)

    tls, plain = (socket.create_server(("127.0.0.1", 0), backlog=512) for _ in range(2))
    Empty(settings, build, "0", tls, plain).run()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
