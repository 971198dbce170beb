"""Losses of the neighbours that a sample would draw: a softmax of minus its squared distances."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import IndexArray
from gdaopt.objectives.pair_loss import NEGLIGIBLE, DistanceLoss, LossValues, gram, thin
from gdaopt.objectives.pair_objective import PairObjective, draw_stratified, isotropic_trace
from gdaopt.objectives.pairs.changes import Changes
from gdaopt.objectives.pairs.expressions import all_distances
from gdaopt.objectives.pairs.pairs import MANY_PAIRS, Tile
from gdaopt.objectives.pairs.reading import class_codes, read_samples, read_weights
from gdaopt.objectives.pairs.rectangles import RectanglePairs, classes_of, own_classes
from gdaopt.objectives.protocol import Expression, Terms
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray

_MORE = 3.0  # than the trace bound of MCML, that of NCA
_NEGLIGIBLE = 1e-7  # such shares of the largest in a row hardly change a Newton step


class SoftmaxLoss(DistanceLoss):
    """A mean over samples i, sorted by class, of a function of ``p_ij ∝ exp(-δ_ij)``, j ≠ i."""

    def __init__(self, codes: IndexArray, weights: FloatArray) -> None:
        self.codes = codes
        self.weights = weights
        self.classes = classes_of(codes)
        self._starts = [members.start for members in self.classes]
        n_others = np.array([members.stop - members.start - 1 for members in self.classes])
        self.has_class = np.repeat(n_others > 0, n_others + 1)  # other samples of the own class
        self._pulls = weights / np.maximum(np.repeat(n_others, n_others + 1), 1)
        # An error of the exponents is multiplied by one and an entropy at most.
        self.constant = 1 + math.log(len(codes))
        # The pulls on pairs: what is left of them is their difference from a softmax.
        self.cancelled = weights + np.bincount(codes, self._pulls)[codes] - self._pulls

    def pulls(self, tile: Tile) -> FloatArray:
        """Return the derivatives of the mean distances within classes, by those of a tile."""
        pulls = np.zeros(tile.shape)
        self.pull(tile, pulls)
        return pulls

    def pull(self, tile: Tile, coefficients: FloatArray) -> None:
        """Add these derivatives, also those of the samples themselves."""
        pulls = self._pulls[tile.rows]
        for rows, members in own_classes(tile, self.classes):
            if members.stop - members.start > 1:
                coefficients[rows, members] += pulls[rows, None]

    def class_sums(self, numbers: FloatArray) -> FloatArray:
        """Return the sums of rows over the samples of each class."""
        sums: FloatArray = np.add.reduceat(numbers, self._starts, axis=1)
        return sums

    def terms(self, tile: Tile, distances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``exp(min_k δ_ik - δ_ij)``, which may overwrite the distances, and the minima."""
        out = distances if distances.flags.writeable else None
        terms, every = np.negative(distances, out=out), np.arange(len(distances))
        terms[every, tile.rows.start + every] = -math.inf  # the samples themselves
        largest = terms.max(axis=1)
        terms -= largest[:, None]
        return np.exp(terms, out=terms), -largest


LossT = TypeVar("LossT", bound=SoftmaxLoss)


def _draw(
    pairs: RectanglePairs, loss: LossT, n_samples: int
) -> tuple[RectanglePairs, LossT, IndexArray]:
    """Return the pairs and the loss of about `n_samples` samples, stratified by the classes."""
    chosen, counts = draw_stratified(loss.codes, n_samples)
    weights = loss.weights[chosen] * counts
    of_drawn = type(loss)(loss.codes[chosen], weights / weights.sum())
    return RectanglePairs.ordered(pairs.features[chosen]), of_drawn, chosen


class SoftmaxObjective(PairObjective[LossT]):
    """An objective of a softmax by rows; a subclass names the class of its loss."""

    tested = True
    kind: type[SoftmaxLoss]

    def __init__(self, X: Any, y: Any, *, sample_weight: Any = None) -> None:
        features = read_samples(X)
        codes = class_codes(y, features.shape[0])
        weights = read_weights(sample_weight, features.shape[0])
        weights = weights / weights.max()  # their sum does not overflow
        order = np.argsort(codes, kind="stable")
        loss: Any = self.kind(codes[order], (weights / weights.sum())[order])
        if not loss.has_class.any():
            raise InvalidInputError(
                f"each of the {features.shape[0]} samples is alone in its class; there must be two "
                "samples of one class"
            )
        super().__init__(RectanglePairs.ordered(features, order), loss, draw=_draw)

    def auto_trace_bound(self) -> float:
        """Return the trace under which the mean squared distance within classes is log(N - 1)."""
        pulls = (self.loss.pulls(tile) for tile in self.pairs.tiles)
        distance = math.log(self.pairs.features.shape[0] - 1)
        return isotropic_trace(distance, self.pairs.scatter_diagonal(pulls))

    def lipschitz(self, _min_eigenvalue: float, /) -> float:
        """Return ``L = Σ_i s_i max_k ‖d_ik‖⁴ / Σ_i s_i``, which holds for every metric."""
        tiles = zip(self.pairs.tiles, self.squares(), strict=True)
        return sum(
            float(self.loss.weights[tile.rows] @ squares.max(axis=1) ** 2)
            for tile, squares in tiles
        )


