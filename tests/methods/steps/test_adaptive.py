"""The adaptive step, by its promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.linalg.directions import (
    DenseDirection,
)
from gdaopt.methods.steps import Adaptive
from tests.helpers import PROPERTY, generators, random_metric
from tests.methods.run_cases import Case
from tests.methods.steps.cases import Function, parabola, segment


@PROPERTY
@given(generators, st.sampled_from([Adaptive(), Adaptive(0.5, 1.5), Adaptive(1.0, 10.0)]))
def test_adaptive_decreases(rng: np.random.Generator, rule: Adaptive) -> None:
    """By half of what the slope promises, at each of a few steps that share the estimate."""
    there = segment(rng)
    running = rule.prepared(gda.MetricProblem(there.glr, gda.GraphMetrics(100.0, there.rho)))
    point = there.glr.at(there.metric)
    for iteration in range(8):
        target = random_metric(rng, len(there.metric)) * 10 ** rng.uniform(-2, 1)
        direction = DenseDirection(target - point.metric)
        line = point.line(direction)
        slope = line.derivatives(0.0)[0]
        gamma = running.size(line, iteration)
        assert 0 <= gamma <= 1
        assert gamma == 0 or slope < 0
        assert line.value(gamma) <= line.value(0.0) * (1 + 1e-13) + gamma * slope / 2
        point = point.moved(direction, gamma)
        if slope < -1e-6 * line.value(0.0):
            assert gamma > 0


def test_adaptive_is_exact_on_parabolas_and_learns_their_curvature() -> None:
    """The first step uses the curvature there, so that the model is the function itself."""
    for minimum in (0.3, 2.0):
        line = parabola(minimum)
        assert Adaptive().size(line, 0) == pytest.approx(min(minimum, 1.0), rel=1e-6)
    # Where the curvature grows along the way, the estimate rises until the model bounds it.
    quartic = Function(
        lambda g: g**4 - 0.1 * g, lambda g: 4 * g**3 - 0.1, lambda g: 12 * g**2 + 1e-9
    )
    gamma = Adaptive().size(quartic, 0)
    assert 0 < gamma < 1
    assert quartic.value(gamma) <= gamma * quartic.derivatives(0.0)[0] / 2


@pytest.mark.parametrize("method", ["alternating", "joint"])
def test_the_estimate_does_not_leak_between_runs(method: str) -> None:
    rule = Adaptive()
    case = Case(n_features=6, seed=1, log_scale=0.0, bounds_follow=True, with_floor=False)
    runs = [
        gda.solve(case.problem(), method, solver="analytic", step=rule, max_iterations=40)
        for _ in range(2)
    ]
    first, second = runs
    np.testing.assert_array_equal(first.trace.column("step"), second.trace.column("step"))
    np.testing.assert_array_equal(first.metric, second.metric)
