"""The protocol of the study: scalings, what it records and says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gdaopt.datasets import Dataset
from table1.fold import fold_row
from table1.protocol import SCALINGS, Protocol, scaled
from tests.experiments.table1.cases import clouds

HERE = Path()


class TestScaling:
    def test_by_training_statistics(self) -> None:
        X, labelled = np.array([[0.0], [2.0], [10.0], [14.0]]), np.arange(4) < 2
        assert scaled(X, labelled, "train").ravel().tolist() == [-1, 1, 9, 13]
        assert scaled(X, labelled, "halves").ravel().tolist() == [-1, 1, -1, 1]

    @pytest.mark.parametrize("scaling", SCALINGS)
    def test_constant_features(self, scaling: str) -> None:
        """0.1 thrice has a deviation above 0 in floating point."""
        X = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0], [0.3, 2.0], [0.4, 9.0], [0.1, 3.0]])
        found = scaled(X, np.arange(6) < 3, scaling)
        assert np.isfinite(found).all()
        assert (found[:3, 0] == 0).all()
        assert (found[3:, 0] == 0).all() == (scaling != "halves")

    def test_unit_lengths(self) -> None:
        X = np.array([[3.0, 4.0], [-3.0, -4.0], [0.0, 0.0], [6.0, -8.0]])
        found = scaled(X, np.arange(4) < 2, "train-normalized")
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 0, 1])
        assert found[3] @ found[0] == pytest.approx(0)

    def test_each_gives_numbers(self) -> None:
        data = clouds()
        results = [
            str(fold_row(HERE, data, "euclidean", 0, 0, Protocol(scaling=name))["wrong"])
            for name in SCALINGS
        ]
        assert len(set(results)) == 3

    def test_a_constant_feature_of_a_data_set(self) -> None:
        data = clouds()
        X = np.column_stack([data.features, np.full(len(data.features), 0.1)])
        wider = Dataset("wider", X, data.labels, (*data.feature_names, "constant"))
        for name in ("certified-graph", "gmml", "fgl", "zhu2003"):
            assert fold_row(HERE, wider, name, 0, 0, Protocol())["n_test"] == 18


class TestProtocol:
    def test_the_headline_changes_no_number(self) -> None:
        assert Protocol(aggregation="score").record() == Protocol().record()
        assert Protocol(scaling="halves").record() != Protocol().record()

    def test_it_says_all_of_it(self) -> None:
        text = " ".join(Protocol(scaling="halves", aggregation="score").description())
        for part in ("2-fold", "each half by its own", "5 neighbours", "C = K", "ρ = 1e-06"):
            assert part in text
        assert "tolerance 1e-05; path start of edge weight 0.5" in text
        assert "the headline is by scores" in text
