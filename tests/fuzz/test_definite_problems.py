"""Log-determinants of indefinite matrices over definite metrics, against optima in 50 digits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import mpmath
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.objectives.round_off import UNIT
from gdaopt.support.validation import FloatArray
from tests import digits
from tests.covering import chosen
from tests.digits import Exact
from tests.helpers import random_symmetric

TOLERANCE = 1e-6
ROUND_OFF = 1e-10  # of the objective and its terms: what float64 may add to a gap
MOST_ROUNDS = 300
ENDS = ("converged", "stalled", "inaccurate", "slow_progress", "iteration_limit")


@dataclass(frozen=True, eq=False)
class Definite:
    """``⟨S, M⟩ - log det M`` over definite metrics, and a second term."""

    problem: gda.MetricProblem
    linear: Exact  # S, and A where ``⟨A, M⟩`` is added
    bend: float = 0.0  # c, where ``(c/2) ‖M‖²`` is added
    glr: Any = None  # the regulariser that is added, in 50 digits

    @classmethod
    def drawn(cls, seed: int) -> Definite:
        rng = np.random.default_rng([46, seed])
        size, scale = int(rng.integers(1, 9)), 10 ** rng.uniform(-3, 3)
        S = scale * random_symmetric(rng, size)
        if rng.random() < 0.2:  # whole numbers, of which some cancel
            S = np.rint(2 * S / scale) * 2.0 ** rng.integers(-4, 5)
        trace_bound = 10 ** rng.uniform(-3, 12)
        low = rng.choice([0.0, 10 ** rng.uniform(-15, -1)]) * trace_bound / size
        feasible_set = gda.PositiveDefiniteMetrics(trace_bound, low)
        log_det = gda.LogDet(S)
        alone = cls(gda.MetricProblem(log_det, feasible_set), digits.exact(S))
        match str(rng.choice(["alone", "ridge", "linear", "GLR"], p=[0.55, 0.15, 0.15, 0.15])):
            case "ridge":
                bend = float(scale**2 * 10 ** rng.uniform(-6, 2))
                return alone._with(log_det + bend * gda.Ridge(size), bend=bend)
            case "linear":
                A = scale * 10 ** rng.uniform(-3, 1) * random_symmetric(rng, size)
                total = alone.linear + digits.exact(A)
                return alone._with(log_det + gda.Linear(A), linear=total)
            case "GLR":
                X = rng.standard_normal((10, size)) * 10 ** rng.uniform(-1, 1) * scale**0.5
                z = np.resize([1.0, -1.0], 10)
                exact = digits.ExactGLR(X, z[:, None], np.ones(10))
                return alone._with(log_det + gda.GLR(X, z), glr=exact)
        return alone

    def _with(self, objective: Any, **changed: Any) -> Definite:
        return replace(self, problem=self.problem.with_objective(objective), **changed)

    def at(self, metric: Exact) -> Any:
        """Return the objective at a positive definite metric."""
        value = (self.linear * metric).sum() - mpmath.log(
            mpmath.det(mpmath.matrix(metric.tolist()))
        )
        value += self.bend / mpmath.mpf(2) * (metric**2).sum()
        return value if self.glr is None else value + self.glr.at(metric)[0]

    def optimum(self) -> Any:
        """Return the optimum of a function of eigenvalues; the best has the eigenvectors of S.

        Its eigenvalues are ``max(ρ, m)`` with ``s + y - 1/m + c m = 0`` for an eigenvalue s of S
        and the multiplier y of the trace bound, which is found by bisection.
        """
        feasible_set, size = self.problem.feasible_set, self.problem.n_features
        low, most = mpmath.mpf(feasible_set.min_eigenvalue), mpmath.mpf(feasible_set.trace_bound)
        values, bend = digits.eigenvalues(self.linear), mpmath.mpf(self.bend)

        def at(multiplier: Any) -> list[Any]:
            found = []
            for value in values:
                slope = value + multiplier
                root = slope + mpmath.sqrt(slope**2 + 4 * bend)
                found.append(max(low, 2 / root) if root > 0 else mpmath.inf)
            return found

        left, right = mpmath.mpf(0), abs(values[0]) + size / most + bend * most
        right += 1 / (most - size * low)
        while sum(at(right)) > most:
            right *= 2
        if sum(at(left)) <= most:
            right = left
        for _ in range(240):
            middle = (left + right) / 2
            left, right = (middle, right) if sum(at(middle)) > most else (left, middle)
        terms = zip(values, at(right), strict=True)
        return sum(s * m - mpmath.log(m) + bend / 2 * m**2 for s, m in terms)


def faults_of(case: Definite) -> list[str]:
    """Solve a problem by all methods; return what is wrong."""
    problem, faults = case.problem, list[str]()
    least = None if case.glr is not None else case.optimum()
    for method in ("certified", *(["projected-newton"] if problem.objective.barrier else [])):
        try:
            result = gda.solve(problem, method, tolerance=TOLERANCE, max_iterations=MOST_ROUNDS)
        except Exception as error:  # any error is a fault, and any warning
            faults.append(f"{method}: {error!r}")
            continue
        if least is None:  # no optimum is known: a member has to do
            least = case.at(digits.member(problem.feasible_set, result))
        faults += [f"{method}: {fault}" for fault in _faults(case, result, least)]
    return faults


def _faults(case: Definite, result: gda.Result, least: Any) -> Iterator[str]:
    problem, value = case.problem, result.objective
    if result.status not in ENDS:
        yield f"status {result.status}: {result.message}"
    yield from problem.violations(result.metric)
    bound = result.lower_bound
    if bound is not None and bound > least:
        yield f"the bound {bound!r} is above the optimum by {float(bound - least):.3g}"
    starts = [result.trace[0].objective]
    if result.method == "certified":
        starts.append(problem.objective.at(problem.central_metric()).value)
    if value > min(starts) + ROUND_OFF * max(1.0, abs(min(starts))):
        yield f"the metric is worse than a start: {value!r}, {starts}"
    if result.status == "converged" and case.glr is None:
        away = float(case.at(_within(problem, result.metric)) - least)
        if away > (TOLERANCE + ROUND_OFF) * abs(value) + ROUND_OFF:
            yield f"converged {away:.3g} above the optimum, {value!r}"


def _within(problem: gda.MetricProblem, metric: FloatArray) -> Exact:
    """Return a metric next to one that may be singular, or have too large a trace, by round-off."""
    found = digits.exact(metric)
    found = found + np.diag(np.full(len(metric), 8 * len(metric) * UNIT * np.trace(found)))
    share = mpmath.mpf(problem.feasible_set.trace_bound) / np.trace(found)
    within: Exact = found * min(share, mpmath.mpf(1))
    return within


@pytest.mark.parametrize("seed", chosen(range(400), default=range(10), slow=range(60)))
def test_definite_metrics_and_indefinite_matrices(seed: int) -> None:
    assert faults_of(Definite.drawn(seed)) == []
