"""The features of an optimum among many: the optimum over a few of them, and who is missing.

Metrics with atoms of a few features F are ρI outside of F. Over them the problem is a dense one,
in which each distance has an offset ("Algorithm: a few features at a time").
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from gdaopt.certificate import Certificate
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.samples import columns_of
from gdaopt.methods.certified import Certified
from gdaopt.problem import MetricProblem
from gdaopt.status import Status
from gdaopt.support.validation import FloatArray
from gdaopt.wide.certificate import SparseMember
from gdaopt.wide.features import ManyFeatures, atomic_part_of
from gdaopt.wide.pricing import Prices, Pricing, listed_edges

_FEW = 250  # features that a search begins with, and that join at most
_MOST = 4000  # features of an optimum
_LEVELS = 2**13, 2**16  # the strongest features, among which the first are looked for
_MUCH_MORE = 4  # times as many features are worth a level of their own
_SHARE_OF_GAP = 0.1  # over all features: how accurate the next optimum over a few of them is
_SHARE = 0.3  # a share of the tolerance, which is accurate enough
_ROUGHEST = 100.0  # times the tolerance: the first optimum
_ROUGH = 10.0  # times the tolerance, while not all features are looked at
_FINER = 0.1  # times the share, if no feature is missing and the gap is too large
_FINEST = 1e-4


class Search:
    """The current features, the problem of these, and the certificate of the last optimum.

    Attributes
    ----------
    features : ndarray of int, shape (n,)
        The features F, ascending.
    problem : MetricProblem
        That of F.
    certificate : Certificate or None
        Over all features, of the last metric that was looked at; None while some are left out.
    end : tuple of Status and str, or None
        How the search ended, and a sentence that says why.
    """

    certificate: Certificate | None = None
    end: tuple[Status, str] | None = None

    def __init__(
        self, problem: MetricProblem, method: Certified, used: IndexArray | None = None
    ) -> None:
        self.whole = ManyFeatures(problem)
        self._method = method
        self._share, self._gap = _SHARE, np.inf  # in units of the tolerance
        feasible_set, size = self.whole.feasible_set, self.whole.size
        above_floor = feasible_set.trace_bound / size - self.whole.floor
        _, gradient = self.whole.at(above_floor * self.whole.gram)
        if not np.isfinite(gradient).all():
            raise InvalidInputError(
                "nothing to learn from at the start: the gradient of the objective is not finite "
                "in the middle of the set; rescale the features"
            )
        strengths = self.whole.scatter(gradient).least_eigenvalues
        order = np.argsort(-strengths, kind="stable")
        levels = [level for level in _LEVELS if _MUCH_MORE * level < size]
        if listed_edges(feasible_set, size) is not None:
            levels = []
        self._levels = [*(np.sort(order[:level]) for level in levels), np.arange(size)]
        self._pricing = self._pricing_of_level()
        features = np.zeros(0, np.intp) if used is None else used
        self._take(np.union1d(features, order[: max(_FEW - len(features), 0)]))

    @property
    def _is_complete(self) -> bool:
        """Whether the current level has all features."""
        return len(self._levels) == 1

    @property
    def share(self) -> float:
        """How accurate the next optimum is to be, as a share of the tolerances."""
        return max(self._share, min(_SHARE_OF_GAP * self._gap, _ROUGHEST))

    def _take(self, features: IndexArray) -> None:
        self.features = features
        self.problem = self.whole.few(self.features)

    def _pricing_of_level(self) -> Pricing:
        level, whole = self._levels[0], self.whole
        if self._is_complete:
            return Pricing(whole.samples, whole.feasible_set, whole.is_negative)
        feasible_set = whole.feasible_set.of_features(level, whole.size)
        return Pricing(columns_of(whole.samples, level), feasible_set, whole.is_negative)

    def look(self, atoms: Atoms, weights: FloatArray, *, is_last: bool = False) -> None:
        """Take the optimum over the current features, as atoms of all; find who is missing.

        The last optimum is certified over all features at once.
        """
        if is_last and not self._is_complete:
            del self._levels[:-1]
            self._pricing = self._pricing_of_level()
        whole, self.certificate = self.whole, None
        atomic_part = atomic_part_of(atoms, weights, whole.size)
        gram = whole.gram_of(atomic_part)
        while True:
            member = self._member(atoms, atomic_part, gram)
            if self._is_complete:
                self.certificate = member.certificate()
                if self._method.is_converged(self.problem, self.certificate):
                    self.end = self._converged(self.certificate)
                    return
            missing = self._missing(member.prices, member.held / whole.budget)
            allowed = self._method.allowed_gap(member.value)
            self._gap = member.gap / allowed if allowed else np.inf
            if self._is_complete or (len(missing) and self._gap > _ROUGH):
                break
            del self._levels[0]
            self._pricing = self._pricing_of_level()
        if not len(missing):
            self._share *= _FINER
        else:
            self._take(np.union1d(np.unique(atomic_part.indices), missing))
        if len(self.features) > _MOST:
            self.end = (
                "slow_progress",
                f"stopped: the optimum needs over {_MOST} features at a time; with a smaller trace "
                "bound or a larger tolerance it needs fewer",
            )
        elif self._share < _FINEST:
            self.end = "stalled", "stopped: no feature is missing, and what is left is round-off"

    def _member(self, atoms: Atoms, atomic_part: csr_array, gram: FloatArray) -> SparseMember:
        """Return a metric of all features, with the prices of the current level alone."""
        level = self._levels[0]
        pairs = atoms.support[(atoms.values != 0).all(axis=1)]
        pairs = np.sort(pairs[np.isin(pairs, level).all(axis=1)], axis=1)
        first, second = np.searchsorted(level, pairs).T
        return SparseMember(self.whole, self._pricing, (first, second), atomic_part, gram)

    def _missing(self, prices: Prices, level: float) -> IndexArray:
        """Return the features of atoms that would lower the objective, if some are new."""
        is_lower = prices.prices < min(level, 0.0)
        features = self._levels[0][np.column_stack(prices.features)[is_lower].ravel()]
        features = features[np.sort(np.unique(features, return_index=True)[1])]
        is_new = ~np.isin(features, self.features)
        new = features[is_new][:_FEW]
        return np.concatenate([new, features[~is_new]]) if len(new) else new

    def _converged(self, certificate: Certificate) -> tuple[Status, str]:
        if self.whole.objective.convex:
            return "converged", "the certified gap is within the tolerances"
        return (
            "stationary",
            f"a stationary point: its Frank–Wolfe gap is {certificate.frank_wolfe_gap:.3g}, within "
            "the tolerances; the objective is not convex, and has no lower bound",
        )
