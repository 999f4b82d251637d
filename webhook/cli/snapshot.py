"""`numafit snapshot`: a cluster as one file that every command reads."""

import os
import stat
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from webhook.cli import screen
from webhook.cli.errors import InputError, OutsideError
from webhook.cli.examples import beginning_with
from webhook.cli.inputs import Levels, read_cluster, read_levels
from webhook.cluster import snapshot
from webhook.cluster.interface import UnreachableError
from webhook.levels.document import Document

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    name="snapshot",
    help=beginning_with(
        [
            "numafit snapshot --from cluster.json --redact -o shared.json",
            "numafit snapshot -o cluster.json",
            "numafit snapshot --context staging --redact",
        ],
        "Write what numafit reads of a cluster: nodes, pods, quotas, namespaces and node topologies. --redact leaves "
        "out everything that numafit does not read (docs/embedded.md lists what stays), so it can be shared; names "
        "stay. Exit code 3: the cluster cannot be reached.",
    ),
)
def command(
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="instead of stdout")] = None,
    redact: Annotated[bool, typer.Option("--redact", help="keep nothing that could hold a secret")] = False,
    kubeconfig: Annotated[Path | None, typer.Option(metavar="FILE", help="else KUBECONFIG or the pod's own")] = None,
    context: Annotated[str | None, typer.Option(help="context of the kubeconfig")] = None,
    source: Annotated[list[Path] | None, typer.Option("--from", metavar="FILE", help="files, not a cluster")] = None,
    levels: Levels = None,
) -> None:
    """Write a snapshot."""
    if source and (kubeconfig or context):
        raise InputError("--from reads files and --kubeconfig and --context a cluster; give one of the two")
    policy = read_levels(levels)
    if source:
        cluster = read_cluster(source, policy)
        objects: Sequence[Mapping[str, Any]] = cluster.objects()
        taken_at = cluster.facts().taken_at
    else:
        objects, taken_at = _live(kubeconfig, context), time.time()
    keys = frozenset(_label_keys(policy.document))
    made = snapshot.snapshot(objects, taken_at, redact=redact, label_keys=keys)
    _write(snapshot.encode(made), output)
    screen.say(f"{len(made['items'])} objects{' redacted' if redact else ''}")


def _live(kubeconfig: Path | None, context: str | None) -> Sequence[Mapping[str, Any]]:
    if kubeconfig and not kubeconfig.is_file():
        raise InputError(f"{kubeconfig}: there is no such file; name a kubeconfig")
    from webhook.cluster.live_read import read_cluster as read_live  # noqa: PLC0415 - files need no Kubernetes client

    try:
        return read_live(kubeconfig, context)
    except UnreachableError as error:
        raise OutsideError(str(error)) from None


def _label_keys(document: Document) -> Iterable[str]:
    selectors = [entry.selector for entry in document.namespaces] + [each.selector for each in document.exemptions]
    for selector in selectors:
        yield from (*selector.match_labels, *(requirement.key for requirement in selector.match_expressions))
    for node in document.nodes:
        yield from node.selector.match_labels


def _write(content: bytes, output: Path | None) -> None:
    """To a file that only its owner reads: without redaction it holds whatever pods hold."""
    if output is None:
        sys.stdout.buffer.write(content)
        return
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.fchmod(descriptor, 0o600)  # the file may have been there before
            file.write(content)
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}; name a file in a directory of yours") from None
