"""The data sets of the comparison and their folds, which are the same for all learners."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from gdaopt.datasets import load
from gdaopt.support.validation import FloatArray

Labels = npt.NDArray[np.intp]


@dataclass(frozen=True)
class DataSet:
    """A data set, and how often it is divided into two stratified halves."""

    # returns samples and the numbers of their classes
    load: Callable[[], tuple[FloatArray, Labels]]
    repetitions: int = 3
    both: bool = True  # whether each half of a division is learned from, or the first one only
    about: str = ""  # what a reader has to know of it


def _named(name: str) -> tuple[FloatArray, Labels]:
    data = load(name)
    return data.features, np.unique(data.labels, return_inverse=True)[1]


def _synthetic(size: int, informative: int, more: str, **options: Any) -> DataSet:
    """Return a problem of `make_classification`, whose other features are noise or redundant."""
    n_features, n_classes = options["n_features"], options["n_classes"]
    others = n_features - informative
    about = f"{informative} informative features and {others} of noise"
    if more == "redundant":
        options["n_redundant"] = others
        about = f"{informative} informative features and {others} linear combinations of them"
    make = partial(
        make_classification,
        size,
        n_informative=informative,
        n_clusters_per_class=1 if n_classes > 2 else 2,
        random_state=1,
        **{"n_redundant": 0, **options},
    )
    return DataSet(make, 1, both=False, about=f"`make_classification`: {about}")


DATA = {
    "iris": DataSet(partial(_named, "iris")),
    "wine": DataSet(partial(_named, "wine")),
    "seeds": DataSet(partial(_named, "seeds")),
    "breast_cancer": DataSet(partial(_named, "breast_cancer"), 1),
    "digits": DataSet(partial(load_digits, return_X_y=True), 1, both=False),
    "page_blocks": DataSet(partial(_named, "page_blocks"), 1, both=False),
    "noise_2": _synthetic(3000, 6, "noise", n_features=100, n_classes=2),
    "noise_5": _synthetic(2400, 6, "noise", n_features=150, n_classes=5),
    "noise_10": _synthetic(20_000, 8, "noise", n_features=50, n_classes=10),
    "correlated_2": _synthetic(3000, 6, "redundant", n_features=60, n_classes=2),
    "correlated_10": _synthetic(10_000, 8, "redundant", n_features=30, n_classes=10),
}
"""By name. The large ones are divided once, so that all of it takes an hour."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Training samples and queries, in z-scores by the training samples, and their labels."""

    X: FloatArray
    y: Labels
    queries: FloatArray
    answers: Labels
    tested: npt.NDArray[np.intp]  # which samples of the data set are the queries
    spreads: FloatArray  # what the features were divided by


@cache
def labelled_samples(name: str) -> tuple[FloatArray, Labels]:
    """Return the samples and labels of a data set."""
    return DATA[name].load()


@cache
def folds(name: str) -> list[Fold]:
    """Return the folds of a data set, seed by seed."""
    X, y = labelled_samples(name)
    all_folds = []
    for seed in range(DATA[name].repetitions):
        halves = list(StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y))
        for train, test in halves if DATA[name].both else halves[:1]:
            scaler = StandardScaler().fit(X[train])
            scaled = scaler.transform(X[train]), scaler.transform(X[test])
            all_folds.append(Fold(scaled[0], y[train], scaled[1], y[test], test, scaler.scale_))
    return all_folds


def write_training_samples(name: str, file: IO[bytes]) -> None:
    """Write what learners see of a data set: X0, y0, X1, …"""
    arrays: dict[str, Any] = {}
    for n, fold in enumerate(folds(name)):
        arrays |= {f"X{n}": fold.X, f"y{n}": fold.y}
    np.savez(file, **arrays)
