"""What tools print on servers that do not exist: made by the tools' grammar, number by number."""

from policy.kubelet.masks import write_list


def span(first: int, count: int) -> list[int]:
    return list(range(first, first + count))


def fabric() -> str:
    """Eight cards on a switch fabric, two sockets, four NICs, the newest tail of three columns."""
    cards, nics = [f"GPU{n}" for n in range(8)], [f"NIC{n}" for n in range(4)]
    rows = ["\x1b[4m\t" + "\t".join([*cards, *nics, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]) + "\x1b[0m"]
    for index, card in enumerate(cards):
        links = [" X " if other == card else "NV18" for other in cards]
        rows.append("\t".join([card, *links, *_to_nics(index), *_tail(index // 4), "", "N/A"]))
    for index, nic in enumerate(nics):
        links = [_to_nics(card)[index] for card in range(8)]
        among = [" X " if n == index else "NODE" if n // 2 == index // 2 else "SYS" for n in range(4)]
        rows.append("\t".join([nic, *links, *among]))
    legend = ["", "Legend:", "", "  X    = same device", "  NV#  = # links bonded", "", "NIC Legend:", ""]
    return "\n".join([*rows, *legend, *(f"  NIC{n}: mlx5_{n}" for n in range(4)), ""])


def _to_nics(card: int) -> list[str]:
    own = card // 4
    return ["SYS" if nic // 2 != own else "PIX" if nic == card // 2 else "NODE" for nic in range(4)]


def _tail(socket: int) -> list[str]:
    return [("0-31,64-95", "32-63,96-127")[socket], str(socket)]


PAIR_NODES = (3, 1, 7, 5)


def pairs() -> str:
    """Eight cards in NVLink pairs on the NUMA nodes 3, 1, 7 and 5, the older tail of two columns."""
    cards = [f"GPU{n}" for n in range(8)]
    rows = ["\t" + "\t".join([*cards, "CPU Affinity", "NUMA Affinity"])]
    for index, card in enumerate(cards):
        links = [" X " if n == index else "NV4" if n // 2 == index // 2 else "SYS" for n in range(8)]
        node = PAIR_NODES[index // 2]
        rows.append(
            "\t".join([card, *links, f"{16 * node}-{16 * node + 15},{16 * node + 128}-{16 * node + 143}", str(node)])
        )
    return "\n".join([*rows, "", "Legend:", "", "  X    = same device", "  SYS  = other NUMA node", ""])


def numactl(nodes: int, per_node: int, same_socket: int, other_socket: int, memory: int = 128800) -> str:
    """A server of two sockets; the second half of its CPUs are the siblings of the first."""
    half, lines = nodes * per_node // 2, [f"available: {nodes} nodes (0-{nodes - 1})"]
    for node in range(nodes):
        first = node * per_node // 2
        cpus = [*span(first, per_node // 2), *span(half + first, per_node // 2)]
        lines += [
            f"node {node} cpus: {' '.join(map(str, cpus))}",
            f"node {node} size: {memory + node} MB",
            f"node {node} free: {90010 - 13 * node} MB",
        ]
    lines += ["node distances:", "node" + "".join(f"{node:>4}" for node in range(nodes)) + " "]
    for one in range(nodes):
        row = [_distance(one, other, nodes, (same_socket, other_socket)) for other in range(nodes)]
        lines.append(f"{one:>3}:" + "".join(f"{cost:>4}" for cost in row) + " ")
    return "\n".join([*lines, ""])


def _distance(one: int, other: int, nodes: int, costs: tuple[int, int]) -> int:
    return 10 if one == other else costs[one * 2 // nodes != other * 2 // nodes]


def lscpu(nodes: int, per_node: int) -> str:
    half = nodes * per_node // 2
    lists = [
        _range(n * per_node // 2, per_node // 2) + "," + _range(half + n * per_node // 2, per_node // 2)
        for n in range(nodes)
    ]
    return "\n".join(
        [
            "Architecture:                         x86_64",
            f"CPU(s):                               {nodes * per_node}",
            f"On-line CPU(s) list:                  0-{nodes * per_node - 1}",
            "  Model name:                         Example Processor 9000",
            "    Thread(s) per core:               2",
            f"    Core(s) per socket:               {nodes * per_node // 4}",
            "    Socket(s):                        2",
            "Caches (sum of all):                  ",
            f"  NUMA node(s):                       {nodes}",
            *(f"  NUMA node{n} CPU(s):                  {cpus}" for n, cpus in enumerate(lists)),
            "",
        ]
    )


def _range(first: int, count: int) -> str:
    return write_list(((1 << count) - 1) << first)


def lscpu_table(nodes: int, per_node: int) -> str:
    half = nodes * per_node // 2
    rows = [
        f"{cpu},{cpu % half},{cpu % half * 2 // half},{cpu % half // (per_node // 2)},,0,0,0,0"
        for cpu in range(nodes * per_node)
    ]
    heads = [
        "# The following is the parsable format",
        "# starting usually from zero.",
        "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3",
    ]
    return "\n".join([*heads, *rows, ""])
