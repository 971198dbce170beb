"""Random graphical models, against optima in 50 digits.

What is wrong with a seed::

    fitted(Model.drawn(17)).faults

Trees have their optimum in closed form ("Proposition: bridges"). Elsewhere Newton steps in 50
digits, from the metric that was found, end at the optimum or above it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gdaopt.errors import InvalidInputError
from gdaopt.estimators import LaplacianGraphicalModel
from gdaopt.support.validation import FloatArray
from tests import digits

__all__ = ["Model", "fitted"]

SORTS = ("tree", "twins", "blocks", "mask", "penalty", "units", "hub")
_STEPS = 4  # of Newton's method in 50 digits
_ROUND_OFF = 1e-12  # of an objective's terms, in a metric that is well conditioned


@dataclass(frozen=True, eq=False)
class Model:
    """A covariance matrix with a penalty and a mask, and how it is to be fitted."""

    sort: str
    covariance: FloatArray
    options: dict[str, Any]

    @classmethod
    def drawn(cls, seed: int) -> Model:
        """Draw a model; sorts take turns."""
        rng, sort = np.random.default_rng([46, seed]), SORTS[seed % len(SORTS)]
        options: dict[str, Any] = {"alpha": 0.0, "tol": float(10 ** rng.uniform(-9, -2))}
        size = int(rng.integers(2, 8))
        if sort in ("tree", "units", "hub"):
            covariance, edges = _tree(rng, size, is_star=sort == "hub")
            options["edges"] = edges
            if sort == "units":
                units = 10.0 ** rng.uniform(-70, 70, size)
                covariance *= np.outer(units, units)
        elif sort == "blocks":
            covariance = _blocks(rng)
            if rng.random() < 0.3:
                options["max_iter"] = int(rng.integers(0, 4))
        else:
            covariance = _of_samples(rng, size, n_twins=1 if sort == "twins" else size // 3)
            size = len(covariance)
            if sort == "mask":
                allowed = rng.random((size, size)) < 0.6
                options["edges"] = allowed | allowed.T
            elif sort == "penalty":
                weights = rng.exponential(size=(size, size))
                options["weights"] = weights + weights.T
                options["alpha"] = float(10 ** rng.uniform(-12, -1))
        return cls(sort, covariance, options)

    @property
    def penalised(self) -> FloatArray:
        """The covariance less the penalties, in float64: the data of the optimum."""
        found = self.covariance - self.options["alpha"] * self.options.get("weights", 1.0)
        np.fill_diagonal(found, np.diagonal(self.covariance))
        return np.asarray(found)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs i < j of positive entries that may have an edge."""
        size, edges = len(self.covariance), self.options.get("edges")
        is_edge = np.ones((size, size), dtype=bool)
        if isinstance(edges, list):
            is_edge[:] = False
            is_edge[tuple(np.transpose(edges))] = True
            is_edge |= is_edge.T
        elif edges is not None:
            is_edge = edges
        rows, columns = np.nonzero(np.triu(is_edge & (self.penalised > 0), 1))
        return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _correlation(rng: np.random.Generator) -> float:
    """Return a correlation whose distance from 1 has any number of zeros."""
    return float(1 - 10 ** rng.uniform(-15, -0.1))


def _tree(rng: np.random.Generator, size: int, is_star: bool) -> tuple[FloatArray, Any]:
    """Return a covariance matrix, and the edges of a tree."""
    roots = 10.0 ** rng.uniform(-2, 2, size)
    parents = [0 if is_star else int(rng.integers(0, k)) for k in range(1, size)]
    edges = [(parent, k + 1) for k, parent in enumerate(parents)]
    covariance = np.diag(roots**2)
    for i, j in edges:
        # Signs as well: a pair whose covariance is not positive has no edge.
        entry = _correlation(rng) * np.sqrt(covariance[i, i]) * np.sqrt(covariance[j, j])
        covariance[i, j] = covariance[j, i] = entry if rng.random() < 0.9 else -entry
    return covariance, edges


def _of_samples(rng: np.random.Generator, size: int, n_twins: int) -> FloatArray:
    """Return the covariance of samples in which some features nearly equal others."""
    X = rng.standard_normal((int(rng.integers(4, 30)), size)) + 0.5 * rng.standard_normal()
    X -= rng.uniform(0, 1) * X.mean(axis=1, keepdims=True)
    for _ in range(n_twins):
        twin = X[:, rng.integers(0, size)] * 10 ** rng.uniform(-1, 1)
        X = np.column_stack([X, twin + 10 ** rng.uniform(-8, -1) * rng.standard_normal(len(X))])
    return np.asarray(np.cov(X.T, bias=True))


