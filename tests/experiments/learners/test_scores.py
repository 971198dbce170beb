"""The comparison of learners: fits in a child process, scores, and what is said of them."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from experiments.learners import child
from experiments.learners.comparison import below_no_learning, comparison
from experiments.learners.data import folds, labelled_samples
from experiments.learners.fits import LIMIT, fit_folds
from experiments.learners.rows import DEFAULTS, LEARNERS, NO_LEARNING, SEARCH, Learner, named
from experiments.learners.scores import (
    NEIGHBORS,
    Score,
    best_of,
    no_learning,
    ranks,
    score,
)
from gdaopt.estimators import GraphMetricLearner, MetricLearner, MetricLearnerCV
from tests.estimators.cases import samples


def scored(*wrong: float, **numbers: float) -> Score:
    """Return a row by the shares of wrong answers of each sample."""
    return Score(seconds=numbers.get("seconds", 1.0), memory=2**20, wrong=np.array(wrong))


def found(**changed: Score) -> dict[str, Score]:
    """Return rows of one data set; those named by `names` below may be others."""
    names = {"plain": NO_LEARNING["z-scores"], "default": DEFAULTS[0], "late": LEARNERS[3].name}
    names |= {"lda": "scikit-learn LDA", "lmnn": "metric-learn LMNN", "raw": NO_LEARNING["raw"]}
    half = scored(0, 100, 0, 100)
    rows = dict.fromkeys([*NO_LEARNING.values(), *(learner.name for learner in LEARNERS)], half)
    return rows | {names[key]: value for key, value in changed.items()}


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


# --- Fits in a child process ---------------------------------------------------------------------


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
    matrix, mapped = child.matrix_of(learner, X.shape[1]), learner.transform(X)
    np.testing.assert_allclose((X - X[0]) @ matrix.T, mapped - mapped[0], atol=1e-9)
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
    arguments = tmp_path / "answers.npz", sys.executable
    source = str(tmp_path / "folds.npz")
    late = fit_folds(*arguments, Learner("late", "others", "Endless"), source, 0.05)
    assert late == {"status": "time_limit", "message": "a fit took more than 0.05 s"}
    failed = fit_folds(*arguments, Learner("failed", "others", "Failing"), source, 60.0)
    assert failed == {"status": "failed", "message": "ValueError: no such metric"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "by_hand"),
    [
        (
            Learner("LDA", "sklearn.discriminant_analysis", "LinearDiscriminantAnalysis"),
            LinearDiscriminantAnalysis(),
        ),
        (
            Learner("CV", "gdaopt", "MetricLearnerCV", {"learner": WITHIN}),
            MetricLearnerCV(MetricLearner("glr", metrics="diagonal")),
        ),
    ],
    ids=["alone", "a learner within"],
)
def test_a_fit_comes_back_with_its_figures(learner: Learner, by_hand: Any, tmp_path: Path) -> None:
    X, y = samples()
    source = tmp_path / "folds.npz"
    np.savez(source, X0=X, y0=y)
    row = fit_folds(tmp_path / "answers.npz", sys.executable, learner, str(source), 60.0)
    assert row["memory"] > 2**20
    assert (len(row["seconds"]), row["unfinished"]) == (1, 0)
    with np.load(tmp_path / "answers.npz") as answers:
        expected = child.matrix_of(by_hand.fit(X, y), X.shape[1])
        np.testing.assert_allclose(answers["L0"], expected)


# --- What the comparison of learners says --------------------------------------------------------


WORSE, BETTER = scored(100, 100, 100, 100), scored(0, 0, 0, 0)


def test_a_default_that_is_worse_than_no_learning_is_named() -> None:
    plain = NO_LEARNING["z-scores"]
    # One sample of four is no more than the standard error, and other rows are no defaults.
    for rows in (
        found(),
        found(default=scored(0, 100, 100, 100)),
        found(default=Score("stopped")),
        found(late=WORSE),
    ):
        assert below_no_learning(rows, plain) == {}
    assert below_no_learning(found(default=WORSE), plain) == {DEFAULTS[0]: 50.0}
    text = "\n".join(comparison({"one": found(default=WORSE), "two": found()}))
    assert f"| one | {DEFAULTS[0]} +50.00 |" in text
    assert "| two | none | none |" in text
    assert "are worse than no learning, z-scores on: one." in text
    assert "are worse than no learning, z-scores on: no data set." in places()


def places(**changed: Score) -> str:
    """Return what the comparison of one data set says."""
    return "\n".join(comparison({"one": found(**changed)}))


def test_times_beside_others() -> None:
    late = Score("stopped", is_late=True)

    def told(ours: Score, lmnn: Score) -> str:
        """Return how many times as long LMNN takes."""
        lines = places(default=ours, lmnn=lmnn).partition("How many times")[2].splitlines()
        return lines[-1].split(" | ")[1]

    def taking(seconds: float) -> Score:
        return scored(0, 0, 0, 0, seconds=seconds)

    assert told(taking(2.0), taking(8.0)) == "4×"
    assert told(taking(2.0), taking(1.0)) == "0.5×"
    assert told(taking(2.0), late) == f"at least {LIMIT / 2:.0f}×"
    assert told(Score("failed: x"), taking(1.0)) == "no comparison"
    assert told(taking(1.0), Score("failed: x")) == "no comparison"
