"""How the tests ask a policy file."""

from datetime import UTC, datetime

from tests.levels.texts import HEAD
from webhook.levels.file import LevelsFile
from webhook.levels.reading import read


def in_force(text: str) -> LevelsFile:
    return LevelsFile(read(HEAD + text))


def at(moment: str) -> float:
    return datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()


NOW = at("2026-12-01T12:00:00")
