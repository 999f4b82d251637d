"""Reading a live cluster once, for a snapshot. Objects stay plain: no typed model may drop what it does not know."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException
from urllib3 import PoolManager, Timeout
from urllib3.exceptions import HTTPError

from webhook.cluster.documents import is_list, items
from webhook.cluster.interface import UnreachableError

PAGE: Final = 500
"""Objects asked for at once, as kubectl does."""

_TIMEOUT: Final = Timeout(connect=5, read=60)
"""Seconds to connect, and between two parts of an answer."""

_ATTEMPTS: Final = 3
"""How often a list is begun: the token that continues one expires after some minutes (Kubernetes: 410 Gone)."""

_OK: Final = 200
_NOT_FOUND: Final = 404
_EXPIRED: Final = 410
_CORE: Final = ("nodes", "pods", "resourcequotas", "namespaces")
_TOPOLOGIES: Final = tuple(
    f"/apis/topology.node.k8s.io/{version}/noderesourcetopologies" for version in ("v1alpha2", "v1alpha1")
)


def read_cluster(
    kubeconfig: Path | None = None, context: str | None = None, *, page: int = PAGE
) -> list[dict[str, Any]]:
    """Return all nodes, pods, quotas and namespaces, and NodeResourceTopology objects where the cluster has them.

    Args:
        kubeconfig: file to use instead of `KUBECONFIG`, `~/.kube/config` or, within a pod, its service account.
        context: context in it, its current one if not given.
        page: objects asked for at once.

    Raises:
        UnreachableError: nothing says where the cluster is, or its API server did not answer or refused.
    """
    settings = _settings(kubeconfig, context)
    reader = _Reader(settings, page)
    try:
        found = [item for kind in _CORE for item in reader.all(f"/api/v1/{kind}")]
        return found + next((some for path in _TOPOLOGIES if (some := reader.all(path))), [])
    finally:
        reader.close()


def _settings(kubeconfig: Path | None, context: str | None) -> client.Configuration:
    settings = client.Configuration()
    file = None if kubeconfig is None else str(kubeconfig)
    try:
        config.load_kube_config(file, context, client_configuration=settings, persist_config=False)  # type: ignore[no-untyped-call]  # this part of the client has no annotations
    except Exception as error:  # noqa: BLE001 - the client lets a malformed kubeconfig end in any exception
        if kubeconfig is None and context is None and _in_pod(settings):
            return settings
        reason = " ".join(str(error).split())
        raise UnreachableError(f"no cluster to read: {reason}; give a kubeconfig that names one") from None
    return settings


def _in_pod(settings: client.Configuration) -> bool:
    try:
        config.load_incluster_config(client_configuration=settings)  # type: ignore[no-untyped-call]  # the same
    except ConfigException:
        return False
    return True


class _ExpiredError(Exception):
    """The list must be begun anew."""


class _Reader:
    """Lists objects page by page. Only the client's configuration and connections are used, not its models."""

    def __init__(self, settings: client.Configuration, page: int) -> None:
        self._settings = settings
        self._page = str(page)
        self._pool: PoolManager = client.ApiClient(settings).rest_client.pool_manager

    def all(self, path: str) -> list[dict[str, Any]]:
        """Return everything at ``path``; only custom resources may be missing, then there are none."""
        for _ in range(_ATTEMPTS):
            try:
                return list(self._pages(path))
            except _ExpiredError:
                continue
        raise UnreachableError(f"GET {path}: the list expired {_ATTEMPTS} times before it was read; try again")

    def close(self) -> None:
        self._pool.clear()

    def _pages(self, path: str) -> Iterator[dict[str, Any]]:
        query = {"limit": self._page}
        while True:
            document = self._get(path, query)
            yield from items(document)
            following = (document.get("metadata") or {}).get("continue")
            if not following:
                return
            query = {"limit": self._page, "continue": following}

    def _get(self, path: str, query: dict[str, str]) -> dict[str, Any]:
        host = self._settings.host
        try:
            answer = self._pool.request(
                "GET", host + path, fields=query, headers=self._headers(), timeout=_TIMEOUT, retries=False
            )
        except (HTTPError, OSError) as error:
            raise UnreachableError(f"GET {path}: {host} did not answer: {error}") from None
        if answer.status == _NOT_FOUND and path in _TOPOLOGIES:
            return {"kind": "List", "items": []}
        if answer.status == _EXPIRED:
            raise _ExpiredError
        if answer.status != _OK:
            raise UnreachableError(
                f"GET {path}: {host} answered {answer.status} {answer.reason}; whoever takes a snapshot must be "
                "allowed to list nodes, pods, resourcequotas, namespaces and noderesourcetopologies"
            )
        return _listed(answer.data, path, host)

    def _headers(self) -> dict[str, str]:
        """Tokens may be renewed between pages, so they are asked for each time."""
        auth = cast("Mapping[str, Mapping[str, str]]", self._settings.auth_settings())
        return {"Accept": "application/json", **{one["key"]: one["value"] for one in auth.values()}}


def _listed(data: bytes, path: str, host: str) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UnreachableError(f"GET {path}: {host} did not answer with JSON: {error}") from None
    if not isinstance(document, dict) or not is_list(document):
        raise UnreachableError(f"GET {path}: {host} did not answer with a list of objects")
    return document
