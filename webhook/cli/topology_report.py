"""What is known of servers, as people and programs read it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from policy.inventory.differences import Difference
from policy.inventory.kubelet import KubeletSetup
from policy.inventory.server import Cpus, NumaNode, Server
from policy.kubelet.masks import write_list
from webhook.cli import screen
from webhook.cli.server_picture import Pen, draw


def write_text(servers: Sequence[Server], found: Sequence[Difference], pen: Pen, width: int) -> None:
    """Write a picture of each server, what is not known of it, and where servers differ."""
    for server in servers:
        for line in draw(server, pen, width):
            screen.put(line)
        rows = list(_remarks(server))
        if rows:
            screen.table((), rows)
        screen.put("")
    for models in dict.fromkeys(one.models for one in found):
        screen.put(f"Servers with {screen.printable(models)} differ in")
        screen.table(("TRAIT", "VALUE", "SERVERS"), _rows(one for one in found if one.models == models))


def _remarks(server: Server) -> Iterator[tuple[str, str]]:
    yield from (("  contradiction", text) for text in server.contradictions)
    yield from (("  unread", text) for text in server.problems)
    yield from (("  not known", f"{one.what}; give {one.needs}") for one in server.unknown)


def _rows(found: Iterator[Difference]) -> Iterator[tuple[str, str, str]]:
    for one in found:
        for position, (value, names) in enumerate(one.values.items()):
            yield "" if position else one.trait, value, ", ".join(names)


def as_json(servers: Sequence[Server], found: Sequence[Difference]) -> Mapping[str, object]:
    """The same for programs."""
    return {
        "servers": [_server(server) for server in servers],
        "differences": [
            {
                "models": one.models,
                "trait": one.trait,
                "values": [{"value": value, "servers": list(names)} for value, names in one.values.items()],
            }
            for one in found
        ],
    }


def _server(server: Server) -> Mapping[str, Any]:
    links = server.links
    return {
        "name": server.name,
        "sockets": server.sockets,
        "threadsPerCore": server.threads_per_core,
        "numaNodes": [_numa(numa) for numa in server.numas],
        "cards": [asdict(card) for card in server.cards],
        "links": None
        if links is None
        else [{"cards": [one, other], "link": link} for one, row in links.items() for other, link in row.items()],
        "nics": None
        if server.nics is None
        else [{"name": nic.name, "nearCards": list(nic.near), "link": nic.link} for nic in server.nics],
        "kubelet": _kubelet(server.kubelet),
        "unknown": [{"what": one.what, "needs": one.needs} for one in server.unknown],
        "contradictions": list(server.contradictions),
        "problems": list(server.problems),
    }


def _numa(numa: NumaNode) -> Mapping[str, Any]:
    return {
        "id": numa.id,
        "socket": numa.socket,
        "cpus": _cpus(numa.cpus),
        "reserved": _cpus(numa.reserved),
        "exclusive": _cpus(numa.exclusive),
        "shared": _cpus(numa.shared),
        "memory": numa.memory,
        "distances": [{"node": node, "distance": cost} for node, cost in sorted(numa.distances.items())],
    }


def _cpus(cpus: Cpus) -> Mapping[str, Any]:
    return {"count": cpus.count, "ids": None if cpus.ids is None else write_list(cpus.ids)}


def _kubelet(setup: KubeletSetup) -> Mapping[str, Any]:
    amount, cpus = setup.reserved_amount, setup.reserved_cpus
    return {
        "topologyManagerPolicy": setup.topology_policy,
        "topologyManagerScope": setup.topology_scope,
        "topologyManagerPolicyOptions": setup.topology_options,
        "cpuManagerPolicy": setup.cpu_policy,
        "cpuManagerPolicyOptions": setup.cpu_options,
        "memoryManagerPolicy": setup.memory_policy,
        "reservedSystemCPUs": None if cpus is None else write_list(cpus),
        "reservedCPUs": None if amount is None else float(amount),
        "advertisesNUMA": setup.advertises_numa,
    }
