"""Hinge penalties on pairs: near if they are of one class, and far if of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.objectives.distances import (
    DistanceObjective,
    Separable,
    SmoothHinge,
    Term,
    even_trace,
    read_labelled_pairs,
)
from gdaopt.support.validation import number

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["PairHinge"]


class PairHinge(DistanceObjective):
    """Smoothed hinge penalties on pairs of samples.

    ``Q(M) = (1/n) [ Σ_similar h(δ_ij(M) - u) + Σ_dissimilar h(l - δ_ij(M)) ]`` over n pairs i < j:
    pairs of one class are to be nearer than u, and pairs of two classes farther than l. The hinge
    h is 0 for z ≤ 0, ``z²/(2ω)`` up to the width ω and ``z - ω/2`` above, at most ω/2 below
    ``max(0, z)``. Q is convex. In a sum with `gdaopt.LogDet` it is the penalty form of ITML.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    y : array-like of shape (N,), optional
        Class labels: numbers, booleans or texts. Pairs of one class are similar.
    upper : float, optional
        u ≥ 0: squared distance of pairs of one class that costs nothing.
    lower : float, optional
        l > 0: squared distance of pairs of two classes that costs nothing.
    width : float, optional
        ω > 0: width over which the kink of the hinge is smoothed.
    pairs : array-like of int, shape (n, 2), optional
        Sum over these pairs only, such as those of near samples where N is large. All pairs when
        left out.
    similar : array-like of bool, shape (n,), optional
        Which of `pairs` are similar. It takes the place of `y` where pairs are known to be of one
        class or of two, and the classes are not known.
    memory_limit : int, optional
        Bytes that the numbers of all pairs may take. Where they need more, they are recomputed
        block by block in each pass instead of being kept.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, lengths that differ, fewer than two samples, samples that all
        coincide, one class only, no two samples of one class, both y and similar or neither, pairs
        that refer to samples that X does not have, pairs that are all similar or all dissimilar, or
        a threshold or a width that is out of its range.

    Notes
    -----
    Source: Davis, Kulis, Jain, Sra, Dhillon, *Information-theoretic metric learning*, ICML 2007;
    "Definition: losses of distances" in ``docs/theory.md``.

    Examples
    --------
    >>> import numpy as np
    >>> hinge = PairHinge([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ["a", "a", "b"], upper=0.5)
    >>> round(hinge.value(np.eye(2)), 6)
    0.133333
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        upper: float = 1.0,
        lower: float = 2.0,
        width: float = 0.2,
        pairs: Any = None,
        similar: Any = None,
        memory_limit: int = 2**28,
    ) -> None:
        self.upper = number("upper", upper, at_least=0)
        self.lower = number("lower", lower, above=0)
        self.width = number("width", width, above=0)
        labelled = read_labelled_pairs(X, y, pairs, similar, need_similar=True)
        similar, dissimilar = labelled.n_similar, labelled.n_dissimilar
        weight, hinge = 1 / (similar + dissimilar), SmoothHinge(self.width)
        self._loss = Separable(
            labelled,
            (
                Term(True, hinge, weight, 1.0, self.upper),
                Term(False, hinge, weight, -1.0, self.lower),
            ),
        )
        super().__init__(labelled.pairs, self._loss, memory_limit)

    def auto_trace_bound(self) -> float:
        """Return C by the rule "auto" ("Proposition: trace bounds of even metrics").

        The pairs of one class alone cost more under an even metric of larger trace than Q at M = 0.
        """
        labelled = self._loss.pairs
        similar, dissimilar = labelled.n_similar, labelled.n_dissimilar
        at_zero = dissimilar / similar * float(SmoothHinge(self.width)(np.array(self.lower))[0])
        distance = self.upper + self.width / 2 + at_zero
        return even_trace(distance, labelled.mean_squares(similar=True))

    def lipschitz(self, min_eigenvalue: float) -> float:  # noqa: ARG002 (the same for all)
        """Return ``L = Σ ‖d_ij‖⁴ / (n ω)``, which holds for every metric."""
        return self._loss.lipschitz(self.squares())

    def to_cvxpy(
        self,
        metric: cp.Expression,
        log: bool = False,  # noqa: ARG002 (no log_convex)
    ) -> tuple[cp.Expression, list[cp.Constraint]]:
        """Return Q for CVXPY."""
        return self._loss.to_cvxpy(metric)
