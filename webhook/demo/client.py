"""Speaks to the server as the API server, kube-scheduler and the device plugin do: HTTPS that trusts one CA alone."""

import base64
import json
import ssl
import uuid
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final

from policy.keys import NVIDIA
from webhook.cli.errors import OutsideError
from webhook.demo.process import Running

TIMEOUT_SECONDS: Final = 10.0


class Client:
    """One keep-alive connection to the operations, one to health and metrics."""

    def __init__(self, server: Running) -> None:
        trust = ssl.create_default_context(cafile=server.trust)
        self._operations = HTTPSConnection("localhost", server.port, timeout=TIMEOUT_SECONDS, context=trust)
        self._ops = HTTPConnection("127.0.0.1", server.ops_port, timeout=TIMEOUT_SECONDS)
        self._token = server.token

    def close(self) -> None:
        """Let go of both connections."""
        self._operations.close()
        self._ops.close()

    def connect(self) -> tuple[str, str]:
        """Make the TLS connection; return its version and who issued the certificate that was verified."""
        try:
            self._operations.connect()
        except OSError as error:
            raise OutsideError(f"the server of the demo cannot be reached over TLS: {error}") from None
        certificate: Any = self._operations.sock.getpeercert()
        names = dict(part[0] for part in certificate["issuer"])
        return str(self._operations.sock.version()), names["commonName"]

    def review(self, pod: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask for admission as the API server does when a user creates ``pod``; return the response."""
        meta = pod["metadata"]
        request = {
            "uid": str(uuid.uuid4()),
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "name": meta["name"],
            "namespace": meta["namespace"],
            "operation": "CREATE",
            "userInfo": {"username": "demo"},
            "object": pod,
        }
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        return dict(self._post("/webhook", review)["response"])

    def place(self, pod: Mapping[str, Any], nodes: Sequence[str]) -> Mapping[str, Any]:
        """Have ``pod`` placed on one of ``nodes`` as kube-scheduler does."""
        return self._post("/filter", {"pod": pod, "nodenames": list(nodes)})

    def bind(self, pod: Mapping[str, Any], node: str) -> Mapping[str, Any]:
        """Bind ``pod`` to its node as kube-scheduler does."""
        meta = pod["metadata"]
        binding = {"podName": meta["name"], "podNamespace": meta["namespace"], "podUID": meta["uid"], "node": node}
        return self._post("/bind", binding)

    def refit(self, pod: Mapping[str, Any], node: str, allowed: Sequence[str]) -> Mapping[str, Any]:
        """Ask as the device plugin of ``node`` does when kubelet left it the cards ``allowed``."""
        meta = pod["metadata"]
        request = {
            "podUID": meta["uid"],
            "podNamespace": meta["namespace"],
            "podName": meta["name"],
            "nodeName": node,
            "containerIndex": 0,
            "containerName": pod["spec"]["containers"][0]["name"],
            "deviceType": NVIDIA,
            "allowedDeviceUUIDs": list(allowed),
        }
        return self._post("/refit", request, {"Authorization": f"Bearer {self._token}"})

    def metrics(self) -> list[str]:
        """The lines of the metrics page."""
        return self._exchange(self._ops, "GET", "/metrics").decode().splitlines()

    def _post(self, path: str, body: object, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        sent = {"Content-Type": "application/json", **(headers or {})}
        return dict(json.loads(self._exchange(self._operations, "POST", path, json.dumps(body), sent)))

    @staticmethod
    def _exchange(
        connection: HTTPConnection, method: str, path: str, body: str | None = None, headers: Mapping[str, str] = {}
    ) -> bytes:
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            said = answer.read()
        except (OSError, HTTPException) as error:
            raise OutsideError(f"{method} {path} got no answer from the server of the demo: {error!r}") from None
        if answer.status != HTTPStatus.OK:
            raise OutsideError(f"{method} {path} got HTTP {answer.status} from the server of the demo: {said[:200]!r}")
        return said


def patch_of(response: Mapping[str, Any]) -> list[Any]:
    """The operations of the JSON patch in an admission response."""
    operations: list[Any] = json.loads(base64.b64decode(response.get("patch", "W10=")))
    return operations
