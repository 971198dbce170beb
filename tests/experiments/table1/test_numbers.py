"""The study's statistics by hand and by SciPy, its scalings, its rows and published numbers."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import gdaopt as gda
from gdaopt.datasets import Dataset
from table1.fold import class_codes, fold_row, halves
from table1.frames import comparison_frame, metric_frame, score_frame
from table1.latex import latex
from table1.markdown import markdown
from table1.outcome import Block, Outcome, Score
from table1.picture import picture
from table1.protocol import SCALINGS, Protocol, scaled
from table1.published import DATASETS, PUBLISHED, published
from table1.rows import DEFAULT, ROWS, Row, available, find_rows
from table1.statistics import corrected_test, mean_and_error, mean_ranks, n_within, seed_errors
from table1.tables import N_PUBLISHED, _signed, nearness
from table1.training import Learned, Training
from tests.experiments.table1.cases import block, clouds, outcome, task

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


# --- What the study writes -----------------------------------------------------------------------


def test_scores(some: Outcome) -> None:
    frame = score_frame(some)
    assert len(frame) == 2 * 2 * 6
    assert frame["headline"].tolist() == [True] * 12 + [False] * 12
    row = frame[(frame["row"] == "gmml") & (frame["dataset"] == "wine")].iloc[0]
    assert pd.isna(row["error"])
    assert row["n_failed"] == 2
    assert row["published"] == 3.58
    assert frame.attrs["protocol"] == {**Protocol().record(), "aggregation": "vote"}
    assert "seconds" not in frame


def test_comparisons(some: Outcome) -> None:
    frame = comparison_frame(some)
    on_wine = frame[frame["dataset"] == "wine"]
    assert on_wine.empty  # of two rows there, one failed
    assert len(frame) == 6 * 4
    assert {"difference", "t", "p"} <= set(frame)


def test_metrics(some: Outcome) -> None:
    frame = metric_frame(some)
    assert len(frame) == 4 + 4 + 2 + 4 + 8 + 2
    glr = frame[frame["row"] == "alternating"]
    assert glr["relative_gap"].isna().sum() == 4
    assert glr["components"].tolist() == [3] * 8


def test_a_table_for_each_aggregation(some: Outcome) -> None:
    text = latex(some)
    assert text.count(r"\begin{tabular}{lrrrr}") == text.count(r"\end{tabular}") == 2
    for part in (
        r" & \multicolumn{2}{c}{iris} & \multicolumn{2}{c}{wine} \\",
        r"NCA (scikit-learn) & 5.00 $\pm$ 1.00 & 10.00 $\pm$ 2.00 & 4.00 $\pm$ 1.00",
        r"\quad published & (6.12) & (10.40) & (3.58) & (4.37) \\",
        r"Stankovi\'c 2018, labels by SDP [1 seed] & 6.00 & 12.00 & -- & -- \\",
        r"by votes: mean $\pm$ standard error over 2 seeds.}",
        "% not run: seeds: get it | there",
    ):
        assert part in text
    assert all(f"% {sentence}" in text for sentence in some.protocol.description())


def test_every_line_has_as_many_cells(some: Outcome) -> None:
    lines = [line for line in latex(some).splitlines() if line.endswith(r"\\")]
    wide = [line for line in lines if r"\multicolumn" not in line]
    assert {line.count(" & ") for line in wide} == {4}


def test_numbers(some: Outcome) -> None:
    text = markdown(some)
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
    ):
        assert part in text
    assert text.index("## By votes") < text.index("## By scores")


def test_the_headline_comes_first() -> None:
    text = markdown(outcome(block("nca", [[1, 2]]), aggregation="score"))
    assert text.index("## By scores (headline)") < text.index("## By votes")


def test_what_else_it_says(some: Outcome) -> None:
    text = markdown(some)
    for sentence in some.protocol.description():
        assert f"* {sentence}" in text
    for part in (
        f"gdaopt {gda.__version__}, numpy {np.__version__}",
        "* seeds: get it \\| there",
        "* lmnn: metric-learn is not installed",
        "* gmml on wine, seed 0, fold 1: failed: one \\| two three",
        "(`yang2018-sdp`): as yang2018, labels by the semidefinite relaxation; an extra row",
        "* alternating on iris: 8 × ConvergenceWarning",
        "## Compared with GDA, the paper's (alternating)",
        "Nadeau and Bengio 2003",
        "| GDA, the paper's (alternating) | iris | GLR | 5 | 2.5e-01 | 2.5e-01 | 3 | 3 | 8 |",
        "| GDA, the paper's (alternating) | 2 | – |",
    ):
        assert part in text
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(tables) >= 8
    for table in tables:
        assert len({re.sub(r"\\\|", "", line).count("|") for line in table.splitlines()}) == 1


def test_stars() -> None:
    ours = [[2, 2 + seed % 2] for seed in range(30)]
    found = outcome(block("gmml", ours), block("nca", [[40, 40]] * 30))
    assert re.search(r"\+7\d\.\d\d \(p 0\.00\) \*", markdown(found))


def test_published_numbers_are_open(some: Outcome) -> None:
    figure = picture(some)
    panels = figure.axes
    assert [ax.get_title() for ax in panels] == [
        "iris, kNN",
        "wine, kNN",
        "iris, GB",
        "wine, GB",
    ]
    open_marks = [line for line in panels[0].lines if line.get_markerfacecolor() == "none"]
    assert sorted(float(line.get_xdata()[0]) for line in open_marks) == [4.35, 6.12]  # type: ignore[index,arg-type]  # arrays
    assert [text.get_text() for text in panels[1].texts] == ["failed"]
    titles = [label.get_text() for label in panels[0].get_yticklabels()]
    assert titles[0] == "Zadeh, Hosseini, Sra 2016 (GMML)"
    assert some.protocol.description()[0][:40] in figure.get_supxlabel()


def test_limits_are_inclusive_in_two_decimals() -> None:
    assert n_within([1.0, -1.0049, 1.0051, 2.0, -2.01]) == [2, 4]
    assert n_within([]) == [0, 0]


def test_counts() -> None:
    """By kNN 6 and by GB 12 against 6.12 and 10.40 (GMML), 4.35 and 4.80 (FGL)."""
    found = outcome(block("gmml", [[3, 3]]), block("fgl", [[3, 3]]), block("nca", [[3, 3]]))
    assert found.within("vote") == (4, [1, 3])
    assert nearness(found, "vote") == (
        "By votes, 1 of the 46 published numbers lie within one point of ours, 3 within two "
        "(of 4 that were run)."
    )
    assert found.within("score") == (4, [1, 1])  # 4 and 8


def test_extra_rows_do_not_count() -> None:
    found = outcome(block("gmml", [[3, 3], [3, 3]]), block("fgl", [[3, 3]]))
    assert found.within("vote")[0] == 2


def test_none() -> None:
    assert nearness(outcome(block("nca", [[3, 3]])), "vote").startswith("None of the 46")


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
    assert len(list(failing(status=status).metrics())) == 3
