"""What tests of objectives share: literal formulas, problems of every objective, directions."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives import Objective, PairObjective
from gdaopt.objectives.pairs import listed_pairs, rectangles
from gdaopt.objectives.quadratic import Quadratic
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import Nearest, covariance
from tests.fuzz.reference import cholesky, inverse
from tests.helpers import random_symmetric

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


def within(memory_limit: int, make: Callable[[], Any]) -> Any:
    """Return an objective of pairs whose numbers may take so many bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PairObjective, "memory_limit", memory_limit)
        return make()


def make_tiles_small(monkeypatch: pytest.MonkeyPatch, entries: int) -> None:
    """Split pairs into tiles of about so many numbers."""
    monkeypatch.setattr(rectangles, "_TILE_ENTRIES", entries)
    monkeypatch.setattr(rectangles, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(listed_pairs, "_TILE_ENTRIES", entries)


STORAGE = ["kept", "recomputed, many tiles"]


def stored(kind: str, make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return an objective of pairs that keeps their numbers or not, in one tile or in many."""
    if "many tiles" in kind:
        make_tiles_small(monkeypatch, 2 * K)
        monkeypatch.setattr("gdaopt.objectives.pairs.pairs._PART_ENTRIES", 30)
    recomputed = "recomputed" in kind
    objective = within(1 if recomputed else 2**28, make)
    assert objective.keeps_pairs is not recomputed
    assert len(objective.pairs.tiles) > 2 or "many tiles" not in kind
    return objective


TWO_SPARSE = np.array([[0.6, -0.8], [1.0, 0.0]])


def directions(rng: np.random.Generator) -> list[gda.linalg.Direction]:
    """Return one direction of each kind."""
    change = rng.standard_normal(K)
    column = np.where(np.arange(K) == 1, 0.0, change)
    return [
        gda.linalg.DiagonalDirection(np.where(np.arange(K) == 2, 0.0, change)),
        gda.linalg.ColumnDirection(1, column),
        gda.linalg.AtomsDirection(
            np.array([0.7, -0.2]), Atoms(np.array([[3, 0], [0, 0]]), TWO_SPARSE)
        ),
        gda.linalg.AtomsDirection(np.array([-0.3]), Atoms.of_vectors(change[None])),
        gda.linalg.DenseDirection(random_symmetric(rng, K)),
    ]


def atoms_of(kind: str, rng: np.random.Generator) -> Atoms:
    """Return a few atoms, dense or two-sparse."""
    if kind == "dense":
        vectors = rng.standard_normal((5, K))
        return Atoms.of_vectors(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    support = np.array([[0, 1], [2, 1], [3, 0], [2, 2]])
    return Atoms(support, np.array([[0.6, -0.8], [-0.8, 0.6], [0.8, 0.6], [1, 0]]))


def assert_near(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Assert a difference within `tolerance` of the largest entry of what is expected."""
    largest = float(np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * largest)


def glr(D: Any, z: Any, weights: Any = 1.0) -> Any:
    """Return the regulariser of a matrix of distances, over ordered pairs."""
    signal = z.reshape(len(z), -1)
    squares = ((signal[:, None] - signal[None]) ** 2).sum(axis=2)
    return (np.exp(-D) * squares * weights).sum()


def hinge(z: Any, width: float) -> Any:
    """Return the smoothed hinge of a number."""
    if z <= 0:
        return 0 * z
    return z**2 / (2 * width) if z <= width else z - width / 2


def of_neighbors(D: Any, y: Any, weights: Any, loss: Callable[[Any, Any], Any]) -> Any:
    """Return the mean over samples of a loss of distances: to its own class, and to all others."""
    terms, y = [], np.asarray(y)
    for i in range(len(D)):
        others = np.arange(len(D)) != i
        terms.append(loss(D[i, others & (y == y[i])], D[i, others]))
    return np.average(terms, weights=weights)


def mcml(D: Any, y: Any, weights: Any = None) -> Any:
    """Return MCML of a matrix of distances."""

    def loss(own: Any, others: Any) -> Any:
        return (own.mean() if len(own) else 0) + np.logaddexp.reduce(-others)

    return of_neighbors(D, y, weights, loss)


def nca(D: Any, y: Any, weights: Any = None) -> Any:
    """Return NCA of a matrix of distances."""

    def loss(own: Any, others: Any) -> Any:
        return -np.exp(others.min() - own).sum() / np.exp(others.min() - others).sum()

    return of_neighbors(D, y, weights, loss)


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


def signs(y: Any, pairs: Any) -> list[int]:
    """Return 1 for pairs of one class, and -1 for others."""
    return [1 if y[i] == y[j] else -1 for i, j in pairs]


def logistic(D: Any, y: Any, pairs: Any) -> Any:
    """Return the mean logistic loss with a bias of 1.5."""
    found = zip(signs(y, pairs), pairs, strict=True)
    return sum(np.log1p(np.exp(s * (D[pair] - 1.5))) for s, pair in found) / len(pairs)


def pair_hinge(D: Any, similar: Any, pairs: Any) -> Any:
    """Return the mean hinge with the thresholds 2 and 9, and the width 3."""
    found = zip(similar, pairs, strict=True)
    return sum(hinge(D[p] - 2 if s > 0 else 9 - D[p], 3.0) for s, p in found) / len(pairs)


def squared_hinge(D: Any, similar: Any, pairs: Any) -> Any:
    """Return the mean squared hinge with the thresholds 2 and 9."""
    found = zip(similar, pairs, strict=True)
    return sum(np.maximum(D[p] - 2 if s > 0 else 9 - D[p], 0) ** 2 for s, p in found) / len(pairs)


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
    """An objective of distances, and its formula of all distances, labels and samples."""

    make: Callable[..., Any]
    formula: Callable[[Any, Any, Any], Any]
    X: FloatArray = field(default_factory=samples)
    y: Any = field(default_factory=lambda: LABELS)

    def __call__(self) -> Any:
        return self.make(self.X, self.y)

    def value(self, metric: Any, X: Any = None, y: Any = None) -> Any:
        """Return the formula at a metric, in its digits, for these samples or others."""
        X, y = self.X if X is None else X, self.y if y is None else y
        X = X.astype(metric.dtype)
        differences = X[:, None] - X[None]
        distances = np.einsum("ijk,kl,ijl->ij", differences, metric, differences)
        return self.formula(distances, y, X)

    def gradient(self, metric: FloatArray) -> FloatArray:
        """Return the gradient, by differences of fourth order in extended precision."""
        gradient, step = np.zeros((K, K)), np.longdouble(1e-5)
        for i, j in itertools.combinations_with_replacement(range(K), 2):
            change = np.zeros((K, K), dtype=np.longdouble)
            change[i, j] = change[j, i] = step
            near, far = (
                self.value(metric + n * change) - self.value(metric - n * change) for n in (1, 2)
            )
            slope = (8 * near - far) / (12 * step)
            gradient[i, j] = gradient[j, i] = slope if i == j else slope / 2
        return gradient


N_GLR = 30


def glr_samples(rng: np.random.Generator, n: int = N_GLR) -> FloatArray:
    """Return samples with duplicates and a column that hardly varies."""
    X: FloatArray = rng.standard_normal((n, K)) * np.array([1.0, 0.5, 2.0, 1e-6]) + 10.0
    X[1] = X[0]
    X[-5:] = X[3]
    return X


def signals(rng: np.random.Generator, n: int = N_GLR) -> dict[str, FloatArray]:
    """Return signals of each kind that the pairs tell apart."""
    return {
        "labels": np.where(rng.random(n) < 0.3, 1.0, -1.0),
        "three levels": rng.choice([0.0, 1.0, 5.0], n),
        "many levels": np.resize(np.arange(20.0), n),
        "real": rng.standard_normal(n),
        "columns": rng.standard_normal((n, 3)),
        "one-hot": np.eye(3)[rng.integers(3, size=n)],
    }


SIGNALS = list(signals(np.random.default_rng(0)))


def _glr_case(signal: str, weighted: bool = False, listed: bool = False) -> Case:
    rng = np.random.default_rng(1)
    X, z = glr_samples(rng), signals(rng)[signal]
    s = rng.uniform(0.5, 2, N_GLR) if weighted else np.ones(N_GLR)
    pairs = rng.integers(0, N_GLR, (60, 2)) if listed else None
    weights = np.outer(s, s)
    if pairs is not None:
        chosen = np.zeros((N_GLR, N_GLR))
        for pair in (pairs, pairs[:, ::-1]):
            np.add.at(chosen, tuple(pair.T), 1.0)
        weights = weights * chosen
    return Case(
        lambda X, z: gda.GLR(X, z, sample_weight=s, pairs=pairs),
        lambda D, z, _X: glr(D, z, weights),
        X=X,
        y=z,
    )


WEIGHTS = np.linspace(0.5, 2, N)
DISTINCT = [pair for pair in PAIRS if pair[0] != pair[1]]

GLR_CASES = {f"GLR, {name}": _glr_case(name) for name in SIGNALS} | {
    "GLR, weights": _glr_case("labels", weighted=True),
    "GLR, weights of a real signal": _glr_case("real", weighted=True),
    "GLR, listed": _glr_case("columns", weighted=True, listed=True),
}

IS_SIMILAR = np.arange(len(PAIRS)) % 2 == 0
IS_DISTINCT = np.array([pair in DISTINCT for pair in PAIRS])

CASES: dict[str, Case] = GLR_CASES | {
    "MCML": Case(gda.MCML, lambda D, y, _X: mcml(D, y)),
    "MCML, weights": Case(
        lambda X, y: gda.MCML(X, y, sample_weight=WEIGHTS),
        lambda D, y, _X: mcml(D, y, WEIGHTS),
    ),
    "NCA": Case(gda.NCA, lambda D, y, _X: nca(D, y)),
    "NCA, weights": Case(
        lambda X, y: gda.NCA(X, y, sample_weight=WEIGHTS),
        lambda D, y, _X: nca(D, y, WEIGHTS),
    ),
    "LMNN": Case(lambda X, y: gda.LMNN(X, y, n_neighbors=N_NEIGHBORS), lmnn),
    "logistic": Case(
        lambda X, y: gda.LogisticPairs(X, y, bias=1.5),
        lambda D, y, _X: logistic(D, y, all_pairs(len(D))),
    ),
    "logistic, listed": Case(
        lambda X, y: gda.LogisticPairs(X, y, bias=1.5, pairs=PAIRS),
        lambda D, y, _X: logistic(D, y, DISTINCT),
    ),
    "logistic, similar": Case(
        lambda X, y: gda.LogisticPairs(
            X, bias=1.5, pairs=PAIRS, similar=np.array(signs(y, PAIRS)) > 0
        ),
        lambda D, y, _X: logistic(D, y, DISTINCT),
    ),
    "hinge, similar": Case(
        lambda X, _y: gda.PairHinge(X, upper=2, lower=9, width=3, pairs=PAIRS, similar=IS_SIMILAR),
        lambda D, _y, _X: pair_hinge(D, IS_SIMILAR[IS_DISTINCT], DISTINCT),
    ),
    "triplets, hinge": Case(
        lambda X, _y: gda.TripletHinge(X, TRIPLETS, width=3),
        lambda D, _y, _X: triplet_loss(D, 0.5, lambda z: hinge(z, 3.0)),
    ),
    "triplets, logistic": Case(
        lambda X, _y: gda.LogisticTriplets(X, TRIPLETS, push_weight=0.75, margin=1),
        lambda D, _y, _X: triplet_loss(D, 0.25, lambda z: np.log1p(np.exp(z))),
    ),
    "hinge": Case(
        lambda X, y: gda.PairHinge(X, y, upper=2, lower=9, width=3),
        lambda D, y, _X: pair_hinge(D, signs(y, all_pairs(len(D))), all_pairs(len(D))),
    ),
    "squared hinge": Case(
        lambda X, y: gda.PairLoss(X, y, upper=2, lower=9),
        lambda D, y, _X: squared_hinge(D, signs(y, all_pairs(len(D))), all_pairs(len(D))),
    ),
    "DEML": Case(gda.DEML, lambda D, y, _X: deml(D, y, all_pairs(len(D)), 1.0)),
    "DEML, listed": Case(
        lambda X, y: gda.DEML(X, y, similar_weight=0.1, pairs=PAIRS),
        lambda D, y, _X: deml(D, y, DISTINCT, 0.1),
    ),
    "LSML": Case(
        lambda X, _y: gda.LSML(X, quadruplets=QUADRUPLETS),
        lambda D, _y, _X: lsml(D, QUADRUPLETS),
    ),
}


class Opaque(gda.DenseObjective):
    """``tr(SM) - log det M`` from a value and a gradient alone."""

    def __init__(self, S: FloatArray) -> None:
        super().__init__(n_features=len(S))
        self.S = S

    def value(self, metric: FloatArray) -> float:
        return float(log_det(self.S)(metric))

    def gradient(self, metric: FloatArray) -> FloatArray:
        gradient: FloatArray = self.S - np.linalg.inv(metric)
        return (gradient + gradient.T) / 2


def log_det(S: FloatArray) -> Callable[[Any], Any]:
    """Return the formula ``tr(SM) - log det M``."""

    def value(metric: Any) -> Any:
        factor = cholesky(metric)
        if factor is None:
            return math.inf
        return (S * metric).sum() - 2 * np.log(np.diagonal(factor)).sum()

    return value


def gmml(S: FloatArray, D: FloatArray) -> Callable[[Any], Any]:
    """Return the formula ``tr(SM) + tr(M⁻¹D)``."""
    return lambda metric: (S * metric).sum() + (inverse(cholesky(metric)) * D).sum()


RNG = np.random.default_rng(7)
A, S = random_symmetric(RNG, K), covariance(K)
D = (lambda rows: rows.T @ rows)(RNG.standard_normal((9, K)))

LABELLED = CASES["GLR, labels"]

MATRIX_CASES: dict[str, tuple[Callable[[], Objective], Callable[[Any], Any]]] = {
    "log det": (lambda: gda.LogDet(S), log_det(S)),
    "indefinite log det": (lambda: gda.LogDet(10 * A), log_det(10 * A)),
    "GMML": (lambda: gda.GMML(S, D), gmml(S, D)),
    "ridge": (lambda: gda.Ridge(K), lambda M: (M**2).sum() / 2),
    "linear": (lambda: gda.Linear(A), lambda M: (A * M).sum()),
    "quadratic": (
        lambda: Quadratic(A, 0.7, 0.3),
        lambda M: (A * M).sum() + 0.35 * (M**2).sum() + 0.3,
    ),
    "sum": (
        lambda: 2.0 * LABELLED() + 0.3 * gda.LogDet(S) + 1.7 * gda.Ridge(K),
        lambda M: 2.0 * LABELLED.value(M) + 0.3 * log_det(S)(M) + 0.85 * (M**2).sum(),
    ),
    "multiple": (lambda: 3.0 * LABELLED(), lambda M: 3.0 * LABELLED.value(M)),
    "dense": (lambda: Opaque(S), log_det(S)),
    "function": (
        lambda: gda.FunctionObjective(
            lambda M: (np.sum((M - A) ** 2) / 2, M - A),
            K,
            expression=lambda M: cp.sum_squares(M - A) / 2,
        ),
        lambda M: ((M - A) ** 2).sum() / 2,
    ),
    "cvxpy": (
        lambda: gda.CvxpyObjective(lambda M: cp.trace(S @ M) - cp.log_det(M), K),
        log_det(S),
    ),
    "nearest": (lambda: Nearest(A), lambda M: 1 + ((M - A) ** 2).sum() / 2),
}

EVERY: dict[str, Callable[[], Any]] = {
    **CASES,
    **{name: make for name, (make, _) in MATRIX_CASES.items()},
}
