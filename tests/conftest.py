"""How properties run: the same cases each time in the default profile, more and new ones in `long`."""

import os
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import settings

PROFILE_VARIABLE: Final = "NUMAFIT_TEST_PROFILE"

_REMARKS: Final = pytest.StashKey[list[str]]()

settings.register_profile("default", derandomize=True, database=None, deadline=None, print_blob=True)
settings.register_profile("long", derandomize=False, database=None, deadline=None, print_blob=True, max_examples=2000)
settings.load_profile(os.environ.get(PROFILE_VARIABLE) or "default")


@pytest.fixture
def remark(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Take a line that is to stand below the test results, passed or not."""
    return request.config.stash.setdefault(_REMARKS, []).append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(_REMARKS, []):
        terminalreporter.write_line(line)
