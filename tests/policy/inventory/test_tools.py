"""What tools print about a server, read: exactly where it is whole, and with the line named where it is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.inventory.links import SELF, Place, distance, is_links, read_links
from policy.inventory.lscpu import is_lscpu, is_lscpu_table, read_lscpu, read_lscpu_table
from policy.inventory.numactl import is_numactl, read_numactl
from policy.kubelet.masks import read_list
from tests.policy.inventory import samples

READERS = (read_links, read_numactl, read_lscpu, read_lscpu_table)
TABLE_WORDS = ["GPU0", "GPU1", "NIC0", " X ", "NV4", "SYS", "CPU Affinity", "\t", "N/A", "0-3", "\x1b[4m", "9" * 20]
LINES = ["node 0 cpus: 1", "available: 1 nodes (0)", "# CPU,Node", "0,0", "Socket(s): 2", "NUMA node0 CPU(s):", "\n"]
WORDS = st.sampled_from([*TABLE_WORDS, *LINES])
ANYTHING = st.text(max_size=200) | st.lists(WORDS, max_size=30).map("".join)


@given(text=ANYTHING)
def test_any_text_is_read_or_its_problems_are_named(text: str) -> None:
    for read in READERS:
        _, problems = read(text)
        assert all(problem.text and 0 <= problem.line <= text.count("\n") + 1 for problem in problems)
    for recognise in (is_links, is_numactl, is_lscpu, is_lscpu_table):
        assert recognise(text) in {True, False}


@given(text=st.sampled_from([samples.fabric(), samples.pairs()]), cut=st.integers(0, 1600))
def test_a_text_that_breaks_off_is_read_as_far_as_it_goes(text: str, cut: int) -> None:
    whole, _ = read_links(text)
    part, _ = read_links(text[:cut])
    assert all(whole.links[name] == row for name, row in part.links.items() if name != list(part.links)[-1])


def test_cards_on_a_switch_fabric_are_read_with_their_nics_and_places() -> None:
    links, problems = read_links(samples.fabric())
    assert problems == ()
    assert links.cards == tuple(f"GPU{n}" for n in range(8))
    assert links.devices[8:] == ("NIC0", "NIC1", "NIC2", "NIC3")
    assert links.nics == {f"NIC{n}": f"mlx5_{n}" for n in range(4)}
    assert links.places["GPU3"] == Place(read_list("0-31,64-95"), (0,))
    assert links.places["GPU4"] == Place(read_list("32-63,96-127"), (1,))
    assert (links.links["GPU0"]["GPU7"], links.links["GPU5"]["NIC2"], links.links["NIC1"]["NIC2"]) == (
        "NV18",
        "PIX",
        "SYS",
    )


def test_cards_in_pairs_are_read_from_the_older_form() -> None:
    links, problems = read_links(samples.pairs())
    assert problems == ()
    assert [links.places[f"GPU{n}"].numas for n in range(8)] == [(3,), (3,), (1,), (1,), (7,), (7,), (5,), (5,)]
    assert [other for other, link in links.links["GPU4"].items() if link == "NV4"] == ["GPU5"]


HEAD = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (f"{HEAD}GPU0\t X \tSYS\tN/A\tN/A\t\tN/A\nGPU1\tSYS\t X \t0-3\t0-1\t\t16\n", [Place(), Place(15, (0, 1))]),
        (f"{HEAD}GPU0\t X \tSYS\t\t0\t\tN/A\nGPU1\tSYS\t X \t4-7\t1\t\t\n", [Place(), Place()]),
        ("\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n", [Place(255)]),
        ("\tGPU0\tmlx5_0\nGPU0\t X \tPHB\nmlx5_0\tPHB\t X \n", [Place()]),
    ],
    ids=["a card's own memory node is no place of it", "a gap shifts what follows", "oldest tail", "no tail"],
)
def test_where_a_card_is_stays_unknown_unless_the_columns_match(text: str, places: list[Place]) -> None:
    assert list(read_links(text)[0].places.values()) == places


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ["no line names cards (GPU0 …); give the output of `nvidia-smi topo -m`"]),
        ("\tGPU0\tGPU1\nGPU0\t X \tNV1\nGPU1\tNV2\t X \n", ["line 2: GPU0 to GPU1 is NV1, and back it is NV2"]),
        ("\tGPU0\nGPU0\tSYS\n", ["line 2: GPU0 to itself is SYS; it must be X"]),
        (
            "\tGPU0\nGPU0\t??\n",
            ["GPU0 has no row", "line 2: '??' is no row of 1 connections (X, NV#, PIX … SYS); it is left out"],
        ),
        ("\tGPU0\tGPU1\nGPU0\t X \tSYS\n", ["GPU1 has no row"]),
        ("\tGPU0\nGPU0\t X \nGPU0\t X \n", ["line 3: GPU0 has a second row; it is left out"]),
        ("\tGPU0\tCPU Affinity\nGPU0\t X \t1-\n", ["line 2: '1-' is no list such as 0-31,64-95; it is left out"]),
        (
            "\tGPU0\tCPU Afinity\nGPU0\t X \n",
            ["line 1: 'GPU0\\tCPU Afinity' is no header with each device once; it is left out"],
        ),
    ],
)
def test_what_is_odd_about_connections_is_said_with_its_line(text: str, said: list[str]) -> None:
    assert list(map(str, read_links(text)[1])) == said


def test_closeness_counts_nvlinks_first_and_bridges_then() -> None:
    words = ["SYS", "NV4", "PIX", "NODE", "NV18", "PHB", "PXB"]
    assert sorted(words, key=distance) == ["NV18", "NV4", "PIX", "PXB", "PHB", "NODE", "SYS"]
    assert SELF not in words


def test_numa_nodes_are_read_with_cpus_memory_and_distances() -> None:
    hardware, problems = read_numactl(samples.numactl(8, 32, 12, 32))
    assert problems == ()
    assert hardware.nodes == tuple(range(8))
    assert hardware.cpus[3] == read_list("48-63,176-191")
    assert hardware.memory[7] == 128807
    assert hardware.distances[1] == {0: 12, 1: 10, 2: 12, 3: 12, 4: 32, 5: 32, 6: 32, 7: 32}


def test_ids_of_numa_nodes_may_have_gaps_and_nodes_may_have_no_cpus() -> None:
    text = "available: 2 nodes (0,8)\nnode 0 cpus: 0 1\nnode 0 size: 10 MB\nnode 0 free: 1 MB\nnode 8 cpus:\n"
    text += "node 8 size: 20 MB\nnode 8 free: 2 MB\nnode distances:\nnode   0   8 \n  0:  10  40 \n  8:  40  10 \n"
    hardware, problems = read_numactl(text)
    assert problems == ()
    assert (hardware.nodes, hardware.cpus, hardware.memory) == ((0, 8), {0: 3, 8: 0}, {0: 10, 8: 20})
    assert hardware.distances == {0: {0: 10, 8: 40}, 8: {0: 40, 8: 10}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ["no line lists NUMA nodes; give the output of `numactl --hardware`"]),
        ("No NUMA available on this system\n", ["line 1: the tool found no NUMA support, so NUMA nodes stay unknown"]),
        (
            "available: 1 nodes (0)\nnode 0 cpus: 0 1 .. 7\nnode 0 size: 5 MB\n",
            ["line 2: '..' is no CPU of node 0; it is left out", "node 0 has no list of CPUs that can be read"],
        ),
        (
            "available: 2 nodes (0)\nnode 0 cpus: 0\nnode 0 size: 5 GB\n",
            [
                "line 1: 2 nodes are said, and '0' lists others",
                "line 3: '5 GB' is no size in MB; it is left out",
                "node 0 has no size that can be read",
            ],
        ),
        (
            "available: 1 nodes (0)\nnode 0 cpus: 0\nnode 0 size: 5 MB\nnode 0\n 0: 10 20\nhm\n",
            [
                "line 5: node 0 has 2 distances for 1 nodes; they are left out",
                "line 6: 'hm' is no line of `numactl --hardware`; it is left out",
            ],
        ),
    ],
)
def test_what_is_odd_about_numa_nodes_is_said_with_its_line(text: str, said: list[str]) -> None:
    assert list(map(str, read_numactl(text)[1])) == said


def test_both_forms_of_lscpu_and_numactl_agree() -> None:
    (told, first), (table, second) = read_lscpu(samples.lscpu(8, 32)), read_lscpu_table(samples.lscpu_table(8, 32))
    assert (first, second) == ((), ())
    assert told.numas == table.numas == read_numactl(samples.numactl(8, 32, 12, 32))[0].cpus
    assert told.sockets == table.sockets == told.threads_per_core == table.threads_per_core == 2
    assert told.cores_per_socket == table.cores_per_socket == 64
    assert (told.model, told.cpus, told.online) == ("Example Processor 9000", 256, table.online)
    assert table.numa_sockets == {0: 0, 1: 0, 2: 0, 3: 0, 4: 1, 5: 1, 6: 1, 7: 1}


def test_a_table_with_other_columns_says_less() -> None:
    table, problems = read_lscpu_table("# NODE,CPU\n0,0\n,1\n1,2\n")
    assert problems == ()
    assert (table.numas, table.sockets, table.threads_per_core, table.numa_sockets) == ({0: 1, 1: 4}, None, None, {})


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (read_lscpu, "", "no line tells of sockets or CPUs; give the output of `LC_ALL=C lscpu`"),
        (read_lscpu, "Socket(s): two\nCPU(s): 4", "line 1: 'two' is no number for Socket(s); it is left out"),
        (
            read_lscpu,
            "CPU(s): 4\nNUMA node0 CPU(s): 0 1",
            "line 2: '0 1' is no list of CPUs such as 0-31,64-95; it is left out",
        ),
        (read_lscpu_table, "", "no row tells of a CPU; give the output of `lscpu -p`"),
        (
            read_lscpu_table,
            "# CPU,Node\n0,0\n1",
            "line 3: '1' is no row of `lscpu -p` below a line that names its columns; it is left out",
        ),
        (
            read_lscpu_table,
            "# CPU,Node\n0,0\n1,a",
            "line 3: '1,a' is no row of `lscpu -p` below a line that names its columns; it is left out",
        ),
    ],
)
def test_what_is_odd_about_processors_is_said_with_its_line(read: object, text: str, said: str) -> None:
    assert callable(read)
    assert list(map(str, read(text)[1])) == [said]
