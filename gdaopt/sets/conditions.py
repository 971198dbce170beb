"""What a metric must keep to be a member of a set, whose base and budget are known."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from gdaopt.linalg.gershgorin import comparison_matrix
from gdaopt.linalg.magnitudes import largest_entry
from gdaopt.linalg.spectrum import is_at_least, smallest_eigenvalue
from gdaopt.sets.family import AtomFamily
from gdaopt.support.validation import FloatArray

# Round-off allowed to members, as multiples of C, C and C/K.
_EIGENVALUE_SLACK = 1e-10
_TRACE_SLACK = 1e-12
_ENTRY_SLACK = 1e-12


class Conditions(Protocol):
    """What a set asks of its members; see `FeasibleSet`."""

    trace_bound: float
    min_eigenvalue: float

    @property
    def family(self) -> AtomFamily:
        """The atoms that the set is made of."""


def list_violations(
    conditions: Conditions, metric: FloatArray, base: FloatArray, budget: float
) -> tuple[str, ...]:
    """Return a sentence for each condition that a symmetric metric breaks; none for a member."""
    family, size = conditions.family, len(metric)
    rho, unit = conditions.min_eigenvalue, conditions.trace_bound
    atomic_part = metric - base
    feasible = family.with_feasible_entries(atomic_part)
    broken: list[str] = []
    if not np.array_equal(atomic_part, feasible):  # else nothing is wrong, as nearly always
        broken += _entry_violations(family, atomic_part, feasible, _ENTRY_SLACK * unit / size)
    total = float(np.trace(atomic_part))
    if total > budget + _TRACE_SLACK * unit:
        most = budget + size * rho
        broken.append(f"trace {total + size * rho:.6g} exceeds the bound {most:g}")
    least = -_EIGENVALUE_SLACK * unit
    judged = matrix_of_eigenvalues(family, atomic_part)
    if not is_at_least(judged, least) and (smallest := smallest_eigenvalue(judged)) < least:
        of = "" if judged is atomic_part else "of the comparison matrix "
        broken.append(f"smallest eigenvalue {of}{smallest + rho:.6g} is below {rho:g}")
    if broken and not np.array_equal(base, rho * np.eye(size)):
        broken = [f"without the fixed part of the set: {sentence}" for sentence in broken]
    return tuple(broken)


def move_inside(
    family: AtomFamily, metric: FloatArray, base: FloatArray, budget: float
) -> FloatArray:
    """Return the member nearest to a metric on the segment to a point inside the set.

    λ_min, also of the comparison matrix, is concave and the trace linear along the segment, so the
    share t of the inner point that makes both conditions hold has a closed form.
    """
    size, difference = len(metric), metric - base
    atomic_part = family.with_feasible_entries(difference)
    smallest = smallest_eigenvalue(matrix_of_eigenvalues(family, atomic_part))
    total, inside = float(np.trace(atomic_part)), budget / (2 * size)  # N of the inner point
    share = -smallest / (inside - smallest) if smallest < 0 else 0.0
    if total > budget:
        share = max(share, (total - budget) / (total - size * inside))
    if share == 0 and np.array_equal(atomic_part, difference):
        return metric  # without the round-off of the difference
    return base + (1 - share) * atomic_part + share * inside * np.eye(size)


def matrix_of_eigenvalues(family: AtomFamily, matrix: FloatArray) -> FloatArray:
    """Return the matrix whose eigenvalues the members of a family's cone have bounded below."""
    return matrix if family.is_entrywise else comparison_matrix(matrix)


def _entry_violations(
    family: AtomFamily, matrix: FloatArray, feasible: FloatArray, slack: float
) -> list[str]:
    """Return a sentence on the largest wrong sign, and on the largest entry without an edge."""
    refused = np.triu(matrix - feasible, 1)
    if largest_entry(refused) <= slack:
        return []
    # There is no edge if the other sign is refused as well.
    has_no_edge = -1.0 * matrix - family.with_feasible_entries(-1.0 * matrix) != 0
    broken = []
    for reason, chosen in (("", ~has_no_edge), ("not among the edges", has_no_edge)):
        sizes = np.where(chosen, np.abs(refused), 0.0)
        if sizes.max() > slack:
            i, j = np.unravel_index(sizes.argmax(), sizes.shape)
            entry = float(refused[i, j])
            reason = reason or ("positive" if entry > 0 else "negative")
            broken.append(f"off-diagonal [{i},{j}] is {reason}: {entry:.6g}")
    return broken
