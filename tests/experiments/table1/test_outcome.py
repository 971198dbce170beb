"""The rows of the tasks put together: what is near, and what becomes of failures."""

from __future__ import annotations

from typing import Any

import pytest

from table1.outcome import Block
from table1.statistics import (
    n_within,
)
from table1.tables import nearness
from tests.experiments.table1.cases import block, outcome, task


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
