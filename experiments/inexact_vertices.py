"""Explain why interior point solvers end `alternating` elsewhere than simplex solvers.

Run ``python experiments/inexact_vertices.py`` from the top of a checkout (half a minute); it prints
the tables and writes ``figures/inexact_vertices.md``. The same run of wine is made with vertices of
several kinds: exact ones, those of solvers, those of solvers moved on to the nearest bounds, and
exact ones that are moved a little inwards.
"""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from pages import Page, header

import gdaopt as gda
from gdaopt.backends import Answer
from gdaopt.backends.catalogue import tolerance_options
from gdaopt.bench import RecordedProgram, load_programs, recording
from gdaopt.bench.sequences import ProgramSequence
from gdaopt.datasets import load
from gdaopt.linalg.laplacian import n_components
from gdaopt.programs import Knapsack, Program
from gdaopt.support.validation import FloatArray
from gdaopt.support.warning_filters import ignoring

TOLERANCE = 1e-6  # what solvers are asked for
NEAR = 1e-4  # of its unit: an entry this near to a bound is moved there
TIED = 1e-9  # of the largest cost

Change = Callable[[Any, FloatArray], FloatArray]


def as_found(_: Any, point: FloatArray) -> FloatArray:
    """Return the point of the solver."""
    return point


def on_bounds(polytope: Knapsack, point: FloatArray) -> FloatArray:
    """Return the point with entries that are near a bound there, as a crossover would do."""
    shares = polytope.coordinates(point)
    moved = np.where(shares <= NEAR, 0.0, shares)
    moved = np.where(polytope.caps - moved <= NEAR, polytope.caps, moved)
    return polytope.point(polytope.made_feasible(moved))


def inwards(polytope: Knapsack, point: FloatArray) -> FloatArray:
    """Return the point, moved by a millionth of the way to the middle of the polytope."""
    middle = polytope.point(polytope.made_feasible(np.full(len(point), 0.5)))
    moved: FloatArray = point + TOLERANCE * (middle - point)
    return moved


WAYS: dict[str, tuple[str, dict[str, Any], Change]] = {
    "analytic": ("analytic", {}, as_found),
    "highspy, simplex": ("highspy", {}, as_found),
    "highspy, interior point with crossover": (
        "highspy",
        {"solver": "ipm", "presolve": "off"},
        as_found,
    ),
    "highspy, interior point alone": (
        "highspy",
        {"solver": "ipm", "run_crossover": "off", "presolve": "off"},
        as_found,
    ),
    "CLARABEL": ("CLARABEL", {}, as_found),
    "CLARABEL, moved to near bounds": ("CLARABEL", {}, on_bounds),
    "ECOS": ("ECOS", {}, as_found),
    "ECOS, moved to near bounds": ("ECOS", {}, on_bounds),
    "analytic, moved inwards": ("analytic", {}, inwards),
}


def run(solver: str, options: dict[str, Any], change: Change) -> gda.Result:
    """Return a run of `alternating` whose answers are changed."""
    solve = Program.solve

    def changed(self: Program, cost: FloatArray, polytope: Any, limit: float | None) -> Answer:
        found = solve(self, cost, polytope, limit)
        return replace(found, point=change(polytope, found.point))

    given = {**tolerance_options(solver, TOLERANCE), **options} or None
    with patch.object(Program, "solve", changed), ignoring(category=Warning):
        return gda.solve(problem(), "alternating", solver=solver, solver_opts=given)


def problem() -> gda.MetricProblem:
    """Return the problem of `experiments/backends.py`: the first class of wine."""
    return ProgramSequence("wine", load("wine")).problem()


def has_ties(program: RecordedProgram) -> bool:
    """Say whether a program has more than one optimal point, by its reduced costs."""
    polytope = program.polytope
    assert isinstance(polytope, Knapsack)
    budget = float(polytope.multipliers(program.cost, None)["budget"])
    costs = polytope.prices(program.cost)
    reduced = costs + budget * polytope.spare * polytope.rates
    free = (np.abs(reduced) <= TIED * np.abs(costs).max()) & (polytope.largest > 0)
    return int(free.sum()) > int(budget > 0)


def tied_share() -> str:
    """Return how many programs of the run of `analytic` have several optimal points."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        with recording(path):
            gda.solve(problem(), "alternating", solver="analytic", trace_every=0)
        programs = load_programs(path)
    tied = sum(has_ties(program) for program in programs)
    return f"{tied} of the {len(programs)} programs of the run of `analytic`"


def main() -> None:
    bound = gda.solve(problem(), "certified", tolerance=1e-6, trace_every=0).lower_bound
    assert bound is not None
    rows = header(
        "vertices | excess | steps | aligned while disconnected "
        "| components at the end | smallest edge at the end"
    )
    for name, (solver, options, change) in WAYS.items():
        result = run(solver, options, change)
        scalings = [step.scaling for step in result.trace if step.iteration > 0]
        weights = -np.triu(result.metric, 1)
        rows.append(
            f"| {name} | {100 * (result.objective / bound - 1):.2f} % | {result.iterations} "
            f"| {100 * np.mean([one == 'resolvent' for one in scalings]):.0f} % of the steps "
            f"| {n_components(result.metric, 0.0)} | {weights[weights > 0].min():.1e} |"
        )
    page = Page(
        "inexact_vertices",
        "# Vertices that are not exact",
        "",
        "`python experiments/inexact_vertices.py`. `alternating` on wine, K = 13; solvers are",
        f"asked for a tolerance of {TOLERANCE:g}. *Moved to near bounds*: entries within",
        f"{NEAR:g} of their unit from a bound are put there. *Moved inwards*: by a millionth",
        "of the way to the middle of the polytope. *Aligned while disconnected*: edges of",
        "weight 0 have left the graph in several components, whose scales the method may then",
        "choose. *Excess*: over a certified lower bound of the optimum, as a share of it.",
        "",
        f"More than one optimal point, by the reduced costs: {tied_share()}.",
        "",
        *rows,
    )
    page.write()


if __name__ == "__main__":
    main()
