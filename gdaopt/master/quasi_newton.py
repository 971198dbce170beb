"""Quasi-Newton steps in the entries of atoms: a quick way near a stationary point.

With the atoms as rows v of a matrix V, scaled by the roots of their weights, the metrics of atoms
of some supports with the total weight τ are a smooth function of V, whose size does not matter:

    min Q(B + τ VV' / ‖V‖²),     VV' = Σ_k v_k v_k'

It is not convex in V, even where Q is. L-BFGS takes one evaluation of Q and of its gradient a step,
or few more ("Algorithm: fully corrective Frank–Wolfe without convexity").
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from gdaopt.errors import TimeLimitError
from gdaopt.linalg.atoms import Atoms
from gdaopt.master.active_set import ActiveSet
from gdaopt.objectives.base import Objective
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

_SPREAD = 0.1  # share of the weights that all atoms have at the start: one of weight 0 has no slope
_STEPS = 500
_NEGLIGIBLE = 1e-3  # share of the mean weight of a feature: atoms of less are left to the rounds


def quasi_newton(
    objective: Objective,
    base: FloatArray,
    active_set: ActiveSet,
    others: Atoms,
    accuracy: float,
) -> ActiveSet:
    """Return an active set of the same total weight, where the objective is lower.

    Parameters
    ----------
    objective, base : Objective and ndarray of shape (K, K)
        Q and B.
    active_set : ActiveSet
        Where the steps begin, of positive total weight.
    others : Atoms
        Atoms of the other supports, which begin with a small weight. Entries of two-sparse atoms
        keep their signs.
    accuracy : float
        The steps end when one lowers the objective by less than that share of it, or when the time
        is up.
    """
    atoms, total = active_set.atoms.joined(others), active_set.total
    weights = np.append((1 - _SPREAD) / total * active_set.weights, np.zeros(len(others)))
    weights += _SPREAD / len(atoms)
    values = np.sqrt(weights)[:, None] * atoms.values
    unit, best = 0.0, (np.inf, values.ravel())

    def value_and_slope(x: FloatArray) -> tuple[float, FloatArray]:
        nonlocal unit, best
        check_time()
        scaled, size = Atoms(atoms.support, x.reshape(values.shape)), float(x @ x)
        if not size > 0:  # a step has ended at all bounds at once
            return np.inf, np.zeros_like(x)
        point = objective.at(scaled.added_to(base, np.full(len(atoms), total / size)))
        unit = unit or abs(point.value) or 1.0
        if point.value < best[0]:
            best = point.value, x.copy()
        slope = scaled.products_on_support(point.gradient()).ravel()
        slope -= float(slope @ x) / size * x
        return point.value / unit, 2 * total / size / unit * slope

    bounds = None
    if atoms.is_two_sparse:
        least = np.where(values < 0, -np.inf, 0.0)
        bounds = Bounds(least.ravel(), np.where(values > 0, np.inf, 0.0).ravel())
    options: Any = {"maxiter": _STEPS, "ftol": accuracy, "gtol": 0.0}
    with suppress(TimeLimitError):
        minimize(
            value_and_slope,
            values.ravel(),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=options,
        )
    values = best[1].reshape(values.shape)
    weights = (values**2).sum(axis=1)
    is_used = weights > _NEGLIGIBLE * weights.sum() / len(base)
    weights = weights[is_used]
    units = values[is_used] / np.sqrt(weights)[:, None]
    return ActiveSet(Atoms(atoms.support[is_used], units), total / weights.sum() * weights)
