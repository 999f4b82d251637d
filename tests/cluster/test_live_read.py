"""Reading a live cluster for a snapshot, from a server that answers over HTTP as an API server does."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.cluster.build import Object, node, pod
from webhook.cluster.interface import UnreachableError
from webhook.cluster.live_read import read_cluster

TOPOLOGIES = "/apis/topology.node.k8s.io/{}/noderesourcetopologies"


class ApiServer(ThreadingHTTPServer):
    """Lists what it holds, page by page, to whoever brings the token."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lists: dict[str, list[Object]] = {
            f"/api/v1/{kind}": [] for kind in ("nodes", "pods", "resourcequotas", "namespaces")
        }
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.expiring = 0
        self.asked: list[str] = []

    def kubeconfig(self, folder: Path) -> Path:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.server_port}"}}],
            "users": [{"name": "u", "user": {"token": "a-token"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config))
        return path


class Handler(BaseHTTPRequestHandler):
    server: ApiServer

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        self.server.asked.append(url.path)
        status, body = self.server.answers.get(url.path) or self._page(url.path, query)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _page(self, path: str, query: dict[str, str]) -> tuple[int, bytes]:
        if self.headers["Authorization"] != "Bearer a-token":
            return 401, b"{}"
        if path not in self.server.lists:
            return 404, b"404 page not found"
        if "continue" in query and self.server.expiring:
            self.server.expiring -= 1
            return 410, b"{}"
        start, limit = int(query.get("continue", "0")), int(query["limit"])
        held = self.server.lists[path]
        page = [{key: one[key] for key in one if key not in {"kind", "apiVersion"}} for one in held]
        following = str(start + limit) if start + limit < len(held) else ""
        kinds = {"nodes": "NodeList", "pods": "PodList", "noderesourcetopologies": "NodeResourceTopologyList"}
        document: dict[str, Any] = {
            "kind": kinds.get(path.rsplit("/", 1)[1], "List"),
            "apiVersion": path.removeprefix("/apis/").removeprefix("/api/").rsplit("/", 1)[0],
            "metadata": {"continue": following},
            "items": page[start : start + limit],
        }
        return 200, json.dumps(document).encode()

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_every_page_of_every_list_is_read(server: ApiServer, tmp_path: Path) -> None:
    pods = [pod(f"p{number}", newer={"field": number}) for number in range(7)]
    server.lists["/api/v1/pods"] = pods
    server.lists["/api/v1/nodes"] = [node()]
    assert read_cluster(server.kubeconfig(tmp_path), page=3) == [node(), *pods]
    assert server.asked.count("/api/v1/pods") == 3


@pytest.mark.parametrize("version", ["v1alpha2", "v1alpha1"])
def test_topologies_are_read_in_the_version_that_the_cluster_has(
    server: ApiServer, tmp_path: Path, version: str
) -> None:
    server.lists[TOPOLOGIES.format(version)] = [{"metadata": {"name": "gpu-1"}}]
    assert read_cluster(server.kubeconfig(tmp_path)) == [
        {
            "apiVersion": f"topology.node.k8s.io/{version}",
            "kind": "NodeResourceTopology",
            "metadata": {"name": "gpu-1"},
        }
    ]


def test_a_cluster_without_topologies_is_read_all_the_same(server: ApiServer, tmp_path: Path) -> None:
    server.lists["/api/v1/nodes"] = [node()]
    assert read_cluster(server.kubeconfig(tmp_path)) == [node()]


def test_a_list_that_expires_is_begun_anew(server: ApiServer, tmp_path: Path) -> None:
    server.lists["/api/v1/pods"] = [pod(f"p{number}") for number in range(4)]
    server.expiring = 2
    found = read_cluster(server.kubeconfig(tmp_path), page=2)
    assert [one["metadata"]["name"] for one in found] == ["p0", "p1", "p2", "p3"]


def test_a_list_that_expires_again_and_again_is_given_up(server: ApiServer, tmp_path: Path) -> None:
    server.lists["/api/v1/pods"] = [pod("p"), pod("q")]
    server.expiring = 3
    with pytest.raises(UnreachableError, match="GET /api/v1/pods: the list expired 3 times before it was read"):
        read_cluster(server.kubeconfig(tmp_path), page=1)


@pytest.mark.parametrize(
    ("path", "answer", "said"),
    [
        ("/api/v1/pods", (403, b"{}"), "answered 403 Forbidden; whoever takes a snapshot must be allowed to list"),
        ("/api/v1/nodes", (404, b""), "answered 404 Not Found; whoever takes a snapshot must be allowed to list"),
        ("/api/v1/nodes", (500, b""), "answered 500 Internal Server Error; "),
        ("/api/v1/nodes", (200, b"<html>"), "did not answer with JSON: "),
        ("/api/v1/nodes", (200, b"[" * 100_000), "did not answer with JSON: "),
        ("/api/v1/nodes", (200, b'{"kind": "Status"}'), "did not answer with a list of objects"),
        (TOPOLOGIES.format("v1alpha2"), (403, b"{}"), "answered 403 Forbidden; "),
    ],
)
def test_a_refusal_names_path_and_server(
    server: ApiServer, tmp_path: Path, path: str, answer: tuple[int, bytes], said: str
) -> None:
    server.answers[path] = answer
    with pytest.raises(UnreachableError) as caught:
        read_cluster(server.kubeconfig(tmp_path))
    assert str(caught.value).startswith(f"GET {path}: http://127.0.0.1:{server.server_port} {said}")
    assert "a-token" not in str(caught.value)


def test_a_server_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    with ApiServer() as gone:
        path = gone.kubeconfig(tmp_path)
    with pytest.raises(UnreachableError, match=r"GET /api/v1/nodes: http://127\.0\.0\.1:\d+ did not answer: "):
        read_cluster(path)


@pytest.mark.parametrize(
    "content",
    [None, "", "a: [", "text", "7", "[1]", '{"current-context": "none"}', '{"current-context": 7, "contexts": 7}'],
)
def test_a_kubeconfig_that_names_no_cluster_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UnreachableError, match=r"no cluster to read: .*; give a kubeconfig that names one"):
        read_cluster(path)


def test_a_context_that_does_not_exist_is_refused(server: ApiServer, tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="no cluster to read: "):
        read_cluster(server.kubeconfig(tmp_path), "other")


def test_without_any_configuration_nothing_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    with pytest.raises(UnreachableError, match="no cluster to read: "):
        read_cluster()
