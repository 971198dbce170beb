"""Make a set of sequences of linear programs for others, with their optima proven in fractions.

Run ``python experiments/sequences/make.py DIR --most 4`` (seconds; 100 programs of each sequence
take a minute or two, and 16 MB). The set is written to an empty folder. The same version on the
same machine writes the same bytes. The files hold programs in the units of solvers, in which their
numbers are about 1.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import compress, pairwise
from operator import methodcaller
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np

from gdaopt.backends import LinearArrays
from gdaopt.bench import ProgramSequence, load_programs, recording
from gdaopt.bench.mps import mps_text
from gdaopt.bench.sequences import KINDS
from gdaopt.datasets import load
from gdaopt.errors import InvalidInputError
from gdaopt.problem import MetricProblem
from gdaopt.sets import GraphMetrics, SDDMetrics
from gdaopt.solving import solve
from gdaopt.studies.study_directory import versions
from gdaopt.support.files import write_atomically
from gdaopt.support.validation import integer

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[0] = str(HERE.parent.parent)  # where the package ``experiments`` lies

from experiments.sequences.exact import exact_optimum  # noqa: E402 (the line above finds it)

RHO = 1e-6
SEED = 0
DROPPED = 1e-9  # HiGHS' small_matrix_value
BESIDE = ("README.md", "LICENSE", "replay.py")  # a page, a licence, a script to begin with


@dataclass(frozen=True)
class Recipe:
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
        sequence = (
            ProgramSequence(source, size=int(size))
            if size
            else ProgramSequence(source, load(source))
        )
        objective = sequence.problem().objective
        bound = float(objective.n_features)
        family = SDDMetrics if self.family == "signed" else GraphMetrics
        rows = user_rows if self.family == "rows" else None
        problem = MetricProblem(objective, family(bound, RHO), constraints=rows)
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
                as_read(program.arrays)
                for program in load_programs(file)
                if program.kind == self.kind
            ]
        is_new = [True, *(any(list_changes(*pair)) for pair in pairwise(programs))]
        return [*compress(programs, is_new)][:most]


def as_read(arrays: LinearArrays) -> LinearArrays:
    """Return a program without the coefficients that HiGHS drops when it reads a file."""
    is_read = np.abs(arrays.coefficients) > DROPPED
    return replace(arrays, coefficients=np.where(is_read, arrays.coefficients, 0.0))


def user_rows(M: Any) -> list[Any]:
    """Return three linear constraints of a user: ⟨A, M⟩ at most 0.1 above that of the identity."""
    matrices = np.random.default_rng(SEED).standard_normal((3, *M.shape))
    return [cp.sum(cp.multiply(A, M)) <= np.trace(A) + 0.1 for A in matrices]


RECIPES = (
    *(Recipe("diagonal", "diagonal", data, steps=16) for data in ("wine", "breast_cancer")),
    Recipe("diagonal", "diagonal", "synthetic-10", steps=9, block=100),
    *(Recipe("diagonal", "diagonal", f"synthetic-{size}", block=100) for size in (100, 500)),
    *(Recipe("column", "column", data) for data in ("wine", "breast_cancer")),
    *(Recipe("column", "column", f"synthetic-{size}") for size in (10, 100, 500)),
    *(Recipe("joint", "joint", data) for data in ("wine", "breast_cancer")),
    *(Recipe("joint", "joint", f"synthetic-{size}") for size in (10, 20, 50)),
    Recipe("rows", "diagonal", "wine", steps=16),
    *(Recipe("rows", "column", data) for data in ("wine", "synthetic-100")),
    *(Recipe("rows", "joint", data) for data in ("wine", "synthetic-20")),
    *(
        Recipe("signed", "column", data, steps=3)
        for data in ("wine", "synthetic-50", "synthetic-200")
    ),
    *(Recipe("signed", "joint", data) for data in ("wine", "synthetic-20")),
)
"""The sequences, in five families: programs of the paper's three kinds; with linear constraints of
a user's (`user_rows`); and with edges of either sign."""


def write_set(folder: Path, most: int, progress: Callable[[str], None] = print) -> None:
    """Write the set to an empty folder."""
    integer("--most", most, at_least=1)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInputError(f"{folder} must be an empty directory; name another one")
    files = {name: (HERE / name).read_bytes() for name in BESIDE}
    sequences = []
    for recipe in RECIPES:
        programs = recipe.arrays(most)
        for name, content in list_files(recipe.name, programs):
            files[f"{recipe.name}/{name}"] = content
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
        "command": f"python experiments/sequences/make.py DIR --most {most}",
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


def list_files(name: str, programs: Sequence[LinearArrays]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a sequence: the programs, their order, and their proven optima."""
    entries, optima = [], []
    before: LinearArrays | None = None
    for number, arrays in enumerate(programs):
        file = f"{name}_{number:03d}.mps.gz"
        yield file, gzip.compress(mps_text(arrays, f"{name}_{number:03d}").encode(), mtime=0)
        optimum = exact_optimum(arrays)
        value = optimum.value(arrays)
        changes = [] if before is None else list(list_changes(before, arrays))
        entries.append({"file": file, "optimum": float(value), "changes": changes})
        optima.append(
            {
                "file": file,
                "optimum": str(value),
                "point": [exact_json(one) for one in optimum.point],
                "row_duals": [exact_json(one) for one in optimum.row_duals],
            }
        )
        before = arrays
    yield f"{name}.test", "".join(f"{entry['file']}\n" for entry in entries).encode()
    yield "manifest.json", (json.dumps({"programs": entries}, indent=1) + "\n").encode()
    yield "optima.json.gz", gzip.compress(json.dumps(optima).encode(), mtime=0)


def list_changes(before: LinearArrays, after: LinearArrays) -> Iterator[str]:
    """Yield the parts of two programs in which they differ."""
    parts = {
        "costs": ("cost",),
        "coefficients": ("coefficients",),
        "bounds": ("lower", "upper"),
        "right-hand sides": ("row_lower", "row_upper"),
    }
    for name, arrays in parts.items():
        if not all(np.array_equal(getattr(before, one), getattr(after, one)) for one in arrays):
            yield name


def exact_json(value: Fraction) -> float | str:
    """Return a fraction as a JSON number where that is exact; `Fraction` reads both."""
    return float(value) if Fraction(float(value)) == value else str(value)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", metavar="DIR", type=Path, help="an empty folder")
    parser.add_argument("--most", type=int, default=100, help="programs of each sequence")
    arguments = parser.parse_args()
    write_set(arguments.folder, arguments.most)
