"""How a server is drawn: columns, narrow terminals, what belongs to no NUMA node, and nothing that a terminal obeys."""

from dataclasses import replace

from policy.inventory.kubelet import KubeletSetup
from policy.inventory.server import Cpus, GpuCard, Nic, NumaNode, Server
from webhook.cli.server_picture import Pen, draw

ASCII = Pen.of("ascii")
NODE = NumaNode(0, 0, Cpus(4, 15))
SERVER = Server("s", 1, 2, (NODE,), (GpuCard(0, "GPU0", 0),), None, None, KubeletSetup())


def lines(server: Server, width: int = 100) -> list[str]:
    return list(draw(server, ASCII, width))


def test_one_node_is_one_box() -> None:
    assert lines(SERVER, 44) == [
        "s, 1 socket, 2 threads a core",
        "+- NUMA node 0, socket 0 ------------------+",
        "| CPUs      4  (0-3)                       |",
        "| GPU0                                     |",
        "+------------------------------------------+",
    ]


def test_nodes_of_a_socket_stand_below_each_other_and_sockets_beside() -> None:
    numas = tuple(NumaNode(number, number // 2) for number in range(4))
    heads = [line for line in lines(replace(SERVER, numas=numas, cards=())) if "NUMA" in line]
    assert [line.count("NUMA") for line in heads] == [2, 2]
    assert ("node 0" in heads[0], "node 2" in heads[0], "node 1" in heads[1], "node 3" in heads[1]) == (True,) * 4


def test_boxes_stand_below_each_other_where_the_terminal_is_narrow() -> None:
    numas = tuple(NumaNode(number, number) for number in range(2))
    drawn = lines(replace(SERVER, numas=numas), 60)
    assert [line.count("NUMA") for line in drawn if "NUMA" in line] == [1, 1]
    assert max(map(len, drawn)) == 60


def test_what_belongs_to_no_box_is_told_below() -> None:
    server = replace(
        SERVER,
        numas=(NODE, NumaNode(1, 0, Cpus(0, 0), distances={0: 40, 1: 10}), NumaNode(2, 0, Cpus(0, 0))),
        cards=(GpuCard(0, "GPU0", 0, healthy=False), GpuCard(1, "GPU1"), GpuCard(2, "GPU2", 9)),
        links={0: {1: "NV4", 2: "SYS"}, 1: {2: "SYS"}},
        nics=(Nic("mlx5_0", (0,), "PIX"), Nic("eth0")),
        kubelet=KubeletSetup("restricted", cpu_options={"full-pcpus-only": "true"}, advertises_numa=False),
    )
    drawn = lines(server)
    assert "| GPU0      UNHEALTHY" in drawn[3]
    assert "| mlx5_0    PIX to GPU0" in drawn[4]
    assert drawn[6:] == [
        "  kubelet    topology restricted, full-pcpus-only=true, NUMA nodes of cards not advertised",
        "  NUMA node ?: GPU1",
        "  NUMA node 9: GPU2",
        "  memory     alone on NUMA nodes 1-2",
        "  links      NV4: 0-1; SYS: all other pairs",
        "  NICs       eth0: near no card",
        "  distances  10, 40",
    ]


def test_a_terminal_is_shown_what_it_would_obey() -> None:
    server = replace(SERVER, name="s\x1b[2J", cards=(GpuCard(0, "GPU0", 0, model="\x07"),))
    assert all(line.isprintable() for line in lines(server))
    assert lines(server)[0].startswith("s\\x1b[2J")
