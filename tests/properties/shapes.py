"""Plain objects of many shapes for the stateful machine: small nodes, so that pods are in each other's way."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from policy import keys
from tests.properties.ledger import Object

NAMESPACES: Final = ("team", "free")
MEMORY: Final = 10_000
"""MiB of each card."""


@dataclass(frozen=True)
class Wanted:
    """What a container asks for; `init` and `sidecar` stand before `app` in a pod."""

    phase: str
    limits: Mapping[str, str]

    @property
    def cards(self) -> int:
        """How many."""
        return int(self.limits.get("gpu", 0))

    @property
    def cores(self) -> int:
        """Percent of each card."""
        return int(self.limits.get("gpucores", 0))

    def memory(self, card: int = MEMORY) -> int:
        """MiB of each card, which has ``card`` MiB."""
        if "gpumem" in self.limits:
            return int(self.limits["gpumem"].replace("k", "000"))
        return card * int(self.limits.get("gpumem-percentage", 100)) // 100


PHASES: Final = ("app", "init", "sidecar")
LIMITS: Final[Sequence[Mapping[str, str]]] = (
    *({}, {}, {}),
    *({"gpu": "1", "gpumem": "3k", "gpucores": "30"}, {"gpu": "1", "gpumem": "6000"}) * 2,
    {"gpu": "2", "gpumem": "2000", "gpucores": "10"},
    {"gpu": "1", "gpumem-percentage": "25", "gpucores": "50"},
    {"gpu": "1", "gpumem": "1000", "gpucores": "100"},
    {"gpu": "1"},
    {"gpu": "3", "gpumem": "500", "gpucores": "5"},
)
"""What containers ask for, the usual more often than the rest."""

WISHES: Final[Sequence[Mapping[str, str]]] = (
    {},
    {},
    {keys.NUMA_BIND: "true"},
    {keys.GPU_POLICY: "binpack"},
    {keys.GPU_POLICY: "mutex"},
    {keys.GPU_POLICY: " numa , spread", keys.NODE_POLICY: "spread"},
    {keys.GPU_POLICY: "topology-aware", keys.NUMA_BIND: "1"},
    {keys.GPU_POLICY: "nonsense", keys.NUMA_ALIGNMENT: "strict"},
    {keys.USE_UUID: "GPU-n1-0, GPU-n1-2,GPU-n2-0,"},
    {keys.NOUSE_UUID: "GPU-n1-1,GPU-n2-1", keys.NUMA_BIND: "t"},
    {keys.SCORING_WEIGHTS: "slot=0,core=2,memory=1", keys.NOUSE_TYPE: "H100"},
    {keys.SCORING_WEIGHTS: "slot=1"},
)


@st.composite
def pods(draw: st.DrawFn) -> tuple[list[Wanted], Mapping[str, str]]:
    """What a pod's containers ask for, in order, and its annotations."""
    wanted = st.builds(Wanted, st.sampled_from(PHASES), st.sampled_from(LIMITS))
    containers = sorted(draw(st.lists(wanted, max_size=2)), key=lambda each: each.phase == "app")
    if not containers or containers[-1].phase != "app":
        containers.append(Wanted("app", draw(st.sampled_from(LIMITS))))
    return containers, draw(st.sampled_from(WISHES))


