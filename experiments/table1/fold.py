"""One task of the study: metrics learned on one half of a data set, and tested on the other."""

import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.table1.protocol import AGGREGATIONS, CLASSIFIERS, Protocol, scaled
from experiments.table1.rows import ROWS
from experiments.table1.training import Training
from gdaopt.datasets import Dataset
from gdaopt.errors import InvalidInputError
from gdaopt.support.validation import FloatArray

Codes = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


def fold_row(
    path: Path,  # noqa: ARG001 (all tasks are called with it; this one writes no files)
    dataset: Dataset,
    row: str,
    seed: int,
    fold: int,
    protocol: Protocol,
) -> dict[str, Any]:
    """Learn a row's metrics on the training half, and classify the test half by both classifiers.

    The split is that of a seed, and the fold says which half is the test half. Plain values are
    returned: ``n_train``, ``n_test``; ``wrong``, the number of wrong labels by classifier and
    aggregation; ``metrics``, for each metric its class, seconds and facts; ``seconds`` of the whole
    task; ``warned``, the number of warnings by kind.
    """
    start = time.perf_counter()
    classes, codes = class_codes(dataset)
    labelled = halves(dataset, codes, seed, fold, protocol)
    X = scaled(dataset.features, labelled, protocol.scaling)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for kind in (DeprecationWarning, FutureWarning):  # packages warn of each other
            warnings.simplefilter("ignore", kind)
        signals, metrics, told = _learned(
            X, labelled, codes, row, protocol.n_folds * seed + fold, protocol
        )
        wrong = {
            name: _wrong(name, X, labelled, codes, signals, metrics, protocol)
            for name in CLASSIFIERS
        }
    names = classes[1:] if len(signals) == 1 else classes
    labels = ["all"] if ROWS[row].one_metric else names
    return {
        "n_train": int(labelled.sum()),
        "n_test": int((~labelled).sum()),
        "wrong": wrong,
        "metrics": [{"class": name, **facts} for name, facts in zip(labels, told, strict=True)],
        "seconds": time.perf_counter() - start,
        "warned": dict(sorted(Counter(warning.category.__name__ for warning in caught).items())),
    }


def class_codes(dataset: Dataset) -> tuple[list[str], Codes]:
    """Return the classes, and each sample's index into them.

    The classes come in the order of their first rows: in the data sets of the table, the order of
    their numbers. Ties between votes go to the class that comes first.
    """
    classes = list(dict.fromkeys(dataset.labels.tolist()))
    return classes, np.array([classes.index(label) for label in dataset.labels.tolist()])


def halves(dataset: Dataset, codes: Codes, seed: int, fold: int, protocol: Protocol) -> Mask:
    """Return which samples are the training half; refuse one that lacks a class."""
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(protocol.n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small classes; those that are too small are refused below
        train, _ = list(folds.split(codes, codes))[fold]
    absent = set(range(codes.max() + 1)).difference(codes[train].tolist())
    if absent:
        name = class_codes(dataset)[0][min(absent)]
        raise InvalidInputError(
            f"data set {dataset.name!r}: class {name!r} has no sample in the training half of seed "
            f"{seed}, fold {fold}; leave the class out, or get more samples of it"
        )
    labelled = np.full(len(codes), False)
    labelled[train] = True
    return labelled


def _learned(
    X: FloatArray, labelled: Mask, codes: Codes, row: str, seed: int, protocol: Protocol
) -> tuple[npt.NDArray[np.intp], list[FloatArray], list[dict[str, Any]]]:
    """Return the problems' 0/1 labels, a metric for each problem, and the facts of each metric.

    A row with one metric for all problems learns it once.
    """
    from gdaopt.estimators.inputs import class_signal

    signal = class_signal(codes[labelled])
    parts = [signal] if ROWS[row].one_metric else list(signal.T[:, :, None])
    metrics, told = [], []
    for part in parts:
        start = time.perf_counter()
        learned = ROWS[row].learn(Training(X, labelled, part, seed, protocol))
        told.append({"seconds": time.perf_counter() - start, **learned.facts})
        metrics.append(learned.metric)
    signals: npt.NDArray[np.intp] = signal.T.astype(np.intp)
    return signals, metrics if len(metrics) == len(signals) else metrics * len(signals), told


def _wrong(
    name: str,
    X: FloatArray,
    labelled: Mask,
    codes: Codes,
    signals: npt.NDArray[np.intp],
    metrics: list[FloatArray],
    protocol: Protocol,
) -> dict[str, int]:
    """Return how many labels of the test half a classifier gets wrong, by aggregation."""
    from gdaopt.estimators import GraphClassifier, MetricKNeighborsClassifier
    from gdaopt.estimators.metric_classifiers import fit_clone
    from gdaopt.estimators.one_vs_rest import binary_scores, class_scores

    answers = []
    for signal, metric in zip(signals, metrics, strict=True):
        classifier = (
            MetricKNeighborsClassifier(protocol.n_neighbors, metric=metric)
            if name == "knn"
            else GraphClassifier(metric)
        )
        fitted = fit_clone(classifier, X, signal, labelled)
        answers.append(binary_scores(fitted, X, ~labelled))
    truth = codes[~labelled]
    return {
        aggregation: int((class_scores(answers, aggregation).argmax(axis=1) != truth).sum())
        for aggregation in AGGREGATIONS
    }
