"""`numafit explain`: why a pod goes where it goes, or nowhere."""

import difflib
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from policy.facts import Facts
from policy.placement.order import Order
from policy.pod import Pod, read_pod
from webhook.cli import screen
from webhook.cli.controllers import as_made
from webhook.cli.errors import InputError
from webhook.cli.examples import beginning_with
from webhook.cli.explained import Explained, as_json, write_text
from webhook.cli.explaining import Subject, as_new, explain
from webhook.cli.inputs import Levels, read_cluster, read_levels
from webhook.cli.judging import Judge, Judged
from webhook.cli.manifests import STDIN, Cause
from webhook.cli.pods import read_documents
from webhook.cli.screen import Form
from webhook.cluster.file import FileCluster
from webhook.cluster.objects import kind_of
from webhook.cluster.shapes import mapping

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    name="explain",
    help=beginning_with(
        [
            "numafit explain research/train-0 --cluster cluster.json",
            "numafit explain pod.yaml --cluster cluster.json --node gpu-1 -o json",
        ],
        "Ask every rule, node and card about a pod of the cluster, or about those of a manifest: what it asks for, "
        "what admission says, what it holds, which card it would get now, and why not the others. A manifest is judged "
        "as it would be stored, with what admission fills in.",
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
    judge = Judge(policy, known.facts(), "default", time.time())
    asked = _from_manifest(pod, judge) if pod == STDIN or Path(pod).is_file() else [_Asked(_of_cluster(pod, known))]
    explained = [_explained(one, judge, order or policy.order, node) for one in asked]
    if output is Form.JSON:
        screen.document("Explanation", {"pods": [as_json(one) for one in explained]})
        return
    for position, one in enumerate(explained):
        if position:
            screen.put("")
        write_text(one)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A pod as it is or would be stored, and what admission fills in before that."""

    pod: Pod
    filled: tuple[str, ...] = ()


def _explained(asked: _Asked, judge: Judge, order: Order, node: str) -> Explained:
    pod, facts, policy = asked.pod, judge.facts or Facts(), judge.levels
    labels = facts.namespaces.get(pod.namespace, {})
    levels = policy.levels(pod.namespace, labels, pod.labels, judge.now)
    anew = as_new(pod) if facts.reservation(pod.uid) else pod
    subject = Subject(anew, facts.without_pod(pod.uid), policy.operator, levels, order)
    return Explained(pod, explain(subject), facts, node, asked.filled)


def _of_cluster(name: str, cluster: FileCluster) -> Pod:
    namespace, slash, rest = name.partition("/")
    if not slash:
        raise InputError(f"{name!r} is neither a file nor namespace/name; write one of the two")
    found = cluster.pod(namespace, rest)
    if found is None:
        raise InputError(f"the cluster has no pod {name!r}{_nearest(name, _titles(cluster))}")
    return found


def _from_manifest(name: str, judge: Judge) -> Iterator[_Asked]:
    judged = [one for document in read_documents(name) for one in judge.judge(document)]
    for one in judged:
        if isinstance(one, Judged):
            yield _Asked(_stored(one), one.filled.names)
        elif one.cause is not Cause.UNKNOWN:
            raise InputError(str(one))
    if not any(isinstance(one, Judged) for one in judged):
        raise InputError(f"{name} holds no pod and no template of pods; name a file that does, or namespace/name")


def _stored(judged: Judged) -> Pod:
    """Return the pod as it would be stored."""
    from webhook.cli.stored import fill_in  # noqa: PLC0415 - only manifests need libraries that write patches and YAML

    source = deepcopy(judged.workload.pod(judged.namespace))
    fill_in(source, judged.filled)
    return as_made(judged.workload, read_pod(source, judged.namespace))


def _titles(cluster: FileCluster) -> list[str]:
    pods = (mapping(one.get("metadata")) for one in cluster.objects() if kind_of(one) == "Pod")
    return [f"{metadata.get('namespace')}/{metadata.get('name')}" for metadata in pods]


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; it has {len(known)} others"
