"""A backend as others would write it: SciPy's linprog, started from nothing."""

from typing import Any

import numpy as np
from scipy.optimize import linprog as solve

from gdaopt.backends import Answer, SolverEntry
from gdaopt.errors import InvalidInputError, SolverFailedError


class LinprogBackend:
    """The solvers of scipy.optimize.linprog."""

    name = "linprog"

    def __init__(self, options: Any, *, isolate: bool = False, hot: bool | None = None) -> None:
        if unknown := set(options) - {"primal_feasibility_tolerance"}:
            raise InvalidInputError(f"linprog does not know the options {sorted(unknown)}")
        self.options: Any = dict(options)

    def minimize(self, program: Any, cost: Any, watch: Any, time_limit: float | None) -> Answer:
        arrays = program.arrays(cost)
        upper, lower = np.isfinite(arrays.row_upper), np.isfinite(arrays.row_lower)
        matrix = arrays.matrix.toarray()
        rows = np.vstack([matrix[upper], -matrix[lower]])
        most = np.concatenate([arrays.row_upper[upper], -arrays.row_lower[lower]])
        bounds: Any = np.column_stack([arrays.lower, arrays.upper])
        watch.lap("write")
        found: Any = solve(arrays.cost, rows, most, bounds=bounds, options=self.options)
        watch.lap("solve")
        if found.status != 0:
            raise SolverFailedError(f"linprog ended on the {program.name}: {found.message}")
        return Answer(solver=self.name, point=found.x, iterations=int(found.nit))


linprog = SolverEntry(
    "linprog-backend",
    "MIT",
    ("simplex",),
    backend=LinprogBackend,
    tolerances=("primal_feasibility_tolerance",),
    hot=True,
)
