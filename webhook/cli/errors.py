"""What ends a command: one sentence that says what was wrong and what to do."""

from typing import Final

FINDINGS: Final = 1
USAGE: Final = 2
CLUSTER: Final = 3


class CommandError(Exception):
    """A command cannot do what it was asked.

    CommandError
    ├── InputError      something that it was given cannot be used: exit code 2
    └── OutsideError    the cluster, a server or the file system did not do its part: exit code 3
    """

    exit_code = CLUSTER


class InputError(CommandError):
    """Something that a command was given cannot be used."""

    exit_code = USAGE


class OutsideError(CommandError):
    """The cluster, a server or the file system did not do its part."""
