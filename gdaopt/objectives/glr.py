"""The graph Laplacian regulariser, the objective of the paper (DESIGN section 1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.directions import DenseDirection, Direction
from gdaopt.objectives.pairs import SignalPairs
from gdaopt.objectives.storage import Blocks, Memory
from gdaopt.validation import FloatArray, finite_array, integer, read_only, symmetric_matrix

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["GLR"]

_ARRAYS_KEPT = 7  # weights, exponents, their exponentials, rates of a line, and what passes need
_LARGEST_EXPONENT = 709.0  # exp of it is finite in float64
_LARGEST_SPREAD = 1e150  # its square, summed up, is finite; that of its inverse is not 0
_ROUND_OFF = 1e-15  # of the terms that cancel in it: a gradient below is noise
_MOVES_BEFORE_REFRESH = 64  # updates of the exponents add up round-off; then they are computed anew


class GLR:
    """Graph Laplacian regulariser of a signal on the graph of samples.

    ``Q(M) = Σ_i Σ_j exp(-δ_ij(M)) ‖z_i - z_j‖²`` over **ordered** pairs of samples, with
    ``δ_ij(M) = (x_i - x_j)' M (x_i - x_j)``; the paper also writes ``z'L(M)z``, half of it. It is
    convex, and so is its logarithm. Small values mean that samples of different signal are far
    apart under M.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    z : array-like of shape (N,) or (N, m)
        Training signal, such as ±1 for the two classes; several signals add up.
    memory_limit : int, optional
        Bytes that the pairs of samples may take. Where they need more, they are recomputed in
        blocks in each pass instead of being kept.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, lengths that differ, fewer than two samples, a signal that is
        the same for all samples, or values so large or small that their squares leave float64.

    Notes
    -----
    Evaluation takes O(pairs · K + N K²) operations; pairs of equal signal drop out. Source:
    equation 3 of Yang, Cheung, Hu (ICASSP 2020).

    Examples
    --------
    >>> glr = GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> round(glr.value(np.eye(2)), 6)
    3.089561
    >>> glr.gradient(np.eye(2)).round(6)
    array([[-2.943036, -0.      ],
           [-0.      , -0.5861  ]])
    """

    log_convex = True

    def __init__(self, X: Any, z: Any, *, memory_limit: int = 2**28) -> None:
        features = finite_array("X", X, ndim=2)
        signal = finite_array("z", z, ndim=(1, 2))
        if len(features) != len(signal):
            raise InvalidInputError(
                f"X has {len(features)} samples and z has {len(signal)}; they must be as many"
            )
        if len(features) < 2:
            raise InvalidInputError("X has 1 sample; pairs need at least 2")
        signal = signal.reshape(len(signal), -1)
        if (signal == signal[0]).all():
            raise InvalidInputError(
                f"z is {signal[0].squeeze().tolist()} for all {len(signal)} samples; "
                "the signal must take at least two values"
            )
        _check_spread("X", features, least=0.0)
        _check_spread("z", signal, least=1 / _LARGEST_SPREAD)
        limit = integer("memory_limit", memory_limit, at_least=1)
        self.pairs = SignalPairs(features, signal)
        self.keeps_pairs = self.pairs.n_pairs * 8 * _ARRAYS_KEPT <= limit
        self._memory = Memory(self.pairs.n_pairs, _ARRAYS_KEPT) if self.keeps_pairs else None
        self.log_weights = self.blocks(self.pairs.log_weights)

    @property
    def n_features(self) -> int:
        """K, the size of the metric matrices."""
        return int(self.pairs.features.shape[1])

    def blocks(self, compute: Callable[[], Iterator[FloatArray]]) -> Blocks:
        """Return what is computed for all pairs, kept where memory allows it."""
        return Blocks(compute, self._memory)

    def at(self, metric: FloatArray) -> GLRPoint:
        """Return the point at a symmetric K×K matrix, from which all else is evaluated."""
        return GLRPoint(self, symmetric_matrix("metric", metric, self.n_features))

    def value(self, metric: FloatArray) -> float:
        """Return ``Q(M)``."""
        return self.at(metric).value

    def gradient(self, metric: FloatArray) -> FloatArray:
        """Return ``∇Q(M) = -Σ_ij exp(-δ_ij) ‖z_i - z_j‖² d_ij d_ij'``, shape (K, K)."""
        return self.at(metric).gradient()

    def log_value(self, metric: FloatArray) -> float:
        """Return ``log Q(M)``, finite also where ``Q(M)`` underflows to 0."""
        return self.at(metric).log_value

    def log_gradient(self, metric: FloatArray) -> FloatArray:
        """Return ``∇ log Q(M)``, shape (K, K): a softmax over pairs, safe from underflow."""
        return self.at(metric).log_gradient()

    def hessian_product(self, metric: FloatArray, direction: Direction | FloatArray) -> FloatArray:
        """Return ``∇²Q(M)[D]``, shape (K, K), for a direction or a symmetric matrix D."""
        if isinstance(direction, np.ndarray):
            direction = DenseDirection(symmetric_matrix("direction", direction, self.n_features))
        return self.at(metric).hessian_product(direction)

    def lipschitz(self, min_eigenvalue: float) -> float:
        """Return ``L = Σ_ij ‖z_i - z_j‖² exp(-ρ‖d_ij‖²) ‖d_ij‖⁴`` (DESIGN section 5).

        A Lipschitz constant of the gradient over all ``M ⪰ ρI``, since the Hessian is
        ``Σ_ij ‖z_i - z_j‖² exp(-δ_ij) (d_ij d_ij') ⊗ (d_ij d_ij')``.

        Examples
        --------
        >>> round(GLR([[0.0], [1.0]], [1, -1]).lipschitz(0.0), 12)
        8.0
        """
        factors = DenseDirection(np.eye(self.n_features)).factors(self.pairs.features)
        squares = self.pairs.products(*factors)
        return sum(
            float((np.exp(log_weight - min_eigenvalue * square) * square**2).sum())
            for square, log_weight in zip(squares, self.log_weights, strict=True)
        )

    def expression(self, metric: cp.Expression) -> cp.Expression:
        """Return Q as a CVXPY expression: one exponential for each pair of different signal."""
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        differences, weights = self.pairs.listed()
        products = np.einsum("pk,pl->pkl", differences, differences).reshape(len(weights), -1)
        total: cp.Expression = weights @ cp.exp(-(products @ cp.vec(metric, order="C")))
        return total


