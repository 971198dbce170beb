"""What ``learners.py`` compares: data sets, folds, learners, and their fits in child processes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import IO, Any

import learners_child
import numpy as np
import sklearn
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

import gdaopt
from gdaopt.datasets import load
from gdaopt.datasets.uci_files import cache_directory
from gdaopt.io import write_atomically
from gdaopt.studies.directory_lock import sole_writer
from gdaopt.studies.process_per_task import ProcessPerTask
from gdaopt.studies.runner import Progress, Task, run_tasks
from gdaopt.studies.study_directory import StudyDirectory, task_key
from gdaopt.studies.worker_pool import ONE_THREAD
from gdaopt.validation import FloatArray

DATA = ("iris", "wine", "breast_cancer", "digits")
SEEDS = range(5)
FOLDS = 2
LIMIT = 300.0  # seconds a fit
REQUIREMENTS = ("metric-learn==0.7.0", "scikit-learn<1.6", "numpy<2")
_VERSIONS = """
import json, platform, metric_learn, numpy, scipy, sklearn
found = {"Python": platform.python_version()}
for module in (numpy, scipy, sklearn):
    found[module.__name__.replace("sklearn", "scikit-learn")] = module.__version__
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Learner:
    """A row of the table, and the class it stands for with its parameters."""

    name: str
    module: str
    class_name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        """Whether it is of this package."""
        return self.module == "gdaopt"

    @property
    def needs_environment(self) -> bool:
        """Whether it does not run here."""
        return self.module == "metric_learn"


NO_LEARNING = "no learning"
_OURS = {
    "graph": "GraphMetricLearner",
    "diagonal": "DiagonalMetricLearner",
    "positive definite": "PositiveDefiniteMetricLearner",
}
LEARNERS = (
    *(Learner(name, "gdaopt", name) for name in _OURS.values()),
    *(
        Learner(f"GDA, {name.upper()}, {metrics}", "gdaopt", class_name, {"objective": name})
        for name in ("mcml", "lmnn")
        for metrics, class_name in _OURS.items()
    ),
    Learner("scikit-learn NCA", "sklearn.neighbors", "NeighborhoodComponentsAnalysis"),
    *(
        Learner(f"metric-learn {name.removesuffix('_Supervised')}", "metric_learn", name)
        for name in ("LMNN", "ITML_Supervised", "NCA", "MMC_Supervised")
    ),
)


@dataclass(frozen=True, eq=False)
class Fold:
    """Training samples and queries, in z-scores by the training samples, and their labels."""

    X: FloatArray
    y: np.ndarray
    queries: FloatArray
    answers: np.ndarray


@cache
def folds(data: str) -> list[Fold]:
    """Return the folds of a data set, seed by seed."""
    if data == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        X, y = load(data).features, np.unique(load(data).labels, return_inverse=True)[1]
    found = []
    for seed in SEEDS:
        splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        for train, test in splitter.split(X, y):
            scaler = StandardScaler().fit(X[train])
            found.append(
                Fold(scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])
            )
    return found


def write_training_samples(data: str, file: IO[bytes]) -> None:
    """Write what learners see of a data set: X0, y0, X1, …"""
    arrays: dict[str, Any] = {}
    for n, fold in enumerate(folds(data)):
        arrays |= {f"X{n}": fold.X, f"y{n}": fold.y}
    np.savez(file, **arrays)


class Environment:
    """An environment of its own for metric-learn, which does not import with new scikit-learn.

    Attributes
    ----------
    python : pathlib.Path
        Its interpreter.
    versions : dict of str to str
        Of Python and the packages in it.

    Raises
    ------
    OSError, subprocess.CalledProcessError
        When it cannot be built, such as without a network.
    """

    def __init__(self) -> None:
        name = f"metric-learn-0.7.0-python{sys.version_info.major}.{sys.version_info.minor}"
        home = cache_directory() / name
        self.python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        try:
            self.versions = self._look()
        except (OSError, subprocess.CalledProcessError):  # none yet, or one that was not finished
            print(f"Building an environment with {REQUIREMENTS[0]} in {home} …", flush=True)
            pip = [str(self.python), "-m", "pip", "--disable-pip-version-check", "--quiet"]
            for command in (
                [sys.executable, "-m", "venv", "--clear", str(home)],
                [*pip, "install", *REQUIREMENTS],
            ):
                subprocess.run(command, check=True, capture_output=True, text=True)
            self.versions = self._look()

    def _look(self) -> dict[str, str]:
        command = [str(self.python), "-c", _VERSIONS]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found: dict[str, str] = json.loads(output)
        return found


def fit_task(stem: Path, python: str, learner: Learner, source: str) -> dict[str, Any]:
    """Fit a learner to the folds of a data set in a process of its own, and return its row."""
    target = stem.with_suffix(".npz")
    command = [python, learners_child.__file__, learner.module, learner.class_name]
    command += [json.dumps(dict(learner.parameters))]
    # The child ends with us: nobody else holds the end of the pipe that it reads from.
    its_end, our_end = os.pipe()
    child = subprocess.run(
        [*command, source, str(target), f"{LIMIT}"],
        stdin=its_end,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **ONE_THREAD},
    )
    os.close(our_end)
    if child.returncode == learners_child.LATE:
        return {"status": "time_limit", "message": f"a fit took more than {LIMIT:g} s"}
    if child.returncode < 0:  # as for want of memory; the runner tries again the next time
        raise OSError(f"killed by signal {-child.returncode}")
    if child.returncode:
        return {"status": "failed", "message": child.stderr.strip().splitlines()[-1]}
    with np.load(target) as answers:
        return {"seconds": answers["seconds"].tolist(), "unfinished": int(answers["unfinished"])}


def run_fits(
    path: Path, names: Sequence[str], environment: Environment | None, progress: Progress
) -> Iterator[tuple[str, str, dict[str, Any], list[FloatArray]]]:
    """Run the fits that are missing in a directory; yield data set, learner, row and matrices."""
    directory = StudyDirectory(
        path,
        {
            "requirements": REQUIREMENTS,
            "limit": LIMIT,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            "code": _code(),
        },
    )
    tasks, labels = {}, {}
    for data in names:
        source = write_atomically(path / f"{data}.npz", partial(write_training_samples, data))
        for learner in LEARNERS:
            python = sys.executable
            if learner.needs_environment:
                if environment is None:
                    continue
                python = str(environment.python)
            key = task_key(data, learner.name)
            tasks[key] = Task(fit_task, (python, learner, str(source)))
            labels[key] = data, learner.name
    with sole_writer(path):
        rows = run_tasks(directory, tasks, ProcessPerTask(), progress=progress)
    for key, row in rows.items():
        matrices = []
        if row["status"] == "finished":
            with np.load(directory.stem(key).with_suffix(".npz")) as answers:
                matrices = [answers[f"L{n}"] for n in range(len(SEEDS) * FOLDS)]
        yield *labels[key], row, matrices


def _code() -> str:
    """Return a digest of the package's source: times of different code make no table."""
    digest = hashlib.sha256(Path(learners_child.__file__).read_bytes())
    for file in sorted(Path(gdaopt.__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
