"""A set with linear constraints is a set: its members are those of another set that keep all rows.

Methods keep rows in place of those that the user wrote: see `gdaopt.constraints.presolve`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdaopt.constraints.rows import LinearConstraints
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.sets.feasible_set import FeasibleSet, matrix_of_eigenvalues
from gdaopt.support.validation import FloatArray, symmetric_matrix

_COUNTS = 1e-6  # of the largest multiplier: smaller ones are round-off
_CORRECTIONS = 20  # rounds of mending rows and entries in turns


@dataclass(frozen=True, eq=False)
class Restricted:
    """The members of a set that keep linear constraints.

    `rows` are some of the rows that the user has `written`, with the indices `kept`, moved by less
    than the tolerance. No equality follows from the other equalities, and one metric keeps all
    inequalities strictly; the `atoms` and `weights` are those of a metric inside the set's cone
    that keeps all rows.
    """

    feasible_set: FeasibleSet
    written: LinearConstraints
    rows: LinearConstraints
    kept: npt.NDArray[np.intp]
    atoms: Atoms
    weights: FloatArray
    _implied: tuple[FloatArray, ...]  # multipliers that prove that inequalities are equalities

    # --- members --------------------------------------------------------------------------------

    def violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return a sentence for each condition of the set and each row that a metric breaks."""
        found, size = self.feasible_set.violations(metric), self.written.n_features
        metric = symmetric_matrix("metric", metric, size)
        return (*found, *self.written.violations(metric, self.feasible_set.trace_bound))

    def made_feasible(self, metric: FloatArray) -> FloatArray:
        """Return a metric near `metric` that keeps set and rows, but for round-off.

        Rows and trace, and the conditions on entries, are mended in turns; then the metric goes
        towards the one inside until its eigenvalues are large enough.
        """
        feasible_set, near = self.feasible_set, metric
        family, base = feasible_set.family, feasible_set.base(len(near))
        for _ in range(_CORRECTIONS):
            mended = self.rows.corrected(near, feasible_set.trace_bound)
            near = base + family.with_feasible_entries(mended - base)
            if (near == mended).all():
                break
        smallest = smallest_eigenvalue(matrix_of_eigenvalues(family, near - base))
        if smallest >= 0:
            return near
        inner = self.atoms.added_to(base, self.weights)
        share = -smallest / (smallest_eigenvalue(inner - base) - smallest)
        feasible: FloatArray = (1 - share) * near + share * inner
        return feasible

    # --- multipliers ----------------------------------------------------------------------------

    def from_written(self, multipliers: FloatArray) -> FloatArray:
        """Return multipliers of `rows`, from multipliers of the rows that the user wrote."""
        found: FloatArray = self.written.in_own_units(multipliers)[self.kept]
        return found

    def as_written(self, multipliers: FloatArray) -> FloatArray:
        """Return multipliers of the rows that the user wrote, from multipliers of `rows`.

        Multipliers of inequalities are not negative: where an inequality has become an equality,
        the multipliers that prove it do not change the bound, and a multiple of them is added.
        """
        found = np.zeros(len(self.written))
        found[self.kept] = multipliers
        for proof in reversed(self._implied):
            lifted = ~self.written.is_equality & (proof > _COUNTS * np.abs(proof).max())
            share = float((-found[lifted] / proof[lifted]).max(initial=0.0))
            found = found + max(share, 0.0) * proof
        signed = np.where(self.written.is_equality, found, np.maximum(found, 0.0))
        return signed / self.written.norms
