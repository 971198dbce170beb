"""Objectives over many pairs: as functions of the weights of atoms, and on fewer samples.

Where there are more than `MANY_PAIRS` pairs, an evaluation is a sweep over all of them, which gives
the whole K×K gradient, and with it the derivatives by the weights of any atoms. Newton's method
needs second derivatives only as a model: a sample of the pairs gives them. Value, gradient and
certificate are always those of all pairs ("Algorithm: nested samples" in ``docs/theory.md``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives.protocol import AtomWeights, Point
from gdaopt.support.validation import FloatArray

__all__ = ["SweptAtomWeights", "model_size", "sample_size", "stratified", "thinned"]

_MODEL_SAMPLES = 512, 2048  # whose pairs tell second derivatives, at least and at most
_MODEL_SHARE = 1 / 8  # of all samples, in between
_MODEL_PAIRS = 32, 256  # for each atom, that are left of those pairs, at least and at most
_PAIRS_SHARE = 1 / 256  # of all pairs, in between
_NEARBY = 0.1  # of the weights: closer to each other, the sample tells no difference
_SMALLEST = 1000  # samples; each next size is four times the last
_GROWTH = 4  # by which samples are fewer than what they stand for, at least
_KEPT = 4  # points: the best weights of a master problem are among the last ones that were tried
_SAME = 1e-15  # of the largest entry: metrics that are the same up to round-off
_LEAST = 2  # samples of each class


class _LogPoint(Point, Protocol):
    """A point of an objective of convex logarithm."""

    def log_gradient(self) -> FloatArray:
        """Return ``∇ log Q(M)``."""


class _Swept(Protocol):
    """An objective whose points know their gradient from a sweep."""

    def at(self, metric: FloatArray) -> Point:
        """Return the point at a symmetric K×K matrix."""


class SweptAtomWeights:
    """Q or log Q as a function of the weights of atoms, from sweeps: an `AtomWeights`.

    Parameters
    ----------
    objective : Objective
        Q.
    base : ndarray of shape (K, K)
        B.
    log : bool
        Whether it is log Q.
    model : AtomWeights
        The same of a sample of the samples, whose second derivatives stand for those of all.
    """

    def __init__(self, objective: _Swept, base: FloatArray, log: bool, model: AtomWeights) -> None:
        self.log = log
        self.model = model
        self._objective = objective
        self._base = base
        self._known: deque[Point] = deque(maxlen=_KEPT)

    def at(self, atoms: Atoms, weights: FloatArray) -> SweptAtomWeightsPoint:
        """Return the point at ``B + Σ_k w_k u_k u_k'``."""
        return SweptAtomWeightsPoint(self, atoms, weights, _Model(self.model, atoms))

    def point(self, atoms: Atoms, weights: FloatArray) -> Point:
        """Return the objective at the metric, which may have been evaluated before."""
        metric = atoms.added_to(self._base, weights)
        reach = _SAME * float(np.abs(metric).max())
        for point in self._known:
            if np.abs(point.metric - metric).max() <= reach:
                return point
        self._known.append(self._objective.at(metric))
        return self._known[-1]


class _Model:
    """The second derivatives by the weights of some atoms, as Newton's method goes on.

    Where a step was short, the sample has nothing new to tell, but the gradients at its ends have:
    they update the matrix (Broyden, Fletcher, Goldfarb, Shanno).
    """

    def __init__(self, atom_weights: AtomWeights, atoms: Atoms) -> None:
        self._atom_weights = atom_weights
        self._atoms = atoms
        self._known: tuple[FloatArray, FloatArray, FloatArray] | None = None

    def hessian(self, weights: FloatArray, gradient: FloatArray) -> FloatArray:
        """Return them at weights where the gradient of all pairs is known."""
        hessian = None if self._known is None else _updated(*self._known, weights, gradient)
        if hessian is None:
            hessian = self._atom_weights.at(self._atoms, weights).hessian()
        self._known = weights, gradient, hessian
        return hessian


def _updated(
    start: FloatArray,
    slope: FloatArray,
    hessian: FloatArray,
    weights: FloatArray,
    gradient: FloatArray,
) -> FloatArray | None:
    """Return the Hessian after a step; None where the step was long."""
    step, bend = weights - start, gradient - slope
    if float(np.abs(step).sum()) > _NEARBY * float(start.sum()):
        return None
    curved = hessian @ step
    found, expected = float(bend @ step), float(curved @ step)
    if not (found > 0 and expected > 0):
        return hessian
    updated: FloatArray = (
        hessian + np.outer(bend, bend) / found - np.outer(curved, curved) / expected
    )
    return updated


