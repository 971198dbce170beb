"""An outcome that several tests of the study share."""

import pytest

from experiments.table1.outcome import Block, Outcome
from tests.experiments.table1.cases import block, outcome, task


@pytest.fixture
def some() -> Outcome:
    """Two data sets; a row without failures, one with, a GLR row, and an extra one of one seed."""
    facts = {"class": "a", "seconds": 2.0, "status": "stalled", "iterations": 7, "components": 3}
    told = [{**facts, "objective": 5.0, "relative_gap": gap} for gap in (0.25, None)]
    more = {"metrics": told, "warned": {"ConvergenceWarning": 2}}
    tasks = [task("alternating", "iris", 0, fold, 2, **more) for fold in (0, 1)]
    about = {"dataset": "wine", "row": "gmml", "seed": 0, "fold": 1}
    failed = {**about, "status": "failed", "message": "one | two\nthree"}
    return outcome(
        *(block("gmml", [[3, 4], [5, 6]]), block("nca", [[3, 3], [2, 2]])),
        Block("wine", "gmml", [[task("gmml", "wine", 0, 0, 3), failed]] * 2),
        block("nca", [[1, 2], [2, 3]], "wine"),
        Block("iris", "alternating", [tasks, tasks]),
        block("yang2018-sdp", [[3, 3]]),
        left_out=["lmnn: metric-learn is | not installed"],
    )
