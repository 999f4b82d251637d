"""One run of all measurements: `python -m tests.bench [--quick] [--gate] [--page]`."""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import decided, machine, report, through
from tests.bench.figures import Figure, State


def figures(directory: Path, quick: bool) -> Iterator[Figure]:
    """Measure everything, one group after the other."""
    repetitions = repetitions_of(quick)
    with machine.on_one_core():
        yield from decided.figures(directory, repetitions, 200 if quick else 2000)
    with through.running(directory) as servers:
        yield from through.reviews(servers, repetitions, 1.0 if quick else 4.0)
        yield from through.memory(servers)
    yield through.starts(directory, repetitions)


def repetitions_of(quick: bool) -> int:
    """How often each measurement is repeated."""
    return 2 if quick else 5


def main() -> int:
    """Measure, show, keep; say by the exit code whether the gates hold if that was asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repetitions: for development, kept nowhere")
    parser.add_argument("--gate", action="store_true", help="exit 1 if a gate is missed")
    parser.add_argument("--page", action="store_true", help="write the figures into docs/performance.md")
    options = parser.parse_args()
    about = machine.describe()
    print("\n".join(f"{name:14} {value}" for name, value in about.items()))
    began, wanted = datetime.now(UTC), machine.load()
    found: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="numafit-bench-") as directory:
        for figure in figures(Path(directory), options.quick):
            if not found or found[-1].group != figure.group:
                print(f"\n{figure.group}")
            report.show(figure)
            found.append(figure)
    run = {
        "taken_at": began.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "machine": about,
        "repetitions": repetitions_of(options.quick),
        "load": [wanted, machine.load()],
        "figures": [figure.plain() for figure in found],
    }
    if not options.quick:
        print(f"\nkept in {report.keep(run)}")
    if options.page:
        report.write_page(run, found)
    missed = [figure.name for figure in found if figure.state is State.MISSED]
    print(f"\ngates missed: {', '.join(missed) or 'none'}")
    return 1 if missed and options.gate else 0


if __name__ == "__main__":
    sys.exit(main())
