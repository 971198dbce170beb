"""Bench all solvers twice, and compare the orders in which their times put them.

Run ``python experiments/bench_twice.py`` from the top of a checkout (five minutes); it prints the
tables and writes ``figures/bench_twice.md``. Programs of iris, all solvers that work here. On a
machine with other work, ``chrt -f 10 taskset -c 0`` before the command gives it a core.
"""

import os
import tempfile
from pathlib import Path

import pandas as pd
from pages import Page, header, row
from scipy.stats import kendalltau

from gdaopt.bench.sequences import BenchOptions, ProgramSequence
from gdaopt.bench.study import Bench
from gdaopt.datasets import load

APART = 1.3  # ratio of times from which on solvers are told apart
KEY = ["program", "solver", "start"]


def bench(folder: Path) -> pd.Series:
    """Return the times of a bench, by kind of program, solver and start."""
    options = BenchOptions(tolerances=[1e-6], runs=[], most=50, budget=20.0)
    study = Bench(folder, [ProgramSequence("iris", load("iris"))], options)
    frame, _ = study.run()
    verified = frame[frame["verified_share"] == 1]  # others count the cap, and that is no noise
    return verified.set_index(KEY)["mean_seconds"]


def same_order(first: pd.Series, second: pd.Series) -> tuple[int, int]:
    """Return how many pairs of rows are apart in the first times, and how many of them so again."""
    same = pairs = 0
    for place in range(len(first)):
        slower = first > APART * first.iloc[place]
        pairs += int(slower.sum())
        same += int((second[slower] > second.iloc[place]).sum())
    return same, pairs


def sentence(same: int, pairs: int) -> str:
    """Return what is to be said of pairs of rows."""
    return (
        f"Of {pairs} pairs of rows whose times differ by more than {APART:g} in the first bench, "
        f"{same} have the same order in the second: Kendall's τ of them is "
        f"{2 * same / pairs - 1:.3f}."
    )


def main() -> None:
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        first, second = (bench(Path(folder) / name) for name in ("first", "second"))
    load, is_first = os.getloadavg()[1], os.sched_getscheduler(0) == os.SCHED_FIFO
    how = "before all other work on a core of its own" if is_first else "beside all other work"
    both = pd.DataFrame({"first": first, "second": second}).dropna()
    groups = both.groupby("program", sort=False)
    counts = {program: same_order(own["first"], own["second"]) for program, own in groups}
    page = Page(
        "bench_twice",
        "# The same bench twice",
        "",
        "Programs of iris, all solvers that work here, tolerance 1e-6, the rows that verified all",
        "answers. Milliseconds, as in `bench.md`, and the ratio to the least. Written by",
        f"`python experiments/bench_twice.py`; load of the machine at the end: {load:.1f}, cores: "
        f"{os.cpu_count()};",
        f"the bench ran {how}.",
        "",
        sentence(*(sum(own) for own in zip(*counts.values(), strict=True))),
    )
    for program, group in groups:
        same, pairs = counts[program]
        tau = kendalltau(group["first"], group["second"]).statistic
        page.add(
            "", f"## {program} programs", "", f"{sentence(same, pairs)} Of all: {tau:.3f}.", ""
        )
        page.add(*header("solver | start | first, ms | × best | second, ms | × best", words=2))
        for found in group.sort_values("first").reset_index().to_dict("records"):
            cells = [str(found["solver"]), str(found["start"])]
            for name in ("first", "second"):
                cells += [f"{1e3 * found[name]:.3g}", f"{found[name] / group[name].min():.3g}"]
            page.add(row(*cells))
    page.write()


if __name__ == "__main__":
    main()
