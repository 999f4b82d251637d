"""The demo from its opening to what to try next."""

import shutil
import sys
from pathlib import Path
from typing import Final

from webhook.cluster.file import FileCluster
from webhook.demo.client import Client
from webhook.demo.judging import HERE, show_filled, show_refused, show_warned, typed
from webhook.demo.moving import show_moved, show_placed, show_repeated, show_strict
from webhook.demo.process import Running, running
from webhook.demo.stage import Stage

CLUSTER: Final = HERE / "cluster.json"
LEVELS: Final = HERE / "levels.yaml"
PROGRAM: Final = "numafit"

METRICS: Final = (
    'numafit_findings_total{code="pinned-fewer-than-requested"',
    'numafit_refits_total{code="refit-no-fit"',
    'numafit_requests_total{path="/refit",verdict="moved"',
)
"""How the metric lines begin that the demo shows."""


def tell(stage: Stage) -> None:
    """Start the server, tell everything, and leave nothing behind.

    Raises:
        OutsideError: the server did not do its part.
    """
    stage.title("numafit: judges GPU pods, and keeps their reservation on the card that kubelet hands over")
    with running(CLUSTER, LEVELS) as server:
        client = Client(server)
        _opening(server, client, stage)
        show_refused(client, stage)
        show_warned(client, stage)
        pod = show_filled(client, stage)
        placed = show_placed(client, stage, pod, FileCluster.load([CLUSTER]).facts())
        moved, left = show_moved(client, stage, placed)
        show_repeated(client, stage, moved, left)
        show_strict(client, stage, moved.facts)
        _outside(server, client, stage, moved.uid)
    _next(stage)


def _opening(server: Running, client: Client, stage: Stage) -> None:
    facts = FileCluster.load([CLUSTER]).facts()
    cards, pods = len(facts.inventory.card_nodes), len(facts.pod_nodes)
    stage.tell(
        f"The server is real and so are its answers. Its cluster ({len(facts.inventory.nodes)} nodes, {cards} GPUs, "
        f"{pods} placed pods) is a recorded one; the demo plays kubectl, scheduler, kubelet and device plugin on it."
    )
    version, issuer = client.connect()
    stage.said("")
    stage.command(f"numafit serve --cluster {typed(CLUSTER)} --levels {typed(LEVELS)} ...")
    stage.said(f"{version} on port {server.port}, certificate of {issuer}, verified with ca.crt alone")


def _outside(server: Running, client: Client, stage: Stage, uid: str) -> None:
    stage.step(
        "Seen from outside: the same codes everywhere",
        "Who operates the cluster counts refusals by code, and finds each decision in one line of the log, with how "
        "long it took.",
    )
    for beginning in METRICS:
        stage.said(next((line for line in client.metrics() if line.startswith(beginning)), f"no {beginning}"))
    stage.said("")
    stage.said(next((line for line in server.log() if "verdict=moved" in line and uid in line), "no line"))


def _next(stage: Stage) -> None:
    program = _program()
    stage.title("\nWhat to try next")
    stage.tell("Judge a manifest before it is applied, this one or your own:")
    stage.command(f"{program} review {typed(HERE / 'refused.yaml')}")
    stage.tell("See what every node and card makes of a pod:")
    stage.command(f"{program} explain {typed(HERE / 'strict.yaml')} --cluster {typed(CLUSTER)}")
    stage.tell("Serve a copy of your own cluster; nothing is installed in it, nothing is written to it:")
    stage.command("kubectl get nodes,pods,resourcequotas,namespaces -A -o json > my-cluster.json")
    stage.command(f"{program} serve --cluster my-cluster.json")


def _program() -> str:
    """The command as it can be typed here: `make demo` runs it from a virtual environment that nobody activated."""
    return PROGRAM if shutil.which(PROGRAM) else typed(Path(sys.executable).with_name(PROGRAM))
