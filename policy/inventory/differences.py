"""What differs between servers that should be alike: those that hold cards of the same models."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from policy.inventory.server import NumaNode, Server
from policy.kubelet.masks import write_list


@dataclass(frozen=True, slots=True)
class Difference:
    """A trait in which servers with the same cards differ.

    Attributes:
        models: the cards that make them alike.
        trait: what differs.
        values: value -> the servers that have it, the value of most first.
    """

    models: str
    trait: str
    values: Mapping[str, tuple[str, ...]]


def differences(servers: Sequence[Server]) -> tuple[Difference, ...]:
    """Compare servers with the same models of cards. What is unknown of a server is no difference."""
    alike: dict[str, list[Server]] = {}
    for server in servers:
        models = " + ".join(sorted({card.model for card in server.cards if card.model}))
        if models:
            alike.setdefault(models, []).append(server)
    found = [
        Difference(models, trait, values)
        for models, group in sorted(alike.items())
        for trait, tell in _TRAITS.items()
        if len(values := _values(group, tell)) > 1
    ]
    return tuple(found)


def _values(servers: Sequence[Server], tell: Callable[[Server], str | None]) -> Mapping[str, tuple[str, ...]]:
    by_value: dict[str, list[str]] = {}
    for server in servers:
        value = tell(server)
        if value is not None:
            by_value.setdefault(value, []).append(server.name)
    ordered = sorted(by_value.items(), key=lambda item: (-len(item[1]), item[1]))
    return {value: tuple(names) for value, names in ordered}


def _count(count: int | None) -> str | None:
    return None if count is None else str(count)


def _card_layout(server: Server) -> str | None:
    if any(card.numa is None for card in server.cards):
        return None
    counts = Counter(card.numa for card in server.cards)
    return ", ".join(f"{count} on node {numa}" for numa, count in sorted(counts.items(), key=str))


def _card_order(server: Server) -> str | None:
    """Which index is where: the same cards in another order are other cards to who pins by index."""
    if any(card.numa is None for card in server.cards):
        return None
    return ", ".join(f"GPU{card.index} on {card.numa}" for card in server.cards)


def _per_node(server: Server, tell: Callable[[NumaNode], str | None]) -> str | None:
    told = [tell(numa) for numa in server.numas]
    if not told or None in told:
        return None
    return ", ".join(f"node {numa.id}: {text}" for numa, text in zip(server.numas, told, strict=True))


def _cpu_ids(numa: NumaNode) -> str | None:
    return _count(numa.cpus.count) if numa.cpus.ids is None else write_list(numa.cpus.ids) or "none"


def _reserved(server: Server) -> str | None:
    kubelet = server.kubelet
    if kubelet.reserved_cpus:
        return write_list(kubelet.reserved_cpus)
    if kubelet.reserved_cpus is None or kubelet.reserved_amount is None:
        return _per_node(server, lambda numa: _count(numa.reserved.count))
    return f"{float(kubelet.reserved_amount):g} of kubelet's choice"


def _links(server: Server) -> str | None:
    if server.links is None:
        return None
    counts = Counter(link for row in server.links.values() for link in row.values())
    return ", ".join(f"{count} {link}" for link, count in sorted(counts.items())) or "none"


def _options(options: Mapping[str, str] | None) -> str | None:
    return None if options is None else ", ".join(f"{key}={value}" for key, value in options.items()) or "none"


_TRAITS: Final[Mapping[str, Callable[[Server], str | None]]] = {
    "cards": lambda server: str(len(server.cards)),
    "memory of cards in MiB": lambda server: ", ".join(map(str, sorted({card.memory for card in server.cards}))),
    "cards by NUMA node": _card_layout,
    "NUMA node of each card": _card_order,
    "links between cards": _links,
    "NICs": lambda server: None if server.nics is None else str(len(server.nics)),
    "sockets": lambda server: _count(server.sockets),
    "NUMA nodes": lambda server: ", ".join(str(numa.id) for numa in server.numas) or None,
    "CPUs by NUMA node": lambda server: _per_node(server, _cpu_ids),
    "reserved CPUs": _reserved,
    "topology policy": lambda server: server.kubelet.topology_policy,
    "topology scope": lambda server: server.kubelet.topology_scope,
    "topology options": lambda server: _options(server.kubelet.topology_options),
    "CPU policy": lambda server: server.kubelet.cpu_policy,
    "CPU options": lambda server: _options(server.kubelet.cpu_options),
    "memory policy": lambda server: server.kubelet.memory_policy,
}
"""What is compared -> how a server tells it; None is not known."""
