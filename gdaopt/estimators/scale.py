"""The scale of a metric, from the data: ``trace_bound="auto"`` and ``min_eigenvalue="auto"``.

Let D be the mean of ``d d'`` over the differences d of the pairs of samples that the objective sums
over, by their weights, so that ``⟨D, M⟩`` is their mean squared distance under M. The bounds are

    C = min(4 / max_k D_kk, 200 / max_u u'Du),        ρ = 10⁻³ C / K,

where u are the atoms of the feasible set: with all of the trace on one feature the mean squared
distance is at most 4, and no metric of the set gives one above 200. The slope of log Q at M = 0 is
-D: that is what D stands for with other objectives of convex logarithm; the set's exact oracle
finds the largest u'Du, which is seldom above 50 times the largest D_kk.

**The features' scale drops out.** Of X → sX it follows C → C/s², and all distances stay as they
were. Features that are constant change nothing, nor do copies of others, unless there are so many
that positive definite metrics, which can add copies up, come to the second bound.

**A larger set is a larger choice.** Diagonal, graph and positive definite metrics get the same C,
so that each set contains those before it, and the least Q over it is no larger. On z-scores C is
about 2, and with even weights the mean distance is about 4.

**Distances neither vanish nor underflow.** As log Q is convex, ``Q(M) ≥ e⁻²⁰⁰ Q(0)`` for each
metric of the set, whatever N, K and the data; and the largest mean distance is at least 4, or 200.

**Why 4.** Pairs of different classes at that distance weigh e⁻⁴, 2 %, of one at distance 0: nearly
cut off, as the objective wants them to be. With a much smaller bound Q is all but linear in M: all
pairs count alike, and the optimum is a metric of rank one. With a much larger one a few of the
closest pairs decide alone.

**Why 10⁻³.** What the metric makes no use of keeps a thousandth of an even share: samples that
differ in nothing else stay apart, and M has a condition number of at most 1000 K.
"""

from __future__ import annotations

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.objectives import Objective
from gdaopt.sets import FeasibleSet

__all__ = ["auto_min_eigenvalue", "auto_trace_bound", "read_trace_bound"]

_DISTANCE = 4.0  # mean squared, with all of the trace on one feature
_MOST = 200.0  # mean squared distance under any metric of the set
_LEAST_SHARE = 1e-3  # ρ as a share of C/K
_LARGEST = 1e140  # of such a distance at C = 1: the Hessian holds squares of such


def auto_trace_bound(objective: Objective, feasible_set: FeasibleSet) -> float:
    """Return C for an objective over a set.

    Parameters
    ----------
    objective : Objective
        With `log_convex`, such as `gdaopt.GLR`.
    feasible_set : FeasibleSet
        Of any trace bound: its atoms count, for the second of the two bounds.

    Raises
    ------
    InvalidInputError
        For another objective, and when the samples of all pairs coincide, or nearly so, or are too
        far apart for floating point.

    Examples
    --------
    >>> import gdaopt as gda
    >>> auto_trace_bound(gda.GLR([[0.0, 7.0], [2.0, 7.0]], [0, 1]), gda.GraphMetrics(1.0))
    1.0
    """
    if not objective.log_convex:
        raise InvalidInputError(
            f"trace_bound='auto' follows the slope of log Q, and {objective!r} does not say that "
            "its logarithm is convex; pass a number"
        )
    size = objective.n_features
    start = objective.at(np.zeros((size, size)))
    slope = start.gradient() / start.value
    of_features = -float(slope.diagonal().min())
    largest = -float(feasible_set.best_atoms(slope).prices[0])
    if not (of_features > 1 / _LARGEST and largest < _LARGEST):
        raise InvalidInputError(
            f"samples of different classes differ by {largest:.3g} in the square, of which "
            "trace_bound='auto' makes no bound; rescale the features, or drop constant ones"
        )
    return min(_DISTANCE / of_features, _MOST / largest)


def read_trace_bound(
    trace_bound: str | float, objective: Objective, feasible_set: FeasibleSet
) -> float:
    """Return C for the parameter `trace_bound` of an estimator: its number, or that of the rule.

    Examples
    --------
    >>> import gdaopt as gda
    >>> read_trace_bound(3, gda.GLR([[0.0], [2.0]], [0, 1]), gda.GraphMetrics(1.0))
    3.0
    """
    if trace_bound == "auto":
        return auto_trace_bound(objective, feasible_set)
    return float(trace_bound)


def auto_min_eigenvalue(trace_bound: float, n_features: int) -> float:
    """Return ρ.

    Examples
    --------
    >>> auto_min_eigenvalue(4.0, 4)
    0.001
    """
    return _LEAST_SHARE * trace_bound / n_features
