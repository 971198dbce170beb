"""The least prices of many features, for a gradient that has no K×K array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from gdaopt.linalg.entries import Edges, no_edges
from gdaopt.linalg.samples import Samples
from gdaopt.problem import MetricProblem
from gdaopt.sets import FeasibleSet, TwoSparseAtoms
from gdaopt.support.validation import FloatArray
from gdaopt.wide.features import ManyFeatures
from gdaopt.wide.scatter import ScatterMatrix
from gdaopt.wide.screening import Screened, best_screened

_COUNT = 250  # prices: of features that may be missing


@dataclass(frozen=True, eq=False)
class Prices:
    """Least prices of atoms, ascending, and the features i and j of each: of one both."""

    features: Edges
    prices: FloatArray


class Pricing:
    """The search for the best atoms; each one makes the next shorter, at a gradient nearby.

    Parameters
    ----------
    samples : array or sparse array of shape (N, n)
        The samples by n features.
    feasible_set : FeasibleSet
        The set of the metrics of these features.
    is_negative : bool
        Whether minus each gradient is positive semidefinite.
    count : int, optional
        How many prices are found.
    """

    def __init__(
        self,
        samples: Samples,
        feasible_set: FeasibleSet,
        is_negative: bool,
        count: int = _COUNT,
    ) -> None:
        self._samples, self._is_negative = samples, is_negative
        self._set = feasible_set
        self._count = count
        self._family = cast(TwoSparseAtoms, feasible_set.family)
        self._screened: Screened | None = None

    def best(self, gradient: FloatArray, guess: Edges) -> Prices:
        """Return the least prices at the gradient by the Gram matrix of the samples.

        The guess are pairs of features that are good at a gradient nearby.
        """
        scatter = ScatterMatrix(self._samples, gradient, self._is_negative)
        single = np.argsort(scatter.diagonal, kind="stable")[: self._count]
        edges = listed_edges(self._set, len(scatter))
        if edges is None:
            (rows, columns, prices), self._screened = best_screened(
                scatter, self._count, guess, self._family.graph_entries, np.inf, self._screened
            )
        else:
            rows, columns = edges
            entries = self._family.graph_entries(scatter[edges], rows, columns)
            first, second = scatter.diagonal[rows] / 2, scatter.diagonal[columns] / 2
            prices = first + second - np.hypot(first - second, np.maximum(entries, 0.0))
        features = np.concatenate([single, rows]), np.concatenate([single, columns])
        prices = np.concatenate([scatter.diagonal[single], prices])
        best = np.argsort(prices, kind="stable")[: self._count]
        return Prices((features[0][best], features[1][best]), prices[best])


def listed_edges(feasible_set: FeasibleSet, size: int) -> Edges | None:
    """Return the pairs that may have an edge if a mask lists them, None if all may."""
    family = cast(TwoSparseAtoms, feasible_set.family)
    return family.edges_of(size) if family.leaves_out(size) else None


def slopes_at_zero(problem: MetricProblem) -> tuple[float, FloatArray, float]:
    """Return Q at M = 0, the derivatives by the diagonal, and the least price of all atoms."""
    whole, objective = ManyFeatures(problem), problem.objective
    sums, gradient = whole.objective.at_gram(np.zeros((objective.n_samples, objective.n_samples)))
    pricing = Pricing(whole.samples, whole.feasible_set, whole.is_negative, count=1)
    prices = pricing.best(gradient, no_edges())
    return sums.value, whole.scatter(gradient).diagonal, float(prices.prices[0])