class GLRPoint:
    """The graph Laplacian regulariser at one metric: a `gdaopt.objectives.Point`.

    What is kept are the exponents ``e = log w_ij - δ_ij`` of the pairs: ``Q = Σ exp(e)``. All sums
    are taken over ``exp(e - shift)``, with the largest exponent as the shift, so that ``log Q`` and
    its gradient do not underflow.
    """

    def __init__(
        self, objective: GLR, metric: FloatArray, exponents: Blocks | None = None, moves: int = 0
    ) -> None:
        self.objective = objective
        self.metric = read_only(metric)
        self._pairs = objective.pairs
        self.exponents = exponents or objective.blocks(self._compute_exponents)
        self._weights = objective.blocks(self._compute_weights)
        self._moves = moves
        self._last_line: GLRLine | None = None

    def _compute_exponents(self) -> Iterator[FloatArray]:
        distances = self._pairs.products(*DenseDirection(self.metric).factors(self._pairs.features))
        for distance, log_weight in zip(distances, self.objective.log_weights, strict=True):
            yield np.subtract(log_weight, distance, out=distance)

    def _compute_weights(self) -> Iterator[FloatArray]:
        for exponent in self.exponents:
            weight = exponent - self._shift
            yield np.exp(weight, out=weight)

    @cached_property
    def _shift(self) -> float:
        return max(float(exponent.max()) for exponent in self.exponents)

    @cached_property
    def _total(self) -> float:
        return sum(float(weight.sum()) for weight in self._weights)

    @cached_property
    def _scale(self) -> float:
        # Metrics far outside of the cone have distances below -709: Q is then infinite.
        return math.exp(self._shift) if self._shift < _LARGEST_EXPONENT else math.inf

    @property
    def value(self) -> float:
        """``Q(M)``."""
        return self._scale * self._total

    @property
    def log_value(self) -> float:
        """``log Q(M)``."""
        return self._shift + math.log(self._total)

    @cached_property
    def _scatter(self) -> FloatArray:
        return self._pairs.scatter(self._weights)

    def gradient(self) -> FloatArray:
        """Return ``∇Q(M)``, shape (K, K)."""
        gradient: FloatArray = -self._scale * self._scatter
        return gradient

    def log_gradient(self) -> FloatArray:
        """Return ``∇ log Q(M)``, shape (K, K)."""
        gradient: FloatArray = -self._scatter / self._total
        return gradient

    def gradient_diagonal(self) -> FloatArray:
        """Return the diagonal of the gradient, shape (K,)."""
        diagonal: FloatArray = self._pairs.scatter_diagonal(self._weights)
        diagonal *= -self._scale
        return diagonal

    def gradient_column(self, column: int) -> FloatArray:
        """Return one column of the gradient, shape (K,)."""
        entries: FloatArray = self._pairs.scatter_column(self._weights, column)
        entries *= -self._scale
        return entries

    def hessian_product(self, direction: Direction) -> FloatArray:
        """Return ``∇²Q(M)[D]``, shape (K, K)."""
        line = self.line(direction)
        weighted = (p * rate for p, rate in zip(self._weights, line.rates, strict=True))
        product: FloatArray = self._scale * self._pairs.scatter(weighted)
        return product

    def line(self, direction: Direction) -> GLRLine:
        """Return Q restricted to ``M + γ D``: a trial step costs one exponential per pair."""
        if self._last_line is None or self._last_line.direction is not direction:
            self._last_line = GLRLine(self, direction)
        return self._last_line

    def moved(self, direction: Direction, gamma: float) -> GLRPoint:
        """Return the point at ``M + γ D``, with the exponents updated along the line."""
        metric = direction.added_to(self.metric, gamma)
        if not self.objective.keeps_pairs or self._moves >= _MOVES_BEFORE_REFRESH:
            return GLRPoint(self.objective, metric)
        line = self.line(direction)
        exponents = self.objective.blocks(lambda: line.exponents(gamma))
        return GLRPoint(self.objective, metric, exponents, self._moves + 1)

    def vanished(self) -> str | None:
        """Say by what to rescale where Q or its gradient is 0 in floating point."""
        features = self._pairs.features
        largest = float(np.abs(features).max())
        if largest == 0:
            return "all samples coincide: the gradient is 0, and no metric tells them apart"
        round_off = _ROUND_OFF * self._pairs.scatter_size(self._weights)
        if self.value > 0 and np.abs(self._scatter).max() > round_off:
            return None
        # The mean squared distance of samples; scaled, its squares can neither under- nor overflow.
        spread = largest * math.sqrt(2 * float(((features / largest) ** 2).sum(axis=1).mean()))
        unit = float(np.trace(self.metric)) / self.objective.n_features
        factor = 1 / (spread * math.sqrt(unit))
        what = "the objective" if self.value == 0 else "the gradient of the objective"
        advice = (
            f"{what} is 0 in floating point (log Q is {self.log_value:.6g}); multiply the features "
            f"by about {factor:.2g}"
        )
        if factor > _LARGEST_SPREAD:
            return advice
        return f"{advice}, or the trace bound and the smallest eigenvalue by about {factor**2:.2g}"


