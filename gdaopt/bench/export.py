"""Programs as files for other software: single ones as MPS or Python, and a set of sequences.

The files hold a program in the units of solvers, in which its numbers are about 1: in its own units
costs and weights can span many decades, and absolute tolerances would have no meaning.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import compress, pairwise
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np

from gdaopt.backends import LinearArrays
from gdaopt.bench.exact import exact_optimum
from gdaopt.bench.recorded import RecordedProgram, load_programs, recording
from gdaopt.bench.sequences import KINDS
from gdaopt.bench.sequences import Sequence as Source
from gdaopt.datasets import load
from gdaopt.errors import InvalidInputError
from gdaopt.problem import MetricProblem
from gdaopt.sets import GraphMetrics, SDDMetrics
from gdaopt.solving import solve
from gdaopt.studies.study_directory import versions
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.files import write_atomically
from gdaopt.support.validation import as_path

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

_RHO = 1e-6
_SEED = 0
_DROPPED = 1e-9  # HiGHS' small_matrix_value
_TEXTS = Path(__file__).parent / "set_texts"
_BESIDE = ("README.md", "LICENSE", "replay.py.txt")  # a page, a licence, a script to begin with


def exported_arrays(program: RecordedProgram) -> LinearArrays:
    """Return the arrays of a program, in the units that solvers see."""
    return program.polytope.arrays(program.cost)


def export(program: RecordedProgram, path: str | os.PathLike[str]) -> Path:
    """Write a program to a file, atomically: as MPS, or as Python, by the ending of its name."""
    content = _CONTENT[Path(path).suffix](program)
    return write_atomically(path, lambda file: file.write(content))


def mps_text(arrays: LinearArrays, name: str) -> str:
    """Return the text of an MPS file; numbers read back to the last bit, but for rounded ranges."""
    return "\n".join([f"NAME {name}", *_mps_lines(arrays), "ENDATA"])


def _mps_lines(arrays: LinearArrays) -> Iterator[str]:
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
    if low == high:
        return "E"
    return "G" if math.isfinite(low) else "L" if math.isfinite(high) else "N"


def _mps(program: RecordedProgram) -> bytes:
    return (mps_text(exported_arrays(program), f"gdaopt_{program.kind}") + "\n").encode()


def _python(program: RecordedProgram) -> bytes:
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
        value=float(arrays.cost @ program.polytope.coordinates(program.point)),
        source="" if program.is_exact else ", by the solver of that run",
        # To the last bit
        **{name: re.sub(r"\s+", " ", repr(own.tolist())) for name, own in numbers.items()},
    ).encode()


_BOUNDS = ("cost", "lower", "upper", "row_lower", "row_upper")
_CONTENT = {".mps": _mps, ".py": _python}

EXPORTS = {"mps": ".mps", "python": ".py"}
"""The formats by name, and the endings of the files' names."""


@dataclass(frozen=True)
class _Recipe:
    """Programs of one kind, in the order in which a run solves them."""

    family: str
    kind: str
    data: str
    steps: float = 2  # of the run, for each program that is kept
    block: int = 10  # steps in a block of `alternating`

    @property
    def name(self) -> str:
        return "-".join(dict.fromkeys([self.family, self.kind, self.data]))

    def arrays(self, most: int) -> list[LinearArrays]:
        """Return the first programs of the run, in the units of solvers, without repetitions."""
        source, _, size = self.data.partition("-")
        given = Source(source, size=int(size)) if size else Source(source, load(source))
        objective = given.problem().objective
        bound = float(objective.n_features)
        family = SDDMetrics if self.family == "signed" else GraphMetrics
        rows = _rows if self.family == "rows" else None
        problem = MetricProblem(objective, family(bound, _RHO), constraints=rows)
        blocks = {"block_iterations": self.block} if self.kind != "joint" else {}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "run.npz"
            with recording(file):
                solve(
                    problem,
                    KINDS[self.kind],
                    solver="highspy" if rows else "analytic",
                    max_iterations=round(self.steps * most) + self.block,
                    tolerance=0.0,
                    trace_every=0,
                    **blocks,
                )
            programs = [
                _as_read(exported_arrays(one))
                for one in load_programs(file)
                if one.kind == self.kind
            ]
        told = [True, *(any(_changes(*pair)) for pair in pairwise(programs))]
        return [*compress(programs, told)][:most]


def _as_read(arrays: LinearArrays) -> LinearArrays:
    """Return a program without the coefficients that HiGHS drops when it reads a file."""
    kept = np.abs(arrays.coefficients) > _DROPPED
    return replace(arrays, coefficients=np.where(kept, arrays.coefficients, 0.0))


