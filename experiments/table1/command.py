"""Measure the paper's Table 1 again: errors of learned metrics, beside the published ones."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.pages import Experiment, origin
from experiments.table1.frames import score_frame
from experiments.table1.latex import latex
from experiments.table1.markdown import markdown
from experiments.table1.picture import picture
from experiments.table1.protocol import Protocol
from experiments.table1.published import DATASETS
from experiments.table1.rows import DEFAULT, ROWS, available
from experiments.table1.study import Part, measure
from gdaopt.datasets import load
from gdaopt.plotting.canvas import save_figure
from gdaopt.studies.study_directory import write_frame
from gdaopt.studies.task_workers import TaskWorkers
from gdaopt.support.files import write_text

SEEDS = 50
EXTRA = "yang2018-sdp", "iris", 2  # a row whose tasks take minutes: its data set and seeds
QUICK = ("gmml", "euclidean", "certified-diagonal")


def run(quick: bool, out: Path) -> None:
    """Run the tasks that are missing, with `quick` three rows on one seed of iris, and write."""
    left_out: list[str] = []
    if quick:
        parts = [Part(load("iris"), row, 1) for row in QUICK]
    else:
        rows, left_out = available(DEFAULT)
        data_sets = [load(name) for name in DATASETS]
        extra, name, n_seeds = EXTRA
        parts = [Part(load(name), extra, n_seeds)]  # first, because its tasks take longest
        parts += [Part(data, row, SEEDS) for row in rows for data in data_sets]

    def show(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
        if row is not None:
            print(f"{done} of {total}: {key}: {row['status']}", flush=True)

    outcome = measure(
        out / "study",
        parts,
        Protocol(),
        TaskWorkers(jobs=os.cpu_count() or 1),
        left_out=left_out,
        progress=show,
    )
    died = [task for block in outcome.blocks for task in block.failed if task["status"] == "died"]
    if died:  # it says nothing of the row
        raise RuntimeError(f"{len(died)} tasks died: {died[0]['message']}; run it again to go on")
    write_text(out / "table1.md", markdown(outcome, origin(out)))
    write_text(out / "table1.tex", latex(outcome))
    write_frame(out / "table1.parquet", score_frame(outcome))
    save_figure(out / "table1.png", picture(outcome))


EXPERIMENT = Experiment(
    f"the paper's Table 1 and {len(ROWS) - 6} further rows, by one protocol",
    minutes=25,
    files=("table1.md", "table1.tex", "table1.parquet", "table1.png"),
    run=run,
)
