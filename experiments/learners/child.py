"""Fit one learner to the folds of a file: the child process of ``fits.py``.

It runs in the environment of the learner's package, which may lack ``gdaopt``: it needs numpy,
psutil and that package only.

    python child.py MODULE CLASS PARAMETERS FOLDS.npz ANSWERS.npz LIMIT MEMORY PROCESSES.py
"""

import importlib
import json
import os
import runpy
import sys
import time
import warnings
from threading import Event, Thread
from typing import Any

import numpy as np

LATE = 3  # exit code: a fit took longer than the limit


def end_with_parent() -> None:
    """End this process once nobody holds the other end of its standard input."""
    os.read(0, 1)
    os._exit(1)


def end_when_late(is_over: Event, latest: float) -> None:
    """End this process once it has taken so many CPU seconds, unless the fit is over before."""
    # What others do on the machine does not count, and an exception would wait for compiled code.
    while not is_over.wait(max(latest - time.process_time(), 0.01)):
        if time.process_time() >= latest:
            os._exit(LATE)


def limit_memory(gibibytes: int) -> None:
    """Let larger arrays raise an error, rather than the machine run out of memory."""
    if sys.platform != "win32":
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_AS, (gibibytes << 30, gibibytes << 30))


def fit(learner: Any, X: Any, y: Any, limit: float) -> tuple[float, bool]:
    """Fit, and return the CPU seconds and whether the learner stopped short of its tolerance."""
    is_over = Event()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()  # one thread
        Thread(target=end_when_late, args=(is_over, start + limit), daemon=True).start()
        learner.fit(X, y)
        seconds = time.process_time() - start
        is_over.set()
    warned = any(warning.category.__name__ == "ConvergenceWarning" for warning in caught)
    # metric-learn says nothing of it, and counts its iterations from 0 or from 1.
    limit_of_iterations = getattr(learner, "max_iter", None) or np.inf
    return seconds, warned or bool(getattr(learner, "n_iter_", 0) + 1 >= limit_of_iterations)


def matrix_of(learner: Any, size: int) -> Any:
    """Return the matrix L of a learner whose `transform` maps x to L x, up to a shift."""
    return (learner.transform(np.eye(size)) - learner.transform(np.zeros((1, size)))).T


def main() -> None:
    """Fit to all folds and write what came out."""
    module, name, parameters, source, target, limit, memory, processes = sys.argv[1:]
    Thread(target=end_with_parent, daemon=True).start()
    limit_memory(int(memory))
    package = importlib.import_module(module)

    def make(parts: dict[str, Any]) -> Any:
        """Return a learner of the package, or a dict that is something else."""
        return getattr(package, parts.pop("class"))(**parts) if "class" in parts else parts

    peak_memory = runpy.run_path(processes)["peak_memory"]
    seconds: list[float] = []
    unfinished = 0
    matrices: dict[str, Any] = {}
    with np.load(source) as folds:
        for n in range(len(folds.files) // 2):
            learner = getattr(package, name)(**json.loads(parameters, object_hook=make))
            if "random_state" in learner.get_params():
                learner.set_params(random_state=0)
            X = folds[f"X{n}"]
            taken, short = fit(learner, X, folds[f"y{n}"], float(limit))
            matrices[f"L{n}"] = matrix_of(learner, X.shape[1])
            if not np.isfinite(matrices[f"L{n}"]).all():
                raise ValueError("its matrix is not finite")
            seconds.append(taken)
            unfinished += short
    np.savez(target, seconds=seconds, unfinished=unfinished, memory=peak_memory(), **matrices)


if __name__ == "__main__":
    main()