def pod(name: str, namespace: str, uid: str, containers: Sequence[Wanted], annotations: Mapping[str, str]) -> Object:
    """A pod that nobody has placed yet."""
    spec: dict[str, list[Object]] = {"initContainers": [], "containers": []}
    for at, wanted in enumerate(containers):
        made = {"name": f"c{at}", "resources": {"limits": _resources(wanted)}}
        spec["containers" if wanted.phase == "app" else "initContainers"].append(made)
        if wanted.phase == "sidecar":
            made["restartPolicy"] = "Always"
    metadata = {"namespace": namespace, "name": name, "uid": uid, "annotations": dict(annotations)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def _resources(wanted: Wanted) -> Mapping[str, str]:
    return {f"nvidia.com/{name}": amount for name, amount in wanted.limits.items()}


Style = Callable[[list[str]], str]

STYLES: Final[Mapping[str, Style]] = {
    "as numafit writes it": lambda texts: "".join(f"{text};" for text in texts),
    "no ; at the end": ";".join,
    "two ; too many": lambda texts: "".join(f"{text};" for text in [*texts, "", ""]),
    "blank ones left out": lambda texts: "".join(f"{text};" for text in texts if text),
    "a sixth field": lambda texts: "".join(f"{text.replace(':', ',1,x:')};" for text in texts),
    "two shares": lambda texts: "".join(f"{text.replace(':', ',2:')};" for text in texts),
    "part of it unreadable": lambda texts: "GPU-x,NVIDIA,many,1:" + "".join(f"{text};" for text in texts),
}
"""How others write an annotation value: all of it legal but the last, which is read as far as it can be."""


@dataclass
class NodeShape:
    """A node and what happens to its cards.

    Attributes:
        numa: each card's NUMA node; -1 is unknown.
        lost: indices of cards that are not registered.
        sick: indices of unhealthy cards.
        cut: indices of cards in MIG mode.
        cordoned: indices of cards that take nothing new.
        unreadable: whether the register value is cut off.
    """

    name: str
    numa: Sequence[int]
    lost: set[int]
    sick: set[int]
    cut: set[int]
    cordoned: set[int]
    unreadable: bool = False

    @property
    def uuids(self) -> list[str]:
        """Every card, lost ones too."""
        return [f"GPU-{self.name}-{index}" for index in range(len(self.numa))]

    def source(self) -> Object:
        """The plain object."""
        text = json.dumps([self._card(index) for index in range(len(self.numa)) if index not in self.lost])
        annotations = {
            keys.REGISTER: text[:-5] if self.unreadable else text,
            keys.CORDON: ",".join(self.uuids[index] for index in self.cordoned),
        }
        metadata = {"name": self.name, "annotations": annotations}
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}}

    def _card(self, index: int) -> Mapping[str, Any]:
        """HAMi's plugin leaves out what is zero, health that is gone too."""
        said = {
            "id": self.uuids[index],
            "index": index,
            "count": 3,
            "devmem": MEMORY,
            "devcore": 100,
            "type": "NVIDIA A100",
            "numa": self.numa[index],
            "mode": "mig" if index in self.cut else "hami-core",
            "health": index not in self.sick,
        }
        return {name: value for name, value in said.items() if value}


def held_elsewhere(containers: Sequence[Wanted], node: NodeShape, first: int, style: str) -> Mapping[str, str]:
    """Annotations that another writer might have written, whether or not there was room."""
    texts, cards = [], node.uuids
    for wanted in containers:
        chosen = [cards[(first + at) % len(cards)] for at in range(wanted.cards)]
        texts.append("".join(f"{uuid},NVIDIA,{wanted.memory()},{wanted.cores}:" for uuid in chosen))
    value = STYLES[style](texts)
    return {keys.ASSIGNED_NODE: node.name, keys.TO_ALLOCATE: value, keys.ALLOCATED: value}


def nodes() -> dict[str, NodeShape]:
    """Two nodes, anew: four cards on two NUMA nodes, and three of which nobody knows the NUMA node of two."""
    made = [("n1", (0, 0, 7, 7)), ("n2", (0, -1, -1))]
    return {name: NodeShape(name, numa, set(), set(), set(), set()) for name, numa in made}


QUOTAS: Final[Sequence[Mapping[str, str]]] = (
    {"gpumem": "5k"},
    {"gpumem": "12k"},
    {"gpumem": "20000", "gpucores": "120"},
    {"gpucores": "60"},
    {"gpumem": "0"},
    {"gpumem": "1000k"},
)


def quota(name: str, limits: Mapping[str, str]) -> Object:
    """A quota of the namespace team."""
    hard = {f"limits.nvidia.com/{resource}": amount for resource, amount in limits.items()}
    metadata = {"namespace": "team", "name": name}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}}
