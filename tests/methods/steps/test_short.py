"""The short step, by its formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import gdaopt as gda
from gdaopt.methods.steps import Short
from tests.helpers import PROPERTY, generators
from tests.methods.steps.cases import Nearest, segment


@PROPERTY
@given(generators)
def test_short_is_its_formula_and_decreases(rng: np.random.Generator) -> None:
    there = segment(rng)
    problem = gda.MetricProblem(there.glr, gda.GraphMetrics(100.0, there.rho))
    rule, line = Short().prepared(problem), there.line
    slope = line.derivatives(0.0)[0]
    length = float(((there.other - there.metric) ** 2).sum())
    expected = min(1.0, max(0.0, -slope) / (there.glr.lipschitz(there.rho) * length))
    gamma = rule.size(line, 3)
    assert gamma == pytest.approx(expected, rel=1e-12)
    assert line.value(gamma) <= line.value(0.0) * (1 + 1e-14) + gamma * slope / 2


@pytest.mark.parametrize("method", ["alternating", "joint"])
def test_short_needs_a_constant_before_any_work(method: str) -> None:
    objective = Nearest(np.array([[2.0, -1.0], [-1.0, 2.0]]))
    problem = gda.MetricProblem(objective, gda.GraphMetrics(10.0))
    with pytest.raises(
        gda.errors.InvalidInputError, match=r"no Lipschitz constant .*Short\(lipschitz="
    ):
        gda.solve(problem, method, solver="analytic", step="short")
    assert objective.asked == 0
    result = gda.solve(problem, method, solver="analytic", step=Short(lipschitz=1.0))
    assert result.objective < 0.01 * result.trace[0].objective


def test_short_takes_the_objectives_own_constant() -> None:
    class Known(Nearest):
        def lipschitz(self, min_eigenvalue: float) -> float:
            return 1.0 + min_eigenvalue

    problem = gda.MetricProblem(Known(np.eye(2)), gda.GraphMetrics(10.0, 0.25))
    assert Short().prepared(problem) == Short(lipschitz=1.25)
    assert Short(lipschitz=3.0).prepared(problem) == Short(lipschitz=3.0)
