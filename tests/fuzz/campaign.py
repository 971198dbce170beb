"""Random problems with linear constraints, many of them: counts by sort, and what fails.

    python -m tests.fuzz.campaign --problems 1000 --first 0 --jobs 2
    python -m tests.fuzz.campaign --sort tiny --problems 900

prints a table of what was tried and how it ended, and each failure with the ingredients that make
it again (see `tests.fuzz.constrained`).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pandas as pd

from tests.fuzz.constrained import SORTS, ConstrainedIngredients
from tests.fuzz.constrained_judge import Judged

__all__ = ["judged", "table"]

_CHUNK = 10
_EVERY = 5  # problems of graphs that the other methods see, too


def judged(seeds: Iterable[int], sort: str | None = None, every: int = _EVERY) -> pd.DataFrame:
    """Run and judge the problems of some seeds: one row each, with lists of faults.

    Other methods run on problems whose seed is a multiple of `every`, on none where it is 0.
    """
    rows = []
    for seed in seeds:
        began = time.process_time()
        own = ConstrainedIngredients.drawn(seed, sort)
        case = Judged(own, others=every > 0 and seed % every == 0)
        row = {
            "sort": own.label,
            "end": case.end,
            "compared with": case.checked,
            "faults": [fault.kind for fault in case.faults],
            "failures": [f"{fault.kind}: {fault.sentence}\n    {own}" for fault in case.faults],
            "seconds": time.process_time() - began,
        }
        rows.append(row)
    return pd.DataFrame(rows)


def table(found: pd.DataFrame) -> str:
    """Return a line for each sort: how often it ended how, and failed; and the kinds of faults."""
    ends = pd.crosstab(found["sort"], found["end"], margins=True, margins_name="all")
    failed = found["faults"].map(bool)
    ends["failed"] = failed.groupby(found["sort"]).sum()
    ends.loc["all", "failed"] = failed.sum()
    lists = [
        f"{name}: {found[name].explode().value_counts().to_dict() or 'none'}"
        for name in ("compared with", "faults")
    ]
    return "\n".join([ends.astype(int).to_string(), "", *lists])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--sort", choices=list(SORTS), help="all when left out")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.problems)
    chunks = [seeds[n : n + _CHUNK] for n in range(0, len(seeds), _CHUNK)]
    strict = partial(warnings.simplefilter, "error")
    with ProcessPoolExecutor(given.jobs, initializer=strict) as pool:
        found = pd.concat(pool.map(partial(judged, sort=given.sort), chunks), ignore_index=True)
    failures = found["failures"].explode().dropna()
    print("\n\n".join(sorted(failures)), table(found), sep="\n\n")
    print("seconds of the processor a problem:", found["seconds"].describe().to_dict())
    return int(len(failures) > 0)


if __name__ == "__main__":
    sys.exit(main())
