"""The study's statistics by hand and by SciPy, its scalings, its rows and published numbers."""

import math
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from experiments.table1.fold import class_codes, fold_row, halves
from experiments.table1.markdown import markdown
from experiments.table1.outcome import Block, Outcome, Score
from experiments.table1.protocol import SCALINGS, Protocol, scaled
from experiments.table1.published import DATASETS, PUBLISHED, published
from experiments.table1.rows import ROWS, Row, available
from experiments.table1.statistics import (
    corrected_test,
    mean_and_error,
    mean_ranks,
    n_within,
    seed_errors,
)
from experiments.table1.tables import N_PUBLISHED, _signed
from experiments.table1.training import Learned, Training
from tests.experiments.table1.cases import block, clouds, outcome, task

HERE = Path()
DATA = ("iris", "wine")


def test_numbers_of_folds_ranks_and_limits() -> None:
    # Of unequal folds: not the mean of their rates.
    assert seed_errors(np.array([[1, 0]]), np.array([[10, 30]])).tolist() == [2.5]
    values = np.random.default_rng(0).normal(size=50)
    assert mean_and_error(values) == pytest.approx((values.mean(), scipy.stats.sem(values)))
    # Ties share their ranks.
    assert mean_ranks([[1.0, 2.0], [1.0, 1.0], [3.0, 3.0]]).tolist() == [1.75, 1.25, 3.0]
    # Limits are inclusive, in two decimals.
    assert n_within([1.0, -1.0049, 1.0051, 2.0, -2.01]) == [2, 4]
    assert n_within([]) == [0, 0]


def test_score() -> None:
    found = outcome(block("gmml", [[3, 4], [5, 6]])).score("iris", "gmml", "knn", "vote")
    assert found == Score("iris", "gmml", "knn", "vote", 2, 0, 9.0, 2.0, 6.12)
    assert found.difference == 2.88
    assert [_signed(value) for value in (-0.5, -0.004, None)] == ["−0.50", "+0.00", "–"]
    by_scores = outcome(block("gmml", [[3, 4], [5, 6]])).score("iris", "gmml", "gb", "score")
    assert by_scores is not None
    assert (by_scores.error, by_scores.published) == (14.0, 10.40)
    one_seed = outcome(block("nca", [[1, 2]]))
    found = one_seed.score("iris", "nca", "knn", "vote")
    assert found is not None
    assert (found.error, found.standard_error, found.difference) == (3.0, None, None)
    assert one_seed.score("iris", "gmml", "knn", "vote") is None  # was not run


@pytest.mark.parametrize("ratio", [0.0, 1 / 9, 1.0])
def test_the_corrected_test_beside_scipys(ratio: float) -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 40))
    found, plain = corrected_test(first - second, ratio), scipy.stats.ttest_rel(first, second)
    shrunk = plain.statistic / math.sqrt(1 + 40 * ratio)
    assert found.t == pytest.approx(shrunk)
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(abs(shrunk), 39))
    assert ratio or found.p == pytest.approx(plain.pvalue)
    # By hand: the differences 1, 2, 3 have the variance 1, so that t = 2 / √(1/3 + ratio).
    by_hand = corrected_test(np.array([1.0, 2.0, 3.0]), ratio)
    assert by_hand.difference == 2
    assert by_hand.t == pytest.approx(2 / math.sqrt(1 / 3 + ratio))
    for differences in (np.zeros(4), np.full(4, 0.5), np.array([3.0])):  # without variance
        found = corrected_test(differences, ratio)
        assert (found.t, found.p) == (None, None)


def test_rows_are_compared_fold_by_fold() -> None:
    found = outcome(block("gmml", [[3, 4], [5, 7]]), block("fgl", [[1, 2], [3, 3]]))
    compared = found.compare("iris", "gmml", "fgl", "knn", "vote")
    expected = corrected_test(100 * np.array([2, 2, 2, 4]) / 50, 1.0)
    assert compared == expected
    opposite = found.compare("iris", "fgl", "gmml", "knn", "vote")
    assert opposite is not None
    assert opposite.difference == -expected.difference
    # On the seeds that both have.
    found = outcome(block("gmml", [[3, 4], [5, 7]]), block("fgl", [[1, 3]]))
    compared = found.compare("iris", "gmml", "fgl", "knn", "vote")
    assert compared == corrected_test(np.array([4.0, 2.0]), 1.0)
    assert found.compare("wine", "gmml", "fgl", "knn", "vote") is None


def test_by_training_statistics() -> None:
    X, labelled = np.array([[0.0], [2.0], [10.0], [14.0]]), np.arange(4) < 2
    assert scaled(X, labelled, "train").ravel().tolist() == [-1, 1, 9, 13]
    assert scaled(X, labelled, "halves").ravel().tolist() == [-1, 1, -1, 1]
    X = np.array([[3.0, 4.0], [-3.0, -4.0], [0.0, 0.0], [6.0, -8.0]])
    found = scaled(X, labelled, "train-normalized")
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 0, 1])
    assert found[3] @ found[0] == pytest.approx(0)
    protocols = [Protocol(scaling=name) for name in SCALINGS]
    rows = [fold_row(HERE, clouds(), "euclidean", 0, 0, protocol) for protocol in protocols]
    assert len({str(row["wrong"]) for row in rows}) == 3


