"""How the kubelets of a cluster are set up, from whoever says so.

In this order, field by field: NodeResourceTopology objects, HAMi's own device configuration, what the operator
declared by node label. What nobody says stays unknown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from policy.facts import Kubelet
from policy.hami.errors import shown
from webhook.cluster.device_configuration import DeviceConfiguration
from webhook.cluster.interface import Declared
from webhook.cluster.shapes import mapping, mappings

UNKNOWN: Final = Kubelet()

_POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")
_SCOPES: Final = ("container", "pod")
_OLD_WORDS: Final = {
    "None": Kubelet("none", "container"),
    "BestEffort": Kubelet("best-effort", "container"),
    "BestEffortContainerLevel": Kubelet("best-effort", "container"),
    "BestEffortPodLevel": Kubelet("best-effort", "pod"),
    "Restricted": Kubelet("restricted", "container"),
    "RestrictedContainerLevel": Kubelet("restricted", "container"),
    "RestrictedPodLevel": Kubelet("restricted", "pod"),
    "SingleNUMANodeContainerLevel": Kubelet("single-numa-node", "container"),
    "SingleNUMANodePodLevel": Kubelet("single-numa-node", "pod"),
}
"""The deprecated `topologyPolicies` of NodeResourceTopology: policy and scope in one word."""


@dataclass(frozen=True, slots=True)
class KubeletSources:
    """Everything that says something of kubelets.

    Attributes:
        topologies: node name -> what its NodeResourceTopology objects say.
        devices: HAMi's device configuration.
        declared: what the operator declared; of several that mean a node the first that knows a field counts.
    """

    topologies: Mapping[str, Kubelet] = field(default_factory=dict)
    devices: DeviceConfiguration = field(default_factory=DeviceConfiguration)
    declared: Sequence[Declared] = ()

    def of(self, name: str, labels: Mapping[str, str]) -> Kubelet:
        """What is known of the kubelet on the node ``name``."""
        said = (one.kubelet for one in self.declared if one.match_labels.items() <= labels.items())
        devices = Kubelet(advertises_numa=self.devices.advertises_numa(name))
        return first_known(self.topologies.get(name, UNKNOWN), devices, *said)


def first_known(*sources: Kubelet) -> Kubelet:
    """Merge ``sources``: of each field the first value that is known."""
    return Kubelet(
        **{
            each.name: next((v for s in sources if (v := getattr(s, each.name)) is not None), None)
            for each in fields(Kubelet)
        }
    )


def read_topologies(objects: Iterable[Mapping[str, Any]], count_resource: str) -> tuple[dict[str, Kubelet], list[str]]:
    """Read NodeResourceTopology objects of any version.

    Args:
        objects: the plain objects. Of several for one node the newest version is asked first.
        count_resource: the resource whose presence in a zone shows that the device plugin advertises NUMA nodes;
            its absence shows nothing, because exporters may leave resources out.

    Returns:
        What is known by node name, and what could not be understood.
    """
    found: dict[str, Kubelet] = {}
    problems: list[str] = []
    for source in sorted(objects, key=lambda one: str(one.get("apiVersion")), reverse=True):
        name = mapping(source.get("metadata")).get("name")
        if isinstance(name, str):
            read = _topology(source, count_resource, f"NodeResourceTopology {name}", problems)
            found[name] = first_known(found.get(name, UNKNOWN), read)
    return found, problems


def _topology(source: Mapping[str, Any], count: str, title: str, problems: list[str]) -> Kubelet:
    attributes = {str(item.get("name")): item.get("value") for item in mappings(source.get("attributes"))}
    policy = _one_of(attributes.get("topologyManagerPolicy"), _POLICIES, f"{title}: topologyManagerPolicy", problems)
    scope = _one_of(attributes.get("topologyManagerScope"), _SCOPES, f"{title}: topologyManagerScope", problems)
    seen = Kubelet(advertises_numa=_has_zone_with(source, count) or None)
    if policy is None:
        return first_known(seen, Kubelet(topology_scope=scope), _old_word(source, title, problems))
    return first_known(seen, Kubelet(policy, scope or "container"))


def _old_word(source: Mapping[str, Any], title: str, problems: list[str]) -> Kubelet:
    words = source.get("topologyPolicies")
    if not isinstance(words, list) or not words:
        return UNKNOWN
    word = _one_of(words[0], tuple(_OLD_WORDS), f"{title}: topologyPolicies", problems)
    return UNKNOWN if word is None else _OLD_WORDS[word]


def _one_of(value: object, allowed: tuple[str, ...], title: str, problems: list[str]) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and value in allowed:
        return value
    problems.append(f"{title} is {shown(value)}, known are {', '.join(allowed)}; it is taken as unknown")
    return None


def _has_zone_with(source: Mapping[str, Any], resource: str) -> bool:
    return any(
        item.get("name") == resource
        for zone in mappings(source.get("zones"))
        if zone.get("type") == "Node"
        for item in mappings(zone.get("resources"))
    )
