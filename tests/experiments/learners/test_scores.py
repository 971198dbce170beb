"""Errors, their standard errors, and ranks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from learners.data import folds, labelled_samples
from learners.rows import NO_LEARNING
from learners.scores import NEIGHBORS, Score, best_of, excess, no_learning, ranks, score
from tests.experiments.learners.cases import found, scored


def test_errors_are_those_of_neighbours_on_both_halves() -> None:
    X, y = labelled_samples("iris")
    told = no_learning("iris")
    errors = []
    for fold in folds("iris"):
        assert len(fold.tested) == 75
        np.testing.assert_array_equal(y[fold.tested], fold.answers)
        train = np.setdiff1d(np.arange(150), fold.tested)
        plain = KNeighborsClassifier(NEIGHBORS).fit(X[train], y[train])
        errors.append(100 - 100 * plain.score(X[fold.tested], fold.answers))
    assert told[NO_LEARNING["raw"]].error == pytest.approx(np.mean(errors))
    assert told[NO_LEARNING["z-scores"]].error != told[NO_LEARNING["raw"]].error


def test_a_row_of_fits() -> None:
    count = len(folds("iris"))
    row = {"status": "finished", "seconds": [3.0, 1.0, 2.0], "unfinished": 2, "memory": 5}
    told = score("iris", row, [np.eye(4)] * count)
    assert (told.seconds, told.memory) == (2.0, 5)
    assert told.remark == f"2 of {count} fits end before they converge"
    assert told.error == no_learning("iris")[NO_LEARNING["z-scores"]].error
    late = score("iris", {"status": "time_limit", "message": "a fit took more"}, [])
    assert (late.error, late.is_late) == (None, True)
    failed = score("iris", {"status": "failed", "message": "no memory"}, [])
    assert (failed.remark, failed.is_late) == ("failed: no memory", False)


def test_differences_are_those_of_the_same_samples() -> None:
    one, other = scored(0, 100, 100, 0), scored(0, 100, 0, 0)
    assert one.spread == pytest.approx(100 / 12**0.5)
    assert excess(one, other) == pytest.approx((25.0, 25.0))
    assert excess(one, one) == (0.0, 0.0)


def test_ranks_share_places_and_those_without_a_number_come_last() -> None:
    rows = found(
        default=scored(0, 0, 0, 0), plain=scored(100, 100, 100, 100), late=Score("stopped")
    )
    told = ranks({"a": rows})["a"]
    assert told[best_of(rows, rows) or ""] == 1.0
    values = sorted(set(told.values()))
    assert len(values) == 4
    assert values[-1] == len(rows)
    assert sum(told.values()) == len(rows) * (len(rows) + 1) / 2
