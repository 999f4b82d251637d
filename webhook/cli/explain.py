"""`numafit explain`: why a pod goes where it goes, or nowhere."""

import difflib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from policy.facts import Facts
from policy.placement.order import Order
from policy.pod import MalformedObjectError, Pod, read_pod
from webhook.cli import screen
from webhook.cli.errors import InputError
from webhook.cli.examples import beginning_with
from webhook.cli.explained import Explained, as_json, write_text
from webhook.cli.explaining import Subject, as_new, explain
from webhook.cli.inputs import Levels, read_cluster, read_levels
from webhook.cli.manifests import STDIN, Document, read
from webhook.cli.screen import Form
from webhook.cli.templates import workloads
from webhook.cluster.file import FileCluster
from webhook.cluster.objects import kind_of
from webhook.cluster.shapes import mapping
from webhook.levels.file import LevelsFile

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    name="explain",
    help=beginning_with(
        [
            "numafit explain research/train-0 --cluster cluster.json",
            "numafit explain pod.yaml --cluster cluster.json --node gpu-1 -o json",
        ],
        "Ask every rule, node and card about a pod of the cluster, or about those of a manifest: what it asks for, "
        "what admission says, what it holds, which card it would get now, and why not the others.",
    ),
)
def command(
    pod: Annotated[str, typer.Argument(metavar="POD", help="namespace/name, or a manifest; - for stdin")],
    cluster: Annotated[list[Path], typer.Option(metavar="FILE", help="the cluster")],
    node: Annotated[str, typer.Option(help="tell of this node only")] = "",
    output: Annotated[Form, typer.Option("--output", "-o", help="for people or for programs")] = Form.TABLE,
    levels: Levels = None,
    order: Annotated[Order | None, typer.Option(help="who decides between equal cards; else the policy file")] = None,
) -> None:
    """Explain pods."""
    policy = read_levels(levels)
    known = read_cluster(cluster, policy)
    if node and node not in known.facts().nodes:
        raise InputError(f"the cluster has no node {node!r}{_nearest(node, list(known.facts().nodes))}")
    explained = [_explained(one, known.facts(), policy, order or policy.order, node) for one in _pods(pod, known)]
    if output is Form.JSON:
        screen.document("Explanation", {"pods": [as_json(one) for one in explained]})
        return
    for position, one in enumerate(explained):
        if position:
            screen.put("")
        write_text(one)


def _explained(pod: Pod, facts: Facts, policy: LevelsFile, order: Order, node: str) -> Explained:
    labels = facts.namespaces.get(pod.namespace, {})
    levels = policy.levels(pod.namespace, labels, pod.labels, time.time())
    anew = as_new(pod) if facts.reservation(pod.uid) else pod
    subject = Subject(anew, facts.without_pod(pod.uid), policy.operator, levels, order)
    return Explained(pod, explain(subject), facts, node)


def _pods(name: str, cluster: FileCluster) -> Iterator[Pod]:
    if name == STDIN or Path(name).is_file():
        yield from _from_manifest(name)
        return
    namespace, slash, rest = name.partition("/")
    if not slash:
        raise InputError(f"{name!r} is neither a file nor namespace/name; write one of the two")
    found = cluster.pod(namespace, rest)
    if found is None:
        raise InputError(f"the cluster has no pod {name!r}{_nearest(name, _titles(cluster))}")
    yield found


def _from_manifest(name: str) -> Iterator[Pod]:
    found = False
    for document in read([name]):
        if not isinstance(document, Document):
            raise InputError(str(document))
        for workload in workloads(document.value):
            found = True
            namespace = workload.namespace or "default"
            try:
                yield read_pod(workload.pod(namespace), namespace)
            except MalformedObjectError as error:
                raise InputError(f"{name}: {workload.kind} {workload.name}: {error}") from None
    if not found:
        raise InputError(f"{name} holds no pod and no template of pods; name a file that does, or namespace/name")


def _titles(cluster: FileCluster) -> list[str]:
    pods = (mapping(one.get("metadata")) for one in cluster.objects() if kind_of(one) == "Pod")
    return [f"{metadata.get('namespace')}/{metadata.get('name')}" for metadata in pods]


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; it has {len(known)} others"
