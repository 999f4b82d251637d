"""Recorded roots: the files that a probe reads, of machines with several NUMA nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

UUIDS = ("GPU-aaaaaaaa-0000", "GPU-bbbbbbbb-1111")


@dataclass(frozen=True)
class Container:
    """One container on a machine with four CPUs on each of two NUMA nodes, and a card on each."""

    cpus: str = "0-3"
    mems: str = "0-1"
    maps: str = "7f0000000000 default anon=4 dirty=4 N0=3 N1=1 kernelpagesize_kB=4\n"
    visible: str | None = UUIDS[0]
    homes: Mapping[str, str] = field(default_factory=lambda: {"0000:07:00.0": "0", "0000:47:00.0": "1"})
    nodes: Mapping[int, str] = field(default_factory=lambda: {0: "0-3", 1: "4-7"})
    driver: bool = True

    def record(self, root: Path) -> Path:
        """Write the files below ``root``."""
        environ = "PATH=/bin\0" + (f"NVIDIA_VISIBLE_DEVICES={self.visible}\0" if self.visible is not None else "")
        files = {
            "proc/self/status": f"Name:\ttrain\nCpus_allowed_list:\t{self.cpus}\nMems_allowed_list:\t{self.mems}\n",
            "proc/self/numa_maps": self.maps,
            "proc/self/environ": environ,
        }
        files |= {f"sys/devices/system/node/node{node}/cpulist": f"{cpus}\n" for node, cpus in self.nodes.items()}
        for position, (bus, home) in enumerate(self.homes.items()):
            files[f"sys/bus/pci/devices/{bus}/numa_node"] = f"{home}\n"
            if self.driver:
                uuid = UUIDS[position] if position < len(UUIDS) else "GPU-????????"
                told = f"Model: \t\t NVIDIA A100\nGPU UUID: \t {uuid}\nBus Location: \t {bus}\nDevice Minor: \t 0\n"
                files[f"proc/driver/nvidia/gpus/{bus}/information"] = told
        for name, content in files.items():
            write(root / name, content)
        return root


def write(path: Path, content: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(mode)
