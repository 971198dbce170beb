"""Show that `alternating` ends elsewhere by solvers whose points are no vertices.

The same run of wine is made by simplex solvers, by interior point solvers, and by HiGHS' interior
point method with and without its crossover, which makes a vertex of its answer.
"""

from pathlib import Path
from typing import Any

import numpy as np

import gdaopt as gda
from experiments.pages import Experiment, Page, header, row
from experiments.problems import wine
from gdaopt.backends.catalogue import tolerance_options
from gdaopt.linalg.laplacian import n_components
from gdaopt.support.warning_filters import ignoring

INTERIOR = {"solver": "ipm", "presolve": "off"}
WAYS: dict[str, tuple[str, float, dict[str, Any]]] = {
    "analytic": ("analytic", 1e-6, {}),
    "highspy, simplex": ("highspy", 1e-6, {}),
    "highspy, interior point with crossover": ("highspy", 1e-6, INTERIOR),
    "highspy, interior point alone": ("highspy", 1e-6, {**INTERIOR, "run_crossover": "off"}),
    "CLARABEL": ("CLARABEL", 1e-6, {}),
    "CLARABEL, asked for 1e-9": ("CLARABEL", 1e-9, {}),
    "ECOS": ("ECOS", 1e-6, {}),
    "ECOS, asked for 1e-9": ("ECOS", 1e-9, {}),
}
"""The solver, the tolerance that it is asked for, and further options."""


def run(quick: bool, out: Path) -> None:
    """Run all ways, with `quick` a few steps of each, and write the page."""
    problem = wine("class_0")
    bound = gda.solve(problem, "certified", tolerance=1e-6, trace_every=0).lower_bound
    assert bound is not None
    page = Page(
        out,
        "inexact_vertices",
        "Vertices that are not exact",
        "`alternating` on wine's first class, K = 13; solvers are asked for a tolerance of 1e-6 "
        "where no other one is named. *Excess*: over a certified lower bound of the optimum, as a "
        "share of it. *Aligned while disconnected*: edges of weight 0 have left the graph in "
        "several components, whose scales the method may then choose.",
    )
    page.add(
        *header("vertices | excess | steps | aligned while disconnected | components at the end")
    )
    for name, (solver, tolerance, options) in WAYS.items():
        asked = {**tolerance_options(solver, tolerance), **options} or None
        with ignoring(category=Warning):  # answers that solvers call inexact
            result = gda.solve(
                problem,
                "alternating",
                solver=solver,
                solver_opts=asked,
                max_iterations=5 if quick else None,
            )
        scalings = [step.scaling for step in result.trace if step.iteration > 0]
        share = np.mean([scaling == "resolvent" for scaling in scalings])
        page.add(
            row(
                name,
                f"{100 * (result.objective / bound - 1):.2f} %",
                result.iterations,
                f"{100 * share:.0f} % of the steps",
                n_components(result.metric, 0.0),
            )
        )
    page.write()


EXPERIMENT = Experiment(
    "where `alternating` ends by solvers whose points are no vertices",
    minutes=1,
    files=("inexact_vertices.md",),
    run=run,
)
