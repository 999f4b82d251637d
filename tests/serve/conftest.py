"""Real servers with real files."""

from collections.abc import Callable, Iterable, Iterator

import pytest

from tests.serve.running import Numafit, Object


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Numafit]]:
    """Starts servers on the given objects, with further flags, and ends those that the tests have left."""
    started: list[Numafit] = []

    def new(objects: Iterable[Object], *flags: str) -> Numafit:
        started.append(Numafit(tmp_path_factory.mktemp("numafit"), objects, flags))
        return started[-1]

    yield new
    for server in started:
        server.kill()
