"""The study's statistics: by hand, by scipy, and what becomes of failures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

from table1.outcome import Block, Score
from table1.protocol import Protocol
from table1.published import DATASETS, PUBLISHED, published
from table1.rows import ROWS
from table1.statistics import (
    corrected_test,
    mean_and_error,
    mean_ranks,
    n_within,
    seed_errors,
)
from table1.tables import N_PUBLISHED, nearness
from tests.experiments.table1.cases import block, outcome, task


class TestPublished:
    def test_all_46(self) -> None:
        numbers = [
            published(dataset, row, classifier)
            for row in PUBLISHED
            for dataset in DATASETS
            for classifier in ("knn", "gb")
        ]
        assert len(numbers) == 48
        assert N_PUBLISHED == sum(number is not None for number in numbers) == 46
        assert all(number is None or 3.5 < number < 10.5 for number in numbers)
        assert sum(number or 0 for number in numbers) == pytest.approx(249.17)
        assert set(PUBLISHED) <= set(ROWS)

    @pytest.mark.parametrize(
        ("dataset", "row", "classifier", "number"),
        [
            ("iris", "gmml", "gb", 10.40),
            ("wine", "mao2016", "gb", 5.18),
            ("seeds", "fgl", "knn", 7.77),
            ("pb300", "yang2018", "knn", 5.33),
            ("pb300", "zhu2003", "gb", None),
            ("pb300", "alternating", "gb", 4.23),
            ("iris", "nca", "knn", None),
            ("breast_cancer", "gmml", "knn", None),
        ],
    )
    def test_some(self, dataset: str, row: str, classifier: str, number: float | None) -> None:
        assert published(dataset, row, classifier) == number


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


class TestNearness:
    def test_limits_are_inclusive_in_two_decimals(self) -> None:
        assert n_within([1.0, -1.0049, 1.0051, 2.0, -2.01]) == [2, 4]
        assert n_within([]) == [0, 0]

    def test_counts(self) -> None:
        """By kNN 6 and by GB 12 against 6.12 and 10.40 (GMML), 4.35 and 4.80 (FGL)."""
        found = outcome(block("gmml", [[3, 3]]), block("fgl", [[3, 3]]), block("nca", [[3, 3]]))
        assert found.within("vote") == (4, [1, 3])
        assert nearness(found, "vote") == (
            "By votes, 1 of the 46 published numbers lie within one point of ours, 3 within two "
            "(of 4 that were run)."
        )
        assert found.within("score") == (4, [1, 1])  # 4 and 8

    def test_extra_rows_do_not_count(self) -> None:
        found = outcome(block("gmml", [[3, 3], [3, 3]]), block("fgl", [[3, 3]]))
        assert found.within("vote")[0] == 2

    def test_none(self) -> None:
        assert nearness(outcome(block("nca", [[3, 3]])), "vote").startswith("None of the 46")


class TestFailures:
    def failing(self, **status: Any) -> Block:
        """Three good tasks, and one that is not."""
        good = [task("gmml", "iris", seed, fold, 3) for seed, fold in ((0, 0), (0, 1), (1, 0))]
        about = {"dataset": "iris", "row": "gmml", "seed": 1, "fold": 1}
        return Block("iris", "gmml", [good[:2], [good[2], {**about, "message": "why", **status}]])

    @pytest.mark.parametrize("status", ["failed", "died"])
    def test_no_number_of_fewer_folds(self, status: str) -> None:
        found = outcome(self.failing(status=status), block("fgl", [[3, 3], [3, 3]]))
        score = found.score("iris", "gmml", "knn", "vote")
        assert score is not None
        assert (score.error, score.standard_error, score.n_failed) == (None, None, 1)
        assert found.compare("iris", "gmml", "fgl", "knn", "vote") is None
        assert found.within("vote")[0] == 2
        assert found.ranks("vote")[1] == ["gmml"]
        assert len(list(self.failing(status=status).metrics())) == 3


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
