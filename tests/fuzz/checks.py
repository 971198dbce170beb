"""What every run of a random problem must hold to, judged without the package's own checks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import networkx as nx
import numpy as np

import gdaopt as gda
from gdaopt.support.validation import FloatArray
from tests.fuzz.problems import Ingredients
from tests.fuzz.reference import ROUND_OFF, Bounds, Reference
from tests.fuzz.runs import Outcome, Run, outcomes

__all__ = ["Case"]

FEASIBLE = 1e-9  # by how much of C a metric may break a condition
VANISHED = 1e-280  # an objective below is on its way out of float64
STEPS_TO_VANISH = 100  # of Frank–Wolfe, within which it gets there
VANISHING = 1e-287  # a gradient below is too small to learn from: products with it leave float64
FLAT = 1e-14  # an objective that the whole metric changes by a smaller share is flat in float64
LAST_GAP = 1e-6  # the relative gap at which the certified method may say that round-off is left
GAP_ROUND_OFF = 1e-12
"""The share that is round-off of what a gap is made of: the gradient times the trace bound, and
squares of samples instead of differences ("Lemma: round-off of sums over pairs")."""

MARGIN, EVALUATION = 1.1, 1.0
"""A run may take its limit times the first, plus so many seconds of the processor for one step.
One step takes milliseconds: the second is for building a program for a solver."""

OPEN_LOOP = ("agnostic", "full")


class Case:
    """A random problem and the outcomes of its runs."""

    def __init__(self, ingredients: Ingredients) -> None:
        self.ingredients = ingredients
        self.problem = ingredients.problem()
        self.bounds = Bounds.of(self.problem.feasible_set, self.problem.n_features)
        self.reference = Reference(ingredients)
        self.outcomes = outcomes(ingredients, self.problem)

    def faults(self) -> Iterator[str]:
        """Yield a sentence on each thing that is wrong, with the call that shows it."""
        for outcome in self.outcomes:
            for fault in self._of_outcome(outcome):
                yield f"{fault}\n    in {outcome.run}\n    of {self.ingredients}"
        for fault in self._contradictions():
            yield f"{fault}\n    of {self.ingredients}"

    def _of_outcome(self, outcome: Outcome) -> Iterator[str]:
        run, result = outcome.run, outcome.result
        if result is None:
            if not self._is_explained(run, outcome.error):
                yield f"{type(outcome.error).__name__}: {outcome.error}"
            return
        limit = run.options["time_limit"]
        if outcome.cpu_seconds > MARGIN * limit + EVALUATION:
            yield f"took {outcome.cpu_seconds:.3g} s of a time limit of {limit:.3g} s"
        if not np.isfinite(result.metric).all() or not math.isfinite(result.objective):
            yield f"the metric or the objective {result.objective} is not finite"
            return
        yield from self._of_metric(run, result)
        yield from self._of_status(run, result)
        yield from self._of_trace(run, result)

    # --- refusals --------------------------------------------------------------------------------

    def _is_explained(self, run: Run, error: Exception | None) -> bool:
        """Whether a run was refused with a reason that the data confirm."""
        if not isinstance(error, gda.errors.InvalidInputError):
            return False
        if "knows no Lipschitz constant" in str(error):
            unbounded = self.problem.feasible_set.min_eigenvalue == 0
            return run.options["step"] == "short" and unbounded and not self.reference.is_glr
        if "nothing to learn from at the start" in str(error):
            return self._says_nothing(self._start(run))
        return False

    def _start(self, run: Run) -> FloatArray:
        """Return where a run starts: half-way along the path start's edges, or in the middle."""
        feasible_set, size = self.problem.feasible_set, self.problem.n_features
        if run.method in ("joint", "alternating"):
            return gda.methods.Alternating(
                edge_floor=run.options.get("edge_floor", 0.0)
            ).default_start(self.problem)
        middle: FloatArray = feasible_set.budget(size) / size * np.eye(size)
        return feasible_set.base(size) + middle

    def _says_nothing(self, metric: FloatArray) -> bool:
        """Whether the regulariser's gradient vanishes at a metric, or next to its value."""
        steepest, value = self.reference.steepest(metric), self.reference.at(metric).value
        is_flat = steepest * float(np.trace(metric)) <= FLAT * value
        return self.reference.is_glr and (steepest <= VANISHING or is_flat)

    def _can_vanish(self) -> bool:
        """Whether the set has members at which the regulariser leaves float64.

        A signal that is 1e140 times as loud does not change the optimum, and keeps the regulariser
        in float64 for longer. Where that is not enough, steps of Frank–Wolfe go on.
        """
        if not self.reference.is_glr:
            return False
        metric = gda.solve(self.ingredients.problem(loudness=1e140), "certified").metric
        for _ in range(STEPS_TO_VANISH):
            if self._objective(metric) <= VANISHED:
                return True
            gradient = self.reference.log_gradient(metric)
            ahead = self.problem.feasible_set.minimize_linear(gradient).vertex - metric
            metric = min((metric + 2.0**-n * ahead for n in range(20)), key=self._objective)
        return False

    def _objective(self, metric: FloatArray) -> float:
        return self.reference.at(metric).value

    # --- results ---------------------------------------------------------------------------------

    def _of_metric(self, run: Run, result: gda.Result) -> Iterator[str]:
        metric, feasible_set = result.metric, self.problem.feasible_set
        for condition, excess in self.bounds.excess(metric).items():
            if excess > (0 if condition == "symmetry" else FEASIBLE):
                yield f"{condition}: broken by {excess:.3g} of the trace bound"
        if metric not in feasible_set:
            yield f"the set says: {'; '.join(feasible_set.violations(metric))}"
        floor = run.options.get("edge_floor", 0.0)
        edges = nx.from_numpy_array(-metric >= floor * (1 - 1e-6))
        if floor > 0 and not nx.is_connected(edges):
            yield f"the edges of weight {floor:.3g} do not connect all features"
        if result.atoms is not None and result.weights is not None:
            total = self.bounds.base() + (result.atoms.T * result.weights) @ result.atoms
            if np.abs(total - metric).max() > FEASIBLE * feasible_set.trace_bound:
                yield "the metric is not the sum of its atoms"
        true = self.reference.at(metric)
        if abs(result.objective - true.value) > true.allowance:
            yield (
                f"objective {result.objective!r} is {true.value!r} by its definition: "
                f"up to {true.allowance:.3g} apart is allowed"
            )

    def _of_status(self, run: Run, result: gda.Result) -> Iterator[str]:
        limit, most = run.options["time_limit"], run.options["max_iterations"]
        gap = math.inf if result.lower_bound is None else result.objective - result.lower_bound
        if not result.message:
            yield "no message"
        if result.iterations > most:
            yield f"{result.iterations} iterations of {most}"
        match result.status:
            case "converged":
                if not gap <= run.options["tolerance"] * abs(result.objective):
                    yield f"converged with a gap of {gap:.3g} of {result.objective:.6g}"
            case "iteration_limit":
                if result.iterations != most:
                    yield f"iteration_limit after {result.iterations} of {most}"
            case "time_limit":
                if result.seconds + result.tracing_seconds < limit:
                    yield f"time_limit after {result.seconds:.3g} s of {limit:.3g} s"
            case "stalled" | "slow_progress" | "block_minimum" | "inaccurate":
                size = abs(result.objective) if self.reference.is_glr else 1 + abs(result.objective)
                products = (
                    self.problem.feasible_set.trace_bound * self.reference.steepest(result.metric)
                    + self.reference.at(result.metric).squares
                )
                is_far = gap > LAST_GAP * size + GAP_ROUND_OFF * products
                if run.method == "certified" and is_far and not self._can_vanish():
                    yield f"stalled at a gap of {gap / size:.3g}: {result.message}"
            case "left_domain":  # as by a step to a vertex, where LogDet is infinite
                if run.method == "certified" or "the objective is inf" not in result.message:
                    yield f"{result.status}: {result.message}"
            case "disconnected" | "infeasible":
                if not run.options["edge_floor"] or run.options["connectivity"] != "zeta":
                    yield f"{result.status}: {result.message}"
            case _:
                yield f"{result.status}: {result.message}"

    def _of_trace(self, run: Run, result: gda.Result) -> Iterator[str]:
        rows = list(result.trace)
        if rows[-1].iteration != result.iterations:
            yield "the trace does not end with the run"
        allowance = self.reference.at(result.metric).allowance
        best = min(row.objective for row in rows)
        if result.objective > best + allowance + ROUND_OFF * abs(best):
            yield f"the result is {result.objective - best:.3g} above the best state"
        if not all(math.isfinite(row.objective) for row in rows):
            yield "the trace holds an objective that is not finite"
        known = [(row.lower_bound, row.objective) for row in rows if row.lower_bound is not None]
        for (before, _), (after, objective) in pairwise(known):
            # It is cut off at an objective that is below it by round-off.
            if after < min(before, objective):
                yield "a lower bound falls"
        if run.method == "projected-gradient" or run.options.get("step") in OPEN_LOOP:
            return
        for row, following in pairwise(rows):
            rise = following.objective - row.objective
            if rise > allowance + ROUND_OFF * abs(row.objective):
                yield f"step {following.iteration} raises the objective by {rise:.3g}"

    # --- between runs ----------------------------------------------------------------------------

    def _contradictions(self) -> Iterator[str]:
        """Yield the lower bounds that are above the objective at a member of the set.

        A metric that breaks a condition by round-off may be below the optimum. So the objective is
        taken at the member next to it, as `Bounds.inside` finds it.
        """
        found = [(outcome.run, outcome.result) for outcome in self.outcomes if outcome.result]
        members = [(self.bounds.inside(result.metric), run) for run, result in found]
        reached = [(self.reference.at(member), run) for member, run in members]
        for run, result in found:
            least, by = min(reached, key=lambda at_and_run: at_and_run[0].value)
            most = least.value + least.error  # bounds hold whatever has been rounded
            if result.lower_bound is not None and result.lower_bound > most:
                yield (
                    f"bound {result.lower_bound!r} is above {least.value!r}, {most!r} is allowed\n"
                    f"    bound of {run}\n    reached by {by}"
                )
