"""`numafit group`: whether a group of pods can start now, which member cannot, and what would help."""

from pathlib import Path
from typing import Annotated

import typer

from policy.capacity.mixed import Verdict
from webhook.cli import screen
from webhook.cli.errors import FINDINGS, InputError
from webhook.cli.examples import beginning_with
from webhook.cli.gangs import Gang, Roll
from webhook.cli.group_report import as_json, write_text
from webhook.cli.grouped import judge
from webhook.cli.inputs import Levels, read_levels
from webhook.cli.pods import read_documents
from webhook.cli.quorums import MalformedGroupError
from webhook.cli.room import Known, read_known
from webhook.cli.screen import Form
from webhook.cli.words import when_said
from webhook.cluster.moments import rfc3339
from webhook.cluster.objects import kind_of
from webhook.cluster.shapes import mapping

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    name="group",
    help=beginning_with(
        [
            "numafit group -f pod.yaml --cluster cluster.json",
            "numafit group -f train.yaml --cluster cluster.json -o json",
            "helm template . | numafit group -f - --cluster cluster.json",
        ],
        "Each group of the manifest by itself, all or nothing: can it start now, which members cannot, on what, and "
        "the smallest sets of changes with which it could. Read are PodGroups (Coscheduling, Koordinator, Volcano, "
        "KAI, Kubernetes) and Kubernetes' Workloads with the pods that join them, of the file and of the cluster; and "
        "what makes pods: Jobs, JobSets, LeaderWorkerSets, Volcano and Kubeflow jobs, Kueue Workloads, RayClusters and "
        "the like. Exit code 1: a group cannot start, or nobody knows.",
    ),
)
def command(
    file: Annotated[str, typer.Option("--file", "-f", metavar="FILE", help="a manifest; - for stdin")],
    cluster: Annotated[list[Path], typer.Option(metavar="FILE", help="the cluster")],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="of what names none")] = "default",
    levels: Levels = None,
    output: Annotated[Form, typer.Option("--output", "-o", help="for people or for programs")] = Form.TABLE,
) -> None:
    """Judge groups."""
    known = read_known(cluster, read_levels(levels))
    answers = [judge(gang, known) for gang in _gangs(file, namespace, known)]
    if output is Form.JSON:
        taken = when_said(known.facts.taken_at, rfc3339)
        screen.document("Groups", {"takenAt": taken, "groups": [as_json(each) for each in answers]})
    else:
        for position, each in enumerate(answers):
            if position:
                screen.put("")
            write_text(each)
    raise typer.Exit(0 if all(each.verdict is Verdict.YES for each in answers) else FINDINGS)


def _gangs(file: str, namespace: str, known: Known) -> list[Gang]:
    """Read the groups of a file, with their pods in the cluster that the file leaves out."""
    roll = Roll(namespace, file)
    try:
        roll.take(document.value for document in read_documents(file))
        given = {(part.pod.namespace, part.pod.name) for gang in roll.gangs.values() for part in gang.parts}
        for source in known.cluster.objects() if roll.gangs else ():
            metadata = mapping(source.get("metadata"))
            place = str(metadata.get("namespace")), str(metadata.get("name"))
            pod = known.cluster.pod(*place) if kind_of(source) == "Pod" and place not in given else None
            if pod is not None:
                roll.join(pod)
    except MalformedGroupError as error:
        raise InputError(f"{file}: {error}") from None
    if not roll.gangs:
        raise InputError(f"{file} holds no group, no pod and no template of pods; name a file that does")
    return list(roll.gangs.values())
