"""Presolve of linear constraints: whether a metric keeps all rows, and which inequalities bind.

Data are rounded: rows that hold together on paper contradict each other in the last digits, and
rows that are dependent on paper are independent by a little. All stages of a run have to judge such
rows alike. So they are judged once, here, with one tolerance ("Algorithm: presolve of linear
constraints"):

1. Phase one finds a metric that keeps the rows, or breaks them by no more than the tolerance. Rows
   that it breaks are moved to it; if the tolerance is not enough, no metric keeps the rows.
2. Inequalities that no metric keeps strictly become equalities, as in ``a ≤ b`` beside ``a ≥ b``.
3. Equalities that follow from other equalities are left out.
4. The remaining rows must hold for a metric inside the set's cone; otherwise they are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gdaopt.constraints.column_generation import Extra, LinearProgram, LinearSolution
from gdaopt.constraints.restricted import Restricted
from gdaopt.constraints.rows import ROW_TOLERANCE, LinearConstraints
from gdaopt.errors import InfeasibleProblemError, NoInteriorError
from gdaopt.linalg.atoms import Atoms
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray

_FEASIBLE = 0.5  # a share of the tolerance: the share of phase one; methods may use the rest
_EXACT = 1e-13  # a share of the scale: phase one looks for no better metric
_DEPENDENT = 0.25 * ROW_TOLERANCE  # the distance of a dependent row to the span of other rows
_DISTANCES = (1e-2, 1e-4, 1e-6)  # from a row to the span of those before: the far ones come first
_NOISE = 10.0  # round-offs: so much room of rows that cancel is none
_TINY = 1e-300  # instead of the squared norm of a row of zeros
_NO_ROOM = 1e-4  # a share of the tolerance: rows with less room in every metric become equalities
_ENOUGH_ROOM = 1e-3  # a share of the scale: rows with that much room need not have more
_COUNTS = 1e-6  # a share of the largest multiplier: smaller ones are round-off
_ENOUGH = 0.5  # an interior point may be so much nearer to the boundary than the best one
_WELL_INSIDE = 1e-3  # a share of the middle of the set: else features get units of their own
_NO_INTERIOR = 1e-7  # a share of a feature's diagonal entry: less is round-off
_SMALLEST = 1e-13  # a share of the scale: the smallest unit of a feature
_WIDE = 1e6  # times the scale of the rows: the trace up to which an interior point is looked for
_MOST_UNITS = 40  # rounds in which features get smaller units

Weighted: TypeAlias = tuple[Atoms, FloatArray]
"""Atoms and weights of a metric."""


def presolve(feasible_set: FeasibleSet, rows: LinearConstraints) -> Restricted:
    """Return the members of a set that keep rows, as methods keep them."""
    base = feasible_set.base(rows.n_features)
    at_base = rows.matrices @ base.ravel()
    is_noise = np.abs(rows.bounds - at_base) <= rows.round_off(base)
    moved, start = _make_consistent(
        feasible_set, replace(rows, bounds=np.where(is_noise, at_base, rows.bounds))
    )
    presolved, indices, proofs, start = _reduce(feasible_set, moved, start)
    centre = _interior(feasible_set, presolved, start, rows)
    return Restricted(feasible_set, rows, presolved, indices, centre, start, tuple(proofs))


def _scale(feasible_set: FeasibleSet, rows: LinearConstraints) -> float:
    """Return the size of the weights that the rows ask for."""
    budget = feasible_set.budget(rows.n_features)
    right = rows.residuals(feasible_set.base(rows.n_features))
    return min(float(np.abs(right).max(initial=0.0)), budget) or budget


def _tolerance_of(feasible_set: FeasibleSet, rows: LinearConstraints) -> float:
    """Return the distance to a row that counts as keeping it for every metric of the set."""
    return rows.allowed(feasible_set.base(rows.n_features), feasible_set.trace_bound)


# --- phase one ----------------------------------------------------------------------------------


def _make_consistent(
    feasible_set: FeasibleSet, rows: LinearConstraints
) -> tuple[LinearConstraints, Weighted]:
    """Return the rows, moved within the tolerance so that a metric keeps them, and that metric."""
    size, scale = rows.n_features, _scale(feasible_set, rows)
    allowed = _FEASIBLE * _tolerance_of(feasible_set, rows) / scale
    breaking = [*_list_breaking(rows, rows.residuals(feasible_set.base(size)), scale)]
    solution = LinearProgram(feasible_set, rows, extras=breaking).solve(
        feasible_set.family.basis(size),
        np.zeros(size),
        lambda value, bound: value <= _EXACT or bound > max(allowed, 0.9 * value),
    )
    if solution.lower_bound > allowed:
        most = float(np.abs(solution.multipliers).max())
        involved = np.flatnonzero(np.abs(solution.multipliers) > _COUNTS * most)
        raise InfeasibleProblemError(
            f"no member of {feasible_set!r} keeps all constraints: "
            f"{rows.list_names(involved)} cannot hold together in it; the nearest "
            f"metric breaks them by {solution.value * scale:.2g} in all. Mend or drop one, or "
            "enlarge the set"
        )
    # What the linear program left is taken from its metric: no tolerance remains.
    moved = rows.excesses(solution.atoms.added_to(feasible_set.base(size), solution.weights))
    return replace(rows, bounds=rows.bounds + moved), (solution.atoms, solution.weights)


def _list_breaking(rows: LinearConstraints, residuals: FloatArray, scale: float) -> Iterator[Extra]:
    """Yield the variables that hold the violations of the rows, in units of a scale."""
    for k, row in enumerate(scale * np.eye(len(rows))):
        yield Extra(1.0, -row, start=max(residuals[k], 0.0) / scale)
        if rows.is_equality[k]:
            yield Extra(1.0, row, start=max(-residuals[k], 0.0) / scale)


# --- which rows bind ----------------------------------------------------------------------------


def _reduce(
    feasible_set: FeasibleSet, rows: LinearConstraints, start: Weighted
) -> tuple[LinearConstraints, npt.NDArray[np.intp], list[FloatArray], Weighted]:
    """Return the rows with equalities for inequalities that no metric keeps strictly.

    Equalities that follow from other equalities are left out. Also returned are the indices of the
    remaining rows, multipliers of all rows that prove which inequalities are equalities, and a
    metric that keeps the remaining rows.
    """
    n_rows = len(rows)
    indices = _list_independent(feasible_set, rows)
    rows, base = rows.select(indices), feasible_set.base(rows.n_features)
    proofs: list[FloatArray] = []
    scale = _scale(feasible_set, rows)
    enough = min(_NO_ROOM * _tolerance_of(feasible_set, rows) / scale, 0.1)
    while not rows.is_equality.all():
        room = Extra(-1.0, np.where(rows.is_equality, 0.0, scale), most=1.0)
        solution = LinearProgram(feasible_set, rows, extras=[room]).solve(
            *_with_zeros(feasible_set.family.basis(rows.n_features), start),
            lambda value, bound: value <= -max(_ENOUGH_ROOM, enough) or bound > -enough,
        )
        inner = solution.atoms.added_to(base, solution.weights)
        binds = solution.multipliers > _COUNTS * np.abs(solution.multipliers).max()
        binds &= ~rows.is_equality
        noise = _NOISE * float(np.abs(solution.multipliers) @ rows.round_off(inner))
        if -solution.value > max(enough, noise) or not binds.any():
            break
        proof = np.zeros(n_rows)
        proof[indices] = solution.multipliers
        proofs.append(proof)
        here = rows.residuals(inner)
        rows = replace(rows, is_equality=rows.is_equality | binds)
        rows = replace(
            rows, bounds=rows.bounds + np.where(rows.is_equality, here, np.maximum(here, 0.0))
        )
        left = _list_independent(feasible_set, rows)
        rows, indices = rows.select(left), indices[left]
        start = solution.atoms, solution.weights
    return rows, indices, proofs, start


def _with_zeros(atoms: Atoms, start: Weighted) -> Weighted:
    """Return atoms of weight 0 before others."""
    return atoms.joined(start[0]), np.append(np.zeros(len(atoms)), start[1])


def _list_independent(feasible_set: FeasibleSet, rows: LinearConstraints) -> npt.NDArray[np.intp]:
    """Return the indices of the rows that do not follow from others, up to the tolerance.

    An equality follows from others if it has hardly any distance to their span; an inequality
    from a multiple of another row if no member of the set is farther from that than the bounds
    are from each other. What counts are the entries that the set does not fix.
    """
    size = rows.n_features
    first, second = feasible_set.family.edges_of(size)
    diagonal = rows.matrices[:, np.arange(size) * (size + 1)].toarray()
    edges = rows.matrices[:, first * size + second].toarray()
    free = np.hstack([diagonal, np.sqrt(2.0) * edges])
    equal, others = np.flatnonzero(rows.is_equality), np.flatnonzero(~rows.is_equality)
    span, chosen = np.zeros((0, free.shape[1])), list[np.intp]()
    # What decides are the rows that are far from each other: others have round-off there.
    for least in (*_DISTANCES, _DEPENDENT):
        for k in [k for k in equal if k not in chosen]:
            rest = free[k]
            for _ in range(2):  # once more for the digits that cancel
                rest = rest - span.T @ (span @ rest)
            distance = float(np.linalg.norm(rest))
            if distance > least:
                span, chosen = np.vstack([span, rest / distance]), [*chosen, k]
    right = -rows.residuals(feasible_set.base(size))
    earlier = np.vstack([np.zeros(free.shape[1]), free[chosen], -free[chosen]])
    most = np.concatenate([[0.0], right[chosen], -right[chosen]])
    lengths = np.linalg.norm(free, axis=1)
    lengths[lengths <= _DEPENDENT] = 1.0  # the first row, of zeros, is as good as such a row
    for k in others[np.argsort((right / lengths)[others], kind="stable")]:
        # The multiple of each row that is the nearest.
        shares = np.maximum(earlier @ free[k], 0.0) / np.maximum((earlier**2).sum(axis=1), _TINY)
        beyond = np.linalg.norm(shares[:, None] * earlier - free[k], axis=1) - _DEPENDENT
        if (beyond * feasible_set.budget(size) > right[k] - shares * most).all():
            earlier, most = np.vstack([earlier, free[k]]), np.append(most, right[k])
            chosen.append(k)
    return np.sort(np.array(chosen, dtype=np.intp))


# --- an interior point --------------------------------------------------------------------------


def _interior(
    feasible_set: FeasibleSet, rows: LinearConstraints, start: Weighted, written: LinearConstraints
) -> Weighted:
    """Return atoms and weights of a metric that keeps the rows, inside the set's cone.

    A small metric may not keep the rows as they were written, which are judged by its trace; then
    a larger one is looked for.

    Of all metrics ``B + s diag(d) + Σ_k w_k u_k u_k'`` that keep the rows it is one whose share s
    is at least half of the largest. First d is the same for all features; those of which the rows
    leave far less get units of their own.
    """
    scale, budget = _scale(feasible_set, rows), feasible_set.budget(rows.n_features)
    enough = max(_WIDE * scale, float(start[1].sum()))
    for most in sorted({min(budget, enough), budget}):
        inside = _interior_within(feasible_set, rows, start, most, scale)
        if inside is None:
            continue
        metric = inside[0].added_to(feasible_set.base(rows.n_features), inside[1])
        if not written.violations(metric, feasible_set.trace_bound):
            return inside
    raise NoInteriorError(
        f"the constraints leave {feasible_set!r} no metric but on its boundary: "
        f"{rows.list_names()}; loosen one, or lower min_eigenvalue"
    )


def _interior_within(
    feasible_set: FeasibleSet, rows: LinearConstraints, start: Weighted, budget: float, scale: float
) -> Weighted | None:
    """Return atoms and weights of an interior point whose weights keep a budget; None for none."""
    size = rows.n_features
    basis = feasible_set.family.basis(size)
    forms = rows.forms_and_sizes(basis)[0]
    units = np.full(size, budget / size)
    for _ in range(_MOST_UNITS):
        middle = Extra(-1.0, forms @ units, float(units.sum()), most=1.0)
        solution = LinearProgram(feasible_set, rows, budget, extras=[middle]).solve(
            *_with_zeros(basis, start), lambda value, bound: value <= _ENOUGH * bound
        )
        share = float(solution.extras[0])
        if share >= _WELL_INSIDE or units.min() < _SMALLEST * scale:
            break
        units = _shrink_units(units, share, solution, forms)
    diagonal = solution.atoms.added_to(np.diag(share * units), solution.weights).diagonal()
    if not (share * units > _NO_INTERIOR * diagonal).all() or share * units.min() <= (
        _SMALLEST * scale
    ):
        return None
    return basis.joined(solution.atoms), np.concatenate([share * units, solution.weights])


def _shrink_units(
    units: FloatArray, share: float, solution: LinearSolution, forms: FloatArray
) -> FloatArray:
    """Return smaller units for the features that the rows leave the least, as they are priced."""
    prices = units * np.maximum(solution.multipliers @ forms, 0.0)
    total = float(prices.sum())
    if not total > 0:
        return units
    limited = prices > 0.1 / len(units) * total
    return np.where(limited, units * max(share, 1e-6) / 2, units)
