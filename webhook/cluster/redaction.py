"""What a redacted snapshot keeps: exactly what numafit reads. docs/embedded.md shows these lists to people."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from policy import keys
from policy.membership import GROUP_ANNOTATIONS, GROUP_LABELS
from webhook.cluster.device_configuration import CLUSTER_KEY, CLUSTER_SWITCH, NODE_SWITCH, NODES_KEY
from webhook.cluster.keep import (
    Rule,
    amount,
    each,
    entries,
    fields,
    flag,
    named,
    nothing,
    number,
    presence,
    text,
    values,
    written,
)
from webhook.cluster.objects import CHART_VALUES
from webhook.cluster.shapes import mapping, mappings

KEPT_ENVIRONMENT: Final = frozenset({"NVIDIA_VISIBLE_DEVICES"})
KEPT_POD_LABELS: Final = frozenset({*GROUP_LABELS, "hami.io/webhook", keys.ASSIGNED_NODE})
KEPT_POD_ANNOTATIONS: Final = frozenset({*keys.USER_KEYS, *GROUP_ANNOTATIONS, keys.INJECTED, keys.JUDGED})
KEPT_NAMESPACE_LABELS: Final = frozenset({"kubernetes.io/metadata.name", "hami.io/webhook"})
KEPT_NODE_LABELS: Final = frozenset(
    {
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "nvidia.com/gpu.product",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)

_IDENTITY: Final = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
)
_RESOURCES: Final = fields({"limits": values(amount), "requests": values(amount)})
_CONTAINER: Final = fields(
    {
        "name": text,
        "restartPolicy": text,
        "resources": _RESOURCES,
        "env": named(KEPT_ENVIRONMENT, fields({"name": text, "value": text})),
        "securityContext": fields({"privileged": flag}),
    }
)
_EXPRESSIONS: Final = each(fields({"key": text, "operator": text, "values": each(text)}))
_TERMS: Final = each(fields({"matchExpressions": _EXPRESSIONS, "matchFields": _EXPRESSIONS}))
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_POD_SPEC: Final = fields(
    {
        "nodeName": text,
        "schedulerName": text,
        "runtimeClassName": text,
        "nodeSelector": values(text),
        "affinity": fields({"nodeAffinity": fields({_REQUIRED: fields({"nodeSelectorTerms": _TERMS})})}),
        "tolerations": each(fields({"key": text, "operator": text, "value": text, "effect": text})),
        "initContainers": each(_CONTAINER),
        "containers": each(_CONTAINER),
        "resources": _RESOURCES,
        "schedulingGroup": fields({"podGroupName": text}),
        "workloadRef": fields({"name": text}),
    }
)
_ENDED: Final = fields({"terminated": fields({"exitCode": number})})
_CARD: Final = fields(
    {
        "id": text,
        "index": number,
        "count": number,
        "devmem": number,
        "devcore": number,
        "type": text,
        "numa": number,
        "mode": text,
        "health": flag,
    }
)
_NODE_ANNOTATIONS: Final = fields(
    {
        keys.REGISTER: written(each(_CARD)),
        keys.PAIR_SCORES: written(each(fields({"uuid": text, "score": values(number)}))),
        keys.CORDON: text,
    }
)
_ZONE: Final = fields(
    {
        "name": text,
        "type": text,
        "parent": text,
        "costs": each(fields({"name": text, "value": number})),
        "resources": each(fields({"name": text, "capacity": amount, "allocatable": amount, "available": amount})),
    }
)
_SWITCH: Final = fields({CLUSTER_SWITCH: flag})
_EXCEPTIONS: Final = written(
    fields({"nodeconfig": each(fields({"name": text, NODE_SWITCH: flag, "nodelabelselector": presence}))})
)

STATUS: Final[Mapping[str, Rule]] = {
    "Pod": fields(
        {"phase": text, "initContainerStatuses": each(fields({"name": text, "state": _ENDED}))},
    ),
    "Node": fields(
        {
            "capacity": values(amount),
            "allocatable": values(amount),
            "nodeInfo": fields({"kubeletVersion": text}),
        }
    ),
}
"""What of an object's status any snapshot keeps; kinds that are not named here keep none."""

_LABELS: Final = {"Pod": KEPT_POD_LABELS, "Node": KEPT_NODE_LABELS, "Namespace": KEPT_NAMESPACE_LABELS}
_ANNOTATIONS: Final[Mapping[str, Rule]] = {
    "Pod": entries(lambda key: key in KEPT_POD_ANNOTATIONS or keys.is_owned(key)),
    "Node": _NODE_ANNOTATIONS,
}
_REST: Final[Mapping[str, Mapping[str, Rule]]] = {
    "Pod": {"spec": _POD_SPEC},
    "Node": {
        "spec": fields({"unschedulable": flag, "taints": each(fields({"key": text, "value": text, "effect": text}))})
    },
    "ResourceQuota": {
        "spec": fields({"hard": values(amount), "scopes": each(text), "scopeSelector": values(presence)})
    },
    "NodeResourceTopology": {
        "topologyPolicies": each(text),
        "attributes": named(
            frozenset({"topologyManagerPolicy", "topologyManagerScope"}), fields({"name": text, "value": text})
        ),
        "zones": each(_ZONE),
    },
    "ConfigMap": {"data": fields({CLUSTER_KEY: written(fields({"nvidia": _SWITCH})), NODES_KEY: _EXCEPTIONS})},
}
_CHART_VALUES: Final = fields(
    {
        "devices": fields({"nvidia": _SWITCH}),
        "devicePlugin": fields({CLUSTER_SWITCH: flag, "nodeConfiguration": fields({"config": _EXCEPTIONS})}),
    }
)


def rule_for(kind: str, label_keys: frozenset[str]) -> Rule:
    """Return what of an object of ``kind`` a redacted snapshot keeps.

    Args:
        kind: as `objects.kind_of` tells it.
        label_keys: keys of labels that are kept beside the lists above, on every kind.
    """
    if kind == CHART_VALUES:
        return _CHART_VALUES
    labels = _LABELS.get(kind, frozenset()) | label_keys
    metadata: dict[str, Rule] = dict.fromkeys(_IDENTITY, text)
    metadata["labels"] = entries(labels.__contains__)
    metadata["annotations"] = _ANNOTATIONS.get(kind, nothing)
    metadata["ownerReferences"] = each(
        fields({"apiVersion": text, "kind": text, "name": text, "uid": text, "controller": flag})
    )
    rules = {"apiVersion": text, "kind": text, "metadata": fields(metadata), **_REST.get(kind, {})}
    return fields(rules | ({"status": STATUS[kind]} if kind in STATUS else {}))


def selected_labels(objects: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the keys of the node labels by which pods among ``objects`` choose their nodes."""
    found: set[str] = set()
    for source in objects:
        spec = mapping(source.get("spec"))
        found |= mapping(spec.get("nodeSelector")).keys()
        required = mapping(mapping(mapping(spec.get("affinity")).get("nodeAffinity")).get(_REQUIRED))
        for term in mappings(required.get("nodeSelectorTerms")):
            found |= {str(one.get("key")) for one in mappings(term.get("matchExpressions"))}
    return frozenset(found)