class _MCMLLoss(SoftmaxLoss):
    """``Σ_i w_i ( mean_{j in the class of i} δ_ij + log Σ_{k≠i} exp(-δ_ik) )``."""

    def at(self, tile: Tile, distances: FloatArray) -> LossValues:
        every = np.arange(len(distances))
        itself = distances[every, tile.rows.start + every]  # nothing but round-off
        within = self.class_sums(distances)[every, self.codes[tile.rows]] - itself
        terms, nearest = self.terms(tile, distances)
        totals, weights = terms.sum(axis=1), self.weights[tile.rows]
        value = float(self._pulls[tile.rows] @ within + weights @ (np.log(totals) - nearest))

        def first() -> FloatArray:
            derivatives: FloatArray = terms * (-weights / totals)[:, None]
            self.pull(tile, derivatives)
            derivatives[every, tile.rows.start + every] = 0.0
            return derivatives

        def curvature(changes: Changes) -> FloatArray:
            """Return the sum over rows of ``w_i`` times the covariance of φ_ik under p_ik."""
            counts = terms > _NEGLIGIBLE
            if np.count_nonzero(counts) > counts.size / 2:
                shares, values = terms / totals[:, None], changes()
                means = np.matmul(values.transpose(1, 0, 2), shares[:, :, None])
                values -= means.transpose(1, 0, 2)
                shares *= weights[:, None]
                values *= np.sqrt(shares)
                return gram(values.reshape(len(values), -1))
            # Under a metric of large trace most samples have few neighbours.
            rows, columns = np.nonzero(counts)
            share = terms[rows, columns] / totals[rows]
            values = changes(rows, columns)
            means = np.add.reduceat(values * share, np.searchsorted(rows, every), axis=1)
            values -= means[:, rows]
            values *= np.sqrt(weights[rows] * share)
            return gram(values)

        return LossValues(value, first, curvature)


class MCML(SoftmaxObjective[_MCMLLoss]):
    """Maximally collapsing metric learning.

    ``Q(M) = Σ_i s_i [ (1/n_i) Σ_{j: y_j = y_i, j ≠ i} δ_ij(M) + log Σ_{k ≠ i} exp(-δ_ik(M)) ] /
    Σ_i s_i``, with n_i the number of other samples of the class of i. Up to a constant that is the
    mean Kullback–Leibler divergence of two distributions over the other samples: the uniform one
    over the own class, and the softmax of minus the squared distances. Q is convex. A sample that
    is alone in its class has no first term.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    y : array-like of shape (N,)
        Class labels: numbers, booleans or texts.
    sample_weight : array-like of shape (N,), optional
        Positive s: how much the terms of each sample count.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, lengths that differ, fewer than two samples, samples that all
        coincide, one class only, no two samples of one class, or weights that are not positive.

    Notes
    -----
    If all classes are pairs of samples, Q is positive, and may be nearly 0. Runs then end as
    *stalled* with a gap that is only round-off, or as *converged* with an ``absolute_tolerance``.

    Evaluation takes O(N² K + N K²) operations. Source: Globerson, Roweis, *Metric learning by
    collapsing classes*, NIPS 2005.

    Examples
    --------
    >>> mcml = MCML([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ["a", "a", "b"])
    >>> round(mcml.value(np.eye(2)), 6)
    -1.206667
    """

    kind = _MCMLLoss

    def to_cvxpy(self, metric: Expression) -> Terms:
        """Return Q for CVXPY: one exponential cone for each ordered pair of samples."""
        size = self.pairs.features.shape[0]
        distances, position, constraints = all_distances(self.pairs.features, metric)
        others = position[~np.eye(size, dtype=bool)]
        rows = cp.reshape(distances[others], (size, size - 1), order="C")
        pulls = np.concatenate([self.loss.pulls(tile) for tile in self.pairs.tiles])
        pulls += pulls.T
        pulled = pulls[np.triu_indices(size, 1)] @ distances
        return pulled + self.loss.weights @ cp.log_sum_exp(-rows, axis=1), constraints


