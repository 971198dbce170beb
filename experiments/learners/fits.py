"""The fits of all learners to all folds, each learner in a child process; those done are kept."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.learners import child, data
from experiments.learners.environment import Environment
from experiments.learners.rows import SEARCH, Learner
from experiments.pages import MeasuredRows
from gdaopt.support import processes
from gdaopt.support.files import write_atomically
from gdaopt.support.validation import FloatArray

LIMIT = 120.0  # CPU seconds of a fit
SEARCH_LIMIT = 1800.0  # of the search, which fits a hundred metrics
MEMORY = 8  # GiB of the process of a learner

Fitted = tuple[str, str, dict[str, Any], list[FloatArray]]
"""Data set, learner, row and matrices L, one a fold."""


def fit_folds(
    target: Path, python: str, learner: Learner, source: str, limit: float
) -> dict[str, Any]:
    """Fit a learner to the folds of a data set in a process of its own, and return its row.

    The matrices go into the file `target`.
    """
    command = [python, child.__file__, learner.module, learner.class_name]
    command += [json.dumps(dict(learner.parameters)), source, str(target), f"{limit}", f"{MEMORY}"]
    # The child ends with us: nobody else holds the end of the pipe that it reads from.
    its_end, our_end = os.pipe()
    ended = subprocess.run(
        [*command, processes.__file__],
        stdin=its_end,
        capture_output=True,
        text=True,
        check=False,
    )
    os.close(our_end)
    os.close(its_end)
    if ended.returncode == child.LATE:
        return {"status": "time_limit", "message": f"a fit took more than {limit:g} s"}
    if ended.returncode < 0:  # as for want of memory: the next run tries again
        raise OSError(f"{learner.name} was killed by signal {-ended.returncode}")
    if ended.returncode:
        return {"status": "failed", "message": ended.stderr.strip().splitlines()[-1]}
    with np.load(target) as answers:
        return {
            "status": "finished",
            "seconds": answers["seconds"].tolist(),
            "unfinished": int(answers["unfinished"]),
            "memory": int(answers["memory"]),
        }


def limit_of(name: str) -> float:
    """Return how many CPU seconds a fit of a row may take."""
    return SEARCH_LIMIT if name == SEARCH else LIMIT


def run_fits(
    folder: Path,
    names: Sequence[str],
    learners: Sequence[Learner],
    environment: Environment | None,
) -> Iterator[Fitted]:
    """Run the fits that are missing in a folder, and yield all, those of an earlier run too."""
    rows = MeasuredRows(folder / "fits.jsonl")
    for name, (number, learner) in product(names, enumerate(learners)):
        source = folder / f"{name}.npz"
        if not source.exists():
            write_atomically(source, partial(data.write_training_samples, name))
        python = sys.executable
        if learner.needs_environment:
            assert environment is not None
            python = str(environment.python)
        target = folder / f"{name}-{number}.npz"
        fit = partial(fit_folds, target, python, learner, str(source), limit_of(learner.name))
        row = rows.get_or_measure(fit, data=name, learner=learner.name)
        matrices = []
        if row["status"] == "finished":
            with np.load(target) as answers:
                matrices = [answers[f"L{n}"] for n in range(len(data.folds(name)))]
        yield name, learner.name, row, matrices
