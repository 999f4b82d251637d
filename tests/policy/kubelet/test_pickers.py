"""Which CPUs are picked, as kubelet 1.36 picks them."""

from random import Random

import pytest

from policy.kubelet.cpus import take
from policy.kubelet.machine import Cpu, Layout, lay_out
from policy.kubelet.masks import members, read_list, write_list
from policy.kubelet.outcome import Stall
from policy.kubelet.settings import CpuOptions
from tests.policy.kubelet.build import cpus

PLAIN = CpuOptions()
TWO_SOCKETS = lay_out(cpus({0: "0-7", 1: "8-15"}))
TWO_THREADS = lay_out(cpus({0: "0-3,8-11", 1: "4-7,12-15"}, threads=2))
UNEVEN = lay_out(cpus({0: "0-3", 1: "4-9", 2: "10-11"}))
THREE = lay_out(cpus({0: "0-7", 1: "8-15", 2: "16-23"}))
SUB_NUMA = lay_out(cpus({0: "0-3", 1: "4-7", 2: "8-11", 3: "12-15"}, sockets={0: 0, 1: 0, 2: 1, 3: 1}))


def _cached() -> Layout:
    """Two threads a core, two caches of four cores in each of two NUMA nodes."""
    caches = {0: "0-3,16-19", 1: "4-7,20-23", 2: "8-11,24-27", 3: "12-15,28-31"}
    cache_of = {cpu: cache for cache, text in caches.items() for cpu in members(read_list(text))}
    laid = cpus({0: "0-7,16-23", 1: "8-15,24-31"}, threads=2)
    return lay_out(Cpu(cpu.id, cpu.core, cpu.socket, cpu.numa, cache_of[cpu.id]) for cpu in laid)


@pytest.mark.parametrize(
    ("layout", "free", "count", "options", "expected"),
    [
        pytest.param(TWO_SOCKETS, "1-15", 9, PLAIN, "1,8-15", id="a whole free node comes first"),
        pytest.param(TWO_SOCKETS, "1-15", 4, PLAIN, "1-4", id="the fullest node is filled first"),
        pytest.param(TWO_THREADS, "1-15", 3, PLAIN, "1,8-9", id="whole cores, then the thread of a broken core"),
        pytest.param(UNEVEN, "1-3,6-11", 8, PLAIN, "4-11", id="a socket of average size is taken with held CPUs"),
        pytest.param(SUB_NUMA, "1-15", 6, PLAIN, "1-2,4-7", id="NUMA nodes inside the fullest socket"),
        pytest.param(TWO_THREADS, "1-15", 3, CpuOptions(across_cores=True), "1-3", id="one thread of each core"),
        pytest.param(
            _cached(), "1-7,16-23", 5, CpuOptions(by_cache=True), "1-2,16-18", id="part of one cache, odd request"
        ),
        pytest.param(
            _cached(), "0-7,16-23", 8, CpuOptions(by_cache=True), "0-3,16-19", id="a whole cache where one is needed"
        ),
        pytest.param(
            _cached(), "1-7,17-23", 10, CpuOptions(by_cache=True), "1,4-7,17,20-23", id="a free cache, then the rest"
        ),
        pytest.param(TWO_SOCKETS, "1-15", 10, CpuOptions(across_numa=True), "1-5,8-12", id="equal parts"),
        pytest.param(TWO_SOCKETS, "1-15", 8, CpuOptions(across_numa=True), "8-15", id="one node where one suffices"),
        pytest.param(THREE, "1-23", 11, CpuOptions(across_numa=True), "8-13,16-20", id="the rest keeps the balance"),
        pytest.param(
            TWO_THREADS,
            "1-3,5-7,9-11,13-15",
            8,
            CpuOptions(across_numa=True, full_cores=True),
            "1-2,5-6,9-10,13-14",
            id="equal parts in whole cores",
        ),
        pytest.param(
            TWO_THREADS,
            "1-15",
            9,
            CpuOptions(across_numa=True, full_cores=True),
            "4-8,12-15",
            id="packed where it is no whole number of cores",
        ),
        pytest.param(TWO_SOCKETS, "0-3", 5, PLAIN, None, id="not enough"),
        pytest.param(TWO_SOCKETS, "0-3", 5, CpuOptions(across_numa=True), None, id="not enough to distribute"),
        pytest.param(
            _cached(),
            "0-7,16-23",
            5,
            CpuOptions(by_cache=True, rounds_up_in_caches=False),
            "0-2,16-17",
            id="before 1.34 an odd request was no part of a cache",
        ),
        pytest.param(
            SUB_NUMA, "0-3,5-7,8-10,12-14", 6, CpuOptions(across_numa=True), "0-2,8-10", id="balance over sockets"
        ),
        pytest.param(
            SUB_NUMA,
            "0-3,5-7,8-10,12-14",
            6,
            CpuOptions(across_numa=True, by_socket=True, distributes_in_sockets=True),
            "0-2,5-7",
            id="from 1.37 one socket before balance",
        ),
    ],
)
def test_picks_what_kubelet_picks(
    layout: Layout, free: str, count: int, options: CpuOptions, expected: str | None
) -> None:
    picked = take(layout, read_list(free), count, options)
    assert (write_list(picked) if isinstance(picked, int) else picked) == expected


@pytest.mark.parametrize(
    "options",
    [
        PLAIN,
        CpuOptions(across_cores=True),
        CpuOptions(across_numa=True),
        CpuOptions(by_cache=True),
        CpuOptions(across_numa=True, full_cores=True),
    ],
)
def test_picks_as_many_as_asked_of_what_is_free(options: CpuOptions) -> None:
    random = Random(8)
    layouts = [TWO_SOCKETS, TWO_THREADS, THREE, SUB_NUMA, _cached()]
    for _ in range(400):
        layout = random.choice(layouts)
        free = layout.all & random.getrandbits(32)
        count = random.randint(0, free.bit_count() + 1)
        picked = take(layout, free, count, options)
        if count > free.bit_count():
            assert picked is None
        else:
            assert isinstance(picked, int)
            assert picked.bit_count() == count
            assert not picked & ~free


def test_dealing_odd_cpus_in_whole_cores_never_ends() -> None:
    areas = {node: f"{16 * node}-{16 * node + 15}" for node in range(4)}
    layout = lay_out(cpus(areas, threads=2))
    # Three more groups are to be dealt out to two nodes that have three CPUs left each: one group each, and no end.
    free = read_list("0-6,16-22,32-37,48-53")
    picked = take(layout, free, 22, CpuOptions(across_numa=True, full_cores=True))
    assert picked == Stall("distributing odd CPUs in whole cores never ends", 0)
