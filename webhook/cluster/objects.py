"""Plain Kubernetes objects become facts. What one object gets wrong is reported and never hides the others."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from policy.facts import Card, Facts, Node, Quota, Reservation, gather
from policy.hami.errors import shown
from policy.hami.quota import read_quotas
from policy.hami.register import RegisterError, read_cards, read_cordon, read_pair_scores
from policy.hami.request import HamiConfig
from policy.hami.usage import reserve
from policy.keys import CORDON, PAIR_SCORES, REGISTER
from policy.pod import MalformedObjectError, Pod, read_pod
from webhook.cluster.device_configuration import is_chart_values, read_device_configuration
from webhook.cluster.interface import Declared
from webhook.cluster.kubelets import KubeletSources, read_topologies
from webhook.cluster.shapes import mapping, title

CHART_VALUES: Final = "HAMi chart values"
"""What stands for the kind of a file of chart values among objects."""

_TOPOLOGY_GROUP: Final = "topology.node.k8s.io/"
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Reading:
    """What objects say.

    Attributes:
        facts: the cluster.
        pods: UID -> each readable pod, those that hold nothing too.
        problems: what could not be read, one sentence each; what of a reservation could not is said by itself.
    """

    facts: Facts
    pods: Mapping[str, Pod]
    problems: tuple[str, ...]


def kind_of(source: Mapping[str, Any]) -> str:
    """Return the kind of an object that numafit reads, empty for any other.

    Other groups have kinds of the same names (a storage system's `Node` is no node), so the group counts.
    """
    if is_chart_values(source):
        return CHART_VALUES
    kind, version = source.get("kind"), str(source.get("apiVersion") or "v1")
    is_read = version.startswith(_TOPOLOGY_GROUP) if kind == "NodeResourceTopology" else version == "v1"
    return kind if isinstance(kind, str) and is_read else ""


def read_objects(
    objects: Iterable[Mapping[str, Any]],
    config: HamiConfig,
    declared: Sequence[Declared] = (),
    taken_at: float | None = None,
) -> Reading:
    """Read ``objects``; kinds and fields that numafit does not know are passed over.

    Args:
        objects: plain objects, each namespace, name and UID once.
        config: HAMi's resource names.
        declared: what the operator says of kubelets.
        taken_at: when the objects were read, seconds since the epoch.
    """
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for source in objects:
        kinds.setdefault(kind_of(source), []).append(source)
    problems = [f"{title(source)}: has no kind" for source in kinds.get("", ()) if not source.get("kind")]
    kubelets = _kubelets(kinds, config, declared, problems)
    nodes = _each(kinds.get("Node", ()), lambda source: read_node(source, kubelets, problems), problems)
    problems.extend(_doubled(nodes))
    pods = _by_uid(_each(kinds.get("Pod", ()), read_pod, problems), problems)
    namespaces = _each(kinds.get("Namespace", ()), _named_labels, problems)
    facts = gather(
        nodes,
        (reservation for pod in pods.values() if (reservation := reserve(pod)) is not None),
        _quotas(kinds.get("ResourceQuota", ()), config, problems),
        dict(namespaces),
        taken_at,
    )
    return Reading(facts, pods, tuple(problems))


def _doubled(nodes: Iterable[Node]) -> Iterator[str]:
    """Say which cards several nodes register, as after a server came back under another name."""
    held: dict[str, str] = {}
    for node in nodes:
        for card in node.cards:
            first = held.setdefault(card.uuid, node.name)
            if first != node.name:
                text = f"card {card.uuid} is registered by node {first} too; delete the one that is gone"
                yield f"Node {node.name}: {text}"


def read_node(source: Mapping[str, Any], kubelets: KubeletSources, problems: list[str]) -> Node:
    """Read a Node; what it says of its cards and cannot be read is added to ``problems``.

    A node without HAMi's annotation has no cards, and that is no problem: clusters have other nodes too.

    Raises:
        MalformedObjectError: it lacks the shape of a Node.
    """
    name, labels = _named_labels(source)
    annotations = _strings(mapping(source.get("metadata")), "annotations")
    spec = mapping(source.get("spec"))
    cards, problem = _cards(annotations.get(REGISTER))
    scores, scores_problem = _pair_scores(annotations.get(PAIR_SCORES))
    problems.extend(f"Node {name}: {text}" for text in (problem, scores_problem) if text)
    taints = spec.get("taints")
    return Node(
        name=name,
        labels=labels,
        cards=cards,
        cordoned=read_cordon(annotations.get(CORDON, "")),
        taints=tuple(one for one in taints if isinstance(one, dict)) if isinstance(taints, list) else (),
        unschedulable=spec.get("unschedulable") is True,
        kubelet=kubelets.of(name, labels),
        pair_scores=scores,
        problem=problem,
    )


def reservation_problem(reservation: Reservation | None) -> str:
    """Say what of a reservation could not be read, empty if all could (docs/decisions.md 7)."""
    if reservation is None or not reservation.problem:
        return ""
    return f"Pod {reservation.pod.title}: {reservation.problem}; what can be read of it is counted"


def _kubelets(
    kinds: Mapping[str, Sequence[Mapping[str, Any]]],
    config: HamiConfig,
    declared: Sequence[Declared],
    problems: list[str],
) -> KubeletSources:
    topologies, unclear = read_topologies(kinds.get("NodeResourceTopology", ()), config.count)
    devices, unread = read_device_configuration(kinds.get("ConfigMap", ()), kinds.get(CHART_VALUES, ()))
    problems.extend(unclear + unread)
    return KubeletSources(topologies, devices, declared)


def _each(
    sources: Iterable[Mapping[str, Any]], read: Callable[[Mapping[str, Any]], _Read], problems: list[str]
) -> list[_Read]:
    found = []
    for source in sources:
        try:
            found.append(read(source))
        except MalformedObjectError as error:
            problems.append(f"{title(source)}: {error}")
    return found


def _cards(text: str | None) -> tuple[tuple[Card, ...], str]:
    try:
        return (() if text is None else read_cards(text)), ""
    except RegisterError as error:
        return (), str(error)


def _pair_scores(text: str | None) -> tuple[Mapping[str, Mapping[str, int]], str]:
    try:
        return read_pair_scores(text), ""
    except RegisterError as error:
        return {}, str(error)


def _by_uid(pods: Iterable[Pod], problems: list[str]) -> dict[str, Pod]:
    found: dict[str, Pod] = {}
    for pod in pods:
        if not pod.uid:
            problems.append(f"Pod {pod.title}: metadata.uid is missing; the pod is left out")
        elif pod.uid in found:
            problems.append(f"Pod {pod.title}: has the UID of pod {found[pod.uid].title}; the pod is left out")
        else:
            found[pod.uid] = pod
    return found


def _quotas(sources: Iterable[Mapping[str, Any]], config: HamiConfig, problems: list[str]) -> Mapping[str, Quota]:
    def readable(source: Mapping[str, Any]) -> Mapping[str, Any]:
        read_quotas([source], config)
        return source

    return read_quotas(_each(sources, readable, problems), config)


def _named_labels(source: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
    metadata = source.get("metadata")
    name = mapping(metadata).get("name")
    if not isinstance(name, str) or not name:
        raise MalformedObjectError(f"metadata.name must be text, not {shown(name)}")
    return name, _strings(mapping(metadata), "labels")


def _strings(metadata: Mapping[str, Any], key: str) -> Mapping[str, str]:
    found = metadata.get(key) or {}
    if not isinstance(found, dict):
        raise MalformedObjectError(f"metadata.{key} must be an object, not {shown(found)}")
    for name, value in found.items():
        if not isinstance(value, str):
            raise MalformedObjectError(f"metadata.{key}[{name}] must be text, not {shown(value)}")
    return found
