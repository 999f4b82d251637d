"""Compare and swap: whether a commit may be made, and what it makes of a pod. Pure."""

from collections.abc import Mapping
from typing import Any

from policy.facts import Facts, Reservation
from policy.pod import Pod
from webhook.cluster.interface import Change, Conflict, Expected, Outdated


def objection(stored: Pod | None, now: Facts, expected: Expected, change: Change) -> Conflict | Outdated | None:
    """Say why ``change`` must not be made, None if it may.

    Args:
        stored: the pod with the expected UID as it is now, None if there is none.
        now: the facts as they are now.
        expected: what the decision relied on.
        change: what was decided.
    """
    reason = _pod_conflict(stored, expected.pod) or (stored and _binding_conflict(stored, change.bind_to))
    if reason:
        return Conflict(reason)
    reason = _drift(now, expected.facts, change.reservation)
    return Outdated(reason) if reason else None


def _pod_conflict(stored: Pod | None, seen: Pod) -> str:
    if stored is None:
        return f"pod {seen.title} with UID {seen.uid!r} does not exist any more"
    if (stored.namespace, stored.name) != (seen.namespace, seen.name):
        return f"UID {seen.uid!r} belongs to pod {stored.title}, not to {seen.title}"
    if seen.resource_version and seen.resource_version != stored.resource_version:
        return (
            f"pod {seen.title} was changed meanwhile: resourceVersion {seen.resource_version} expected, "
            f"{stored.resource_version} found"
        )
    return ""


def _binding_conflict(stored: Pod, node: str) -> str:
    if node and stored.node_name not in {"", node}:
        return f"pod {stored.title} is bound to node {stored.node_name} already, not to {node}"
    return ""


def _drift(now: Facts, seen: Facts, planned: Reservation) -> str:
    if now.nodes.get(planned.node) is not seen.nodes.get(planned.node):
        return f"node {planned.node} or what is held on it has changed since the decision"
    namespace = planned.pod.namespace
    limits = now.quotas.get(namespace)
    if limits != seen.quotas.get(namespace):
        return f"the quota of namespace {namespace} has changed since the decision"
    if limits is not None and now.quota_use.get(namespace) != seen.quota_use.get(namespace):
        return f"what namespace {namespace} holds of its quota has changed since the decision"
    return ""


def changed(source: Mapping[str, Any], change: Change, version: str) -> dict[str, Any]:
    """Return the plain pod ``source`` with ``change`` made; ``source`` itself and all else in it stay as they are."""
    metadata = dict(source["metadata"])
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **change.annotations}
    if change.labels:
        metadata["labels"] = {**(metadata.get("labels") or {}), **change.labels}
    metadata["resourceVersion"] = version
    made = {**source, "metadata": metadata}
    if change.bind_to:
        made["spec"] = {**source["spec"], "nodeName": change.bind_to}
    return made
