"""`numafit topology`: what each server is made of, and where servers that should be alike differ."""

import difflib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from policy.inventory.differences import differences
from policy.inventory.server import Server
from webhook.cli import screen
from webhook.cli.collected import Gathered, gather
from webhook.cli.errors import USAGE, InputError
from webhook.cli.examples import beginning_with
from webhook.cli.inputs import Levels, read_cluster, read_levels
from webhook.cli.screen import Form
from webhook.cli.server_picture import Pen
from webhook.cli.servers import servers
from webhook.cli.topology_report import as_json, write_text

app = typer.Typer(rich_markup_mode=None, add_completion=False)

WIDTH: Final = 100
_NONE_COLLECTED: Final = Gathered({}, ())


@app.command(
    name="topology",
    help=beginning_with(
        [
            "numafit topology --cluster cluster.json",
            "numafit topology gpu-1 gpu-2 --cluster cluster.json --collected collected/",
            "numafit topology --collected collected/ -o json",
        ],
        "Draw each server: sockets, NUMA nodes, CPUs (reserved, exclusive, shared), cards, links, NICs, kubelet "
        "settings; say what is not known and what would tell it, what sources say differently, and where servers with "
        "the same cards differ. --collected holds a directory for each node with files of any name: what "
        "`nvidia-smi topo -m`, `numactl --hardware`, `lscpu` and `lscpu -p` print, the kubelet's configuration or "
        "configz, and its cpu_manager_state. Exit code 2: something of it cannot be read (the rest is shown).",
    ),
)
def command(
    nodes: Annotated[list[str] | None, typer.Argument(metavar="NODE", help="these only")] = None,
    cluster: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="the cluster")] = None,
    collected: Annotated[Path | None, typer.Option(metavar="DIR", help="what was collected on nodes")] = None,
    levels: Levels = None,
    output: Annotated[Form, typer.Option("--output", "-o", help="for people or for programs")] = Form.TABLE,
) -> None:
    """Show servers."""
    if not cluster and collected is None:
        raise InputError("nothing says which servers there are; give --cluster FILE, --collected DIR or both")
    gathered = _NONE_COLLECTED if collected is None else gather(collected)
    known, unread = servers(read_cluster(cluster, read_levels(levels)) if cluster else None, gathered.servers)
    shown = _named(known, nodes or [])
    for problem in (*unread, *gathered.problems):
        screen.say(problem)
    found = differences(shown)
    if output is Form.JSON:
        screen.document("Topology", as_json(shown, found))
    else:
        write_text(shown, found, Pen.of(sys.stdout.encoding), _width())
    raise typer.Exit(USAGE if gathered.problems else 0)


def _width() -> int:
    return shutil.get_terminal_size((WIDTH, 0)).columns if sys.stdout.isatty() else WIDTH


def _named(known: Sequence[Server], names: Sequence[str]) -> tuple[Server, ...]:
    by_name = {server.name: server for server in known}
    for name in names:
        if name not in by_name:
            near = difflib.get_close_matches(name, by_name, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {len(by_name)} others"
            raise InputError(f"no server is named {name!r}; {hint}")
    return tuple(by_name[name] for name in dict.fromkeys(names)) if names else tuple(known)
