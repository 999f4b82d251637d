"""The policy file on the disk: a good change is taken over, a bad one is refused and the last good one stays."""

import logging
import time
from collections.abc import Callable
from pathlib import Path

from certs.files import fingerprint
from webhook.levels.document import Document
from webhook.levels.file import LevelsFile
from webhook.levels.reading import LevelsError, load

_log = logging.getLogger(__name__)


class LevelsSource:
    """Holds the policy file in force.

    A changed file is read once two looks in a row have found it the same: what an editor has written half may well
    be good YAML.

    Attributes:
        current: the file in force; one read, from any thread.
        problem: why a newer file is not in force, empty if none is there.
    """

    def __init__(self, path: Path | None, authority: str = "self", clock: Callable[[], float] = time.time) -> None:
        """Read the file for the first time.

        Args:
            path: the policy file, None for built-in defaults.
            authority: the setting that says who owns reservations.
            clock: tells the time in seconds since the epoch.

        Raises:
            LevelsError: there is no good file yet, so nothing that could stay in force.
        """
        self._path = path
        self._authority = authority
        self._clock = clock
        self._seen = self._judged = fingerprint(path) if path else ()
        self._told: frozenset[str] = frozenset()
        self.problem = ""
        self.current = LevelsFile(load(path) if path else Document(version="numafit.io/v1"), authority)
        self._tell_expired()

    def refresh(self) -> bool:
        """Look at the file; called about every second, by one thread. Returns whether another one is in force now."""
        changed = self._path is not None and self._is_settled(self._path) and self._take_over(self._path)
        self._tell_expired()
        return changed

    def notes(self) -> tuple[str, ...]:
        """What the operator should know, one line each: a refused file, exemptions that have expired."""
        return (*self.problem.splitlines(), *self.current.expired(self._clock()))

    def _is_settled(self, path: Path) -> bool:
        before, self._seen = self._seen, fingerprint(path)
        return before == self._seen != self._judged

    def _take_over(self, path: Path) -> bool:
        self._judged = self._seen
        try:
            self.current = LevelsFile(load(path), self._authority)
        except LevelsError as error:
            self.problem = str(error)
            reasons = "; ".join(error.problems)
            _log.warning("the changed policy file is refused, the last good one stays in force: %s", reasons)
            return False
        self.problem = ""
        _log.info("the changed policy file %s is in force", path)
        return True

    def _tell_expired(self) -> None:
        expired = frozenset(self.current.expired(self._clock()))
        for line in sorted(expired - self._told):
            _log.warning("policy file: %s", line)
        self._told = expired
