"""Fits in a child process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from gdaopt.estimators import GraphMetricLearner, MetricLearner, MetricLearnerCV
from learners import child
from learners.fits import fit_task
from learners.rows import LEARNERS, SEARCH, Learner, named
from tests.estimators.cases import samples

WITHIN = {"class": "MetricLearner", "objective": "glr", "metrics": "diagonal"}


@pytest.mark.parametrize(
    "learner",
    [GraphMetricLearner(), LinearDiscriminantAnalysis(), NeighborhoodComponentsAnalysis()],
    ids=lambda learner: type(learner).__name__,
)
def test_the_matrix_is_that_of_transform(learner: Any) -> None:
    X, y = samples()
    seconds, _ = child.fit(learner, X, y, 60.0)
    assert seconds > 0
    matrix = child.matrix_of(learner, X.shape[1])
    mapped = learner.transform(X)
    np.testing.assert_allclose((X - X[0]) @ matrix.T, mapped - mapped[0], atol=1e-9)


def test_a_row_makes_its_learner() -> None:
    made = {row.name: row.make() for row in LEARNERS if row.name in (SEARCH, "scikit-learn NCA")}
    assert isinstance(made[SEARCH], MetricLearnerCV)
    assert named("diagonal", "glr", cv=True) == "GDA diagonal CV, GLR"
    assert made["scikit-learn NCA"].random_state == 0


def test_fits_that_end_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "others.py").write_text(
        "class Endless:\n"
        "    def get_params(self): return {}\n"
        "    def fit(self, X, y):\n"
        "        while True: pass\n"
        "class Failing(Endless):\n"
        "    def fit(self, X, y): raise ValueError('no such metric')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    np.savez(tmp_path / "folds.npz", X0=np.eye(2), y0=np.arange(2))
    arguments = tmp_path / "answers", sys.executable
    source = str(tmp_path / "folds.npz")
    late = fit_task(*arguments, Learner("late", "others", "Endless"), source, 0.05)
    assert late == {"status": "time_limit", "message": "a fit took more than 0.05 s"}
    failed = fit_task(*arguments, Learner("failed", "others", "Failing"), source, 60.0)
    assert failed == {"status": "failed", "message": "ValueError: no such metric"}


@pytest.mark.parametrize(
    ("learner", "by_hand"),
    [
        (
            Learner("LDA", "sklearn.discriminant_analysis", "LinearDiscriminantAnalysis"),
            LinearDiscriminantAnalysis(),
        ),
        (
            Learner("CV", "gdaopt", "MetricLearnerCV", {"learner": WITHIN, "trace_bounds": 2}),
            MetricLearnerCV(MetricLearner("glr", metrics="diagonal"), trace_bounds=2),
        ),
    ],
    ids=["alone", "a learner within"],
)
def test_a_fit_comes_back_with_its_figures(learner: Learner, by_hand: Any, tmp_path: Path) -> None:
    X, y = samples()
    source = tmp_path / "folds.npz"
    np.savez(source, X0=X, y0=y)
    row = fit_task(tmp_path / "answers", sys.executable, learner, str(source), 60.0)
    assert row["memory"] > 2**20
    assert (len(row["seconds"]), row["unfinished"]) == (1, 0)
    with np.load(tmp_path / "answers.npz") as answers:
        expected = child.matrix_of(by_hand.fit(X, y), X.shape[1])
        np.testing.assert_allclose(answers["L0"], expected)
