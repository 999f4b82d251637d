"""`numafit capacity`: how many pods of a kind can run now, what binds, and what would help."""

from pathlib import Path
from typing import Annotated

import typer

from policy.pod import Pod
from webhook.cli import screen
from webhook.cli.capacity_report import as_json, write_text
from webhook.cli.counted import Asked, count
from webhook.cli.errors import FINDINGS, InputError
from webhook.cli.examples import beginning_with
from webhook.cli.inputs import Levels, read_levels
from webhook.cli.pods import read_pods
from webhook.cli.room import Known, read_known, read_member
from webhook.cli.screen import Form
from webhook.cli.shape import read_shape
from webhook.cli.words import when_said
from webhook.cluster.moments import rfc3339

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    name="capacity",
    help=beginning_with(
        [
            "numafit capacity -f pod.yaml --cluster cluster.json",
            "numafit capacity --shape gpus=2,cpus=16,locality=zone:gpu+cpu --count 4 --cluster cluster.json",
            "numafit capacity -f job.yaml --count 8 --cluster cluster.json -o json",
        ],
        "Free cards against runnable ones, by node and NUMA node: what binds, how many could run if the pod asked for "
        "less or were bound less, what would have to become free, and the cheapest move of another pod. A shape is "
        "gpus, gpumem (MiB), gpumem-percentage, gpucores, cpus, mem, type and locality (node, zone:gpu, zone:gpu+cpu, "
        "zone:gpu+cpu+mem). What the file does not say refuses nothing and is named. Exit code 1: too few can run.",
    ),
)
def command(  # noqa: PLR0913, PLR0917 - one parameter for each flag
    cluster: Annotated[list[Path], typer.Option(metavar="FILE", help="the cluster")],
    file: Annotated[str, typer.Option("--file", "-f", metavar="POD", help="a manifest; - for stdin")] = "",
    shape: Annotated[str, typer.Option(help="what to ask for, instead of a manifest")] = "",
    count_: Annotated[int, typer.Option("--count", min=1, max=100_000, help="how many are needed")] = 1,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="of what names none; its quota counts")
    ] = "default",
    levels: Levels = None,
    output: Annotated[Form, typer.Option("--output", "-o", help="for people or for programs")] = Form.TABLE,
) -> None:
    """Count what can run."""
    if bool(file) == bool(shape):
        raise InputError("give what is asked for by -f POD or by --shape KEY=VALUE,…: one of the two")
    known = read_known(cluster, read_levels(levels))
    found = [count(asked, known) for asked in _asked(file, shape, count_, namespace, known)]
    if output is Form.JSON:
        taken = when_said(known.facts.taken_at, rfc3339)
        screen.document("Capacity", {"takenAt": taken, "pods": [as_json(each, known) for each in found]})
    else:
        for position, each in enumerate(found):
            if position:
                screen.put("")
            write_text(each, known)
    raise typer.Exit(0 if all(each.fits for each in found) else FINDINGS)


def _asked(file: str, shape: str, needed: int, namespace: str, known: Known) -> list[Asked]:
    if shape:
        return [Asked("shape", read_shape(shape, known.config, needed), Pod(namespace=namespace))]
    return [
        Asked(title, read_member(pod, known.config, title, count=needed), pod)
        for title, pod in read_pods(file, namespace)
    ]