def _rows(M: Any) -> list[Any]:
    """Return three linear constraints of a user: ⟨A, M⟩ at most 0.1 above that of the identity."""
    matrices = np.random.default_rng(_SEED).standard_normal((3, *M.shape))
    return [cp.sum(cp.multiply(A, M)) <= np.trace(A) + 0.1 for A in matrices]


RECIPES = (
    *(_Recipe("diagonal", "diagonal", data, steps=16) for data in ("wine", "breast_cancer")),
    _Recipe("diagonal", "diagonal", "synthetic-10", steps=9, block=100),
    *(_Recipe("diagonal", "diagonal", f"synthetic-{size}", block=100) for size in (100, 500)),
    *(_Recipe("column", "column", data) for data in ("wine", "breast_cancer")),
    *(_Recipe("column", "column", f"synthetic-{size}") for size in (10, 100, 500)),
    *(_Recipe("joint", "joint", data) for data in ("wine", "breast_cancer")),
    *(_Recipe("joint", "joint", f"synthetic-{size}") for size in (10, 20, 50)),
    _Recipe("rows", "diagonal", "wine", steps=16),
    *(_Recipe("rows", "column", data) for data in ("wine", "synthetic-100")),
    *(_Recipe("rows", "joint", data) for data in ("wine", "synthetic-20")),
    *(_Recipe("signed", "column", data) for data in ("wine", "synthetic-50", "synthetic-200")),
    *(_Recipe("signed", "joint", data) for data in ("wine", "synthetic-20")),
)
"""The sequences, in five families: programs of the paper's three kinds; with linear constraints of
a user's (`_rows`); and with edges of either sign."""


def write_set(folder: Path, most: int, progress: Callable[[str], None] = lambda _: None) -> None:
    """Write the set of sequences to an empty folder: the same bytes by the same versions."""
    folder = as_path("folder", folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInputError(f"{folder} must be an empty directory; name another one")
    files = {name.removesuffix(".txt"): (_TEXTS / name).read_bytes() for name in _BESIDE}
    sequences = []
    for recipe in RECIPES:
        programs = recipe.arrays(most)
        files |= {
            f"{recipe.name}/{name}": content for name, content in _files_of(recipe.name, programs)
        }
        sequences.append(
            {
                "name": recipe.name,
                "family": recipe.family,
                "kind": recipe.kind,
                "data": recipe.data,
                "programs": len(programs),
                "variables": programs[0].pattern.size,
                "rows": programs[0].pattern.n_rows,
            }
        )
        progress(f"{recipe.name}: {len(programs)} programs")
    manifest = {
        "command": f"gdaopt bench --export-set DIR --most {most}",
        "licence": "CC-BY-4.0",
        "versions": versions(),
        "sequences": sequences,
        "files": {
            name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            for name, content in files.items()
        },
    }
    files["manifest.json"] = (json.dumps(manifest, indent=1) + "\n").encode()
    digest = hashlib.sha256(files["manifest.json"]).hexdigest()
    files["manifest.json.sha256"] = f"{digest}  manifest.json\n".encode()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, methodcaller("write", content))


def _files_of(name: str, programs: Sequence[LinearArrays]) -> Iterator[tuple[str, bytes]]:
    entries, optima = [], []
    before: LinearArrays | None = None
    for number, arrays in enumerate(programs):
        file = f"{name}_{number:03d}.mps.gz"
        yield file, gzip.compress(mps_text(arrays, f"{name}_{number:03d}").encode(), mtime=0)
        optimum = exact_optimum(arrays)
        value = optimum.value(arrays)
        changes = [] if before is None else list(_changes(before, arrays))
        entries.append({"file": file, "optimum": float(value), "changes": changes})
        optima.append(
            {
                "file": file,
                "optimum": str(value),
                "point": [_exact_json(one) for one in optimum.point],
                "row_duals": [_exact_json(one) for one in optimum.row_duals],
            }
        )
        before = arrays
    yield f"{name}.test", "".join(f"{entry['file']}\n" for entry in entries).encode()
    yield "manifest.json", (json.dumps({"programs": entries}, indent=1) + "\n").encode()
    yield "optima.json.gz", gzip.compress(json.dumps(optima).encode(), mtime=0)


def _changes(before: LinearArrays, after: LinearArrays) -> Iterator[str]:
    parts = {
        "costs": ("cost",),
        "coefficients": ("coefficients",),
        "bounds": ("lower", "upper"),
        "right-hand sides": ("row_lower", "row_upper"),
    }
    for name, arrays in parts.items():
        if not all(np.array_equal(getattr(before, one), getattr(after, one)) for one in arrays):
            yield name


def _exact_json(value: Fraction) -> float | str:
    """Return a fraction as a JSON number where that is exact; `Fraction` reads both."""
    return float(value) if Fraction(float(value)) == value else str(value)
