"""What is known of a cluster: one frozen value with an index per node.

A change makes a new value and copies only the node that changed, so a decision never waits for a lock and
never costs more because other nodes exist.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from policy.keys import NVIDIA
from policy.pod import Pod

UNKNOWN_NUMA: Final = -1
"""The NUMA node of a card that nobody knows; two such cards are never said to share one."""


@dataclass(frozen=True, slots=True)
class Device:
    """One card's part in one container's reservation, as pod annotations hold it.

    Attributes:
        uuid: the card.
        memory: MiB.
        cores: percent of the card.
        type: the vendor word.
        slots: shares of the card, 1 unless the annotation says more.
    """

    uuid: str
    memory: int
    cores: int
    type: str = NVIDIA
    slots: int = 1


Entry = tuple[Device, ...]
"""One container's devices; empty for a container without any."""


@dataclass(frozen=True, slots=True)
class Use:
    """How much of something is taken: shares, memory in MiB, cores in percent of a card."""

    slots: int = 0
    memory: int = 0
    cores: int = 0

    def __add__(self, other: "Use") -> "Use":
        return Use(self.slots + other.slots, self.memory + other.memory, self.cores + other.cores)

    def __sub__(self, other: "Use") -> "Use":
        return Use(self.slots - other.slots, self.memory - other.memory, self.cores - other.cores)

    def peak(self, other: "Use") -> "Use":
        """The larger of both, each dimension by itself."""
        return Use(max(self.slots, other.slots), max(self.memory, other.memory), max(self.cores, other.cores))


NOTHING: Final = Use()


@dataclass(frozen=True, slots=True)
class Card:
    """One physical GPU as its node registers it.

    Attributes:
        slots: how many shares it can be cut into.
        memory: MiB, scaled as the node's device plugin is told to.
        cores: percent, 100 unless scaled.
        type: model name.
        numa: NUMA node, `UNKNOWN_NUMA` where nobody knows.
        mode: `hami-core`, `mig`, `mps` or empty.
    """

    uuid: str
    index: int = 0
    slots: int = 10
    memory: int = 0
    cores: int = 100
    type: str = ""
    numa: int = 0
    mode: str = ""
    healthy: bool = True
    vendor: str = NVIDIA


@dataclass(frozen=True, slots=True)
class Kubelet:
    """What is known of how a node's kubelet is set up; None is not known.

    Attributes:
        topology_policy: `none`, `best-effort`, `restricted` or `single-numa-node`.
        topology_scope: `container` or `pod`.
        advertises_numa: whether the device plugin tells kubelet its cards' NUMA nodes.
    """

    topology_policy: str | None = None
    topology_scope: str | None = None
    advertises_numa: bool | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One node.

    Attributes:
        cards: by index; last known inventory, unhealthy and cordoned ones included.
        cordoned: UUIDs that take no new reservation.
        taints: as the node carries them.
        pair_scores: UUID -> UUID -> link score, empty where the node publishes none.
        problem: why its cards could not be read, empty if they could.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    cards: tuple[Card, ...] = ()
    cordoned: frozenset[str] = frozenset()
    taints: tuple[Mapping[str, Any], ...] = ()
    unschedulable: bool = False
    kubelet: Kubelet = Kubelet()
    pair_scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Reservation:
    """What one pod holds on a node.

    Attributes:
        node: the node that the scheduler chose.
        entries: recorded devices per container, aligned with `pod.containers`.
        devices: UUID -> what counts there for the pod as a whole.
        init_released: whether its init containers have ended and no longer count.
        problem: what of its annotation could not be read, empty if all could.
    """

    pod: Pod
    node: str
    entries: tuple[Entry, ...] = ()
    devices: Mapping[str, Use] = field(default_factory=dict)
    init_released: bool = False
    problem: str = ""

    @property
    def total(self) -> Use:
        """Everything that the pod holds, over all cards."""
        return sum(self.devices.values(), NOTHING)


