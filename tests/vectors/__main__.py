"""Asks the vectors of the files named: `python -m tests.vectors [-v] FILE…`."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.vectors.deviations import DEVIATIONS
from tests.vectors.runner import Judgement, VectorFileError, judge, load_answers, read


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what failed and how many passed; return 1 if any failed, 2 if a file could not be read."""
    parser = argparse.ArgumentParser(prog="python -m tests.vectors", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("-v", action="store_true", dest="rules", help="name the vectors under each deviation")
    options = parser.parse_args(arguments)
    try:
        vectors = [vector for path in options.files for vector in read(path)]
    except VectorFileError as error:
        print(error, file=sys.stderr)
        return 2
    answers = load_answers()
    judgements = [judge(vector, answers, DEVIATIONS) for vector in vectors]
    if options.rules:
        _print_rules(judgements)
    return _print_failures(judgements)


def _print_rules(judgements: Iterable[Judgement]) -> None:
    under: dict[str, list[str]] = {}
    for judgement in judgements:
        if judgement.rule is not None:
            under.setdefault(judgement.rule.name, []).append(judgement.vector.id)
    for rule in DEVIATIONS:
        print(f"{rule.name} ({rule.decision}): {rule.reason}")
        print(f"    {' '.join(under.get(rule.name, ['no vector here']))}")


def _print_failures(judgements: Sequence[Judgement]) -> int:
    failed = [judgement for judgement in judgements if not judgement.passed]
    for one in failed:
        print(f"{one.vector.id} {one.vector.group}: expected {one.vector.expected!r}, got {one.got!r}")
    print(f"{len(judgements) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
