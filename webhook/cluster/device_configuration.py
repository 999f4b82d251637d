"""What HAMi's own device configuration says of whether cards' NUMA nodes are advertised to kubelet.

HAMi keeps it in two ConfigMaps, which its chart writes from values: `device-config.yaml` for the whole cluster and
`config.json` with exceptions by node. Files of chart values are read too. A key that is absent says nothing: older
releases kept the switch elsewhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from policy.hami.errors import shown
from webhook.cluster.documents import parse
from webhook.cluster.interface import UnreadableFileError
from webhook.cluster.shapes import mapping, mappings, title

CLUSTER_KEY: Final = "device-config.yaml"
NODES_KEY: Final = "config.json"
CLUSTER_SWITCH: Final = "enableNumaTopology"
NODE_SWITCH: Final = "enablenumatopology"
"""HAMi reads the keys of its JSON file in any case, those of its YAML files as they are."""


@dataclass(frozen=True, slots=True)
class DeviceConfiguration:
    """Whether device plugins advertise their cards' NUMA nodes.

    Attributes:
        everywhere: for the whole cluster, None if nothing says.
        by_node: node name -> the same for that node.
        uncertain: whether some exceptions choose their nodes in a way that is not read here, so that only what is
            said of a node by name can be relied on.
    """

    everywhere: bool | None = None
    by_node: Mapping[str, bool] = field(default_factory=dict)
    uncertain: bool = False

    def advertises_numa(self, node: str) -> bool | None:
        """Tell it for ``node``, None if nobody knows."""
        return self.by_node.get(node, None if self.uncertain else self.everywhere)


def is_chart_values(document: Mapping[str, Any]) -> bool:
    """Tell whether ``document`` holds values of HAMi's chart instead of a Kubernetes object."""
    return "kind" not in document and ("devicePlugin" in document or "devices" in document)


def read_device_configuration(
    config_maps: Iterable[Mapping[str, Any]], chart_values: Iterable[Mapping[str, Any]]
) -> tuple[DeviceConfiguration, list[str]]:
    """Read HAMi's device configuration; other ConfigMaps are passed over.

    Returns:
        What it says, ConfigMaps before chart values, and what could not be understood.
    """
    reader = _Reader()
    for source in config_maps:
        reader.take_config_map(source)
    for values in chart_values:
        reader.take_chart_values(values)
    return DeviceConfiguration(reader.everywhere, reader.by_node, reader.uncertain), reader.problems


class _Reader:
    def __init__(self) -> None:
        self.everywhere: bool | None = None
        self.by_node: dict[str, bool] = {}
        self.uncertain = False
        self.problems: list[str] = []

    def take_config_map(self, source: Mapping[str, Any]) -> None:
        data, name = mapping(source.get("data")), title(source)
        if CLUSTER_KEY in data:
            self._take_cluster(self._parsed(data[CLUSTER_KEY], f"{name}: {CLUSTER_KEY}").get("nvidia"), name)
        if NODES_KEY in data and "nodeconfig" in str(data[NODES_KEY]):
            self._take_nodes(self._parsed(data[NODES_KEY], f"{name}: {NODES_KEY}"), name)

    def take_chart_values(self, values: Mapping[str, Any]) -> None:
        title = "HAMi's chart values"
        plugin = mapping(values.get("devicePlugin"))
        self._take_cluster(mapping(values.get("devices")).get("nvidia"), title)
        self._take_cluster(plugin, title)
        nodes = mapping(plugin.get("nodeConfiguration")).get("config")
        if nodes:
            self._take_nodes(self._parsed(nodes, f"{title}: nodeConfiguration.config"), title)

    def _take_cluster(self, source: object, title: str) -> None:
        said = self._switch(mapping(source).get(CLUSTER_SWITCH), title)
        if self.everywhere is None:
            self.everywhere = said

    def _take_nodes(self, source: Mapping[str, Any], title: str) -> None:
        entries = mappings(source.get("nodeconfig"))
        named = {entry["name"]: said for entry in entries if (said := self._exception(entry, title)) is not None}
        self.by_node = {**named, **self.by_node}

    def _exception(self, entry: Mapping[str, Any], title: str) -> bool | None:
        """Read one exception; None if it says nothing, or not of which node."""
        said = self._switch({key.lower(): value for key, value in entry.items()}.get(NODE_SWITCH), title)
        if said is None:
            return None
        if "nodelabelselector" in entry or not isinstance(entry.get("name"), str) or entry["name"] == "*":
            self.uncertain = True
            self.problems.append(
                f"{title}: an exception for {entry.get('nodelabelselector') or entry.get('name')!r} is not read, only "
                "those by node name are; declare its nodes in the policy file"
            )
            return None
        return said

    def _switch(self, said: object, title: str) -> bool | None:
        if said is None or isinstance(said, bool):
            return said
        self.problems.append(f"{title}: enableNumaTopology is {shown(said)}, true or false was expected")
        return None

    def _parsed(self, text: object, title: str) -> Mapping[str, Any]:
        try:
            documents = parse(str(text).encode(), title)
        except UnreadableFileError as error:
            self.problems.append(str(error))
            return {}
        return mapping(documents[0])
