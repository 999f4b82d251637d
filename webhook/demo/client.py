"""Speaks to the server as the API server, kube-scheduler and the device plugin do: HTTPS that trusts one CA alone."""

import base64
import json
import ssl
import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from types import MappingProxyType
from typing import Any, Final

from policy.keys import NVIDIA
from webhook.cli.errors import OutsideError
from webhook.demo.process import Running

TIMEOUT_SECONDS: Final = 10.0
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class Client:
    """Makes a connection for each request, as device plugins do: between two steps a reader may take any time."""

    def __init__(self, server: Running) -> None:
        self._server = server
        self._trust = ssl.create_default_context(cafile=server.trust)

    def connect(self) -> tuple[str, str]:
        """Connect over TLS; return its version and who issued the certificate that was verified."""
        with closing(self._operations()) as connection:
            try:
                connection.connect()
            except OSError as error:
                raise OutsideError(f"the server of the demo cannot be reached over TLS: {error}") from None
            certificate: Any = connection.sock.getpeercert()
            names = dict(part[0] for part in certificate["issuer"])
            return str(connection.sock.version()), names["commonName"]

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
        return self._post("/refit", request, {"Authorization": f"Bearer {self._server.token}"})

    def metrics(self) -> list[str]:
        """The lines of the metrics page."""
        plain = HTTPConnection("127.0.0.1", self._server.ops_port, timeout=TIMEOUT_SECONDS)
        return _exchange(plain, "GET", "/metrics").decode().splitlines()

    def _post(self, path: str, body: object, headers: Mapping[str, str] = NO_HEADERS) -> dict[str, Any]:
        sent = {"Content-Type": "application/json", **headers}
        return dict(json.loads(_exchange(self._operations(), "POST", path, json.dumps(body), sent)))

    def _operations(self) -> HTTPSConnection:
        return HTTPSConnection("localhost", self._server.port, timeout=TIMEOUT_SECONDS, context=self._trust)


def _exchange(
    connection: HTTPConnection, method: str, path: str, body: str = "", headers: Mapping[str, str] = NO_HEADERS
) -> bytes:
    with closing(connection):
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
