"""What tests of objectives of distances share: the literal formulas, and problems of each."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import gdaopt as gda
from gdaopt.support.validation import FloatArray

N, K = 16, 4
LABELS = np.array(["b", "a", "b", "c"] * 3 + ["a"] * 4)
PAIRS = [(0, 1), (5, 2), (3, 7), (0, 4), (1, 15), (14, 15), (8, 8), (10, 6)]
QUADRUPLETS = [(0, 2, 0, 1), (1, 5, 3, 9), (4, 6, 4, 7), (12, 13, 2, 11), (0, 15, 1, 14)]
TRIPLETS = [(0, 2, 1), (1, 5, 3), (4, 6, 7), (12, 13, 11), (0, 15, 14), (3, 3, 8), (9, 2, 10)]
N_NEIGHBORS = 2


def samples(size: int = K, count: int = N, seed: int = 0) -> FloatArray:
    """Return samples far from 0, two of which coincide."""
    X: FloatArray = np.random.default_rng(seed).standard_normal((count, size)) + 3.0
    X[1] = X[5]
    return X


def hinge(z: Any, width: float) -> Any:
    """Return the smoothed hinge of a number."""
    if z <= 0:
        return 0 * z
    return z**2 / (2 * width) if z <= width else z - width / 2


def mcml(D: Any, y: Any, weights: Any = None) -> Any:
    """Return MCML of a matrix of distances."""
    size = len(D)
    weights = np.ones(size) if weights is None else weights
    total = 0 * D[0, 0]
    for i in range(size):
        own = [j for j in range(size) if y[j] == y[i] and j != i]
        others = np.array([-D[i, k] for k in range(size) if k != i])
        pulled = sum(D[i, j] for j in own) / len(own) if own else 0
        largest = others.max()
        total += weights[i] * (pulled + largest + np.log(np.exp(others - largest).sum()))
    return total / weights.sum()


def lmnn(D: Any, y: Any, X: Any) -> Any:
    """Return LMNN with the default weight, margin and width."""
    size = len(D)
    total = 0 * D[0, 0]
    for i in range(size):
        own = [j for j in range(size) if y[j] == y[i] and j != i]
        own.sort(key=lambda j: float(((X[i] - X[j]) ** 2).sum()))
        for j in own[:N_NEIGHBORS]:
            total += D[i, j] / 2
            for k in range(size):
                if y[k] != y[i]:
                    total += hinge(1 + D[i, j] - D[i, k], 0.2) / 2
    return total / (size * N_NEIGHBORS)


def all_pairs(size: int) -> list[tuple[int, int]]:
    """Return the pairs i < j."""
    return list(itertools.combinations(range(size), 2))


def logistic(D: Any, y: Any, pairs: Any) -> Any:
    """Return the mean logistic loss with a bias of 1.5."""
    signs = [1 if y[i] == y[j] else -1 for i, j in pairs]
    terms = [np.log1p(np.exp(s * (D[i, j] - 1.5))) for s, (i, j) in zip(signs, pairs, strict=True)]
    return sum(terms) / len(pairs)


def pair_hinge(D: Any, y: Any, pairs: Any) -> Any:
    """Return the mean hinge with the thresholds 2 and 9, and the width 3."""
    terms = [hinge(D[i, j] - 2 if y[i] == y[j] else 9 - D[i, j], 3.0) for i, j in pairs]
    return sum(terms) / len(pairs)


def deml(D: Any, y: Any, pairs: Any, similar_weight: float) -> Any:
    """Return DEML."""
    similar = [D[i, j] for i, j in pairs if y[i] == y[j]]
    different = [np.sqrt(np.maximum(D[i, j], 0)) for i, j in pairs if y[i] != y[j]]
    return similar_weight * sum(similar) / len(similar) - sum(different) / len(different)


def lsml(D: Any, quadruplets: Any) -> Any:
    """Return LSML."""
    differences = [np.sqrt(D[a, b]) - np.sqrt(D[c, d]) for a, b, c, d in quadruplets]
    return sum(np.maximum(difference, 0) ** 2 for difference in differences) / len(quadruplets)


def triplet_loss(D: Any, pull: float, function: Callable[[Any], Any]) -> Any:
    """Return the mean loss of `TRIPLETS` with a margin of 1."""
    terms = [pull * D[i, j] + (1 - pull) * function(1 + D[i, j] - D[i, k]) for i, j, k in TRIPLETS]
    return sum(terms) / len(TRIPLETS)


@dataclass(frozen=True)
class Case:
    """An objective, and its formula of all distances, labels and samples."""

    make: Callable[..., Any]
    formula: Callable[[Any, Any, Any], Any]
    is_ordered: bool = False  # whether the order of the samples has a meaning

    def value(self, X: FloatArray, y: Any, metric: FloatArray, dtype: Any = np.float64) -> Any:
        """Return the formula at a metric."""
        X, metric = X.astype(dtype), metric.astype(dtype)
        differences = X[:, None] - X[None]
        distances = np.einsum("ijk,kl,ijl->ij", differences, metric, differences)
        return self.formula(distances, y, X)


WEIGHTS = np.linspace(0.5, 2, N)
DISTINCT = [pair for pair in PAIRS if pair[0] != pair[1]]

CASES: dict[str, Case] = {
    "MCML": Case(gda.MCML, lambda D, y, X: mcml(D, y)),
    "MCML, weights": Case(
        lambda X, y, **options: gda.MCML(X, y, sample_weight=WEIGHTS, **options),
        lambda D, y, X: mcml(D, y, WEIGHTS),
        is_ordered=True,
    ),
    "LMNN": Case(
        lambda X, y, **options: gda.LMNN(X, y, n_neighbors=N_NEIGHBORS, **options),
        lambda D, y, X: lmnn(D, y, X),
    ),
    "logistic": Case(
        lambda X, y, **options: gda.LogisticPairs(X, y, bias=1.5, **options),
        lambda D, y, X: logistic(D, y, all_pairs(len(D))),
    ),
    "logistic, listed": Case(
        lambda X, y, **options: gda.LogisticPairs(X, y, bias=1.5, pairs=PAIRS, **options),
        lambda D, y, X: logistic(D, y, DISTINCT),
        is_ordered=True,
    ),
    "logistic, similar": Case(
        lambda X, y, **options: gda.LogisticPairs(
            X, bias=1.5, pairs=PAIRS, similar=[y[i] == y[j] for i, j in PAIRS], **options
        ),
        lambda D, y, X: logistic(D, y, DISTINCT),
        is_ordered=True,
    ),
    "hinge, similar": Case(
        lambda X, y, **options: gda.PairHinge(
            X,
            upper=2,
            lower=9,
            width=3,
            pairs=PAIRS,
            similar=np.arange(len(PAIRS)) % 2 == 0,
            **options,
        ),
        lambda D, y, X: (
            sum(
                hinge(D[pair] - 2 if n % 2 == 0 else 9 - D[pair], 3.0)
                for n, pair in enumerate(PAIRS)
                if pair[0] != pair[1]
            )
            / len(DISTINCT)
        ),
        is_ordered=True,
    ),
    "triplets, hinge": Case(
        lambda X, y, **options: gda.TripletHinge(X, TRIPLETS, width=3, **options),
        lambda D, y, X: triplet_loss(D, 0.5, lambda z: hinge(z, 3.0)),
        is_ordered=True,
    ),
    "triplets, logistic": Case(
        lambda X, y, **options: gda.LogisticTriplets(
            X, TRIPLETS, push_weight=0.75, margin=1, **options
        ),
        lambda D, y, X: triplet_loss(D, 0.25, lambda z: np.log1p(np.exp(z))),
        is_ordered=True,
    ),
    "hinge": Case(
        lambda X, y, **options: gda.PairHinge(X, y, upper=2, lower=9, width=3, **options),
        lambda D, y, X: pair_hinge(D, y, all_pairs(len(D))),
    ),
    "DEML": Case(gda.DEML, lambda D, y, X: deml(D, y, all_pairs(len(D)), 1.0)),
    "DEML, listed": Case(
        lambda X, y, **options: gda.DEML(X, y, similar_weight=0.1, pairs=PAIRS, **options),
        lambda D, y, X: deml(D, y, DISTINCT, 0.1),
        is_ordered=True,
    ),
    "LSML": Case(
        lambda X, y, **options: gda.LSML(X, quadruplets=QUADRUPLETS, **options),
        lambda D, y, X: lsml(D, QUADRUPLETS),
        is_ordered=True,
    ),
}