class _NCALoss(SoftmaxLoss):
    """``-Σ_i w_i p_i``, where p_i is the sum of p_ij over the other samples j of the class of i."""

    convex = False
    curvature_is_local = True  # no pair of a sample that is sure of its class

    def at(self, tile: Tile, distances: FloatArray) -> LossValues:
        terms, _ = self.terms(tile, distances)
        weights, own = self.weights[tile.rows], (np.arange(len(terms)), self.codes[tile.rows])
        shares = terms * (1 / terms.sum(axis=1))[:, None]
        of_classes = self.class_sums(shares)
        of_class, of_classes[own] = of_classes[own], 0.0
        others = of_classes.sum(axis=1)  # 1 - p_i, of which p_i near 1 keeps no digits

        def first() -> FloatArray:
            """Return ``w_i p_ij (1 - p_i)`` within a class, ``-w_i p_ij p_i`` elsewhere."""
            derivatives: FloatArray = shares * (-weights * of_class)[:, None]
            for rows, members in own_classes(tile, self.classes):
                derivatives[rows, members] = shares[rows, members] * (weights * others)[rows, None]
            return derivatives

        def curvature(changes: Changes) -> FloatArray:
            """Return ``-Σ_ij c_ij ψ_ij ψ_ij'`` with the derivatives c by distances.

            ``ψ_ij = φ_ij - Σ_l p_il φ_il``, which is 0 in the mean.
            """
            means, derivatives = changes.row_sums(shares), first()
            magnitudes = np.abs(derivatives)
            n_rows, n_samples = magnitudes.shape
            if n_samples**2 > MANY_PAIRS and len(means) > 1:
                rng = np.random.default_rng(tile.rows.start)
                least = float(magnitudes.sum()) * n_samples / (n_rows * MANY_PAIRS)
                magnitudes = thin(magnitudes, least, rng)
            counts = magnitudes > NEGLIGIBLE * magnitudes.max()
            total = np.zeros((len(means), len(means)))
            for sign, pairs in (
                (1.0, counts & (derivatives < 0)),
                (-1.0, counts & (derivatives > 0)),
            ):
                rows, columns = np.nonzero(pairs)
                factors = changes(rows, columns)
                factors -= means[:, rows]
                factors *= np.sqrt(magnitudes[rows, columns])
                total += sign * gram(factors)
            return total

        return LossValues(-float(weights @ of_class), first, curvature)


class NCA(SoftmaxObjective[_NCALoss]):
    """Neighbourhood components analysis.

    ``Q(M) = -Σ_i s_i p_i(M) / Σ_i s_i``, where ``p_i = Σ_{j ≠ i: y_j = y_i} p_ij`` is the
    probability that sample i draws a neighbour of its own class, and ``p_ij`` is the softmax of
    minus the squared distances ``δ_ij(M)`` over j ≠ i. So ``1 + Q`` is the expected share of errors
    of a classifier that draws one neighbour in this way.

    Q is *not convex*: runs end at a stationary point, and no lower bound is certified
    ("Definition: neighbourhood components" in ``docs/theory``). Classes may consist of several
    clouds, which `MCML` would pull into one point. The trace bound of the set keeps the metric from
    fitting single samples.

    Parameters
    ----------
    X, y, sample_weight
        As for `MCML`, and so are the errors.

    Notes
    -----
    Evaluation takes O(N² K + N K²) operations. Source: Goldberger, Roweis, Hinton, Salakhutdinov,
    *Neighbourhood components analysis*, NIPS 2004, where the metric is ``A'A`` without a bound.

    Examples
    --------
    >>> nca = NCA([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ["a", "a", "b"])
    >>> round(nca.value(np.eye(2)), 6)
    -0.644863
    """

    kind = _NCALoss

    def auto_trace_bound(self) -> float:
        """Return three times the bound of `MCML`, as is best in ``figures/learner_families.md``."""
        return _MORE * super().auto_trace_bound()

    def surrogate(self) -> PairObjective[_MCMLLoss]:
        """Return `MCML` of the same samples: convex, and with a constant an upper bound of Q."""
        loss = _MCMLLoss(self.loss.codes, self.loss.weights)
        return PairObjective(self.pairs, loss, draw=_draw)
