"""Single recorded programs as files for other software: MPS, and a Python file for CVXPY.

Both hold the program in the units of solvers, in which its numbers are about 1: in its own units
costs and weights can span many decades, and absolute tolerances would have no meaning.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

from gdaopt.backends import LinearArrays
from gdaopt.bench.recorded import RecordedProgram
from gdaopt.bench.replayed import in_units
from gdaopt.programs.base import Program
from gdaopt.support.files import write_atomically

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
    return Program().prepared(program.cost, program.polytope).arrays()


def export(program: RecordedProgram, path: str | os.PathLike[str]) -> Path:
    """Write a program to a file, atomically: as MPS, or as a Python file that needs CVXPY alone.

    The name of the file ends with ``.mps`` or ``.py``.
    """
    content = _CONTENT[Path(path).suffix](program)
    return write_atomically(path, lambda file: file.write(content))


def mps_text(arrays: LinearArrays, name: str) -> str:
    """Return a program as the text of an MPS file, whose numbers read back to the last bit.

    The columns are called c0, c1, …, and the rows r0, r1, …. Of a row with two bounds the distance
    of these is written, as the format has it, rounded. Coefficients of 0 are left out.
    """
    return "\n".join([f"NAME {name}", *_mps_lines(arrays), "ENDATA"])


def _mps_lines(arrays: LinearArrays) -> Iterator[str]:
    """Yield the sections of an MPS file, in free format."""
    rows = [*zip(arrays.row_lower.tolist(), arrays.row_upper.tolist(), strict=True)]
    kinds = [_row_kind(low, high) for low, high in rows]
    yield from ("ROWS", " N cost")
    yield from (f" {kind} r{i}" for i, kind in enumerate(kinds))
    yield "COLUMNS"
    columns = arrays.matrix.tocsc()
    for j, cost in enumerate(arrays.cost.tolist()):
        yield f" c{j} cost {cost!r}"
        own = slice(columns.indptr[j], columns.indptr[j + 1])
        for i, value in zip(columns.indices[own], columns.data[own].tolist(), strict=True):
            if value:
                yield f" c{j} r{i} {value!r}"
    yield "RHS"
    for i, (kind, (low, high)) in enumerate(zip(kinds, rows, strict=True)):
        if kind != "N":
            yield f" rhs r{i} {(high if kind == 'L' else low)!r}"
    yield "RANGES"
    for i, (kind, (low, high)) in enumerate(zip(kinds, rows, strict=True)):
        if kind == "G" and math.isfinite(high):
            yield f" ranges r{i} {high - low!r}"
    yield "BOUNDS"
    for j, (low, high) in enumerate(zip(arrays.lower.tolist(), arrays.upper.tolist(), strict=True)):
        if low == high:
            yield f" FX bounds c{j} {low!r}"
            continue
        if low:
            yield f" LO bounds c{j} {low!r}" if math.isfinite(low) else f" MI bounds c{j}"
        yield f" UP bounds c{j} {high!r}" if math.isfinite(high) else f" PL bounds c{j}"


def _row_kind(low: float, high: float) -> str:
    """Return the letter of a row: equal, at least, at most, or none of these."""
    if low == high:
        return "E"
    return "G" if math.isfinite(low) else "L" if math.isfinite(high) else "N"


def _mps(program: RecordedProgram) -> bytes:
    """Return a program as the content of an MPS file."""
    return (mps_text(exported_arrays(program), f"gdaopt_{program.kind}") + "\n").encode()


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