def _blocks(rng: np.random.Generator) -> FloatArray:
    """Return the covariance of blocks that bridges join."""
    parts = [_of_samples(rng, int(rng.integers(1, 4)), n_twins=0) for _ in range(3)]
    parts = [np.atleast_2d(part) for part in parts]
    starts = np.cumsum([0, *(len(part) for part in parts)])
    covariance = np.full((starts[-1], starts[-1]), -1e-3)
    for start, part in zip(starts[:-1], parts, strict=True):
        covariance[start : start + len(part), start : start + len(part)] = part
    for k in (1, 2):
        i, j = int(rng.integers(0, starts[k])), int(rng.integers(starts[k], starts[k + 1]))
        entry = _correlation(rng) * np.sqrt(covariance[i, i] * covariance[j, j])
        covariance[i, j] = covariance[j, i] = entry
    return covariance


@dataclass(frozen=True, eq=False)
class Fitted:
    """How a fit ended, and what is wrong with it."""

    end: str
    faults: list[str]


def fitted(model: Model) -> Fitted:
    """Fit a model, with all warnings as errors but that of a gap, and judge it."""
    estimator = LaplacianGraphicalModel(covariance="precomputed", **model.options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            estimator.fit(model.covariance)
        except InvalidInputError as error:
            is_right = "perfectly correlated" in str(error) and _has_equal_features(model)
            return Fitted("refused", [] if is_right else [f"refused: {error}"])
        except Exception as error:
            return Fitted("raised", [f"{type(error).__name__}: {error}"])
    return Fitted(estimator.result_.status, _faults(model, estimator))


def _has_equal_features(model: Model) -> bool:
    S = digits.exact(model.penalised)
    return any(1 - S[i, j] ** 2 / (S[i, i] * S[j, j]) < 1e-14 for i, j in model.pairs)


def _faults(model: Model, estimator: Any) -> list[str]:
    result, faults = estimator.result_, []
    S, size = digits.exact(model.penalised), len(model.covariance)
    metric = digits.exact(estimator.precision_)
    value, bound, allowed = digits.likelihood(S, metric), result.lower_bound, estimator.tol * size
    if bound is None:
        return ["converged without a bound"] if result.status == "converged" else []
    optimum = (
        digits.optimum_of_forest(model.penalised, model.pairs)
        if model.sort in ("tree", "units", "hub")
        else None
    )
    best = _improved(S, metric) if optimum is None else optimum
    sizes = size + abs(best) + sum(abs(mpmath.log(S[k, k])) for k in range(size))
    if bound > best:
        faults.append(f"bound {float(bound - best):.3g} above the optimum")
    if (estimator.precision_ - np.diag(np.diagonal(estimator.precision_))).max() > 0:
        faults.append("a weight below 0")
    if (result.status == "converged") != (result.gap <= allowed):
        faults.append(f"{result.status} with a gap of {result.gap:.3g} of {allowed:.3g}")
    if value - best > result.gap + _ROUND_OFF * sizes:
        faults.append(
            f"{float(value - best):.3g} above the optimum, with a gap of {result.gap:.3g}"
        )
    if result.status == "converged" and value - bound > 1.1 * allowed + _ROUND_OFF * sizes:
        faults.append(f"converged, and {float(value - bound):.3g} above its bound")
    if abs(value - result.objective) > result.gap + _ROUND_OFF * sizes:
        faults.append(f"objective off by {float(result.objective - value):.3g}")
    if result.status == "converged":
        off = np.diagonal(estimator.covariance_) / np.diagonal(model.covariance) - 1
        if np.abs(off).max() > 3 * np.sqrt(allowed) + 1e-6:
            faults.append(f"variances off by {np.abs(off).max():.3g}")
    return faults


def _improved(S: digits.Exact, metric: digits.Exact) -> Any:
    """Return the least value of metrics near one, with its zeros: above the optimum, if at all."""
    best = digits.likelihood(S, metric)
    rows, columns = np.nonzero(np.triu(metric != 0))
    entries = list(zip(rows.tolist(), columns.tolist(), strict=True))
    for _ in range(_STEPS if best < mpmath.inf else 0):
        inverse = digits.inverse(metric)
        twice = [1 if i == j else 2 for i, j in entries]
        slopes = [two * (S[e] - inverse[e]) for two, e in zip(twice, entries, strict=True)]
        hessian = mpmath.matrix(len(entries), len(entries))
        for a, (i, j) in enumerate(entries):
            for b, (m, n) in enumerate(entries):
                product = inverse[i, m] * inverse[j, n] + inverse[i, n] * inverse[j, m]
                hessian[a, b] = twice[a] * twice[b] * product / 2
        step = mpmath.lu_solve(hessian, mpmath.matrix(slopes))
        moved = metric.copy()
        for a, (i, j) in enumerate(entries):
            moved[i, j] = moved[j, i] = metric[i, j] - step[a]
        is_member = all(moved[i, j] <= 0 for i, j in entries if i != j)
        value = digits.likelihood(S, moved)
        if not is_member or not value < best:
            break
        metric, best = moved, value
    return best
