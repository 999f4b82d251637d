"""Everything that was collected about a server becomes one value. What sources say differently is named, not hidden."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Final

from policy.facts import UNKNOWN_NUMA
from policy.inventory.cpus import cpu_sets, numa_nodes, sockets
from policy.inventory.kubelet import UNKNOWN_SETUP, KubeletSetup
from policy.inventory.links import Links, distance
from policy.inventory.server import Collected, GpuCard, Nic, NumaNode, Server, Unknown

KUBELET_CONFIG: Final = "the kubelet's configuration (`kubectl get --raw /api/v1/nodes/NODE/proxy/configz`)"
TOPO: Final = "the output of `nvidia-smi topo -m`"
NUMACTL: Final = "the output of `numactl --hardware`"
LSCPU: Final = "the output of `lscpu` or `lscpu -p`"
CPU_STATE: Final = "the kubelet's file cpu_manager_state"

_FARTHEST_NEAR: Final = distance("NODE")


def merge(collected: Collected) -> Server:
    """Say what is known of a server, what is not, and what would have to be collected for it."""
    kubelet, kubelet_says = _kubelet(collected)
    numas = numa_nodes(collected, kubelet)
    cards, cards_say = _cards(collected)
    links = collected.links
    server = Server(
        name=collected.name,
        sockets=sockets(collected),
        threads_per_core=next((one.threads_per_core for one in collected.processors if one.threads_per_core), None),
        numas=numas,
        cards=cards,
        links=_card_links(links) if links else None,
        nics=tuple(_nics(links)) if links else None,
        kubelet=kubelet,
        contradictions=(*cards_say, *kubelet_says, *_cpus_say(collected)),
        problems=collected.problems,
    )
    return _with_unknown(server)


def _kubelet(collected: Collected) -> tuple[KubeletSetup, tuple[str, ...]]:
    """The kubelet's own configuration counts; objects and the policy file speak where it was not collected."""
    own, declared = collected.config or UNKNOWN_SETUP, collected.declared
    chosen, differing = {}, []
    for name in (one.name for one in fields(KubeletSetup)):
        said, told = getattr(own, name), getattr(declared, name)
        chosen[name] = told if said is None else said
        if said is not None and told is not None and said != told:
            differing.append(f"{name.replace('_', ' ')}: the kubelet's configuration says {said}, the cluster {told}")
    return KubeletSetup(**chosen), tuple(differing)


def _cards(collected: Collected) -> tuple[tuple[GpuCard, ...], tuple[str, ...]]:
    """Match cards by index. HAMi registers node 0 for what it does not know, so of two answers the tool's counts."""
    placed = {int(name.removeprefix("GPU")): name for name in collected.links.cards} if collected.links else {}
    registered = {card.index: card for card in collected.cards}
    cards, differing = [], []
    for index in sorted({*placed, *registered}):
        card = registered.get(index)
        numa = None if card is None or card.numa == UNKNOWN_NUMA else card.numa
        seen = _numa_of(collected.links, placed.get(index, ""))
        if seen is not None and numa is not None and seen != numa:
            differing.append(f"GPU{index}: HAMi's annotation says NUMA node {numa}, nvidia-smi {seen}")
        cards.append(_card(index, numa if seen is None else seen, collected))
    missing = [f"GPU{index}" for index in sorted(registered.keys() - placed.keys())] if placed else []
    extra = [name for index, name in sorted(placed.items()) if registered and index not in registered]
    differing += [f"{name}: HAMi registers it, nvidia-smi does not list it" for name in missing]
    differing += [f"{name}: nvidia-smi lists it, HAMi does not register it" for name in extra]
    return tuple(cards), tuple(differing)


def _card(index: int, numa: int | None, collected: Collected) -> GpuCard:
    card = next((one for one in collected.cards if one.index == index), None)
    if card is None:
        return GpuCard(index, f"GPU{index}", numa)
    return GpuCard(index, f"GPU{index}", numa, card.uuid, card.type, card.memory, card.healthy)


def _numa_of(links: Links | None, name: str) -> int | None:
    """The one NUMA node next to a card; a card next to several is on none that can be named."""
    numas = links.places[name].numas if links and name in links.places else None
    return numas[0] if numas and len(numas) == 1 else None


def _card_links(links: Links) -> Mapping[int, Mapping[int, str]]:
    found: dict[int, dict[int, str]] = {}
    for position, one in enumerate(links.cards):
        for other in links.cards[position + 1 :]:
            link = links.links.get(one, {}).get(other)
            if link:
                found.setdefault(_index(one), {})[_index(other)] = link
    return found


def _nics(links: Links) -> Iterator[Nic]:
    for name in links.devices:
        if name in links.cards:
            continue
        row = {_index(card): link for card in links.cards if (link := links.links.get(name, {}).get(card))}
        best = min(row.values(), key=distance, default="")
        reached = best and distance(best) <= _FARTHEST_NEAR
        near = tuple(index for index, link in row.items() if link == best) if reached else ()
        yield Nic(links.nics.get(name, name), near, best if reached else "")


def _index(name: str) -> int:
    return int(name.removeprefix("GPU"))


def _cpus_say(collected: Collected) -> Iterator[str]:
    chosen = cpu_sets(collected)
    for processors in collected.processors:
        if processors.numas and processors.numas != chosen:
            yield "NUMA nodes: lscpu and numactl give them different CPUs; were they collected at the same time?"


def _with_unknown(server: Server) -> Server:
    return Server(**{one.name: getattr(server, one.name) for one in fields(Server)} | {"unknown": tuple(_gaps(server))})


def _gaps(server: Server) -> Iterator[Unknown]:
    """What is not known, and what would have to be."""
    kubelet, numas = server.kubelet, server.numas
    if server.sockets is None:
        yield Unknown("sockets", LSCPU)
    if not numas or any(numa.cpus.ids is None for numa in numas):
        yield Unknown("which CPUs each NUMA node has", f"{NUMACTL}, or {LSCPU}")
    if numas and any(numa.socket is None for numa in numas):
        yield Unknown("which socket each NUMA node is on", "the output of `lscpu -p`")
    if any(not numa.distances for numa in numas):
        yield Unknown("distances between NUMA nodes", NUMACTL)
    yield from _cpu_gaps(kubelet, numas)
    if any(card.numa is None for card in server.cards):
        yield Unknown("the NUMA node of every card", TOPO)
    if server.links is None:
        yield Unknown("links between cards, and NICs", TOPO)
    names = {"topology_policy": "topology policy", "cpu_policy": "CPU policy", "memory_policy": "memory policy"}
    missing = [text for name, text in names.items() if getattr(kubelet, name) is None]
    if missing:
        yield Unknown(f"the kubelet's {', '.join(missing)}", KUBELET_CONFIG)


def _cpu_gaps(kubelet: KubeletSetup, numas: tuple[NumaNode, ...]) -> Iterator[Unknown]:
    if kubelet.reserved_cpus is None:
        yield Unknown("which CPUs are reserved", KUBELET_CONFIG)
    elif kubelet.reserved_cpus == 0 and kubelet.reserved_amount:
        amount = f"{float(kubelet.reserved_amount):g}"
        yield Unknown(
            "which CPUs are reserved", f"reservedSystemCPUs; with an amount alone ({amount}) kubelet picks them"
        )
    if any(numa.exclusive.ids is None for numa in numas):
        yield Unknown("which CPUs containers have to themselves", CPU_STATE)
