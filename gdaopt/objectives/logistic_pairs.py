"""Logistic discriminant metric learning: a pair is of one class if it is near."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.objectives.distances import (
    DistanceObjective,
    Logistic,
    Separable,
    Term,
    even_trace,
    read_labelled_pairs,
)
from gdaopt.support.validation import number

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["LogisticPairs"]


class LogisticPairs(DistanceObjective):
    """Logistic loss on pairs of samples: logistic discriminant metric learning (LDML).

    ``Q(M) = (1/n) Σ_{i<j} log(1 + exp(±(δ_ij(M) - b)))`` with + for pairs of one class and - for
    pairs of two classes, n pairs in all. That is the mean negative log-likelihood where a pair is
    of one class with the probability ``1 / (1 + exp(δ_ij - b))``. Q is convex.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples × features.
    y : array-like of shape (N,), optional
        Class labels: numbers, booleans or texts. Pairs of one class are similar.
    bias : float, optional
        b > 0: the squared distance at which both kinds of pairs are as likely.
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
        a bias that is not positive.

    Notes
    -----
    Source: Guillaumin, Verbeek, Schmid, *Is that you? Metric learning approaches for face
    identification*, ICCV 2009; "Definition: losses of distances" in ``docs/theory.md``.

    Examples
    --------
    >>> import numpy as np
    >>> ldml = LogisticPairs([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ["a", "a", "b"])
    >>> round(ldml.value(np.eye(2)), 6)
    0.253295
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        bias: float = 1.0,
        pairs: Any = None,
        similar: Any = None,
        memory_limit: int = 2**28,
    ) -> None:
        self.bias = number("bias", bias, above=0)
        labelled = read_labelled_pairs(X, y, pairs, similar, need_similar=True)
        similar, dissimilar = labelled.n_similar, labelled.n_dissimilar
        weight = 1 / (similar + dissimilar)
        self._loss = Separable(
            labelled,
            (
                Term(True, Logistic(), weight, 1.0, self.bias),
                Term(False, Logistic(), weight, -1.0, self.bias),
            ),
        )
        super().__init__(labelled.pairs, self._loss, memory_limit)

    def auto_trace_bound(self) -> float:
        """Return C by the rule "auto" ("Proposition: trace bounds of even metrics").

        The pairs of one class alone cost more under an even metric of larger trace than Q at M = 0.
        """
        labelled = self._loss.pairs
        similar, dissimilar = labelled.n_similar, labelled.n_dissimilar
        of_dissimilar = dissimilar / similar * float(np.logaddexp(0, self.bias))
        distance = self.bias + float(np.logaddexp(0, -self.bias)) + of_dissimilar
        return even_trace(distance, labelled.mean_squares(similar=True))

    def lipschitz(self, min_eigenvalue: float) -> float:  # noqa: ARG002 (the same for all)
        """Return ``L = Σ ‖d_ij‖⁴ / (4n)``, which holds for every metric."""
        return self._loss.lipschitz(self.squares())

    def to_cvxpy(
        self,
        metric: cp.Expression,
        log: bool = False,  # noqa: ARG002 (no log_convex)
    ) -> tuple[cp.Expression, list[cp.Constraint]]:
        """Return Q for CVXPY: one exponential cone for each pair."""
        return self._loss.to_cvxpy(metric)
