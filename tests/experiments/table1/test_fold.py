"""A task of the classification study: splits, scaling, metrics, and who is wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.model_selection import StratifiedKFold

import gdaopt as gda
from experiments.table1.fold import class_codes, fold_row, halves
from experiments.table1.protocol import Protocol, scaled
from experiments.table1.rows import DEFAULT, ROWS, available
from experiments.table1.training import Training, with_matrix_trace
from gdaopt.datasets import Dataset, load
from gdaopt.estimators import BaseMetricLearner
from gdaopt.estimators.baselines.feature_graph import FeatureGraphLearning
from gdaopt.estimators.baselines.geometric_mean import GeometricMeanMetric
from tests.experiments.table1.cases import clouds

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


class Given(BaseMetricLearner):
    """Learns by a function of samples and codes of classes."""

    def __init__(self, learn: Callable[..., npt.NDArray[np.float64]]) -> None:
        self.learn = learn

    def _learn(self, X: npt.NDArray[np.float64], codes: Any) -> npt.NDArray[np.float64]:
        return self.learn(X, codes)


def optimum(X: npt.NDArray[Any], signal: npt.NDArray[Any], set_: Any) -> npt.NDArray[np.float64]:
    problem = gda.MetricProblem(gda.GLR(X, signal), set_(4.0, 1e-6))
    return gda.solve(problem, "certified", tolerance=1e-5).metric


class TestWhoIsWrong:
    @pytest.mark.parametrize("row", ["gmml", "fgl", "certified-diagonal", "multiclass"])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_it_is_the_estimators_word(self, n_classes: int, row: str) -> None:
        """`OneVsRestMetricClassifier` gives the same numbers by the same aggregation."""
        data = clouds(n_classes, each=36 // n_classes)
        seed, fold = 3, 1
        train, test = split(data, seed, fold)
        X, codes = z_scored(data, train), class_codes(data)[1]

        def learn(of: npt.NDArray[Any], signal: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
            match row:
                case "gmml":
                    learner = GeometricMeanMetric(t=0.5, random_state=2 * seed + fold)
                    return with_matrix_trace(learner.fit(of, signal).metric_, 4.0)
                case "fgl":
                    metric: npt.NDArray[np.float64]
                    metric = FeatureGraphLearning(trace_bound=4.0).fit(of, signal).metric_
                    return metric
                case "certified-diagonal":
                    return optimum(of, signal, gda.DiagonalMetrics)
            return optimum(of, np.eye(n_classes)[codes[train]], gda.GraphMetrics)

        found = fold_row(HERE, data, row, seed, fold, Protocol())
        y = np.where(np.isin(np.arange(len(codes)), train), codes, -1)
        for aggregation in ("vote", "score"):
            for name, classifier in (("knn", None), ("gb", gda.GraphClassifier())):
                both = gda.estimators.OneVsRestMetricClassifier(
                    Given(learn), classifier, aggregation=aggregation
                )
                labels = both.fit(X, y).transduction_
                wrong = int((labels[test] != codes[test]).sum())
                assert found["wrong"][name][aggregation] == wrong > 0
        assert (found["n_train"], found["n_test"]) == (len(train), len(test))
        classes = class_codes(data)[0]  # two are one problem, of the second
        names = ["all"] if row == "multiclass" else classes[n_classes == 2 :]
        assert [metric["class"] for metric in found["metrics"]] == names

    def test_a_metric_without_a_trace_cannot_be_scaled(self) -> None:
        with pytest.raises(gda.errors.GdaoptError, match="has trace 0: it cannot be scaled"):
            with_matrix_trace(np.zeros((2, 2)), 2.0)


class TestMetrics:
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
