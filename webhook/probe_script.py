"""Say, inside a container, whether its CPUs and memory are on the NUMA nodes of its GPUs.

One file of the standard library alone: copy it into any image that has Python 3.8 or newer and run it there.

    python3 probe_script.py                  the facts and the verdict, as JSON
    python3 probe_script.py --expect local   the same as a test: exit code 1 unless the verdict is `local`
    python3 probe_script.py --pid 17         of another process, such as the one that trains

local    every CPU that the process may run on is on the NUMA node of every visible GPU, and its memory too
remote   a GPU is on a NUMA node on which the process may not run, or may not have memory
unbound  it may run beside its GPUs and elsewhere: what happens is the kernel's choice
unknown  something is not known; `needs` says what
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterable  # noqa: UP035 - Python 3.8

API_VERSION = "numafit.io/v1"
VERDICTS = ("local", "remote", "unbound", "unknown")
LOCAL, REMOTE, UNBOUND, UNKNOWN = VERDICTS

_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_POLICY = re.compile(
    r"(?:bind|prefer|prefer \(many\)|interleave|weighted interleave)(?:=[a-z|]+)?:[0-9,-]+|default|local"
)
_BUS_ID = re.compile(r"(?:[0-9a-fA-F]{4})?([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F])")
_SMI = ("--query-gpu=index,uuid,pci.bus_id", "--format=csv,noheader")
_SMI_COLUMNS = 3
_SMI_TIMEOUT = 20.0
_NO_CARD = ("none", "void")


class Machine:
    """The files of a running system, or of a copy of them below another root."""

    def __init__(self, root: str, pid: str) -> None:
        """Look below ``root`` at the process ``pid``."""
        self.root = Path(root)
        self.process = self.root / "proc" / pid
        self._is_live = self.root == Path("/")
        self._pid = pid

    def text(self, path: str | Path) -> str | None:
        """Return what a file holds, None if it cannot be read."""
        try:
            return (self.root / str(path).lstrip("/")).read_text("utf-8", "replace")
        except (OSError, ValueError):  # a path out of a control group may hold what no path can
            return None

    def status(self, key: str) -> str | None:
        """Return a field of the process's status."""
        for line in (self._of_process("status") or "").splitlines():
            if line.startswith(key + ":"):
                return line[len(key) + 1 :].strip()
        return None

    def affinity(self) -> set[int] | None:
        """Return the CPUs that the process may run on."""
        if self._is_live and hasattr(os, "sched_getaffinity"):
            try:
                return set(os.sched_getaffinity(0 if self._pid == "self" else int(self._pid)))
            except (OSError, ValueError):
                return None
        return numbers(self.status("Cpus_allowed_list"))

    def memory_map(self) -> str | None:
        """Return the process's mappings with their policies."""
        return self._of_process("numa_maps")

    def variable(self, name: str) -> str | None:
        """Return a variable of the process's environment."""
        for entry in (self._of_process("environ") or "").split("\0"):
            key, equals, value = entry.partition("=")
            if equals and key == name:
                return value
        return None

    def nodes(self) -> dict[int, set[int]]:
        """Return the NUMA nodes of the machine with their CPUs."""
        found = {}
        for path in sorted(self.root.glob("sys/devices/system/node/node[0-9]*")):
            node, cpus = numbers(path.name[len("node") :]), numbers(self.text(path.relative_to(self.root) / "cpulist"))
            if node and cpus is not None:
                found[min(node)] = cpus
        return found

    def program(self, name: str) -> str | None:
        """Return where a program is."""
        return shutil.which(name, path=None if self._is_live else str(self.root / "usr" / "bin"))

    def _of_process(self, name: str) -> str | None:
        return self.text((self.process / name).relative_to(self.root))


def numbers(text: str | None) -> set[int] | None:
    """Read a list such as `0-3,8`; None if it is none."""
    if text is None:
        return None
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        match = _RANGE.fullmatch(part)
        if match is None:
            return None
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return found


