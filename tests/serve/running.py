"""`numafit serve` as a process of its own, on a cluster that a test writes."""

import http.client
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.server.running import Server

TOKEN: Final = "token-that-every-device-plugin-has"
AUTHORIZED: Final = {"Authorization": f"Bearer {TOKEN}"}

Object = Mapping[str, Any]


class Numafit(Server):
    """One running server. `directory` holds its files: cluster.json, token, ready.json and the certificates."""

    def __init__(self, directory: Path, objects: Iterable[Object], flags: Iterable[str]) -> None:
        self.directory = directory
        document = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        (directory / "cluster.json").write_text(json.dumps(document), encoding="utf-8")
        (directory / "token").write_text(f"{TOKEN}\n", encoding="utf-8")
        given = {
            "cluster": directory / "cluster.json",
            "refit-token-file": directory / "token",
            "tls-directory": directory / "certs",
            "ready-file": directory / "ready.json",
            "listen-host": "127.0.0.1",
            "listen-port": 0,
            "listen-ops-port": 0,
            "drain-seconds": 0,
            "extender": "true",
        }
        arguments = [f"--{name}={value}" for name, value in given.items()]
        super().__init__(["webhook.cli", "serve", *arguments, *flags], directory / "certs" / "ca.crt", {})

    def say(self, path: str, body: object) -> Any:
        """What one request on a connection of its own is answered, read as JSON."""
        with Client(self) as client:
            return client.say(path, body)

    def cpu_seconds(self) -> float:
        """What the worker has computed so far; unlike a clock, it does not go on while others compute."""
        arbiter = self.process.pid
        worker = Path(f"/proc/{arbiter}/task/{arbiter}/children").read_text(encoding="ascii").split()[0]
        user, system = Path(f"/proc/{worker}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def decisions(self) -> list[str]:
        """The decision lines of the log, without their time."""
        return [line.partition(" info decision ")[2] for line in self.log if " info decision " in line]


class Client:
    """One connection that is kept alive."""

    def __init__(self, server: Server) -> None:
        self._connection = server.client()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()

    def post(self, path: str, body: object, headers: Mapping[str, str] = AUTHORIZED) -> tuple[int, bytes]:
        """Status and body of the answer; ``body`` is sent as it is if it is bytes, else as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._connection.request("POST", path, content, {"Content-Type": "application/json", **headers})
        answer: http.client.HTTPResponse = self._connection.getresponse()
        return answer.status, answer.read()

    def say(self, path: str, body: object) -> Any:
        """What an answer of status 200 says."""
        status, answer = self.post(path, body)
        assert status == 200, answer
        return json.loads(answer)
