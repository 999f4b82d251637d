"""`numafit probe`: whether a container's CPUs and memory are beside its cards."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from webhook import probe_script
from webhook.cli import screen
from webhook.cli.errors import FINDINGS, InputError
from webhook.cli.examples import beginning_with
from webhook.cli.screen import Form

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class Verdict(StrEnum):
    """What can be expected."""

    LOCAL = probe_script.LOCAL
    REMOTE = probe_script.REMOTE
    UNBOUND = probe_script.UNBOUND
    UNKNOWN = probe_script.UNKNOWN


SCRIPT: Final = Path(probe_script.__file__)


@app.command(
    name="probe",
    help=beginning_with(
        [
            "numafit probe",
            "numafit probe --expect local",
            "numafit probe --script | kubectl exec -i train-0 -- python3 - --expect local",
        ],
        "Run where the work runs: which CPUs, which memory, which cards, and whether they are on the same NUMA nodes: "
        "local, remote, unbound (beside the cards and elsewhere) or unknown (with what would have to be known). "
        "--script prints the probe itself: one file that runs in any image with Python 3.8. "
        "Exit code 1: --expect is not met.",
    ),
)
def command(
    expect: Annotated[Verdict | None, typer.Option(help="end with exit code 1 unless this is the verdict")] = None,
    pid: Annotated[int | None, typer.Option(help="of this process, instead of the probe itself", min=1)] = None,
    root: Annotated[Path, typer.Option(metavar="DIR", help="where proc and sys are")] = Path("/"),
    script: Annotated[
        bool, typer.Option("--script", help="print the probe as one Python file, and do no more")
    ] = False,
    output: Annotated[Form, typer.Option("--output", "-o", help="for people or for programs")] = Form.TABLE,
) -> None:
    """Probe this container."""
    if script:
        screen.put(SCRIPT.read_text("utf-8").rstrip("\n"))
        return
    if not root.is_dir():
        raise InputError(f"{root} is no directory; give one that holds proc and sys")
    found = probe_script.probe(str(root), "self" if pid is None else str(pid))
    if output is Form.JSON:
        screen.document(
            found["kind"], {key: value for key, value in found.items() if key not in {"apiVersion", "kind"}}
        )
    else:
        screen.table((), _rows(found))
    if expect not in {None, found["verdict"]}:
        screen.say(f"the verdict is {found['verdict']}, expected was {expect}")
        raise typer.Exit(FINDINGS)


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "verdict", found["verdict"]
    yield "CPUs", f"{_known(found['cpus']['affinity'])} on NUMA nodes {_nodes(found['cpus']['nodes'])}"
    memory = found["memory"]
    policies = ", ".join(memory["policies"] or {}) or "unknown"
    yield (
        "memory",
        f"from NUMA nodes {_nodes(memory['nodes'])} (allowed {_known(memory['allowed'])}, policy {policies})",
    )
    if memory["pages"]:
        yield "pages", ", ".join(f"{count} on node {node}" for node, count in sorted(memory["pages"].items()))
    group = found["cgroup"]
    if group["version"] is not None:
        yield f"cgroup v{group['version']}", f"CPUs {group['cpus']}, memory nodes {_known(group['mems'])}"
    for card in found["gpus"]["cards"]:
        yield "GPU", f"{card['uuid']} at {card['pciBusId']} on NUMA node {_known(card['numaNode'])}: {card['verdict']}"
    yield from (("not known", need) for need in found["needs"])


def _known(value: object) -> str:
    return "?" if value is None else str(value)


def _nodes(nodes: Sequence[int] | None) -> str:
    return "?" if nodes is None else ", ".join(map(str, nodes)) or "none"
