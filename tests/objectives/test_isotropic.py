"""The trace bounds of objectives that have a rule of their own."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.objectives import OBJECTIVES
from gdaopt.scaling import auto_trace_bound, read_trace_bound
from gdaopt.support.validation import FloatArray


class TestRulesOfObjectives:
    """The trace bounds of objectives that have a rule of their own."""

    OBJECTIVES = tuple(name for name in OBJECTIVES if name != "glr")

    @staticmethod
    def samples(seed: int = 0) -> tuple[FloatArray, FloatArray]:
        rng = np.random.default_rng(seed)
        y = np.arange(30) % 3
        return rng.normal(size=(30, 4)) + y[:, None], y.astype(np.float64)

    @pytest.mark.parametrize("name", OBJECTIVES)
    def test_units_drop_out(self, name: str) -> None:
        X, y = self.samples()
        bounds = [
            read_trace_bound("auto", OBJECTIVES[name](factor * X, y), gda.GraphMetrics(1.0))
            for factor in (1.0, 10.0)
        ]
        assert bounds[0] > 0
        assert bounds[1] == pytest.approx(bounds[0] / 100)

    @pytest.mark.parametrize("name", OBJECTIVES)
    def test_constant_features_and_copies_change_nothing(self, name: str) -> None:
        X, y = self.samples()
        bound = auto_trace_bound(OBJECTIVES[name](X, y), gda.GraphMetrics(1.0))
        constant = np.column_stack([X, np.ones(len(X))])
        assert auto_trace_bound(OBJECTIVES[name](constant, y), gda.GraphMetrics(1.0)) == (
            pytest.approx(bound)
        )
        if name == "mcml":  # the others see all distances doubled, as their thresholds do not
            twice = np.column_stack([X, X])
            assert auto_trace_bound(OBJECTIVES[name](twice, y), gda.GraphMetrics(1.0)) == (
                pytest.approx(bound)
            )

    @pytest.mark.parametrize("name", ["logistic-pairs", "pair-hinge"])
    def test_larger_even_metrics_are_worse_than_none(self, name: str) -> None:
        for seed in range(5):
            X, y = self.samples(seed)
            objective = OBJECTIVES[name](X, y)
            bound = auto_trace_bound(objective, gda.GraphMetrics(1.0))
            at = objective.at
            even = np.eye(4) * bound / 4
            assert at(1.001 * even).value > at(np.zeros((4, 4))).value

    def test_larger_even_metrics_are_too_large_for_deml(self) -> None:
        X, y = self.samples()
        objective = gda.DEML(X, y)
        even = np.eye(4) * objective.auto_trace_bound() / 4
        slope = float(np.vdot(objective.gradient(1.001 * even), even))
        assert slope > 0

    def test_where_nothing_pulls(self) -> None:
        X, y = self.samples()
        with pytest.raises(InvalidInputError, match="push_weight=1"):
            gda.LMNN(X, y, push_weight=1.0).auto_trace_bound()
        with pytest.raises(InvalidInputError, match="similar_weight=0"):
            gda.DEML(X, y, similar_weight=0.0).auto_trace_bound()
        collapsed = np.array([[0.0], [0.0], [1.0], [1.0]])
        with pytest.raises(InvalidInputError, match="samples of each class coincide"):
            gda.MCML(collapsed, [0, 0, 1, 1]).auto_trace_bound()
