"""The fits of all learners to all folds, each learner in a child process; those done are kept."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

import gdaopt
from gdaopt.studies.runner import Progress, Task, run_tasks
from gdaopt.studies.study_directory import StudyDirectory, sole_writer, task_key
from gdaopt.studies.task_workers import ONE_THREAD, TaskWorkers
from gdaopt.support import processes
from gdaopt.support.files import write_atomically
from gdaopt.support.validation import FloatArray
from learners import child, data
from learners.environment import REQUIREMENTS, Environment
from learners.rows import LEARNERS, SEARCH, Learner

LIMIT = 120.0  # CPU seconds of a fit
SEARCH_LIMIT = 1800.0  # of the search, which fits a hundred metrics
MEMORY = 8  # GiB of the process of a learner

Fitted = tuple[str, str, dict[str, Any], list[FloatArray]]
"""Data set, learner, row and matrices L, one a fold."""


def fit_task(
    stem: Path, python: str, learner: Learner, source: str, limit: float
) -> dict[str, Any]:
    """Fit a learner to the folds of a data set in a process of its own, and return its row."""
    target = stem.with_suffix(".npz")
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
        env={**os.environ, **ONE_THREAD},
    )
    os.close(our_end)
    os.close(its_end)
    if ended.returncode == child.LATE:
        return {"status": "time_limit", "message": f"a fit took more than {limit:g} s"}
    if ended.returncode < 0:  # as for want of memory; the runner tries again the next time
        raise OSError(f"killed by signal {-ended.returncode}")
    if ended.returncode:
        return {"status": "failed", "message": ended.stderr.strip().splitlines()[-1]}
    with np.load(target) as answers:
        return {
            "seconds": answers["seconds"].tolist(),
            "unfinished": int(answers["unfinished"]),
            "memory": int(answers["memory"]),
        }


def limit_of(name: str) -> float:
    """Return how many CPU seconds a fit of a row may take."""
    return SEARCH_LIMIT if name == SEARCH else LIMIT


def run_fits(
    path: Path, names: Sequence[str], environment: Environment | None, progress: Progress
) -> Iterator[Fitted]:
    """Run the fits that are missing in a directory; yield all, those of an earlier run too."""
    directory = StudyDirectory(
        path,
        "learners",
        {
            "requirements": REQUIREMENTS,
            "limit": LIMIT,
            "search_limit": SEARCH_LIMIT,
            "memory": MEMORY,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            "code": _code(),
        },
    )
    tasks, labels = {}, {}
    for name in names:
        source = write_atomically(path / f"{name}.npz", partial(data.write_training_samples, name))
        for learner in LEARNERS:
            python = sys.executable
            if learner.needs_environment:
                if environment is None:
                    continue
                python = str(environment.python)
            key = task_key(name, learner.name)
            arguments = (python, learner, str(source), limit_of(learner.name))
            tasks[key] = Task(fit_task, arguments, endings=(".npz",))
            labels[key] = name, learner.name
    with sole_writer(path):
        rows = run_tasks(directory, tasks, TaskWorkers(), progress=progress)
    for key, row in rows.items():
        matrices = []
        if row["status"] == "finished":
            with np.load(directory.stem(key).with_suffix(".npz")) as answers:
                matrices = [answers[f"L{n}"] for n in range(len(data.folds(labels[key][0])))]
        yield *labels[key], row, matrices


def _code() -> str:
    """Return a digest of the package's source: times of different code make no table."""
    digest = hashlib.sha256()
    for file in (child.__file__, data.__file__):
        digest.update(Path(file).read_bytes())
    for source in sorted(Path(gdaopt.__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]