@pytest.mark.parametrize("scaling", SCALINGS)
def test_constant_features(scaling: str) -> None:
    """0.1 thrice has a deviation above 0 in floating point."""
    X = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0], [0.3, 2.0], [0.4, 9.0], [0.1, 3.0]])
    found = scaled(X, np.arange(6) < 3, scaling)
    assert np.isfinite(found).all()
    assert (found[:3, 0] == 0).all()
    assert (found[3:, 0] == 0).all() == (scaling != "halves")


def test_published_numbers() -> None:
    assert published("wine", "mao2016", "gb") == 5.18
    assert published("seeds", "fgl", "knn") == 7.77
    assert published("pb300", "zhu2003", "gb") is published("breast_cancer", "gmml", "knn") is None
    found = [published(*names) for names in product(DATASETS, PUBLISHED, ("knn", "gb"))]
    assert len(found) == 48
    known = [value for value in found if value is not None]
    assert len(known) == N_PUBLISHED == 46
    assert 3.5 < min(known) < max(known) < 10.5
    assert sum(known) == pytest.approx(249.17)
    assert set(PUBLISHED) <= set(ROWS)


def test_packages_that_are_absent_or_do_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """metric-learn 0.7 imports beside scikit-learn 1.9, and its fits fail."""

    def fail(training: Training) -> Learned:
        raise TypeError(f"{len(training.X)} samples")

    row = Row(title="broken", settings="", learn=fail, needs="json")
    monkeypatch.setitem(ROWS, "broken", row)
    says = "broken: json does not work here (TypeError: 20 samples)"
    assert available(["broken", "nca"]) == (["nca"], [says])
    monkeypatch.setattr("experiments.table1.rows.find_spec", lambda _: None)
    absent = [f"{name}: metric-learn is not installed" for name in ("lmnn", "itml")]
    assert available(["lmnn", "gmml", "itml"]) == (["gmml"], absent)


@pytest.mark.parametrize("name", ["zhu2003", "mao2016", "yang2018", "fgl"])
def test_transductive_rows_see_the_test_half(name: str) -> None:
    data = clouds()
    codes = class_codes(data)[1]
    labelled = halves(data, codes, 0, 0, Protocol())
    X = scaled(data.features, labelled, "train")
    other = X.copy()
    other[~labelled] += np.random.default_rng(1).normal(size=other[~labelled].shape)
    signal = (codes[labelled] == 1).astype(float)[:, None]
    one, two = (
        ROWS[name].learn(Training(samples, labelled, signal, 0, Protocol())).metric
        for samples in (X, other)
    )
    assert np.array_equal(one, two) == (name == "fgl")


# --- What the study writes -----------------------------------------------------------------------


def test_the_page(some: Outcome) -> None:
    text = markdown(some, "Made by hand.")
    for part in (
        "# Table 1: classification errors, %",
        "## By votes (headline)",
        "| kNN | iris | wine |",
        "| Zadeh, Hosseini, Sra 2016 (GMML) | 9.00 ± 2.00 (6.12: +2.88) | failed (2 tasks) |",
        "| NCA (scikit-learn) | 5.00 ± 1.00 | 4.00 ± 1.00 |",
        "| GDA, the paper's (alternating) | 4.00 ± 0.00 (4.35: −0.35) | – |",
        "| Yang, Cheung, Stanković 2018, labels by SDP [1 seed] | 6.00 | – |",
        "| Zadeh, Hosseini, Sra 2016 (GMML) | 14.00 ± 4.00 (10.40: +3.60) | failed (2 tasks) |",
        "By votes, 1 of the 46 published numbers lie within one point of ours, 1 within two",
        *(f"* {sentence}" for sentence in some.protocol.description()),
        "Written by `python -m experiments table1`. Made by hand.",
        "* lmnn: metric-learn is \\| not installed",
        "* gmml on wine, seed 0, fold 1: failed: one \\| two three",
        "(`yang2018-sdp`): as yang2018, labels by the semidefinite relaxation; an extra row",
        "* alternating on iris: 8 × ConvergenceWarning",
        "## Compared with GDA, the paper's (alternating)",
        "Nadeau and Bengio 2003",
        "| GDA, the paper's (alternating) | iris | GLR | 5 | 2.5e-01 | 2.5e-01 | 3 | 3 | 8 |",
        "| GDA, the paper's (alternating) | 2 | – |",
    ):
        assert part in text
    assert text.index("## By votes") < text.index("## By scores")
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(tables) >= 8
    for table in tables:
        assert len({re.sub(r"\\\|", "", line).count("|") for line in table.splitlines()}) == 1


def failing(**status: Any) -> Block:
    """Three good tasks, and one that is not."""
    good = [task("gmml", "iris", seed, fold, 3) for seed, fold in ((0, 0), (0, 1), (1, 0))]
    about = {"dataset": "iris", "row": "gmml", "seed": 1, "fold": 1}
    return Block("iris", "gmml", [good[:2], [good[2], {**about, "message": "why", **status}]])


@pytest.mark.parametrize("status", ["failed", "died"])
def test_no_number_of_fewer_folds(status: str) -> None:
    found = outcome(failing(status=status), block("fgl", [[3, 3], [3, 3]]))
    score = found.score("iris", "gmml", "knn", "vote")
    assert score is not None
    assert (score.error, score.standard_error, score.n_failed) == (None, None, 1)
    assert found.compare("iris", "gmml", "fgl", "knn", "vote") is None
    assert found.within("vote")[0] == 2
    assert found.ranks("vote")[1] == ["gmml"]
    assert len(failing(status=status).metrics()) == 3
