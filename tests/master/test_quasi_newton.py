"""L-BFGS in the square roots of weights: near the optimum, in any unit of the objective."""

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.master.active_set import ActiveSet
from gdaopt.master.quasi_newton import quasi_newton
from gdaopt.objectives.base import SumObjective

C = 0.2
N = 30
X = np.random.default_rng(0).standard_normal((N, 4))


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("feasible_set", [gda.GraphMetrics(C), gda.SDDMetrics(C)])
def test_it_ends_near_the_optimum_and_keeps_total_and_signs(
    feasible_set: gda.GraphMetrics, unit: float
) -> None:
    objective = SumObjective([(unit, gda.LogisticPairs(X, np.arange(N) % 2))])
    problem = gda.MetricProblem(objective, feasible_set)
    optimum = gda.solve(problem, tolerance=1e-9)
    assert optimum.metric.trace() == pytest.approx(C, rel=1e-9)  # so that the total is all of it
    members = problem.members
    centre = ActiveSet(*members.centre).without_zeros()
    start = ActiveSet(centre.atoms, members.budget / centre.total * centre.weights)
    others = members.feasible_set.family.all_supports(problem.n_features)
    assert others is not None
    np.testing.assert_allclose(np.linalg.norm(others.values, axis=1), 1.0)
    end = quasi_newton(objective, members.base, start, others, 1e-9)
    assert end.total == pytest.approx(start.total)
    metric = end.atoms.added_to(members.base, end.weights)
    assert not problem.violations(metric)
    first = objective.value(start.atoms.added_to(members.base, start.weights))
    gained = (first - objective.value(metric)) / (first - optimum.objective)
    assert 0.999 < gained <= 1 + 1e-9
