"""What baselines of feature weights share: labels predicted under weights, and the regulariser.

The latter is the graph Laplacian regulariser as a function of the weights, with its minimisation.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.harmonic import full_graph_shares
from gdaopt.estimators.inputs import Codes, Mask, one_hot
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.projection import project_on_bounded_sum
from gdaopt.master.master_point import MasterPoint
from gdaopt.objectives import GLR
from gdaopt.support.validation import FloatArray

__all__ = [
    "WeightStep",
    "check_spread",
    "harmonic_codes",
    "minimize_over_weights",
    "regulariser_of_weights",
]

_LARGEST_SPREAD = 1e70  # second derivatives contain the fourth power of it or of its inverse

_FIRST_STEP = 0.1  # largest change of a weight in the first step, as a share of the trace bound
_MOST_STEPS = 2000  # for z-scores of samples 10 to 200 are enough
_MEMORY = 10  # a step may end anywhere below the largest of this many last values
_DECREASE = 1e-4  # share of the decrease promised by the slope that a step has to reach below that
_SHORTER = 4.0  # factor by which a refused step is shortened
_FARTHEST = 1e3  # most by which step lengths may change at once: gradients have round-off
_ROUND_OFF = 1e-14  # relative round-off of the values
_PATIENCE = 50  # the method stalls after this many steps without a smaller value


def check_spread(X: FloatArray) -> None:
    """Refuse samples that are all the same, or whose distances leave floating point."""
    spread = float(np.abs(X / 2 - X[0] / 2).max()) * 2  # halved, since differences can overflow
    if spread == 0:
        raise InvalidInputError(
            f"X holds {len(X)} samples that are all the same, so that no metric tells them apart; "
            "pass samples that differ"
        )
    if not 1 / _LARGEST_SPREAD <= spread <= _LARGEST_SPREAD:
        raise InvalidInputError(
            f"X spans about {spread:.2g}, and powers of that leave the range of floating point; "
            "rescale X to values of about 1"
        )


def harmonic_codes(X: FloatArray, weights: FloatArray, codes: Codes, labelled: Mask) -> Codes:
    """Return the class of each sample: the given one, or that of the harmonic solution.

    The edges have the weights ``w_ij = exp(-Σ_k c_k (x_ik - x_jk)²)`` with the feature weights c.
    The classes are those that `gdaopt.GraphClassifier` finds: the class with the largest share
    wins, which for two classes is the sign of ``z_U`` in ``L_UU z_U = -L_UF z_F``. A sample that no
    path of weights above 1e-300 joins to a labelled sample gets the class of the nearest one.
    """
    everyone = np.empty(len(X), dtype=np.intp)
    everyone[labelled] = codes
    if labelled.all():
        return everyone
    coordinates = (X - X[0]) * np.sqrt(weights)
    own, others = coordinates[~labelled], coordinates[labelled]
    towards = cdist(own, others, "sqeuclidean")
    shares, cut_off = full_graph_shares(cdist(own, own, "sqeuclidean"), towards, one_hot(codes))
    predicted = shares.argmax(axis=1)
    predicted[cut_off] = codes[towards[cut_off].argmin(axis=1)]
    everyone[~labelled] = predicted
    return everyone


@dataclass(frozen=True, eq=False)
class WeightStep:
    """The result of `minimize_over_weights`: log Q at the weights that were found.

    The gap certifies how far log Q is above its minimum; for Q, it bounds the relative distance.
    The status is ``"converged"`` if the gap is within the tolerance, ``"stalled"`` if no step
    lowers Q by more than round-off, and ``"step_limit"`` if neither holds after the last step.
    """

    point: MasterPoint
    gap: float
    status: str


def regulariser_of_weights(X: FloatArray, signal: FloatArray, weights: FloatArray) -> MasterPoint:
    """Return ``log Σ_ij exp(-Σ_k c_k (x_ik - x_jk)²) ‖z_i - z_j‖²`` at the feature weights c.

    The signals z have the shape (N, m).
    """
    size = X.shape[1]
    features = Atoms.of_features(np.arange(size))
    return MasterPoint(GLR(X, signal).at(np.zeros((size, size))), features, weights, log=True)


def minimize_over_weights(point: MasterPoint, trace_bound: float, tolerance: float) -> WeightStep:
    """Minimise log Q over ``c ≥ 0, Σc ≤ C`` by proximal gradients with backtracking.

    The proximal step of the constraints is the projection. Each step is first tried with the length
    of Barzilai and Borwein (1988), and shortened until log Q is below the largest of its last ten
    values. The point with the least value is returned (spectral projected gradients: Birgin,
    Martínez, Raydan 2000). Since log Q is convex (see "Lemma: log-convexity of the regulariser" in
    ``docs/theory``), ``∇'c - C min(∇, 0)`` bounds how far log Q is above its minimum.

    It starts at `point`, whose weights meet the constraints, and stops at a gap of `tolerance`.
    """
    steepest = float(np.abs(point.gradient()).max())
    curvature = steepest / (_FIRST_STEP * trace_bound) if steepest else 1.0
    best, waited, values = point, 0, deque([point.value], maxlen=_MEMORY)
    for n_steps in range(_MOST_STEPS + 1):
        if _gap(point, trace_bound) <= tolerance:
            return WeightStep(point, _gap(point, trace_bound), "converged")
        noise = _ROUND_OFF * max(abs(point.value), 1.0)
        waited = 0 if point.value < best.value - noise else waited + 1
        best = point if point.value < best.value else best
        if n_steps == _MOST_STEPS or waited > _PATIENCE:
            break
        slope = point.gradient()
        moved, curvature = _step(point, curvature, trace_bound, max(values) + noise)
        change = moved.weights - point.weights
        if not change.any():
            waited = _PATIENCE  # shorter steps would not change the weights, either
            break
        bend = float((moved.gradient() - slope) @ change) / float(change @ change)
        curvature = min(max(bend, curvature / _FARTHEST), curvature * _FARTHEST)
        point = moved
        values.append(point.value)
    status = "stalled" if waited >= _PATIENCE else "step_limit"
    return WeightStep(best, _gap(best, trace_bound), status)


def _gap(point: MasterPoint, trace_bound: float) -> float:
    """Return how far log Q can be above its minimum."""
    slope = point.gradient()
    return float(slope @ point.weights) - trace_bound * min(float(slope.min()), 0.0)


def _step(
    point: MasterPoint, curvature: float, trace_bound: float, reference: float
) -> tuple[MasterPoint, float]:
    """Return the point after a step that ends below the reference, and 1 over the step's length."""
    slope = point.gradient()
    while True:
        weights = project_on_bounded_sum(point.weights - slope / curvature, trace_bound)
        change = weights - point.weights
        moved = point.at(weights)
        if moved.value <= reference + _DECREASE * float(slope @ change) or not change.any():
            return moved, curvature
        curvature *= _SHORTER
