"""Measure the paper's Table 1 again: 50 seeds, all rows, all four data sets.

Run ``python experiments/table1.py`` from the top of a checkout; it writes
``figures/table1.{md,tex,parquet,png}`` and prints how many of the published numbers are near, and
how long it took. What is done is kept in ``gdaopt-table1/``, from where an interrupted run goes on.
Yang 2018 with the published semidefinite relaxation is an extra row: 2 seeds of iris.
The data sets of UCI are found as `gdaopt.datasets.load` finds them (``GDAOPT_DATA``).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gdaopt.datasets import load
from gdaopt.studies.table1.protocol import Protocol
from gdaopt.studies.table1.published import DATASETS
from gdaopt.studies.table1.rows import DEFAULT, available
from gdaopt.studies.table1.study import Part, Table1, write_outcome
from gdaopt.studies.table1.tables import nearness
from gdaopt.studies.worker_pool import WorkerPool

FIGURES = Path(__file__).parent.parent / "figures"
EXTRA = ("iris", "yang2018-sdp", 2)  # minutes of semidefinite programs
TOLD_EVERY = 30.0  # seconds


def parts(n_seeds: int) -> tuple[list[Part], list[str]]:
    """Return what to run, and why some rows are not."""
    rows, left_out = available(DEFAULT)
    datasets = {name: load(name) for name in DATASETS}
    name, row, most = EXTRA
    extra = Part(datasets[name], row, min(most, n_seeds))  # first: its tasks take longest
    return [
        extra,
        *(Part(datasets[name], row, n_seeds) for row in rows for name in DATASETS),
    ], left_out


def main() -> None:
    """Run what is missing, write, and tell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("gdaopt-table1"))
    parser.add_argument("--figures", type=Path, default=FIGURES)
    options = parser.parse_args()
    chosen, left_out = parts(options.seeds)
    study = Table1(options.out, chosen, Protocol(), left_out=left_out)
    start = told = time.monotonic()
    before = study.n_done
    print(f"{before} of {len(study.cells)} tasks are there already", flush=True)

    def tell(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
        nonlocal told
        now = time.monotonic()
        if row is not None and row["status"] != "finished":
            print(f"{study.label(key)}: {row['status']}: {row['message']}", flush=True)
        if now - told >= TOLD_EVERY:
            told = now
            left = (now - start) / max(done - before, 1) * (total - done)
            print(f"{done} of {total} tasks, {left / 60:.1f} minutes left", flush=True)

    outcome = study.run(WorkerPool(jobs=options.jobs), tell)
    write_outcome(outcome, options.figures)
    for sentence in left_out:
        print(f"left out: {sentence}")
    for aggregation in outcome.aggregations:
        print(nearness(outcome, aggregation))
    minutes = (time.monotonic() - start) / 60
    print(f"{len(study.cells) - before} tasks in {minutes:.1f} minutes, {options.jobs} jobs")


if __name__ == "__main__":
    main()
