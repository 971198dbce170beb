"""The protocol of the study: one frozen object, which every output states."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gdaopt.scaling import scale_features
from gdaopt.support.validation import FloatArray, unknown_name

CLASSIFIERS = {"knn": "kNN", "gb": "GB"}
"""The classifiers by name, and what tables call them."""

AGGREGATIONS = {"vote": "votes", "score": "scores"}
"""How the answers for the classes are put together, and what tables call it."""

HEADLINE = "vote"
"""The aggregation of comparisons and pictures, which tables have first."""

SCALINGS = {
    "train": "z-score by the statistics of the training half",
    "halves": "z-score of each half by its own statistics; uses those of the test half",
    "train-normalized": (
        "z-score by the statistics of the training half, then each sample to length 1"
    ),
}
"""Whose statistics the z-scores of the features use, in words."""

_RULES = {"scale": "zscore", "trace_bound": "K"}  # by their names in `gdaopt.scaling`


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How errors are measured: the same for all data sets and all rows.

    Only the scalings "train" and "train-normalized" use nothing of the test half.
    """

    scaling: str = "train"
    n_folds: int = 2  # of the cross-validation, which is stratified
    n_neighbors: int = 5
    min_eigenvalue: float = 1e-6  # ρ of the methods that minimise an objective
    tolerance: float = 1e-5
    initial_edge_weight: float = 0.5  # of the path start

    def __post_init__(self) -> None:
        if self.scaling not in SCALINGS:
            raise unknown_name("scaling", self.scaling, SCALINGS)

    def record(self) -> dict[str, Any]:
        """Return the values that numbers depend on."""
        return {**asdict(self), **_RULES}

    def description(self) -> Sequence[str]:
        """Return the protocol in sentences."""
        bound = _RULES["trace_bound"]
        return (
            f"{self.n_folds}-fold cross-validation, stratified, shuffled by the seeds 0, 1, …; "
            "each fold is once the test half; the error of a seed is wrong labels / test labels "
            "over its folds.",
            f"Features: {SCALINGS[self.scaling]}; a feature that is constant there becomes 0.",
            "One against all: for each class a metric is learned on labels 0 and 1, but for the "
            "rows with one metric for all problems; two classes are one problem. The same metric "
            "serves both classifiers.",
            f"kNN: {self.n_neighbors} neighbours. GB: the harmonic solution on the full graph of "
            "training and test samples, w = exp(-δ), no self-loops, all test samples at once.",
            f"Trace: C = {bound}, K the number of features; metrics without a trace bound of "
            f"their own are scaled to trace {bound}.",
            f"GDA's rows: ρ = {self.min_eigenvalue:g}, tolerance {self.tolerance:g}; path start of "
            f"edge weight {self.initial_edge_weight:g}; linear programs in closed form.",
            "Votes: z > 0 is a vote for its class, most votes win, ties go to the first class, no "
            "vote at all to class 1. Scores: the largest z wins. Both are computed from the same "
            f"metrics; the headline is by {AGGREGATIONS[HEADLINE]}.",
            "Nothing is tuned by data set, nor to a published number.",
        )


def scaled(features: FloatArray, labelled: np.ndarray[Any, Any], scaling: str) -> FloatArray:
    """Return all features as the protocol scales them, by the samples that are labelled.

    A feature that is constant in the half whose statistics are used becomes 0 there, since nothing
    could be learned about it.
    """
    if scaling == "halves":
        halves = np.empty_like(features)
        for half in (labelled, ~labelled):
            halves[half] = scale_features(features[half], _RULES["scale"])
        return halves
    result: FloatArray = scale_features(features, _RULES["scale"], features[labelled])
    if scaling == "train-normalized":
        lengths = np.linalg.norm(result, axis=1, keepdims=True)
        result /= np.where(lengths > 0, lengths, 1.0)
    return result
