"""The protocol of the study: one frozen object, which every output states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from gdaopt.errors import unknown_name
from gdaopt.studies.versions import versions
from gdaopt.validation import FloatArray

__all__ = ["AGGREGATIONS", "CLASSIFIERS", "SCALINGS", "Protocol", "scaled", "used_versions"]

CLASSIFIERS = {"knn": "kNN", "gb": "GB"}
"""The classifiers by name, and what tables call them."""

AGGREGATIONS = {"vote": "votes", "score": "scores"}
"""How the answers for the classes are put together, and what tables call it."""

SCALINGS = {
    "train": "z-score by the statistics of the training half",
    "halves": "z-score of each half by its own statistics; uses those of the test half",
    "train-unit": "z-score by the statistics of the training half, then each sample to length 1",
}
"""How features are scaled, in words."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How errors are measured: the same for all data sets and all rows.

    Attributes
    ----------
    scaling : {"train", "halves", "train-unit"}
        See `SCALINGS`. Only the first and the last see nothing of the test half.
    aggregation : {"vote", "score"}
        Which of the two is the headline. Both are computed, from the same metrics.
    n_folds : int
        Of the cross-validation, stratified.
    n_neighbors : int
        k of kNN.
    trace_per_feature : float
        C/K: the trace of all metrics, or its bound.
    min_eigenvalue, tolerance, initial_edge_weight : float
        ρ, where the paper's method and its relatives stop, and their start.

    Raises
    ------
    InvalidInputError
        For an unknown scaling or aggregation.

    Examples
    --------
    >>> Protocol(scaling="trian")
    Traceback (most recent call last):
    gdaopt.errors.InvalidInputError: unknown scaling 'trian'; did you mean 'train'? \
Known: halves, train, train-unit
    """

    scaling: str = "train"
    aggregation: str = "vote"
    n_folds: int = 2
    n_neighbors: int = 5
    trace_per_feature: float = 1.0
    min_eigenvalue: float = 1e-6
    tolerance: float = 1e-5
    initial_edge_weight: float = 0.5

    def __post_init__(self) -> None:
        if self.scaling not in SCALINGS:
            raise unknown_name("scaling", self.scaling, SCALINGS)
        if self.aggregation not in AGGREGATIONS:
            raise unknown_name("aggregation", self.aggregation, AGGREGATIONS)

    def trace(self, n_features: int) -> float:
        """Return C."""
        return self.trace_per_feature * n_features

    def record(self) -> dict[str, Any]:
        """Return what numbers depend on: all but the headline, which only says how to show them."""
        values = asdict(self)
        del values["aggregation"]
        return values

    def description(self) -> Sequence[str]:
        """Return the protocol in sentences.

        Examples
        --------
        >>> Protocol().description()[1]
        'Features: z-score by the statistics of the training half; a feature that is constant \
there becomes 0.'
        """
        bound = "K" if self.trace_per_feature == 1 else f"{self.trace_per_feature:g} K"
        headline = AGGREGATIONS[self.aggregation]
        return (
            f"{self.n_folds}-fold cross-validation, stratified, shuffled by the seeds 0, 1, …; "
            "each fold is once the test half; the error of a seed is wrong labels / test labels "
            "over its folds.",
            f"Features: {SCALINGS[self.scaling]}; a feature that is constant there becomes 0.",
            "One against all: for each class a metric is learned on labels 0 and 1; two classes "
            "are one problem. The same metric serves both classifiers.",
            f"kNN: {self.n_neighbors} neighbours. GB: the harmonic solution on the full graph of "
            "training and test samples, w = exp(-δ), no self-loops, all test samples at once.",
            f"Trace: C = {bound}, K the number of features; metrics without a trace bound of "
            f"their own are scaled to trace {bound}.",
            f"GLR rows: ρ = {self.min_eigenvalue:g}, tolerance {self.tolerance:g}; path start of "
            f"edge weight {self.initial_edge_weight:g}; linear programs in closed form.",
            "Votes: z > 0 is a vote for its class, most votes win, ties go to the first class, no "
            "vote at all to class 1. Scores: the largest z wins. Both are computed from the same "
            f"metrics; the headline is by {headline}.",
            "Nothing is tuned by data set, nor to a published number.",
        )


def used_versions() -> dict[str, str]:
    """Return the versions of packages on which numbers depend.

    Examples
    --------
    >>> list(used_versions())[-1]
    'scikit-learn'
    """
    return versions() | {"scikit-learn": version("scikit-learn")}


def scaled(features: FloatArray, labelled: np.ndarray[Any, Any], scaling: str) -> FloatArray:
    """Return the features as the protocol has them.

    Parameters
    ----------
    features : ndarray of shape (N, K)
        All samples.
    labelled : ndarray of bool, shape (N,)
        The training half.
    scaling : str
        One of `SCALINGS`.

    Returns
    -------
    ndarray of shape (N, K)
        A feature that is constant in the half whose statistics count is 0 where they are applied:
        nothing could be learned of it.

    Examples
    --------
    >>> features, labelled = np.array([[0.0], [2.0], [4.0], [6.0]]), np.arange(4) < 2
    >>> scaled(features, labelled, "train").ravel(), scaled(features, labelled, "halves").ravel()
    (array([-1.,  1.,  3.,  5.]), array([-1.,  1., -1.,  1.]))
    """
    if scaling == "halves":
        result = np.empty_like(features)
        for half in (labelled, ~labelled):
            result[half] = _standardised(features[half], features[half])
        return result
    result = _standardised(features, features[labelled])
    if scaling == "train-unit":
        lengths = np.linalg.norm(result, axis=1, keepdims=True)
        result /= np.where(lengths > 0, lengths, 1.0)
    return result


def _standardised(features: FloatArray, reference: FloatArray) -> FloatArray:
    """Return features less the mean of the reference, over its population standard deviation."""
    # In units of the range, which is 0 for equal numbers; their deviation need not be.
    extent = np.ptp(reference, axis=0)
    unit = np.where(extent > 0, extent, np.inf)
    centre = reference.mean(axis=0)
    deviation = ((reference - centre) / unit).std(axis=0)
    standardised: FloatArray = (features - centre) / unit / np.where(extent > 0, deviation, 1.0)
    return standardised