class GLRLine:
    """The graph Laplacian regulariser along a direction: a `gdaopt.objectives.Line`."""

    def __init__(self, point: GLRPoint, direction: Direction) -> None:
        self.direction = direction
        pairs = point.objective.pairs
        self._exponents = point.exponents
        factors = direction.factors(pairs.features)
        self.rates = point.objective.blocks(lambda: pairs.products(*factors))

    def exponents(self, gamma: float) -> Iterator[FloatArray]:
        """Yield the exponents ``log w - δ - γ η`` of each block at ``M + γ D``."""
        for exponent, rate in zip(self._exponents, self.rates, strict=True):
            trial = rate * -gamma
            trial += exponent
            yield trial

    def value(self, gamma: float) -> float:
        """Return ``Q(M + γ D)``; infinite where it overflows."""
        with np.errstate(over="ignore"):
            return sum(float(np.exp(trial, out=trial).sum()) for trial in self.exponents(gamma))

    def derivatives(self, gamma: float) -> tuple[float, float]:
        """Return the first and second derivative of ``Q(M + γ D)``; not finite where Q is not."""
        slope = curvature = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for trial, rate in zip(self.exponents(gamma), self.rates, strict=True):
                weighted = np.exp(trial, out=trial)
                weighted *= rate
                slope -= float(weighted.sum())
                curvature += float(np.vdot(weighted, rate))
        return slope, curvature


def _check_spread(name: str, values: FloatArray, least: float) -> None:
    """Refuse values whose differences, squared, under- or overflow."""
    spread = float(np.abs(values / 2 - values[0] / 2).max())
    if not least <= spread <= _LARGEST_SPREAD:
        raise InvalidInputError(
            f"{name} spans about {spread:.2g}, and the square of that leaves floating point; "
            f"rescale {name} to values of about 1"
        )
