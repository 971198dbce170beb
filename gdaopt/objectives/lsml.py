"""Least squared-residual metric learning: one distance is to be below another one."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.pair_loss import BlockLoss, DistanceLoss
from gdaopt.objectives.pair_objective import PairObjective
from gdaopt.objectives.pairs import (
    Block,
    Changes,
    ListedPairs,
    checked_pairs,
    checked_samples,
    class_codes,
    squared_distances,
)
from gdaopt.support.validation import FloatArray, integer

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["LSML", "LSMLLoss"]

_DRAWN = 20  # quadruplets for each sample


class LSMLLoss(DistanceLoss):
    """``w Σ (√x - √y)²`` over the pairs of distances with x > y.

    The distances come one after the other: x and y of the first quadruplet, and so on.

    Parameters
    ----------
    weight : float
        w.
    """

    curved_everywhere = False
    value_roundings = 24.0
    coefficient_roundings = 16.0

    def __init__(self, weight: float) -> None:
        self._weight = weight

    def at(self, block: Block, distances: FloatArray) -> _Violated:  # noqa: ARG002 (of all)
        """Return the loss at the distances of whole quadruplets."""
        return _Violated(self._weight, distances)


class _Violated(BlockLoss):
    """The loss of the quadruplets with x > y."""

    def __init__(self, weight: float, distances: FloatArray) -> None:
        self._weight = weight
        self._size = len(distances)
        near, far = np.maximum(distances[0::2], 0), np.maximum(distances[1::2], 0)
        self._first = 2 * np.flatnonzero(near > far)  # where x is; y comes next
        self._x, self._y = near[self._first // 2], far[self._first // 2]

    @cached_property
    def value(self) -> float:
        return self._weight * float(((np.sqrt(self._x) - np.sqrt(self._y)) ** 2).sum())

    @property
    def magnitude(self) -> float:
        return self._weight * float((2 * self._x).sum())

    def coefficients(self) -> FloatArray:
        coefficients = np.zeros(self._size)
        ratio = np.sqrt(self._y / self._x)
        of_near = self._weight * (1 - ratio)
        coefficients[self._first] = of_near
        coefficients[self._first + 1] = -of_near / ratio
        return coefficients

    def factors(self, changes: Changes) -> FloatArray:
        """Return ``√(w/2) (y^¼ x^-¾ φ_x - x^¼ y^-¾ φ_y)``: the Hessian has rank one."""
        x, y = self._x**0.25, self._y**0.25
        factors: FloatArray = changes(self._first) * (y / x**3)
        factors -= changes(self._first + 1) * (x / y**3)
        factors *= np.sqrt(self._weight / 2)
        return factors


class LSML(PairObjective[LSMLLoss]):
    """Least squared-residual metric learning from relative comparisons.

    ``Q(M) = (1/n) Σ_q max(0, √δ_ab(M) - √δ_cd(M))²`` over n quadruplets q = (a, b, c, d) of
    samples: a and b are to be nearer to each other than c and d. Where x = δ_ab is above y = δ_cd,
    the term is ``x + y - 2√(xy)``. Q is convex, and homogeneous: 0 at M = 0. The source adds a
    log-determinant that keeps the metric away from 0; here that is the smallest eigenvalue of the
    set, or a sum with `gdaopt.LogDet`.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    y : array-like of shape (N,), optional
        Class labels, from which quadruplets are drawn: a and b of one class, c and d of two
        classes.
    quadruplets : array-like of int, shape (n, 4), optional
        The samples a, b, c, d of each quadruplet, in place of y.
    n_quadruplets : int, optional
        How many are drawn; 20 N when left out. Those that coincide in c and d are dropped.
    random_state : int, optional
        Seed of the draw.
    memory_limit : int, optional
        Bytes that the numbers of all pairs may take. Where they need more, they are recomputed
        block by block in each pass instead of being kept.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, lengths that differ, fewer than two samples, samples that all
        coincide, one class only, no two samples of one class, both y and quadruplets or neither,
        quadruplets that refer to samples that X does not have, or whose c and d coincide.

    Notes
    -----
    Source: Liu, Guo, Zhang, Jojic, Wang, *Metric learning from relative comparisons by minimizing
    squared residual*, ICDM 2012; "Definition: losses of distances" in ``docs/theory.md``.

    Examples
    --------
    >>> lsml = LSML([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]], quadruplets=[[0, 1, 0, 2]])
    >>> lsml.value(np.eye(2))
    1.0
    >>> lsml.value(np.diag([1.0, 9.0]))
    0.0
    """

    tested = True

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        quadruplets: Any = None,
        n_quadruplets: int | None = None,
        random_state: int = 0,
        memory_limit: int = 2**28,
    ) -> None:
        features = checked_samples(X)
        rng = np.random.default_rng(integer("random_state", random_state, at_least=0))
        count = _DRAWN * len(features)
        if n_quadruplets is not None:
            count = integer("n_quadruplets", n_quadruplets, at_least=1)
        if (y is None) == (quadruplets is None):
            raise InvalidInputError(
                "pass either labels y or quadruplets, "
                + ("got neither" if y is None else "got both")
            )
        if y is None:
            found = checked_pairs(quadruplets, len(features), "quadruplets", 4)
        else:
            found = _drawn(class_codes(y, len(features)), count, rng)
        coincide = (features[found[:, 2]] == features[found[:, 3]]).all(axis=1)
        if y is None and coincide.any():
            index = int(coincide.argmax())
            raise InvalidInputError(
                f"the samples c and d of quadruplet {index} coincide: their distance is 0 under "
                "every metric; leave it out"
            )
        found = found[~coincide]
        if not len(found):
            raise InvalidInputError("there are no quadruplets whose samples c and d differ")
        self.quadruplets = found
        pairs = ListedPairs(
            features,
            found[:, [0, 2]].ravel(),
            found[:, [1, 3]].ravel(),
            group=2,
        )
        super().__init__(pairs, LSMLLoss(1 / len(found)), memory_limit)

    def to_cvxpy(self, metric: cp.Expression) -> tuple[cp.Expression, list[cp.Constraint]]:
        """Return Q for CVXPY: one second-order cone for each quadruplet.

        A term is the least ``(x + s) + y - 2t`` with s ≥ 0 and ``t² ≤ (x + s) y``.
        """
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        a, b, c, d = self.quadruplets.T
        features = self.pairs.features
        near, constraints = squared_distances(features, a, b, metric)
        far, more = squared_distances(features, c, d, metric)
        raised = near + cp.Variable(len(a), nonneg=True)
        root = cp.Variable(len(a))
        cone = cp.SOC(raised + far, cp.vstack([2 * root, raised - far]))
        total = cp.sum(raised + far - 2 * root) / len(a)
        return total, [*constraints, *more, cone]


def _drawn(
    codes: npt.NDArray[np.intp], count: int, rng: np.random.Generator
) -> npt.NDArray[np.intp]:
    """Return quadruplets: a and b different samples of one class, c and d of two classes."""
    sizes = np.bincount(codes)
    by_class = np.argsort(codes, kind="stable")
    first = np.concatenate([[0], np.cumsum(sizes)])
    several = np.flatnonzero(sizes[codes] > 1)
    if not len(several):
        raise InvalidInputError(
            f"each of the {len(codes)} samples is alone in its class; there must be two samples of "
            "one class"
        )
    a, c = rng.choice(several, count), rng.integers(len(codes), size=count)
    place = np.empty(len(codes), dtype=np.intp)
    place[by_class] = np.arange(len(codes))
    own = codes[a]
    step = _uniform(rng, sizes[own] - 1) + 1
    b = by_class[first[own] + (place[a] - first[own] + step) % sizes[own]]
    own = codes[c]
    skipped = _uniform(rng, len(codes) - sizes[own])  # counted from the end of the class of c
    d = by_class[(first[own + 1] + skipped) % len(codes)]
    return np.column_stack([a, b, c, d])


def _uniform(rng: np.random.Generator, below: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return random indices, each below a bound of its own."""
    found: FloatArray = np.floor(rng.random(len(below)) * below)
    return found.astype(np.intp)
