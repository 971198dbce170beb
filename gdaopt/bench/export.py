"""Single programs as files for other software: as MPS, or as a CVXPY problem in Python.

The files hold a program in the units of solvers, in which its numbers are about 1: in its own units
costs and weights can span many decades, and absolute tolerances would have no meaning.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from gdaopt.bench.mps import mps_text
from gdaopt.bench.recorded import RecordedProgram
from gdaopt.support.files import write_text

EXPORTS = {"mps": ".mps", "python": ".py"}
"""The formats by name, and the endings of the files' names."""

_PYTHON = '''"""A {kind} program with {size} variables of a run of gdaopt, as a CVXPY problem.

    min cost @ x   s.t.   lower <= x <= upper,   row_lower <= A @ x <= row_upper

It is in the units in which gdaopt passes it to solvers. Its least value is {value!r}{source}.
"""

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array

inf = np.inf
cost = np.array({cost})
lower = np.array({lower})
upper = np.array({upper})
A = csr_array(
    (
        np.array({data}),
        np.array({indices}),
        np.array({indptr}),
    ),
    shape=({n_rows}, {size}),
)
row_lower = np.array({row_lower})
row_upper = np.array({row_upper})

x = cp.Variable({size}, name="x")
constraints = []
for sign, expression, bounds in (
    (-1, x, lower),
    (1, x, upper),
    (-1, A @ x, row_lower),
    (1, A @ x, row_upper),
):
    own = np.flatnonzero(np.isfinite(bounds))
    if len(own):
        constraints.append(sign * expression[own] <= sign * bounds[own])
problem = cp.Problem(cp.Minimize(cost @ x), constraints)

if __name__ == "__main__":
    problem.solve()
    print(problem.status, problem.value)
'''


def export(program: RecordedProgram, path: str | os.PathLike[str]) -> Path:
    """Write a program to a file, atomically: as MPS, or as Python, by the ending of its name."""
    if Path(path).suffix == EXPORTS["mps"]:
        return write_text(path, mps_text(program.arrays, f"gdaopt_{program.kind}") + "\n")
    return write_text(path, _python_text(program))


def _python_text(program: RecordedProgram) -> str:
    arrays = program.arrays
    numbers: dict[str, Any] = {
        "cost": arrays.cost,
        "lower": arrays.lower,
        "upper": arrays.upper,
        "row_lower": arrays.row_lower,
        "row_upper": arrays.row_upper,
        "data": arrays.coefficients,
        "indices": arrays.pattern.columns,
        "indptr": arrays.pattern.starts,
    }
    return _PYTHON.format(
        kind=program.kind,
        size=len(arrays.cost),
        n_rows=arrays.pattern.n_rows,
        value=float(arrays.cost @ program.polytope.coordinates(program.point)),
        source="" if program.is_exact else ", by the solver of that run",
        # To the last bit
        **{name: re.sub(r"\s+", " ", repr(array.tolist())) for name, array in numbers.items()},
    )
