"""The learners of the literature beside one another, and under scikit-learn's names."""

from __future__ import annotations

import pytest

from gdaopt.estimators import BaseMetricLearner, baselines

WHO_SAYS = ("published", "from code", "reconstructed")


@pytest.mark.parametrize("name", baselines.__all__)
def test_each_says_where_its_formulas_are_from(name: str) -> None:
    words = (getattr(baselines, name).__doc__ or "").lower()
    if name != "EuclideanMetric":
        assert any(word in words for word in WHO_SAYS)
        assert "source:" in words
    assert issubclass(getattr(baselines, name), BaseMetricLearner)
