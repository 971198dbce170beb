"""What defines the problems of a data set: sets, scales and trace bounds by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.scaling import SCALES, auto_trace_bound
from gdaopt.studies.learning import LearningOptions


class TestSets:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("graph", gda.GraphMetrics),
            ("diagonal", gda.DiagonalMetrics),
            ("definite", gda.PositiveDefiniteMetrics),
            ("signed", gda.SignedGraphMetrics),
        ],
    )
    def test_kinds(self, name: str, kind: type[Any]) -> None:
        data = gda.datasets.load("iris")
        options = LearningOptions(set=name, trace_bound=3.0, min_eigenvalue=0.1)
        feasible_set = options.problem(data, "setosa").feasible_set
        assert type(feasible_set) is kind
        assert (feasible_set.trace_bound, feasible_set.min_eigenvalue) == (3.0, 0.1)

    def test_colours_are_signs_of_correlations(self) -> None:
        data = gda.datasets.load("wine")
        for name in data.classes:
            feasible_set = LearningOptions(set="signed").problem(data, name).feasible_set
            assert isinstance(feasible_set, gda.SignedGraphMetrics)
            signal = data.signal(name)
            correlations = [np.corrcoef(x, signal)[0, 1] for x in data.features.T]
            assert feasible_set.colors == tuple(-1 if c < 0 else 1 for c in correlations)
            assert len(set(feasible_set.colors)) == 2


class TestRules:
    def test_scales_by_name(self) -> None:
        data = gda.datasets.load("iris")
        zero = np.zeros((4, 4))
        points = {
            scale: LearningOptions(scale=scale).problem(data, "setosa").objective.at(zero)
            for scale in SCALES
        }
        slopes = {scale: point.gradient() for scale, point in points.items()}
        assert len({point.value for point in points.values()}) == 1
        np.testing.assert_allclose(slopes["zscore"], slopes["unit"] * 8)  # 2K
        assert LearningOptions().scale == "unit"

    def test_trace_bounds_by_name(self) -> None:
        data = gda.datasets.load("iris")
        bounds = {
            given: LearningOptions(trace_bound=given).problem(data, "setosa").feasible_set
            for given in ("K", "auto", 2.5)
        }
        assert bounds["K"].trace_bound == 4.0
        assert bounds[2.5].trace_bound == 2.5
        objective = LearningOptions().problem(data, "setosa").objective
        assert bounds["auto"].trace_bound == auto_trace_bound(objective, gda.GraphMetrics(1.0))
