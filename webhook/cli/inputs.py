"""What commands are given: clusters in files and policy files. What cannot be used ends the command."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from policy.facts import Facts
from webhook.cli import screen
from webhook.cli.errors import InputError
from webhook.cluster.file import FileCluster
from webhook.cluster.interface import UnreadableFileError
from webhook.levels.document import Document
from webhook.levels.file import LevelsFile
from webhook.levels.reading import LevelsError, load

LEVELS_VARIABLE: Final = "NUMAFIT_LEVELS_FILE"


Levels = Annotated[
    Path | None, typer.Option("--levels", metavar="FILE", envvar=LEVELS_VARIABLE, help="the policy file")
]
"""The option that names a policy file; the variable is the server's setting."""


def read_levels(path: Path | None) -> LevelsFile:
    """Read the policy file, the built-in defaults where none is named.

    Raises:
        InputError: it cannot be used; the text has a line for each mistake.
    """
    try:
        return LevelsFile(Document(version="numafit.io/v1") if path is None else load(path))
    except LevelsError as error:
        raise InputError(str(error)) from None


def read_cluster(paths: Sequence[Path], levels: LevelsFile) -> FileCluster:
    """Read a cluster from files, and say what of it cannot be read.

    Raises:
        InputError: a file cannot be used.
    """
    try:
        cluster = FileCluster.load(paths, config=levels.operator.hami, declared=levels.declared)
    except UnreadableFileError as error:
        raise InputError(str(error)) from None
    for problem in cluster.problems():
        screen.say(f"cluster: {problem}")
    return cluster


def read_facts(paths: Sequence[Path], levels: LevelsFile) -> Facts | None:
    """What the files say of a cluster, None where no file is named or none of them holds a node.

    Raises:
        InputError: a file cannot be used.
    """
    facts = read_cluster(paths, levels).facts() if paths else Facts()
    if paths and not facts.inventory.nodes:
        screen.say("cluster: holds no nodes, so nothing is judged that depends on them")
    return facts if facts.inventory.nodes else None