@dataclass(frozen=True, slots=True)
class Quota:
    """A namespace's limits: memory in MiB, cores in percent of a card; None is no limit."""

    memory: int | None = None
    cores: int | None = None


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node with what is held on it. `node` is None for a node that pods name and nobody knows."""

    node: Node | None = None
    reservations: Mapping[str, Reservation] = field(default_factory=dict)
    use: Mapping[str, Use] = field(default_factory=dict)

    def with_reservation(self, added: Reservation) -> "NodeState":
        """The same with ``added`` in the place of whatever that pod held here."""
        base = self.without(added.pod.uid)
        use = dict(base.use)
        for uuid, amount in added.devices.items():
            use[uuid] = use.get(uuid, NOTHING) + amount
        return replace(base, reservations={**base.reservations, added.pod.uid: added}, use=use)

    def without(self, uid: str) -> "NodeState":
        """The same without the reservation of the pod ``uid``."""
        gone = self.reservations.get(uid)
        if gone is None:
            return self
        use = dict(self.use)
        for uuid, amount in gone.devices.items():
            rest = use[uuid] - amount
            if rest == NOTHING:
                del use[uuid]
            else:
                use[uuid] = rest
        kept = {key: value for key, value in self.reservations.items() if key != uid}
        return replace(self, reservations=kept, use=use)


@dataclass(frozen=True, slots=True)
class Kind:
    """Nodes that differ in name, labels and UUIDs only: a rule that asks for neither needs one of them.

    Attributes:
        sample: one of them.
        names: all of them.
        numa_sizes: NUMA node -> how many cards it holds.
        labelled: label and its value -> the names of those that carry it.
    """

    sample: Node
    names: tuple[str, ...]
    numa_sizes: Mapping[int, int]
    labelled: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)

    def selected(self, selector: Mapping[str, str]) -> tuple[str, ...]:
        """The nodes among which all are that carry the labels of ``selector``: those with the rarest of them."""
        if not selector:
            return self.names
        return min((self.labelled.get(label, ()) for label in selector.items()), key=len)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The nodes and cards of a cluster, apart from what is held on them: it changes only when hardware does.

    Attributes:
        nodes: node name -> node.
        card_nodes: card UUID -> node name.
        kinds: the nodes with cards, or with an unreadable register value, by kind.
    """

    nodes: Mapping[str, Node] = field(default_factory=dict)
    card_nodes: Mapping[str, str] = field(default_factory=dict)
    kinds: tuple[Kind, ...] = ()


def take_inventory(nodes: Iterable[Node]) -> Inventory:
    """Index ``nodes``, in time proportional to their cards."""
    by_name = {node.name: node for node in nodes}
    kinds: dict[object, list[Node]] = {}
    for node in by_name.values():
        if node.cards or node.problem:
            kinds.setdefault(_likeness(node), []).append(node)
    return Inventory(
        nodes=by_name,
        card_nodes={card.uuid: node.name for node in by_name.values() for card in node.cards},
        kinds=tuple(_kind(alike) for alike in kinds.values()),
    )


def _kind(alike: list[Node]) -> Kind:
    by_label: dict[tuple[str, str], list[str]] = {}
    for node in alike:
        for label in node.labels.items():
            by_label.setdefault(label, []).append(node.name)
    return Kind(
        sample=alike[0],
        names=tuple(node.name for node in alike),
        numa_sizes=Counter(card.numa for card in alike[0].cards),
        labelled={label: tuple(names) for label, names in by_label.items()},
    )


def _likeness(node: Node) -> object:
    cards = tuple((c.numa, c.memory, c.cores, c.slots, c.type, c.mode, c.vendor) for c in node.cards)
    taints = tuple((t.get("key"), t.get("value"), t.get("effect")) for t in node.taints)
    return cards, repr(taints), node.kubelet, bool(node.problem)


