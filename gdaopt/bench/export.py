"""Single recorded programs as files for other software: MPS, and a Python file for CVXPY.

Both hold the program in the units of solvers, in which its numbers are about 1: in its own units
costs and weights can span many decades, and absolute tolerances would have no meaning.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from gdaopt.backends import LinearArrays, write_mps
from gdaopt.bench.recorded import RecordedProgram
from gdaopt.bench.replayed import in_units
from gdaopt.support.files import write_atomically

__all__ = ["EXPORTS", "export", "exported_arrays"]

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


def export(program: RecordedProgram, path: str | os.PathLike[str]) -> Path:
    """Write a program to a file, atomically: as MPS, or as a Python file that needs CVXPY alone.

    Parameters
    ----------
    program : RecordedProgram
        Such as `gdaopt.bench.load_programs` returns.
    path : path-like
        The file, whose name ends with ``.mps`` or ``.py``; the module in a Python file has the
        names ``problem`` and ``x``.

    Returns
    -------
    pathlib.Path
        The file.
    """
    content = _CONTENT[Path(path).suffix](program)
    return write_atomically(path, lambda file: file.write(content))


def _mps(program: RecordedProgram) -> bytes:
    """Return a program as the content of an MPS file."""
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / "program.mps"
        write_mps(exported_arrays(program), draft)
        return draft.read_bytes()


def _python(program: RecordedProgram) -> bytes:
    """Return a program as the content of a Python file."""
    arrays = exported_arrays(program)
    numbers = {
        **{name: getattr(arrays, name) for name in _BOUNDS},
        "data": arrays.coefficients,
        "indices": arrays.pattern.columns,
        "indptr": arrays.pattern.starts,
    }
    return _PYTHON.format(
        kind=program.kind,
        size=len(arrays.cost),
        n_rows=arrays.pattern.n_rows,
        value=float(arrays.cost @ in_units(program.point, program.polytope.unit)),
        source="" if program.is_exact else ", by the solver of that run",
        # To the last bit
        **{name: re.sub(r"\s+", " ", repr(own.tolist())) for name, own in numbers.items()},
    ).encode()


_BOUNDS = ("cost", "lower", "upper", "row_lower", "row_upper")
_CONTENT = {".mps": _mps, ".py": _python}

EXPORTS = {"mps": ".mps", "python": ".py"}
"""The formats by name, and the endings of the files' names."""