class SweptAtomWeightsPoint:
    """Q or log Q at given weights of given atoms: an `AtomWeightsPoint`."""

    def __init__(
        self, atom_weights: SweptAtomWeights, atoms: Atoms, weights: FloatArray, model: _Model
    ) -> None:
        self._atom_weights = atom_weights
        self._atoms = atoms
        self._model = model
        self.weights = weights
        self._point = atom_weights.point(atoms, weights)

    @property
    def value(self) -> float:
        """Q or log Q at the metric."""
        return self._point.log_value if self._atom_weights.log else self._point.value

    def gradient(self) -> FloatArray:
        """Return the derivatives ``u_k' G u_k``, for the gradient G of Q or of log Q."""
        point = self._point
        if self._atom_weights.log:
            log_point = cast(_LogPoint, point)
            forms = self._atoms.quadratic_forms(log_point.log_gradient())
        else:
            forms = self._atoms.quadratic_forms(point.gradient())
        return forms

    def hessian(self) -> FloatArray:
        """Return second derivatives, from a sample of the pairs."""
        return self._model.hessian(self.weights, self.gradient())

    def at(self, weights: FloatArray) -> SweptAtomWeightsPoint:
        """Return the point at other weights of the same atoms."""
        return SweptAtomWeightsPoint(self._atom_weights, self._atoms, weights, self._model)

    def point(self) -> Point:
        """Return the objective at the metric, with the sums of the sweep."""
        return self._point


def model_size(n_samples: int) -> int:
    """Return how many samples tell the second derivatives of so many."""
    least, most = _MODEL_SAMPLES
    return min(max(least, int(_MODEL_SHARE * n_samples)), most)


def thinned(
    terms: Iterable[FloatArray], total: float, n_atoms: int, n_pairs: int
) -> Iterator[FloatArray]:
    """Yield the terms of a sum with most of the small ones left out, always the same ones.

    Those that are left stand for the others: what is summed over them is right in the mean. There
    are enough of them for the second derivatives by the weights of so many atoms, and they take
    little time beside a sweep over so many pairs.

    Examples
    --------
    >>> terms = np.random.default_rng(1).random(10_000) ** 4
    >>> (few,) = thinned([terms], float(terms.sum()), 10, 10_000)
    >>> int(np.count_nonzero(few)), round(float(few.sum() / terms.sum()), 2)
    (291, 0.91)
    """
    fewest, most = _MODEL_PAIRS
    least = total / min(max(fewest * n_atoms, _PAIRS_SHARE * n_pairs), most * n_atoms)
    rng = np.random.default_rng(0)
    for term in terms:
        is_left = rng.random(term.shape) * least < term
        yield np.where(is_left, np.maximum(term, least), 0.0)


def sample_size(n_samples: int) -> int | None:
    """Return how many samples stand for so many; None where there are few enough.

    Examples
    --------
    >>> [sample_size(n) for n in (65_000, 10_000, 4000, 1000)]
    [16000, 1000, 1000, None]
    """
    if n_samples < _GROWTH * _SMALLEST:
        return None
    size = _SMALLEST
    while _GROWTH**2 * size <= n_samples:
        size *= _GROWTH
    return size


def stratified(strata: npt.NDArray[np.intp], size: int) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Return about so many samples, of each stratum its share, and how many each stands for.

    Parameters
    ----------
    strata : ndarray of int, shape (N,)
        The stratum of each sample, ascending. Within one, samples that are next to each other may
        be alike: of each run of N/n samples one is taken, at random but always the same.
    size : int
        n.

    Returns
    -------
    indices : ndarray of int, shape (n,)
        Ascending.
    counts : ndarray of shape (n,)
        The number of samples of the stratum, divided by how many of them are taken.

    Examples
    --------
    >>> indices, counts = stratified(np.repeat([0, 1], [30, 10]), 8)
    >>> np.bincount(indices // 30), counts
    (array([6, 2]), array([5., 5., 5., 5., 5., 5., 5., 5.]))
    """
    rng = np.random.default_rng(0)
    indices, counts = [], []
    starts = np.flatnonzero(np.diff(strata, prepend=strata[0] - 1))
    for start, stop in zip(starts, [*starts[1:], len(strata)], strict=True):
        n_all = int(stop - start)
        n_taken = min(max(round(size * n_all / len(strata)), _LEAST), n_all)
        bounds = start + np.arange(n_taken + 1) * n_all // n_taken
        indices.append(rng.integers(bounds[:-1], bounds[1:]))
        counts.append(np.full(n_taken, n_all / n_taken))
    return np.concatenate(indices), np.concatenate(counts)
