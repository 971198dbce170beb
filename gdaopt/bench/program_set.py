"""The set of sequences for others: recorded from runs, solved in fractions, written as files."""

from __future__ import annotations

import gzip
import hashlib
import json
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
from gdaopt.bench.export import exported_arrays, mps_text
from gdaopt.bench.recorded import load_programs, recording
from gdaopt.bench.sequences import KINDS
from gdaopt.bench.sequences import Sequence as Source
from gdaopt.datasets import load
from gdaopt.errors import InvalidInputError
from gdaopt.methods import solve
from gdaopt.problem import MetricProblem
from gdaopt.sets import GraphMetrics, SDDMetrics
from gdaopt.studies.study_directory import versions
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.files import write_atomically

_RHO = 1e-6
_SEED = 0
_DROPPED = 1e-9  # HiGHS' small_matrix_value
_TEXTS = Path(__file__).parent / "set_texts"
_BESIDE = ("README.md", "LICENSE", "replay.py.txt")  # a page, a licence, a script to begin with


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
        """The name of the folder."""
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
    """Write the set of sequences to a folder that is empty or does not exist.

    Of each sequence there are the first programs of its run, at most `most`. All numbers come from
    data sets of scikit-learn and from seeds: the same versions on the same kind of machine write
    the same bytes. `progress` gets a line on each sequence.
    """
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
    """Yield the files of a sequence, by name."""
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
    """Yield what has changed from one program to the next."""
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
