"""What the tests of the classification study share: small data, made-up numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

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