def listed(found: Iterable[int] | None) -> str | None:
    """Write numbers as the kernel does: `0-3,8`."""
    if found is None:
        return None
    runs: list[list[int]] = []
    for number in sorted(found):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def probe(root: str = "/", pid: str = "self") -> dict[str, Any]:
    """Return everything that is known, and the verdict.

    Args:
        root: where the system's files are; a copy of them elsewhere is read as one.
        pid: the process to look at, `self` for this one.
    """
    machine = Machine(root, pid)
    needs: list[str] = []
    nodes = machine.nodes()
    if not nodes:
        needs.append("/sys/devices/system/node: which CPUs are on which NUMA node; mount /sys into the container")
    gpus = _gpus(machine, nodes, needs)
    cpus = _cpus(machine, nodes, needs)
    memory = _memory(machine, cpus["nodes"], needs)
    homes = [card["numaNode"] for card in gpus["cards"]]
    for card in gpus["cards"]:
        card["verdict"] = _verdict(cpus["nodes"], [card["numaNode"]])
    cpus["verdict"] = _verdict(cpus["nodes"], homes)
    memory["verdict"] = _verdict(memory["nodes"], homes)
    return {
        "apiVersion": API_VERSION,
        "kind": "Probe",
        "verdict": _worst([cpus["verdict"], memory["verdict"]]),
        "needs": needs,
        "pid": pid,
        "cpus": cpus,
        "memory": memory,
        "cgroup": _cgroup(machine),
        "gpus": gpus,
        "numaNodes": [{"id": node, "cpus": listed(found)} for node, found in sorted(nodes.items())],
    }


def _verdict(nodes: list[int] | None, homes: list[int | None]) -> str:
    """Compare the NUMA nodes of a process with those of its GPUs, one by one."""
    if not nodes or not homes:
        return UNKNOWN
    if any(home is not None and home not in nodes for home in homes):
        return REMOTE
    if None in homes:
        return UNKNOWN
    return LOCAL if all(nodes == [home] for home in homes) else UNBOUND


def _worst(verdicts: list[str]) -> str:
    return next(verdict for verdict in (REMOTE, UNKNOWN, UNBOUND, LOCAL) if verdict in verdicts)


def _cpus(machine: Machine, nodes: dict[int, set[int]], needs: list[str]) -> dict[str, Any]:
    affinity = machine.affinity()
    if affinity is None:
        needs.append("the CPU affinity of the process: it ended, or /proc cannot be read; run the probe beside it")
    on = sorted(node for node, cpus in nodes.items() if affinity and cpus & affinity)
    return {"affinity": listed(affinity), "nodes": on if affinity is not None and nodes else None}


def _memory(machine: Machine, cpu_nodes: list[int] | None, needs: list[str]) -> dict[str, Any]:
    """By default memory comes from the node of the CPU that first touches it, as far as that is allowed."""
    allowed = numbers(machine.status("Mems_allowed_list"))
    policies, pages = _mappings(machine.memory_map())
    if allowed is None:
        needs.append("Mems_allowed_list in /proc/PID/status: which NUMA nodes may give memory")
    bound = _bound(policies)
    reachable = None if allowed is None else allowed & bound if bound else allowed
    if reachable and not bound and cpu_nodes:
        reachable = reachable & set(cpu_nodes) or reachable
    return {
        "allowed": listed(allowed),
        "policies": policies,
        "pages": pages,
        "nodes": None if reachable is None else sorted(reachable),
    }


def _mappings(text: str | None) -> tuple[dict[str, int] | None, dict[str, int] | None]:
    """Count mappings by policy, and pages by the NUMA node that they are on."""
    if not text:
        return None, None
    policies: dict[str, int] = {}
    pages: dict[str, int] = {}
    for line in text.splitlines():
        policy = _POLICY.match(line.partition(" ")[2])
        if policy:
            policies[policy[0]] = policies.get(policy[0], 0) + 1
        for node, count in re.findall(r" N([0-9]{1,6})=([0-9]{1,15})", line):
            pages[node] = pages.get(node, 0) + int(count)
    return policies, pages


def _bound(policies: dict[str, int] | None) -> set[int]:
    """The NUMA nodes of strict and spreading policies, if no mapping is left to the default."""
    if not policies or any(not policy.startswith(("bind", "interleave", "weighted")) for policy in policies):
        return set()
    return set().union(*(numbers(policy.rpartition(":")[2]) or set() for policy in policies))


