"""What the tests of the classification study share: small data, made-up numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.table1.outcome import Block, Outcome
from experiments.table1.protocol import Protocol
from gdaopt.datasets import Dataset


def clouds(n_classes: int = 3, each: int = 12, n_features: int = 4, seed: int = 0) -> Dataset:
    """Return classes that overlap, in features of different scales; the last class comes first."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(n_classes), each)
    X = rng.normal(size=(len(codes), n_features)) + 1.2 * np.eye(n_classes, n_features)[codes]
    names = [f"c{n_classes - code}" for code in codes.tolist()]
    X = X * 10.0 ** np.arange(n_features) + 5
    return Dataset("clouds", X, np.array(names), tuple(f"f{n}" for n in range(n_features)))


def task(row: str, dataset: str, seed: int, fold: int, wrong: int, **more: Any) -> dict[str, Any]:
    """Return the row of a task on 50 + 50 samples, with one wrong label less by scores."""
    counts = {"vote": wrong, "score": wrong - 1}
    return {
        **{"dataset": dataset, "row": row, "seed": seed, "fold": fold},
        **{"status": "finished", "message": "", "n_train": 50, "n_test": 50},
        "wrong": {"knn": counts, "gb": {name: 2 * count for name, count in counts.items()}},
        "metrics": [{"class": "a", "seconds": 0.5}],
        **more,
    }


def block(row: str, wrong: Sequence[Sequence[int]], dataset: str = "iris") -> Block:
    """Return the tasks of a row from its wrong labels by kNN and votes, by seed and fold."""
    tasks = [
        [task(row, dataset, seed, fold, count) for fold, count in enumerate(folds)]
        for seed, folds in enumerate(wrong)
    ]
    return Block(dataset, row, tasks)


def outcome(*blocks: Block, **more: Any) -> Outcome:
    """Return an outcome by the protocol."""
    return Outcome(Protocol(), blocks, **more)


def literal_errors(
    dataset: Dataset,
    train: npt.NDArray[np.intp],
    test: npt.NDArray[np.intp],
    X: npt.NDArray[np.float64],
    metric_of: Callable[[str], npt.NDArray[np.float64]],
) -> dict[str, dict[str, int]]:
    """Return the wrong labels of a fold as the protocol's text says, pair by pair.

    X are the scaled samples, and the classes are in the order of their first rows.
    """
    labels = dataset.labels.tolist()
    classes = list(dict.fromkeys(labels))
    z: dict[str, list[list[float]]] = {"knn": [], "gb": []}
    for name in classes:
        M = metric_of(name)
        signs = np.array([1.0 if label == name else -1.0 for label in labels])
        distances = np.array([[(a - b) @ M @ (a - b) for b in X] for a in X])
        nearest = [train[np.argsort(distances[i, train])[:5]] for i in test]
        z["knn"].append([float(signs[near].mean()) for near in nearest])
        weights = np.exp(-distances)
        np.fill_diagonal(weights, 0.0)
        laplacian = np.diag(weights.sum(axis=1)) - weights
        right = -laplacian[np.ix_(test, train)] @ signs[train]
        z["gb"].append(np.linalg.solve(laplacian[np.ix_(test, test)], right).tolist())
    wrong = {"knn": {"vote": 0, "score": 0}, "gb": {"vote": 0, "score": 0}}
    for classifier, answers in z.items():
        for number, sample in enumerate(test.tolist()):
            of_classes = [answer[number] for answer in answers]
            votes = [answer > 0 for answer in of_classes]
            by_vote = classes[votes.index(True)] if any(votes) else classes[0]
            by_score = classes[of_classes.index(max(of_classes))]
            wrong[classifier]["vote"] += by_vote != labels[sample]
            wrong[classifier]["score"] += by_score != labels[sample]
    return wrong
