"""Single recorded programs as files for other software: MPS, and a Python file for CVXPY.

Both hold the program in the units of solvers, in which its numbers are about 1: in its own units
costs and weights can span many decades, and absolute tolerances would have no meaning.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gdaopt.backends import LinearArrays, write_mps
from gdaopt.bench.recorded import RecordedProgram
from gdaopt.support.files import write_atomically, write_text

__all__ = ["EXPORTS", "export_mps", "export_python", "exported_arrays"]

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


def exported_arrays(program: RecordedProgram) -> LinearArrays:
    """Return the arrays of a program, in the units that solvers see."""
    return program.program().prepared(program.cost, program.polytope).arrays()


def export_mps(program: RecordedProgram, path: str | os.PathLike[str]) -> Path:
    """Write a program as an MPS file, atomically.

    Parameters
    ----------
    program : RecordedProgram
        Such as `gdaopt.bench.load_programs` returns.
    path : path-like
        The file.

    Returns
    -------
    pathlib.Path
        The file.
    """
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / "program.mps"
        write_mps(exported_arrays(program), draft)
        content = draft.read_bytes()
    return write_atomically(path, lambda file: file.write(content))


def export_python(program: RecordedProgram, path: str | os.PathLike[str]) -> Path:
    """Write a program as a Python file that needs CVXPY alone, atomically.

    Parameters
    ----------
    program : RecordedProgram
        Such as `gdaopt.bench.load_programs` returns.
    path : path-like
        The file; the module in it has the names ``problem`` and ``x``.

    Returns
    -------
    pathlib.Path
        The file.
    """
    arrays = exported_arrays(program)
    units = np.broadcast_to(program.polytope.unit, program.cost.shape)
    point = np.divide(program.point, units, out=np.zeros(len(units)), where=units > 0)
    text = _PYTHON.format(
        kind=program.kind,
        size=len(arrays.cost),
        n_rows=arrays.pattern.n_rows,
        value=float(arrays.cost @ point),
        source="" if program.is_exact else ", by the solver of that run",
        cost=_listed(arrays.cost),
        lower=_listed(arrays.lower),
        upper=_listed(arrays.upper),
        data=_listed(arrays.coefficients),
        indices=_listed(arrays.pattern.columns),
        indptr=_listed(arrays.pattern.starts),
        row_lower=_listed(arrays.row_lower),
        row_upper=_listed(arrays.row_upper),
    )
    return write_text(path, text)


def _listed(values: np.ndarray) -> str:
    """Return numbers as a list in Python, to the last bit."""
    return re.sub(r"\s+", " ", repr(values.tolist()))


EXPORTS: dict[str, tuple[str, Callable[[RecordedProgram, Path], Path]]] = {
    "mps": (".mps", export_mps),
    "python": (".py", export_python),
}
"""The formats by name: the ending of the file's name, and who writes it."""
