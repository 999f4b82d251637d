"""Lets kubelet's own code judge the kubelet model.

`python -m tests.kubelet_judge --cases 1000 --seed 7` draws cases of every profile and compares both answers;
`python -m tests.kubelet_judge --vectors FILE…` asks the judge the vectors of files and compares with what they expect.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.kubelet_judge import recorded
from tests.kubelet_judge.build import JudgeError, judge_program
from tests.kubelet_judge.judge import Judge
from tests.kubelet_judge.profiles import PROFILES
from tests.kubelet_judge.trial import Trial


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 where all agree, 1 where not, 2 where the judge cannot be built or asked."""
    options = _parser().parse_args(arguments)
    try:
        judge = Judge(judge_program(), options.patience)
        if options.vectors:
            return recorded.check(judge, options.vectors)
        return _compare(judge, options)
    except JudgeError as error:
        print(error, file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.kubelet_judge", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, metavar="N", help="cases in all (%(default)s)")
    seed = int.from_bytes(os.urandom(3), "big")
    parser.add_argument("--seed", type=int, default=seed, metavar="N", help="repeats a run; else a new one each time")
    parser.add_argument("--profile", choices=PROFILES, action="append", help="these profiles only (may be repeated)")
    parser.add_argument(
        "--patience", type=float, default=10.0, metavar="SECONDS", help="until kubelet stalls (%(default)s)"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="where disagreements are kept as vectors")
    parser.add_argument("--vectors", type=Path, nargs="+", metavar="FILE", help="ask these vectors instead")
    return parser


def _compare(judge: Judge, options: argparse.Namespace) -> int:
    started = time.monotonic()
    trial = Trial(judge, options.seed, options.profile or list(PROFILES))
    found = trial.run(options.cases)
    for name, (cases, ends) in trial.tally.items():
        print(f"{name:14} {cases:6} cases: {', '.join(f'{end} {count}' for end, count in ends.most_common())}")
    print(f"{options.cases} cases, seed {options.seed}, {time.monotonic() - started:.0f} s: {len(found)} disagreements")
    if options.write and found:
        recorded.write(options.write, found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
