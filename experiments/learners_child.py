"""Fit one learner to the folds of a file: the child process of ``learners.py``.

It runs in the environment of the learner's package, which may lack ``gdaopt``: it needs numpy and
that package only.

    python learners_child.py MODULE CLASS PARAMETERS FOLDS.npz ANSWERS.npz LIMIT
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import warnings
from threading import Thread, Timer
from typing import Any

import numpy as np

LATE = 3  # exit code: a fit took longer than the limit


def end_with_parent() -> None:
    """End this process once nobody holds the other end of its standard input."""
    os.read(0, 1)
    os._exit(1)


def fit(learner: Any, X: Any, y: Any, limit: float) -> tuple[float, bool]:
    """Fit, and return the CPU seconds and whether the learner stopped short of its tolerance."""
    late = Timer(limit, os._exit, (LATE,))  # an exception would wait for compiled code
    late.daemon = True
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        late.start()
        start = time.process_time()  # one thread: what others do on the machine does not count
        learner.fit(X, y)
        seconds = time.process_time() - start
        late.cancel()
    warned = any(warning.category.__name__ == "ConvergenceWarning" for warning in caught)
    # metric-learn says nothing of it, and counts its iterations from 0 or from 1.
    limit_of_iterations = getattr(learner, "max_iter", None) or np.inf
    return seconds, warned or bool(learner.n_iter_ + 1 >= limit_of_iterations)


def main() -> None:
    """Fit to all folds and write what came out."""
    module, name, parameters, source, target, limit = sys.argv[1:]
    Thread(target=end_with_parent, daemon=True).start()
    learner_class = getattr(importlib.import_module(module), name)
    seconds: list[float] = []
    unfinished = 0
    components: dict[str, Any] = {}
    with np.load(source) as folds:
        for n in range(len(folds.files) // 2):
            learner = learner_class(**json.loads(parameters))
            if "random_state" in learner.get_params():
                learner.set_params(random_state=0)
            taken, short = fit(learner, folds[f"X{n}"], folds[f"y{n}"], float(limit))
            if not np.isfinite(learner.components_).all():
                raise ValueError("its matrix is not finite")
            components[f"L{n}"] = learner.components_
            seconds.append(taken)
            unfinished += short
    np.savez(target, seconds=seconds, unfinished=unfinished, **components)


if __name__ == "__main__":
    main()