def _cgroup(machine: Machine) -> dict[str, Any]:
    """The cpuset of the container's control group, of either version; None where it cannot be read."""
    own = {}
    for line in (machine.text((machine.process / "cgroup").relative_to(machine.root)) or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        own["v2" if number == "0" else controllers] = path
    first = next((path for names, path in own.items() if "cpuset" in names.split(",")), "/")
    for version, base, path, suffix in (
        (2, "sys/fs/cgroup", own.get("v2", "/"), ".effective"),
        (1, "sys/fs/cgroup/cpuset", first, ""),
    ):
        for place in (base + path.rstrip("/"), base):
            cpus, mems = (machine.text(f"{place}/cpuset.{kind}{suffix}") for kind in ("cpus", "mems"))
            if cpus is not None:
                return {"version": version, "cpus": cpus.strip(), "mems": None if mems is None else mems.strip()}
    return {"version": None, "cpus": None, "mems": None}


def _gpus(machine: Machine, nodes: dict[int, set[int]], needs: list[str]) -> dict[str, Any]:
    asked = machine.variable("NVIDIA_VISIBLE_DEVICES")
    source, cards = _from_smi(machine)
    if not cards:
        source, cards = _from_proc(machine)
    visible = _visible(cards, asked)
    if not visible:
        needs.append(_why_no_card(asked, bool(cards)))
    for card in visible:
        card["numaNode"] = _home(machine, card["pciBusId"], nodes)
        if card["numaNode"] is None:
            needs.append("the NUMA node of {}: the kernel knows none; `nvidia-smi topo -m` may".format(card["uuid"]))
    return {"asked": asked, "source": source if visible else None, "cards": visible}


def _why_no_card(asked: str | None, some: bool) -> str:
    if asked in _NO_CARD:
        return f"a GPU: NVIDIA_VISIBLE_DEVICES is {asked}, so the container asked for none"
    if some:
        return f"a visible GPU: none of the machine's is among NVIDIA_VISIBLE_DEVICES={asked}"
    return "a visible GPU: neither nvidia-smi nor /proc/driver/nvidia/gpus lists one; did the pod ask for a GPU?"


def _from_smi(machine: Machine) -> tuple[str, list[dict[str, Any]]]:
    program = machine.program("nvidia-smi")
    if program is None:
        return "", []
    try:
        ended = subprocess.run(  # noqa: S603 - nothing of the command comes from outside
            [program, *_SMI], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=_SMI_TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired):
        return "", []
    lines = ended.stdout.decode("utf-8", "replace").splitlines()
    rows = [[cell.strip() for cell in line.split(",")] for line in lines]
    found = [_card(row[0], row[1], row[2]) for row in rows if len(row) == _SMI_COLUMNS]
    return "nvidia-smi", [card for card in found if card["pciBusId"]]


def _from_proc(machine: Machine) -> tuple[str, list[dict[str, Any]]]:
    """The driver's own list; a card's place in it by bus is its index."""
    found = []
    for position, path in enumerate(sorted(machine.root.glob("proc/driver/nvidia/gpus/*"))):
        text = machine.text(path.relative_to(machine.root) / "information") or ""
        told = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
        found.append(_card(str(position), told.get("GPU UUID", ""), told.get("Bus Location") or path.name))
    return "/proc/driver/nvidia/gpus", [card for card in found if card["pciBusId"]]


def _card(index: str, uuid: str, bus_id: str) -> dict[str, Any]:
    match = _BUS_ID.fullmatch(bus_id)
    return {"index": index, "uuid": uuid or bus_id, "pciBusId": match[1].lower() if match else "", "numaNode": None}


def _visible(cards: list[dict[str, Any]], asked: str | None) -> list[dict[str, Any]]:
    """Leave out what a runtime shows although the container may not use it.

    Names by index count on the machine, and a runtime that hides the other cards counts anew: then all are meant.
    """
    names = {name.strip() for name in (asked or "").split(",")}
    by_uuid = [card for card in cards if card["uuid"] in names]
    if by_uuid or any(name.startswith("GPU-") for name in names):
        return by_uuid
    if all(name.isdecimal() for name in names) and len(names) < len(cards):
        return [card for card in cards if card["index"] in names]
    return [] if asked in _NO_CARD else cards


def _home(machine: Machine, bus_id: str, nodes: dict[int, set[int]]) -> int | None:
    """The NUMA node of a card; -1 is unknown, unless there is only one that it can be."""
    told = numbers(machine.text(f"sys/bus/pci/devices/{bus_id}/numa_node"))
    if told:
        return min(told)
    return next(iter(nodes)) if len(nodes) == 1 else None


def main(arguments: list[str] | None = None) -> int:
    """Run the probe on the command line's arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expect", choices=VERDICTS, help="exit code 1 unless this is the verdict")
    parser.add_argument("--pid", default="self", help="the process to look at, this one if not given")
    parser.add_argument("--root", default="/", help="where the files of the system are")
    given = parser.parse_args(arguments)
    if given.pid != "self" and not re.fullmatch("[0-9]{1,10}", given.pid):
        parser.error(f"--pid is {given.pid!r}; give the number of a process, or self")
    if not Path(given.root).is_dir():
        parser.error(f"--root is {given.root!r}, which is no directory; give one that holds proc and sys")
    found = probe(given.root, given.pid)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 0 if given.expect in (None, found["verdict"]) else 1


if __name__ == "__main__":
    sys.exit(main())