@dataclass(frozen=True, slots=True)
class Facts:
    """A cluster at one moment.

    Attributes:
        nodes: node name -> state.
        pod_nodes: UID of each tracked pod -> node name.
        inventory: the same nodes without what is held on them.
        quotas: namespace -> limits.
        quota_use: namespace -> what its tracked pods hold.
        namespaces: namespace -> labels.
        taken_at: seconds since the epoch; None for an empty value.
    """

    nodes: Mapping[str, NodeState] = field(default_factory=dict)
    pod_nodes: Mapping[str, str] = field(default_factory=dict)
    inventory: Inventory = Inventory()
    quotas: Mapping[str, Quota] = field(default_factory=dict)
    quota_use: Mapping[str, Use] = field(default_factory=dict)
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    taken_at: float | None = None

    def reservation(self, uid: str) -> Reservation | None:
        """What the pod ``uid`` holds, None if it holds nothing."""
        name = self.pod_nodes.get(uid)
        return None if name is None else self.nodes[name].reservations.get(uid)

    def with_node(self, node: Node) -> "Facts":
        """The same with ``node`` as it is now."""
        state = self.nodes.get(node.name, NodeState())
        if state.node == node:
            return self
        return replace(
            self,
            nodes={**self.nodes, node.name: replace(state, node=node)},
            inventory=take_inventory({**self.inventory.nodes, node.name: node}.values()),
        )

    def without_node(self, name: str) -> "Facts":
        """The same without the node ``name``; what pods hold there stays counted for their quota."""
        state = replace(self.nodes.get(name, NodeState()), node=None)
        kept = take_inventory(node for node in self.inventory.nodes.values() if node.name != name)
        return replace(self, nodes={**self.nodes, name: state}, inventory=kept)

    def with_reservation(self, added: Reservation) -> "Facts":
        """The same with ``added`` in the place of whatever that pod held before."""
        uid, before = added.pod.uid, self.reservation(added.pod.uid)
        if before is not None and before.node != added.node:
            return self.without_pod(uid).with_reservation(added)
        state = self.nodes.get(added.node, NodeState()).with_reservation(added)
        held = NOTHING if before is None else before.total
        return replace(
            self,
            nodes={**self.nodes, added.node: state},
            pod_nodes=self.pod_nodes if before else {**self.pod_nodes, uid: added.node},
            quota_use=_changed(self.quota_use, added.pod.namespace, added.total - held),
        )

    def without_pod(self, uid: str) -> "Facts":
        """The same without the reservation of the pod ``uid``."""
        gone = self.reservation(uid)
        if gone is None:
            return self
        state = self.nodes[gone.node].without(uid)
        return replace(
            self,
            nodes={**self.nodes, gone.node: state},
            pod_nodes={key: value for key, value in self.pod_nodes.items() if key != uid},
            quota_use=_changed(self.quota_use, gone.pod.namespace, NOTHING - gone.total),
        )


def _changed(quota_use: Mapping[str, Use], namespace: str, change: Use) -> Mapping[str, Use]:
    return {**quota_use, namespace: quota_use.get(namespace, NOTHING) + change}


def gather(
    nodes: Iterable[Node],
    reservations: Iterable[Reservation],
    quotas: Mapping[str, Quota],
    namespaces: Mapping[str, Mapping[str, str]],
    taken_at: float | None,
) -> Facts:
    """Build facts from their parts at once, in time proportional to their number."""
    states: dict[str, NodeState] = {node.name: NodeState(node) for node in nodes}
    held: dict[str, dict[str, Reservation]] = {}
    used: dict[str, dict[str, Use]] = {}
    quota_use: dict[str, Use] = {}
    for reservation in reservations:
        held.setdefault(reservation.node, {})[reservation.pod.uid] = reservation
        use = used.setdefault(reservation.node, {})
        for uuid, amount in reservation.devices.items():
            use[uuid] = use.get(uuid, NOTHING) + amount
        namespace = reservation.pod.namespace
        quota_use[namespace] = quota_use.get(namespace, NOTHING) + reservation.total
    for name, found in held.items():
        states[name] = NodeState(states.get(name, NodeState()).node, found, used[name])
    return Facts(
        nodes=states,
        pod_nodes={uid: name for name, found in held.items() for uid in found},
        inventory=take_inventory(state.node for state in states.values() if state.node),
        quotas=quotas,
        quota_use=quota_use,
        namespaces=namespaces,
        taken_at=taken_at,
    )
