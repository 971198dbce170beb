"""The study's statistics by hand and by SciPy, its scalings, its rows and published numbers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from gdaopt.datasets import Dataset
from table1.fold import class_codes, fold_row, halves
from table1.outcome import Score
from table1.protocol import SCALINGS, Protocol, scaled
from table1.published import DATASETS, PUBLISHED, published
from table1.rows import DEFAULT, ROWS, Row, available, find_rows
from table1.statistics import corrected_test, mean_and_error, mean_ranks, seed_errors
from table1.tables import N_PUBLISHED, _signed
from table1.training import Learned, Training
from tests.experiments.table1.cases import block, clouds, outcome

HERE = Path()


def test_folds_are_pooled() -> None:
    """Of unequal folds: not the mean of their rates."""
    assert seed_errors(np.array([[1, 0]]), np.array([[10, 30]])).tolist() == [2.5]


def test_standard_error() -> None:
    values = np.random.default_rng(0).normal(size=50)
    mean, error = mean_and_error(values)
    assert mean == pytest.approx(values.mean())
    assert error == pytest.approx(scipy.stats.sem(values))


def test_score() -> None:
    found = outcome(block("gmml", [[3, 4], [5, 6]])).score("iris", "gmml", "knn", "vote")
    assert found == Score("iris", "gmml", "knn", "vote", 2, 0, 9.0, 2.0, 6.12)
    assert found.difference == 2.88
    assert [_signed(value) for value in (-0.5, -0.004, None)] == ["−0.50", "+0.00", "–"]
    by_scores = outcome(block("gmml", [[3, 4], [5, 6]])).score("iris", "gmml", "gb", "score")
    assert by_scores is not None
    assert (by_scores.error, by_scores.published) == (14.0, 10.40)


def test_one_seed_has_no_error() -> None:
    found = outcome(block("nca", [[1, 2]])).score("iris", "nca", "knn", "vote")
    assert found is not None
    assert (found.error, found.standard_error, found.difference) == (3.0, None, None)


def test_what_was_not_run() -> None:
    assert outcome(block("nca", [[1, 2]])).score("iris", "gmml", "knn", "vote") is None


def test_by_hand() -> None:
    """The differences 1, 2, 3: variance 1, t = 2 / √(1/3 + 1)."""
    found = corrected_test(np.array([1.0, 2.0, 3.0]), ratio=1.0)
    assert found.difference == 2
    assert found.t == pytest.approx(2 / math.sqrt(4 / 3))
    assert found.p == pytest.approx(0.2254, abs=1e-4)  # of a table, 2 degrees of freedom


@pytest.mark.parametrize("ratio", [0.0, 1 / 9, 1.0])
def test_against_scipy(ratio: float) -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 40))
    found, plain = corrected_test(first - second, ratio), scipy.stats.ttest_rel(first, second)
    shrunk = plain.statistic / math.sqrt(1 + 40 * ratio)
    assert found.t == pytest.approx(shrunk)
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(abs(shrunk), 39))
    assert ratio or found.p == pytest.approx(plain.pvalue)


def test_without_variance() -> None:
    for differences in (np.zeros(4), np.full(4, 0.5), np.array([3.0])):
        found = corrected_test(differences, 1.0)
        assert (found.t, found.p) == (None, None)


def test_rows_are_compared_fold_by_fold() -> None:
    found = outcome(block("gmml", [[3, 4], [5, 7]]), block("fgl", [[1, 2], [3, 3]]))
    compared = found.compare("iris", "gmml", "fgl", "knn", "vote")
    expected = corrected_test(100 * np.array([2, 2, 2, 4]) / 50, 1.0)
    assert compared == expected
    opposite = found.compare("iris", "fgl", "gmml", "knn", "vote")
    assert opposite is not None
    assert opposite.difference == -expected.difference


def test_on_the_seeds_that_both_have() -> None:
    found = outcome(block("gmml", [[3, 4], [5, 7]]), block("fgl", [[1, 3]]))
    compared = found.compare("iris", "gmml", "fgl", "knn", "vote")
    assert compared == corrected_test(np.array([4.0, 2.0]), 1.0)
    assert found.compare("wine", "gmml", "fgl", "knn", "vote") is None


def test_ties_share_their_ranks() -> None:
    assert mean_ranks([[1.0, 2.0], [1.0, 1.0], [3.0, 3.0]]).tolist() == [1.75, 1.25, 3.0]


def test_of_an_outcome() -> None:
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


def test_by_training_statistics() -> None:
    X, labelled = np.array([[0.0], [2.0], [10.0], [14.0]]), np.arange(4) < 2
    assert scaled(X, labelled, "train").ravel().tolist() == [-1, 1, 9, 13]
    assert scaled(X, labelled, "halves").ravel().tolist() == [-1, 1, -1, 1]


@pytest.mark.parametrize("scaling", SCALINGS)
def test_constant_features(scaling: str) -> None:
    """0.1 thrice has a deviation above 0 in floating point."""
    X = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0], [0.3, 2.0], [0.4, 9.0], [0.1, 3.0]])
    found = scaled(X, np.arange(6) < 3, scaling)
    assert np.isfinite(found).all()
    assert (found[:3, 0] == 0).all()
    assert (found[3:, 0] == 0).all() == (scaling != "halves")


def test_unit_lengths() -> None:
    X = np.array([[3.0, 4.0], [-3.0, -4.0], [0.0, 0.0], [6.0, -8.0]])
    found = scaled(X, np.arange(4) < 2, "train-normalized")
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 0, 1])
    assert found[3] @ found[0] == pytest.approx(0)


def test_each_gives_numbers() -> None:
    data = clouds()
    results = [
        str(fold_row(HERE, data, "euclidean", 0, 0, Protocol(scaling=name))["wrong"])
        for name in SCALINGS
    ]
    assert len(set(results)) == 3


def test_a_constant_feature_of_a_data_set() -> None:
    data = clouds()
    X = np.column_stack([data.features, np.full(len(data.features), 0.1)])
    wider = Dataset("wider", X, data.labels, (*data.feature_names, "constant"))
    for name in ("certified-graph", "gmml", "fgl", "zhu2003"):
        assert fold_row(HERE, wider, name, 0, 0, Protocol())["n_test"] == 18


def test_the_headline_changes_no_number() -> None:
    assert Protocol(aggregation="score").record() == Protocol().record()
    assert Protocol(scaling="halves").record() != Protocol().record()


def test_it_says_all_of_it() -> None:
    text = " ".join(Protocol(scaling="halves", aggregation="score").description())
    for part in ("2-fold", "each half by its own", "5 neighbours", "C = K", "ρ = 1e-06"):
        assert part in text
    assert "tolerance 1e-05; path start of edge weight 0.5" in text
    assert "the headline is by scores" in text


def test_all_46() -> None:
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
def test_some(dataset: str, row: str, classifier: str, number: float | None) -> None:
    assert published(dataset, row, classifier) == number


def test_rows() -> None:
    paper = ["zhu2003", "mao2016", "yang2018", "gmml", "fgl", "alternating"]
    assert list(ROWS)[:6] == paper
    assert set(DEFAULT) == set(ROWS) - {"yang2018-sdp"}
    assert find_rows(["gmml", "joint", "gmml"]) == ["gmml", "joint"]
    sets = ("graph", "diagonal", "definite")
    for objective, names in {
        "GLR": ["alternating", "joint", *(f"certified-{kind}" for kind in sets), "multiclass"],
        "MCML": [f"mcml-{kind}" for kind in sets],
        "LMNN": [f"lmnn-{kind}" for kind in sets],
    }.items():
        assert [name for name, row in ROWS.items() if row.objective == objective] == names


def test_absent_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("table1.rows.find_spec", lambda _: None)
    found, left_out = available(["lmnn", "gmml", "itml"])
    assert found == ["gmml"]
    assert left_out == [f"{name}: metric-learn is not installed" for name in ("lmnn", "itml")]


def test_packages_that_do_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """metric-learn 0.7 imports beside scikit-learn 1.9, and its fits fail."""

    def fail(training: Training) -> Learned:
        raise TypeError(f"{len(training.X)} samples")

    row = Row(title="broken", settings="", learn=fail, needs="json")
    monkeypatch.setitem(ROWS, "broken", row)
    found = available(["broken", "nca"])
    assert found == (["nca"], ["broken: json does not work here (TypeError: 20 samples)"])


def test_transductive_rows_see_the_test_half() -> None:
    data = clouds()
    codes = class_codes(data)[1]
    labelled = halves(data, codes, 0, 0, Protocol())
    X = scaled(data.features, labelled, "train")
    other = X.copy()
    other[~labelled] += np.random.default_rng(1).normal(size=other[~labelled].shape)
    signal = (codes[labelled] == 1).astype(float)[:, None]
    for name, sees in (
        ("zhu2003", True),
        ("mao2016", True),
        ("yang2018", True),
        ("fgl", False),
    ):
        one, two = (
            ROWS[name].learn(Training(samples, labelled, signal, 0, Protocol())).metric
            for samples in (X, other)
        )
        assert np.array_equal(one, two) != sees
