"""Random problems with linear constraints, many of them: counts by sort, and what fails.

    python -m tests.fuzz.campaign --problems 1000 --first 0 --jobs 2
    python -m tests.fuzz.campaign --sort free --problems 900

prints a table of what was tried and how it ended, and each failure with the ingredients that make
it again (see `tests.fuzz.constrained`).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from tests.fuzz.constrained import SORTS, ConstrainedIngredients
from tests.fuzz.constrained_judge import Judged

__all__ = ["Counts", "judged"]

_CHUNK = 10
_EVERY = 5  # problems of graphs that the other methods see, too


@dataclass
class Counts:
    """What became of some problems."""

    ends: Counter[tuple[str, str]] = field(default_factory=Counter)  # by sort and end
    failed: Counter[str] = field(default_factory=Counter)  # by sort
    kinds: Counter[str] = field(default_factory=Counter)  # of faults
    checked: Counter[str] = field(default_factory=Counter)  # by what was compared
    failures: list[str] = field(default_factory=list)  # with what makes each of them again
    seconds: list[float] = field(default_factory=list)  # of the processor, for each problem

    def add(self, other: Counts) -> None:
        """Take the counts of other problems."""
        self.ends += other.ends
        self.failed += other.failed
        self.kinds += other.kinds
        self.checked += other.checked
        self.failures += other.failures
        self.seconds += other.seconds

    def table(self) -> str:
        """Return a line for each sort: tried, how it ended, failed; and the kinds of faults."""
        sorts = sorted({sort for sort, _ in self.ends})
        ends = sorted({end for _, end in self.ends})
        lines = [f"{'':26}{'tried':>7}" + "".join(f"{end[:15]:>16}" for end in ends) + "  failed"]
        for sort in [*sorts, "all"]:
            counts = [
                sum(n for (s, e), n in self.ends.items() if e == end and sort in (s, "all"))
                for end in ends
            ]
            failed = self.failed.total() if sort == "all" else self.failed[sort]
            numbers = "".join(f"{count:>16}" for count in counts)
            lines.append(f"{sort:26}{sum(counts):>7}{numbers}{failed:>8}")
        lines += ["", "compared with: " + _listed(self.checked), "faults: " + _listed(self.kinds)]
        return "\n".join(lines)


def _listed(counts: Counter[str]) -> str:
    return "; ".join(f"{name} {count}" for name, count in counts.most_common()) or "none"


def judged(seeds: Iterable[int], sort: str | None = None) -> Counts:
    """Run and judge the problems of some seeds."""
    counts = Counts()
    for seed in seeds:
        began = time.process_time()
        ingredients = ConstrainedIngredients.drawn(seed, sort)
        case = Judged(ingredients, others=seed % _EVERY == 0)
        counts.seconds.append(time.process_time() - began)
        counts.ends[ingredients.label, case.end] += 1
        counts.failed[ingredients.label] += bool(case.faults)
        counts.checked.update(case.checked)
        counts.kinds.update(fault.kind for fault in case.faults)
        for fault in case.faults:
            counts.failures.append(f"{fault.kind}: {fault.sentence}\n    {ingredients}")
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--sort", choices=list(SORTS), help="all when left out")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("error")
    seeds = range(given.first, given.first + given.problems)
    chunks = [seeds[n : n + _CHUNK] for n in range(0, len(seeds), _CHUNK)]
    total = Counts()
    with ProcessPoolExecutor(
        given.jobs, initializer=partial(warnings.simplefilter, "error")
    ) as pool:
        for counts in pool.map(partial(judged, sort=given.sort), chunks):
            total.add(counts)
    print("\n\n".join(sorted(total.failures)))
    print(f"\n{total.table()}")
    middle, most = statistics.median(total.seconds), max(total.seconds)
    print(
        f"seconds of the processor a problem: median {middle:.3f}, at most {most:.1f}, "
        f"{sum(total.seconds):.0f} in all"
    )
    return min(total.failed.total(), 1)


if __name__ == "__main__":
    sys.exit(main())
