"""A server as people think of it: a box for each NUMA node, those of one socket below each other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from policy.inventory.links import distance
from policy.inventory.server import Cpus, GpuCard, NumaNode, Server
from policy.kubelet.masks import mask_of, write_list
from webhook.cli.screen import printable

NARROWEST: Final = 38
"""Columns of a box below which boxes stand below each other."""

_GAP: Final = 2
_FRAME: Final = 4
_LABEL: Final = 10
_SHORT_UUID: Final = len("GPU-12345678")


@dataclass(frozen=True, slots=True)
class Pen:
    """With what boxes are drawn: corners, left and right; lines; and what stands for the rest of a line."""

    top: str
    bottom: str
    across: str
    down: str
    cut: str

    @classmethod
    def of(cls, encoding: str | None) -> "Pen":
        """The pen for a stream of this encoding."""
        try:
            "╭╮╰╯─│…".encode(encoding or "ascii")
        except (UnicodeEncodeError, LookupError):
            return cls("++", "++", "-", "|", "~")
        return cls("╭╮", "╰╯", "─", "│", "…")


def draw(server: Server, pen: Pen, width: int) -> Iterator[str]:
    """Yield the lines of a server's picture, none longer than ``width``."""
    yield _cut(_title(server), width, pen)
    columns = _columns(server)
    inner = (width - _GAP * (len(columns) - 1)) // max(len(columns), 1)
    if inner < NARROWEST:
        columns, inner = [[numa for column in columns for numa in column]], width
    for row in zip_longest(*columns):
        yield from _beside([_box(numa, server, pen, inner) if numa else [] for numa in row], inner)
    for line in _below(server):
        yield _cut(line, width, pen)


def _title(server: Server) -> str:
    told = [_amount(server.sockets, "socket"), _amount(server.threads_per_core, "thread", " a core")]
    return ", ".join([printable(server.name), *(text for text in told if text)])


def _amount(count: int | None, noun: str, behind: str = "") -> str:
    return "" if count is None else f"{count} {noun}{'' if count == 1 else 's'}{behind}"


def _is_drawn(numa: NumaNode, server: Server) -> bool:
    """Memory alone is no place to run: the memory of some cards makes dozens of such nodes."""
    return numa.cpus.count != 0 or any(card.numa == numa.id for card in server.cards)


def _columns(server: Server) -> list[list[NumaNode]]:
    """One column for each socket, or two where sockets are not known and there is more than one NUMA node."""
    by_socket: dict[int | None, list[NumaNode]] = {}
    numas = [numa for numa in server.numas if _is_drawn(numa, server)]
    for numa in numas:
        by_socket.setdefault(numa.socket, []).append(numa)
    if len(by_socket) == 1:
        return [numas[::2], numas[1::2]] if len(numas) > 1 else [numas]
    return list(by_socket.values())


def _beside(boxes: Sequence[list[str]], width: int) -> Iterator[str]:
    for lines in zip_longest(*boxes, fillvalue=""):
        yield (" " * _GAP).join(line.ljust(width) for line in lines).rstrip()


def _box(numa: NumaNode, server: Server, pen: Pen, width: int) -> list[str]:
    socket = "" if numa.socket is None else f", socket {numa.socket}"
    head = f"{pen.across} NUMA node {numa.id}{socket} "
    inner = width - _FRAME
    body = (_cut(line, inner, pen).ljust(inner) for line in _lines(numa, server))
    return [
        f"{pen.top[0]}{head.ljust(width - 2, pen.across)}{pen.top[1]}",
        *(f"{pen.down} {line} {pen.down}" for line in body),
        f"{pen.bottom[0]}{pen.across * (width - 2)}{pen.bottom[1]}",
    ]


def _lines(numa: NumaNode, server: Server) -> Iterator[str]:
    sets = {"CPUs": numa.cpus, "reserved": numa.reserved, "exclusive": numa.exclusive, "shared": numa.shared}
    yield from (f"{label:<{_LABEL}}{_cpus(cpus)}" for label, cpus in sets.items() if cpus.count is not None)
    if numa.memory is not None:
        yield f"{'memory':<{_LABEL}}{numa.memory} MiB"
    here = [card for card in server.cards if card.numa == numa.id]
    yield from map(_card, here)
    indexes = {card.index for card in here}
    for nic in server.nics or ():
        if indexes.intersection(nic.near):
            near = ", ".join(f"GPU{index}" for index in nic.near)
            yield f"{printable(nic.name):<{_LABEL}}{nic.link} to {near}"


def _cpus(cpus: Cpus) -> str:
    return f"{cpus.count}  ({write_list(cpus.ids)})" if cpus.ids else f"{cpus.count}"


def _card(card: GpuCard) -> str:
    told = [card.uuid[:_SHORT_UUID], card.model.removeprefix("NVIDIA "), f"{card.memory} MiB" if card.memory else ""]
    state = [] if card.healthy else ["UNHEALTHY"]
    return f"{card.name:<{_LABEL}}{printable('  '.join([text for text in told if text] + state))}".rstrip()


def _below(server: Server) -> Iterator[str]:
    """What belongs to no single NUMA node."""
    kubelet = ", ".join(_kubelet(server))
    if kubelet:
        yield f"  kubelet    {kubelet}"
    for card in server.cards:
        if card.numa is None or card.numa not in {numa.id for numa in server.numas}:
            yield f"  NUMA node {'?' if card.numa is None else card.numa}: {_card(card)}"
    bare = mask_of(numa.id for numa in server.numas if not _is_drawn(numa, server))
    if bare:
        yield f"  memory     alone on NUMA nodes {write_list(bare)}"
    if server.links:
        yield f"  links      {'; '.join(_links(server.links))}"
    far = [printable(nic.name) for nic in server.nics or () if not nic.near]
    if far:
        yield f"  NICs       {', '.join(far)}: near no card"
    costs = sorted({cost for numa in server.numas for cost in numa.distances.values()})
    if len(costs) > 1:
        yield f"  distances  {', '.join(map(str, costs))}"


def _kubelet(server: Server) -> Iterator[str]:
    setup = server.kubelet
    words = {
        "topology": setup.topology_policy,
        "scope": setup.topology_scope,
        "CPUs": setup.cpu_policy,
        "memory": setup.memory_policy,
    }
    yield from (f"{name} {word}" for name, word in words.items() if word is not None)
    for options in (setup.topology_options, setup.cpu_options):
        yield from (printable(f"{name}={text}") for name, text in (options or {}).items())
    if setup.advertises_numa is not None:
        yield f"NUMA nodes of cards {'' if setup.advertises_numa else 'not '}advertised"


def _links(links: Mapping[int, Mapping[int, str]]) -> Iterator[str]:
    """Each kind of connection with the pairs that have it, the closest first; the commonest one has the rest."""
    pairs: dict[str, list[str]] = {}
    for one, row in links.items():
        for other, link in row.items():
            pairs.setdefault(link, []).append(f"{one}-{other}")
    rest = max(pairs, key=lambda link: len(pairs[link]))
    for link in sorted(pairs, key=distance):
        if link != rest:
            yield f"{link}: {' '.join(pairs[link])}"
    yield f"{rest}: {'all pairs' if len(pairs) == 1 else 'all other pairs'}"


def _cut(line: str, width: int, pen: Pen) -> str:
    return line if len(line) <= width else line[: max(width - 1, 0)] + pen.cut
