"""Servers as the cluster door, the objects behind it and collected files know them together."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from policy.facts import Facts, Node
from policy.inventory.kubelet import KubeletSetup
from policy.inventory.merge import merge
from policy.inventory.server import Collected, Server
from policy.inventory.zones import Zone, read_zones
from webhook.cluster.file import FileCluster
from webhook.cluster.objects import kind_of
from webhook.cluster.shapes import mapping

_NOTHING = Facts()


def servers(cluster: FileCluster | None, collected: Mapping[str, Collected]) -> tuple[tuple[Server, ...], list[str]]:
    """Return every server that is known, by name, and what of NodeResourceTopology objects cannot be read."""
    facts = cluster.facts() if cluster else _NOTHING
    zones, problems = zones_of(cluster) if cluster else ({}, [])
    names = sorted({*facts.inventory.nodes, *collected, *zones})
    found = (
        merge(_with_cluster(collected.get(name, Collected(name)), facts.inventory.nodes.get(name), zones.get(name, ())))
        for name in names
    )
    return tuple(found), problems


def _with_cluster(collected: Collected, node: Node | None, zones: tuple[Zone, ...]) -> Collected:
    if node is None:
        return replace(collected, zones=zones)
    kubelet = KubeletSetup(
        topology_policy=node.kubelet.topology_policy,
        topology_scope=node.kubelet.topology_scope,
        advertises_numa=node.kubelet.advertises_numa,
    )
    problems = (*collected.problems, *([node.problem] if node.problem else []))
    return replace(collected, cards=node.cards, zones=zones, declared=kubelet, problems=problems)


def zones_of(cluster: FileCluster) -> tuple[dict[str, tuple[Zone, ...]], list[str]]:
    """Return node name -> its NUMA nodes, and what cannot be read.

    Of several NodeResourceTopology objects for one node the newest version counts, as for kubelet's policy.
    """
    found: dict[str, tuple[Zone, ...]] = {}
    problems: list[str] = []
    for source in _topologies(cluster):
        name = mapping(source.get("metadata")).get("name")
        if isinstance(name, str) and not found.get(name):
            found[name], said = read_zones(source)
            problems += [f"NodeResourceTopology {name}: {problem}" for problem in said]
    return found, problems


def _topologies(cluster: FileCluster) -> Iterable[Mapping[str, object]]:
    objects = [source for source in cluster.objects() if kind_of(source) == "NodeResourceTopology"]
    return sorted(objects, key=lambda one: str(one.get("apiVersion")), reverse=True)
