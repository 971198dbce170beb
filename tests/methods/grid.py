"""A grid of runs on iris and wine, and a table of how they ended: `test_grid` compares with it.

``python -m tests.methods.grid`` runs it all and writes the table anew: after a change that is meant
to change numbers, and after nothing else.
"""

import csv
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gdaopt as gda
from gdaopt.datasets import load, scale_features
from gdaopt.support.validation import FloatArray

TABLE = Path(__file__).with_suffix(".csv")

DATA = "iris", "wine"
FLOOR = 1e-3  # ρ
TOLERANCE = 1e-9  # of `certified`, whose optima are compared


@cache
def samples(data: str) -> tuple[FloatArray, FloatArray, Any]:
    """Return samples of mean 0 and variance 1, a signal of two classes, and the labels."""
    table = load(data)
    return scale_features(table.features), table.signal(table.classes[1]), table.labels


def _make_triplets(labels: Any) -> FloatArray:
    """Return 400 triplets: a sample, one of its class, and one of another."""
    rng, triplets = np.random.default_rng(0), []
    for anchor in rng.integers(len(labels), size=400):
        near = rng.choice(np.flatnonzero(labels == labels[anchor]))
        triplets.append((anchor, near, rng.choice(np.flatnonzero(labels != labels[anchor]))))
    return np.array(triplets)


OBJECTIVES: dict[str, Callable[[FloatArray, FloatArray, Any], Any]] = {
    "GLR": lambda X, z, _: gda.GLR(X, z),
    "MCML": lambda X, _, y: gda.MCML(X, y),
    "LMNN": lambda X, _, y: gda.LMNN(X, y),
    "NCA": lambda X, _, y: gda.NCA(X, y),
    "PairHinge": lambda X, _, y: gda.PairHinge(X, y),
    "LogisticPairs": lambda X, _, y: gda.LogisticPairs(X, y),
    "TripletHinge": lambda X, _, y: gda.TripletHinge(X, _make_triplets(y)),
    "LogDet": lambda X, _, y: gda.LogDet(X.T @ X / len(X) + 0.1 * np.eye(X.shape[1])),
    "GLR + Ridge": lambda X, z, _: gda.GLR(X, z) + 0.1 * gda.Ridge(X.shape[1]),
}

SETS: dict[str, Callable[[float], Any]] = {
    "graph": lambda bound: gda.GraphMetrics(bound, FLOOR),
    "masked": lambda bound: gda.GraphMetrics(bound, FLOOR, edges=[(0, 1), (1, 2), (0, 3)]),
    "signed": lambda bound: gda.SignedGraphMetrics(
        np.resize([1.0, -1.0], int(bound)).tolist(), bound, FLOOR
    ),
    "SDD": lambda bound: gda.SDDMetrics(bound, FLOOR),
    "diagonal": lambda bound: gda.DiagonalMetrics(bound, FLOOR),
    "definite": lambda bound: gda.PositiveDefiniteMetrics(bound, FLOOR),
}


METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "certified": ("certified", {"tolerance": TOLERANCE}),
    "alternating": ("alternating", {"solver": "analytic", "max_iterations": 60}),
    "joint": ("joint", {"solver": "analytic", "max_iterations": 30}),
    "alternating by HiGHS": ("alternating", {"solver": "HIGHS", "max_iterations": 60}),
    "joint by HiGHS": ("joint", {"solver": "HIGHS", "max_iterations": 30}),
    "frank-wolfe": ("frank-wolfe", {"max_iterations": 60}),
    "projected-gradient": ("projected-gradient", {"max_iterations": 60}),
    "sdp": ("sdp", {"solver": "CLARABEL"}),
}


def _add_rows(M: Any) -> list[Any]:
    """Return three linear conditions on a metric."""
    return [M[0, 1] == 0, M[0, 0] + M[2, 2] <= 1.5, M[1, 1] >= 0.2]


class Run(NamedTuple):
    """One run of the grid."""

    data: str
    objective: str
    set: str
    method: str
    has_rows: bool

    def result(self) -> gda.Result:
        """Solve the problem."""
        X, z, labels = samples(self.data)
        objective = OBJECTIVES[self.objective](X, z, labels)
        feasible_set = SETS[self.set](float(X.shape[1]))
        rows = _add_rows if self.has_rows else None
        method, options = METHODS[self.method]
        problem = gda.MetricProblem(objective, feasible_set, rows)
        return gda.solve(problem, method, trace_every=0, **options)


def _list_runs() -> Iterator[Run]:
    few_objectives = "GLR", "PairHinge", "LogDet"
    cases: list[tuple[str, Iterable[str], Iterable[str], tuple[bool, ...]]] = [
        ("certified", OBJECTIVES, SETS, (False,)),
        ("certified", OBJECTIVES, ("graph", "SDD", "definite"), (True,)),
        ("alternating", OBJECTIVES, ("graph", "signed", "SDD"), (False,)),
        ("joint", OBJECTIVES, ("graph", "signed", "SDD"), (False,)),
        ("alternating by HiGHS", few_objectives, ("graph", "SDD"), (False, True)),
        ("joint by HiGHS", few_objectives, ("graph", "SDD"), (False, True)),
        ("frank-wolfe", OBJECTIVES, ("graph", "diagonal"), (False,)),
        ("projected-gradient", OBJECTIVES, ("graph", "definite"), (False,)),
        ("sdp", ("GLR", "LogDet"), ("graph", "SDD", "definite"), (False, True)),
    ]
    for method, objectives, sets, with_rows in cases:
        for data, objective, kind, has_rows in product(DATA, objectives, sets, with_rows):
            yield Run(data, objective, kind, method, has_rows)


RUNS = list(_list_runs())


class End(NamedTuple):
    """How a run ended."""

    status: str
    objective: float
    iterations: int


def read_table() -> dict[Run, End]:
    """Return how all runs ended when the table was made."""
    with TABLE.open(newline="") as file:
        lines = list(csv.reader(file))[1:]
    return {
        Run(data, objective, kind, method, has_rows == "True"): End(
            status, float(value), int(steps)
        )
        for data, objective, kind, method, has_rows, status, value, steps in lines
    }


def main() -> None:
    """Run all, and write the table."""
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*Run._fields, *End._fields])
        for run in RUNS:
            result = run.result()
            writer.writerow([*run, result.status, repr(result.objective), result.iterations])


if __name__ == "__main__":
    main()
