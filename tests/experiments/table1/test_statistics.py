"""The study's statistics: by hand, by scipy, and what becomes of failures."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from table1.outcome import Score
from table1.statistics import (
    corrected_test,
    mean_and_error,
    mean_ranks,
    seed_errors,
)
from tests.experiments.table1.cases import block, outcome


class TestMeans:
    def test_folds_are_pooled(self) -> None:
        """Of unequal folds: not the mean of their rates."""
        assert seed_errors(np.array([[1, 0]]), np.array([[10, 30]])).tolist() == [2.5]

    def test_standard_error(self) -> None:
        values = np.random.default_rng(0).normal(size=50)
        mean, error = mean_and_error(values)
        assert mean == pytest.approx(values.mean())
        assert error == pytest.approx(scipy.stats.sem(values))

    def test_score(self) -> None:
        found = outcome(block("gmml", [[3, 4], [5, 6]])).score("iris", "gmml", "knn", "vote")
        assert found == Score("iris", "gmml", "knn", "vote", 2, 0, 9.0, 2.0, 6.12)
        assert found.difference == 2.88
        by_scores = outcome(block("gmml", [[3, 4], [5, 6]])).score("iris", "gmml", "gb", "score")
        assert by_scores is not None
        assert (by_scores.error, by_scores.published) == (14.0, 10.40)

    def test_one_seed_has_no_error(self) -> None:
        found = outcome(block("nca", [[1, 2]])).score("iris", "nca", "knn", "vote")
        assert found is not None
        assert (found.error, found.standard_error, found.difference) == (3.0, None, None)

    def test_what_was_not_run(self) -> None:
        assert outcome(block("nca", [[1, 2]])).score("iris", "gmml", "knn", "vote") is None


class TestCorrectedTest:
    def test_by_hand(self) -> None:
        """The differences 1, 2, 3: variance 1, t = 2 / √(1/3 + 1)."""
        found = corrected_test(np.array([1.0, 2.0, 3.0]), ratio=1.0)
        assert found.difference == 2
        assert found.t == pytest.approx(2 / math.sqrt(4 / 3))
        assert found.p == pytest.approx(0.2254, abs=1e-4)  # of a table, 2 degrees of freedom

    @pytest.mark.parametrize("ratio", [0.0, 1 / 9, 1.0])
    def test_against_scipy(self, ratio: float) -> None:
        rng = np.random.default_rng(1)
        first, second = rng.normal(size=(2, 40))
        found, plain = corrected_test(first - second, ratio), scipy.stats.ttest_rel(first, second)
        shrunk = plain.statistic / math.sqrt(1 + 40 * ratio)
        assert found.t == pytest.approx(shrunk)
        assert found.p == pytest.approx(2 * scipy.stats.t.sf(abs(shrunk), 39))
        assert ratio or found.p == pytest.approx(plain.pvalue)

    def test_without_variance(self) -> None:
        for differences in (np.zeros(4), np.full(4, 0.5), np.array([3.0])):
            found = corrected_test(differences, 1.0)
            assert (found.t, found.p) == (None, None)

    def test_rows_are_compared_fold_by_fold(self) -> None:
        found = outcome(block("gmml", [[3, 4], [5, 7]]), block("fgl", [[1, 2], [3, 3]]))
        compared = found.compare("iris", "gmml", "fgl", "knn", "vote")
        expected = corrected_test(100 * np.array([2, 2, 2, 4]) / 50, 1.0)
        assert compared == expected
        opposite = found.compare("iris", "fgl", "gmml", "knn", "vote")
        assert opposite is not None
        assert opposite.difference == -expected.difference

    def test_on_the_seeds_that_both_have(self) -> None:
        found = outcome(block("gmml", [[3, 4], [5, 7]]), block("fgl", [[1, 3]]))
        compared = found.compare("iris", "gmml", "fgl", "knn", "vote")
        assert compared == corrected_test(np.array([4.0, 2.0]), 1.0)
        assert found.compare("wine", "gmml", "fgl", "knn", "vote") is None


class TestRanks:
    def test_ties_share_their_ranks(self) -> None:
        assert mean_ranks([[1.0, 2.0], [1.0, 1.0], [3.0, 3.0]]).tolist() == [1.75, 1.25, 3.0]

    def test_of_an_outcome(self) -> None:
        blocks = [
            *(block("gmml", [[9, 9]]), block("gmml", [[1, 1]], "wine")),
            *(block("fgl", [[3, 3]]), block("fgl", [[2, 2]], "wine")),
            *(block("nca", [[4, 4]]), block("nca", [[3, 3]], "wine")),
            block("euclidean", [[1, 1]]),  # lacks a data set
        ]
        ranks, without = outcome(*blocks).ranks("vote")
        assert {row: found["knn"] for row, found in ranks.items()} == {
            **{"gmml": 2.0, "fgl": 1.5},
            "nca": 2.5,
        }
        assert ranks["gmml"] == {"knn": 2.0, "gb": 2.0, "all": 2.0}
        assert without == ["euclidean"]
