"""The sequences of programs that solvers are compared on: of runs, and random ones.

Each is recorded by a task of the study, from data and seeds alone, so that nobody has to keep it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gdaopt.bench.recorded import RecordedProgram, load_programs, recording, save_programs
from gdaopt.datasets import Dataset
from gdaopt.linalg.entries import all_edges
from gdaopt.linalg.gershgorin import align
from gdaopt.linalg.laplacian import generalized_laplacian
from gdaopt.methods import solve
from gdaopt.objectives import GLR
from gdaopt.problem import MetricProblem
from gdaopt.programs import (
    ColumnPolytope,
    DiagonalPolytope,
    JointPolytope,
    Polytope,
)
from gdaopt.sets import GraphMetrics
from gdaopt.studies.learning import LearningOptions
from gdaopt.support.validation import FloatArray

__all__ = ["GENERATED", "KINDS", "Sequence", "record_task"]

KINDS = {"diagonal": "alternating", "column": "alternating", "joint": "joint"}
"""The kinds of programs, and the method whose run solves them."""

GENERATED = ("synthetic", "random")
"""Data that are made rather than loaded, in each size: runs on two clouds, and random programs."""

_SEED = 0
_RHO = 1e-6
_ACCURATE = 1e-6  # of the certified bound that whole runs are compared with
_BOUND_SECONDS = 120.0


@dataclass(frozen=True, eq=False)
class Sequence:
    """Where programs come from.

    Attributes
    ----------
    source : str
        The name of a data set, or one of `GENERATED`.
    dataset : Dataset or None
        The data, where they are loaded. Its first class is learned.
    size : int or None
        The number of features, where they are made.
    """

    source: str
    dataset: Dataset | None = None
    size: int | None = None

    @property
    def name(self) -> str:
        """The source, with the size where there are several."""
        return self.source if self.size is None else f"{self.source}-{self.size}"

    @property
    def is_random(self) -> bool:
        """Whether the programs belong to no run."""
        return self.source == "random"

    def problem(self) -> MetricProblem:
        """Return the problem whose runs are recorded."""
        if self.dataset is not None:
            options = LearningOptions()
            return options.problem(self.dataset, options.classes(self.dataset)[0])
        assert self.size is not None
        X, z = _clouds(self.size)
        return MetricProblem(GLR(X, z), GraphMetrics(float(self.size), _RHO))


def record_task(
    path: Path, sequence: Sequence, kinds: tuple[str, ...], steps: int, most: int, bounded: bool
) -> dict[str, Any]:
    """Record the programs of a sequence that are of some kinds, into the npz file at `path`.

    Return their kinds in order, and a lower bound of the optimum where one is needed (`bounded`).
    Each method makes at most so many steps. Of each kind `most` programs are kept: spread evenly
    over the programs of a run, or random ones.
    """
    if sequence.is_random:
        assert sequence.size is not None
        programs = [_random(sequence.size, kind, i) for kind in kinds for i in range(most)]
        save_programs(f"{path}.npz", programs)
        return {"kinds": [program.kind for program in programs], "lower_bound": None}
    problem = sequence.problem()
    programs = []
    for method in dict.fromkeys(KINDS[kind] for kind in kinds):
        own = Path(f"{path}.{method}.npz")
        with recording(own):  # one program a step
            solve(problem, method, solver="analytic", max_iterations=steps, trace_every=0)
        recorded = load_programs(own)
        programs += [recorded[i] for i in _spread([one.kind for one in recorded], kinds, most)]
        own.unlink()
    save_programs(f"{path}.npz", programs)
    bound = None
    if bounded:
        bound = solve(
            problem,
            "certified",
            tolerance=_ACCURATE,
            time_limit=_BOUND_SECONDS,
            trace_every=0,
        ).lower_bound
    return {"kinds": [program.kind for program in programs], "lower_bound": bound}


def _spread(found: list[str], kinds: tuple[str, ...], most: int) -> list[int]:
    """Return where the programs are that are kept: at most so many of each kind, in order."""
    kept: list[int] = []
    for kind in kinds:
        own = [i for i, one in enumerate(found) if one == kind]
        picked = np.linspace(0, len(own) - 1, min(most, len(own))).round().astype(int)
        kept += [own[i] for i in picked]
    return sorted(kept)


def _clouds(size: int) -> tuple[FloatArray, FloatArray]:
    """Return 25 + 35 samples: two Gaussian clouds, apart in five features."""
    rng = np.random.default_rng(_SEED)
    X = rng.standard_normal((60, size))
    z = np.where(np.arange(60) < 25, 1.0, -1.0)
    X[z > 0, :5] += 1.5
    return X / np.sqrt(2 * size), z


def _random(size: int, kind: str, number: int) -> RecordedProgram:
    """Return a program of a random metric under its aligned left-ends, with random costs."""
    rng = np.random.default_rng([_SEED, size, sorted(KINDS).index(kind), number])
    weights = np.triu(rng.random((size, size)) / size, 1)
    metric = generalized_laplacian(weights + weights.T, rng.uniform(0.1, 1, size))
    alignment = align(metric, min_eigenvalue=_RHO)
    slack = alignment.left_ends - _RHO
    trace_bound = 1.5 * float(np.trace(metric))
    polytope: Polytope
    if kind == "diagonal":
        cost = rng.standard_normal(size)
        polytope = DiagonalPolytope.at(metric, slack, trace_bound)
    elif kind == "column":
        column = int(rng.integers(size))
        others = np.delete(np.arange(size), column)
        cost = rng.standard_normal(size - 1)
        polytope = ColumnPolytope.at(metric, alignment.v, slack, column, others, np.zeros(size - 1))
    else:
        edges = all_edges(size)
        cost = rng.standard_normal(size + len(edges[0]))
        polytope = JointPolytope(alignment.v, _RHO, trace_bound, edges, np.zeros(len(edges[0])))
    point = polytope.minimize(cost)
    gap = float(cost @ (polytope.current - point))
    return RecordedProgram(kind=kind, cost=cost, polytope=polytope, point=point, gap=gap)
