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
from gdaopt.backends.catalogue import tolerance_options
from gdaopt.bench import RecordedProgram, load_programs, recording
from gdaopt.bench.sequences import Sequence
from gdaopt.datasets import load
from gdaopt.linalg.laplacian import n_components
from gdaopt.methods import Context
from gdaopt.methods.blocks import Block
from gdaopt.programs import ColumnPolytope, ProgramSolution
from gdaopt.support.validation import FloatArray
from gdaopt.support.warning_filters import ignoring

TOLERANCE = 1e-6  # what solvers are asked for
NEAR = 1e-4  # of its unit: an entry this near to a bound is moved there
TIED = 1e-9  # of the largest cost

Change = Callable[[Any, FloatArray], FloatArray]


def as_found(_: Any, point: FloatArray) -> FloatArray:
    """Return the point of the solver."""
    return point


def on_bounds(polytope: Any, point: FloatArray) -> FloatArray:
    """Return the point with entries that are near a bound there, as a crossover would do."""
    lower = polytope.floor if isinstance(polytope, ColumnPolytope) else polytope.lower
    near = NEAR * np.broadcast_to(polytope.unit, point.shape)
    moved = np.where(point - lower <= near, lower, point)
    if isinstance(polytope, ColumnPolytope):
        moved = np.where(polytope.upper - moved <= near, polytope.upper, moved)
    feasible: FloatArray = polytope.made_feasible(moved)
    return feasible


def inwards(polytope: Any, point: FloatArray) -> FloatArray:
    """Return the point, moved by a millionth of the way to the middle of the polytope."""
    lower = polytope.floor if isinstance(polytope, ColumnPolytope) else polytope.lower
    middle = polytope.made_feasible(lower + 0.5 * polytope.unit)
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
    vertex = Block.vertex

    def changed(self: Block, cost: FloatArray, context: Context) -> ProgramSolution:
        found = vertex(self, cost, context)
        return replace(found, point=change(self.polytope, found.point))

    given = {**tolerance_options(solver, TOLERANCE), **options} or None
    with patch.object(Block, "vertex", changed), ignoring(category=Warning):
        return gda.solve(problem(), "alternating", solver=solver, solver_opts=given)


def problem() -> gda.MetricProblem:
    """Return the problem of `experiments/backends.py`: the first class of wine."""
    return Sequence("wine", load("wine")).problem()


def has_ties(program: RecordedProgram) -> bool:
    """Say whether a program has more than one optimal point, by its reduced costs."""
    arrays = program.polytope.arrays(program.cost)
    duals = arrays.signed(program.polytope.row_multipliers(program.cost))
    unit = np.broadcast_to(program.polytope.unit, program.cost.shape)
    reduced, largest = arrays.reduced_costs(duals) * unit, np.abs(program.cost * unit).max()
    free = (np.abs(reduced) <= TIED * largest) & (unit > 0)
    return int(free.sum()) > int((np.abs(duals) > 0).sum())


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
