"""Measure the certified solver on the maximum likelihood of raw features.

Run ``python experiments/raw_log_det.py`` from the top of a checkout (a minute); it prints the table
and writes ``figures/raw_log_det.md``. The data of pb300 is downloaded on first use.
"""

import time
from collections.abc import Callable
from itertools import product

import numpy as np
from pages import Page, here, row

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray

DATA = ("wine", "pb300", "breast_cancer")
TRACE_BOUNDS = (1e2, 1e4, 1e6, 1e9)
MIN_EIGENVALUES = (0.0, 1e-6)
MOST_SECONDS = 20.0


def signed(trace_bound: float, min_eigenvalue: float, size: int) -> gda.SignedGraphMetrics:
    """Return signed graph metrics of alternating colours."""
    return gda.SignedGraphMetrics([(-1) ** i for i in range(size)], trace_bound, min_eigenvalue)


SETS: dict[str, Callable[[float, float, int], FeasibleSet]] = {
    "graph": lambda bound, rho, _: gda.GraphMetrics(bound, rho),
    "signed": signed,
    "diagonal": lambda bound, rho, _: gda.DiagonalMetrics(bound, rho),
    "definite": lambda bound, rho, _: gda.PositiveDefiniteMetrics(bound, rho),
}


def covariance(name: str) -> FloatArray:
    """Return the covariance matrix of unscaled features."""
    return np.asarray(np.cov(load(name).features.T, bias=True))


def cells(problem: gda.MetricProblem) -> tuple[str, ...]:
    """Solve a problem and return how it went."""
    start = time.process_time()
    result = gda.solve(problem, "certified", time_limit=MOST_SECONDS, trace_every=0)
    seconds = time.process_time() - start
    assert result.relative_gap is not None
    return (
        f"{result.objective:.6g}",
        f"{result.relative_gap:.1e}",
        f"{seconds:.2g}",
        f"{result.iterations}",
        result.status.replace("_", " "),
    )


def main() -> None:
    page = Page(
        "raw_log_det",
        "# The certified solver on the maximum likelihood of raw features",
        "",
        "`gda.solve(problem, 'certified')` of `gda.LogDet(S)`, S the covariance matrix of the",
        "features as they are; asked for a relative gap of 1e-6. Spread: the largest standard",
        f"deviation of a feature over the smallest. Seconds: of the processor; limit: "
        f"{MOST_SECONDS:g} s.",
        "",
        here(),
        "",
        "| data | K | spread | set | C | ρ | objective | relative gap | seconds | rounds | end |",
        "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|---|",
    )
    for name, kind in product(DATA, SETS):
        S = covariance(name)
        deviations = np.sqrt(np.diagonal(S))
        spread = f"{deviations.max() / deviations.min():.1e}"
        for bound, rho in product(TRACE_BOUNDS, MIN_EIGENVALUES):
            problem = gda.MetricProblem(gda.LogDet(S), SETS[kind](bound, rho, len(S)))
            about = (name, len(S), spread, kind, f"{bound:g}", f"{rho:g}")
            page.add(row(*about, *cells(problem)))
    page.write()


if __name__ == "__main__":
    main()
