"""A task of the classification study: splits, scaling, metrics, and who is wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.model_selection import StratifiedKFold

import gdaopt as gda
from experiments.table1.fold import class_codes, fold_row, halves
from experiments.table1.protocol import Protocol, scaled
from experiments.table1.rows import DEFAULT, ROWS, Row, available
from experiments.table1.training import Learned, Training, with_matrix_trace
from gdaopt.datasets import Dataset, load
from gdaopt.estimators.baselines.feature_graph import FeatureGraphLearning
from gdaopt.estimators.baselines.geometric_mean import GeometricMeanMetric
from tests.experiments.table1.cases import clouds, literal_errors

HERE = Path()
OPTIMISED = [name for name, row in ROWS.items() if row.objective]


def split(dataset: Dataset, seed: int, fold: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    splitter = StratifiedKFold(2, shuffle=True, random_state=seed)
    train, test = list(splitter.split(dataset.labels, dataset.labels))[fold]
    return train, test


def z_scored(dataset: Dataset, train: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    X = dataset.features
    z_scores: npt.NDArray[np.float64] = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    return z_scores


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> list[Training]:
    """A row that notes what it is given and learns the identity."""
    seen: list[Training] = []

    def learn(training: Training) -> Learned:
        seen.append(training)
        return Learned(np.eye(training.X.shape[1]))

    for name, joint in (("spy", False), ("spy-all", True)):
        row = Row(title=name, settings="", learn=learn, one_metric=joint)
        monkeypatch.setitem(ROWS, name, row)
    return seen


class TestLiterally:
    def test_a_learner(self) -> None:
        data = clouds()
        votes_and_scores = []
        for seed, fold in ((0, 0), (3, 1), (4, 0)):
            train, test = split(data, seed, fold)
            X = z_scored(data, train)

            def metric_of(
                name: str, train: Any = train, X: Any = X, random_state: int = 2 * seed + fold
            ) -> npt.NDArray[np.float64]:
                learner = GeometricMeanMetric(t=0.5, random_state=random_state)
                learner.fit(X[train], (data.labels[train] == name).astype(int))
                return with_matrix_trace(learner.metric_, 4.0)

            found = fold_row(HERE, data, "gmml", seed, fold, Protocol())
            expected = literal_errors(data, train, test, X, metric_of)
            assert found["wrong"] == expected
            assert (found["n_train"], found["n_test"]) == (len(train), len(test))
            votes_and_scores += [tuple(counts.values()) for counts in expected.values()]
        assert min(map(min, votes_and_scores)) > 0
        assert len({vote == score for vote, score in votes_and_scores}) == 2
        with pytest.raises(gda.errors.GdaoptError, match="has trace 0: it cannot be scaled"):
            with_matrix_trace(np.zeros((2, 2)), 2.0)
        # Two classes are one problem, of the second by rows.
        data = clouds(n_classes=2, each=20)
        train, test = split(data, 0, 0)
        found = fold_row(HERE, data, "euclidean", 0, 0, Protocol())
        expected = literal_errors(data, train, test, z_scored(data, train), lambda _: np.eye(4))
        assert found["wrong"] == expected
        assert [metric["class"] for metric in found["metrics"]] == ["c1"]

    @pytest.mark.parametrize("row", ["certified-diagonal", "multiclass"])
    def test_a_glr_row(self, row: str) -> None:
        data = clouds()
        train, test = split(data, 1, 0)
        X = z_scored(data, train)
        set_ = gda.DiagonalMetrics if row == "certified-diagonal" else gda.GraphMetrics

        def metric_of(name: str) -> npt.NDArray[np.float64]:
            indicators = [data.labels[train] == label for label in dict.fromkeys(data.labels)]
            chosen = [data.labels[train] == name] if row == "certified-diagonal" else indicators
            glr = gda.GLR(X[train], np.array(chosen, dtype=float).T)
            problem = gda.MetricProblem(glr, set_(4.0, 1e-6))
            return gda.solve(problem, "certified", tolerance=1e-5).metric

        found = fold_row(HERE, data, row, 1, 0, Protocol())
        assert found["wrong"] == literal_errors(data, train, test, X, metric_of)

    def test_the_estimator_agrees(self) -> None:
        """`OneVsRestMetricClassifier` gives the same numbers by the same aggregation."""
        data = load("iris")
        train, test = split(data, 0, 0)
        X = z_scored(data, train)
        found = fold_row(HERE, data, "fgl", 0, 0, Protocol())
        codes = class_codes(data)[1]
        y = np.where(np.isin(np.arange(len(codes)), train), codes, -1)
        learner = FeatureGraphLearning(trace_bound=4.0)
        for aggregation in ("vote", "score"):
            for name, classifier in (("knn", None), ("gb", gda.GraphClassifier())):
                both = gda.estimators.OneVsRestMetricClassifier(
                    learner, classifier, aggregation=aggregation
                )
                labels = both.fit(X, y).transduction_
                wrong = int((labels[test] != codes[test]).sum())
                assert found["wrong"][name][aggregation] == wrong


class TestMetrics:
    def test_one_for_each_class_serves_both_classifiers(self, spy: list[Training]) -> None:
        data = clouds()
        found = fold_row(HERE, data, "spy", 2, 1, Protocol())
        assert len(spy) == len(found["metrics"]) == 3
        train, _ = split(data, 2, 1)
        for training, name in zip(spy, ("c3", "c2", "c1"), strict=True):
            np.testing.assert_array_equal(training.labels, data.labels[train] == name)
            np.testing.assert_array_equal(np.flatnonzero(training.labelled), train)
            np.testing.assert_allclose(training.X, z_scored(data, train))
            assert training.samples.shape == (len(train), 4)
            assert (training.seed, training.trace_bound) == (5, 4.0)
        assert [metric["class"] for metric in found["metrics"]] == ["c3", "c2", "c1"]
        assert found["wrong"] == fold_row(HERE, data, "euclidean", 2, 1, Protocol())["wrong"]
        spy.clear()
        found = fold_row(HERE, data, "spy-all", 0, 0, Protocol())
        assert [training.signal.shape for training in spy] == [(18, 3)]
        assert [metric["class"] for metric in found["metrics"]] == ["all"]

    # Of SciPy, about how scikit-learn 1.6 calls it.
    @pytest.mark.filterwarnings("ignore:scipy.optimize:DeprecationWarning")
    @pytest.mark.parametrize("name", [n for n in available(DEFAULT)[0] if n not in OPTIMISED])
    def test_traces(self, name: str) -> None:
        data = clouds()
        codes = class_codes(data)[1]
        labelled = halves(data, codes, 0, 0, Protocol())
        X = scaled(data.features, labelled, "train")
        signal = (codes[labelled] == 1).astype(float)[:, None]
        metric = ROWS[name].learn(Training(X, labelled, signal, 0, Protocol())).metric
        assert np.trace(metric) <= 4 * (1 + 1e-9)
        bounded = name in ("fgl", "yang2018")
        assert bounded or np.trace(metric) == pytest.approx(4)
        assert np.linalg.eigvalsh(metric)[0] >= -1e-9

    def test_a_run_that_did_not_end_is_no_number(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from experiments.table1 import objective_rows

        monkeypatch.setattr(
            objective_rows,
            "_method",
            lambda *_: gda.methods.Certified(tolerance=1e-9, max_iterations=1),
        )
        with pytest.raises(gda.errors.GdaoptError, match="certified ended as iteration_limit"):
            fold_row(HERE, load("iris"), "certified-graph", 0, 0, Protocol())


class TestSplits:
    def test_a_fold_without_a_class(self) -> None:
        data = clouds()
        assert class_codes(data)[0] == ["c3", "c2", "c1"]  # in the order of the rows
        labels = data.labels.astype(object)
        labels[5] = "alone"
        bad = Dataset("bad", data.features, labels.astype(str), data.feature_names)
        messages = []
        for fold in (0, 1):
            try:
                fold_row(HERE, bad, "euclidean", 0, fold, Protocol())
            except gda.errors.InvalidInputError as error:
                messages.append(str(error))
        (message,) = messages
        assert message.startswith("data set 'bad': class 'alone' has no sample in the training")
