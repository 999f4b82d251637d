"""A cluster as one document that `--cluster` reads back: what numafit reads, and with redaction nothing else."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from webhook.cluster.device_configuration import CLUSTER_KEY, NODES_KEY
from webhook.cluster.documents import TAKEN_AT
from webhook.cluster.keep import GONE, Rule, nothing
from webhook.cluster.moments import rfc3339
from webhook.cluster.objects import CHART_VALUES, kind_of
from webhook.cluster.redaction import STATUS, rule_for, selected_labels
from webhook.cluster.shapes import mapping

KINDS: Final = frozenset(
    {"Node", "Pod", "ResourceQuota", "Namespace", "NodeResourceTopology", "ConfigMap", CHART_VALUES}
)
"""What numafit reads; of ConfigMaps only those that hold HAMi's device configuration."""

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def snapshot(
    objects: Iterable[Mapping[str, Any]],
    taken_at: float | None,
    *,
    redact: bool = False,
    label_keys: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """Make a snapshot document of ``objects``.

    Args:
        objects: plain objects; kinds that numafit does not read are left out.
        taken_at: when they were read, seconds since the epoch, None if nobody knows.
        redact: keep only what `redaction` lists, so that the document can be shared. Names stay as they are.
        label_keys: labels that a policy file selects by; redaction keeps them, and those by which pods select nodes.

    Returns:
        A `List`, sorted by kind, namespace and name.
    """
    read = [source for source in objects if _is_read(source)]
    selected = selected_labels(read) if redact else frozenset()
    rules = {
        kind: rule_for(kind, label_keys | (selected if kind == "Node" else frozenset()))
        for kind in {kind_of(source) for source in read}
    }
    kept = [_redacted(source, rules) if redact else _trimmed(source) for source in read]
    said = {} if taken_at is None else {TAKEN_AT: rfc3339(taken_at)}
    return {
        "apiVersion": "v1",
        "kind": "List",
        "metadata": {"annotations": said, "resourceVersion": ""},
        "items": sorted(kept, key=_place),
    }


def encode(document: Mapping[str, Any]) -> bytes:
    """Write a snapshot as JSON, indented and with a line feed at the end."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def _is_read(source: Mapping[str, Any]) -> bool:
    kind = kind_of(source)
    if kind == "ConfigMap":
        data = mapping(source.get("data"))
        return CLUSTER_KEY in data or "nodeconfig" in str(data.get(NODES_KEY))
    return kind in KINDS


def _redacted(source: Mapping[str, Any], rules: Mapping[str, Rule]) -> dict[str, Any]:
    kept = rules[kind_of(source)](source)
    return {} if kept is GONE else kept


def _trimmed(source: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in mapping(source.get("metadata")).items() if key != "managedFields"}
    if isinstance(metadata.get("annotations"), dict):
        metadata["annotations"] = {k: v for k, v in metadata["annotations"].items() if k != _LAST_APPLIED}
    made = {key: value for key, value in source.items() if key != "status"}
    status = STATUS.get(kind_of(source), nothing)(source.get("status"))
    return made | ({"metadata": metadata} if metadata else {}) | ({} if status in (GONE, {}) else {"status": status})


def _place(source: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = mapping(source.get("metadata"))
    return str(source.get("kind")), str(metadata.get("namespace")), str(metadata.get("name"))
