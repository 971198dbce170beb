"""Metrics of bounded trace and smallest eigenvalue: membership, repair and projection."""

from __future__ import annotations

from abc import ABC
from dataclasses import replace

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.projection import Projection, project_on_intersection
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.validation import FloatArray, integer, number, symmetric_matrix

__all__ = ["BoundedMetrics"]

# Round-off allowed to members, as multiples of C, C and C/K.
_EIGENVALUE_SLACK = 1e-10
_TRACE_SLACK = 1e-12
_ENTRY_SLACK = 1e-12


class BoundedMetrics(ABC):
    """The conditions ``M ⪰ ρI`` and ``tr M ≤ C``, and those on single entries of a subclass.

    Attributes
    ----------
    trace_bound : float
        C, above ``K ρ``.
    min_eigenvalue : float
        ρ ≥ 0.
    """

    trace_bound: float
    min_eigenvalue: float

    def __post_init__(self) -> None:
        number("trace_bound", self.trace_bound, above=0)
        number("min_eigenvalue", self.min_eigenvalue, at_least=0)

    def base(self, n_features: int) -> FloatArray:
        """Return B, the K×K matrix that every member is a sum of atoms away from."""
        return self.min_eigenvalue * np.eye(n_features)

    def budget(self, n_features: int) -> float:
        """Return ``τ = C - tr B``, what the weights of the atoms may add up to."""
        return self.trace_bound - n_features * self.min_eigenvalue

    def check_size(self, n_features: int) -> None:
        """Raise InvalidInputError when no K×K metric fits, or only a single one.

        Examples
        --------
        >>> import gdaopt as gda
        >>> gda.GraphMetrics(trace_bound=1.0, min_eigenvalue=0.5).check_size(2)
        Traceback (most recent call last):
            ...
        gdaopt.errors.InvalidInputError: trace_bound 1 must exceed n_features · min_eigenvalue ...
        """
        k = integer("n_features", n_features, at_least=1)
        if self.trace_bound <= k * self.min_eigenvalue:
            raise InvalidInputError(
                f"trace_bound {self.trace_bound:g} must exceed n_features · min_eigenvalue = "
                f"{k} · {self.min_eigenvalue:g} = {k * self.min_eigenvalue:g}; "
                "raise trace_bound or lower min_eigenvalue"
            )

    def contains(self, metric: FloatArray) -> bool:
        """Say whether `metric` is in the set, up to round-off.

        Allowed are a smallest eigenvalue of ``ρ - 1e-10·C``, a trace of ``C(1 + 1e-12)`` and
        ``1e-12·C/K`` on the wrong side of 0 in a single entry.
        """
        return not self.violations(metric)

    def violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return a sentence for each condition that `metric` breaks; none for a member."""
        return self._violations(symmetric_matrix("metric", metric), self.trace_bound)

    def _violations(self, metric: FloatArray, unit: float) -> tuple[str, ...]:
        """Return the violations, with round-off relative to a unit of trace."""
        found = self._entry_violations(metric, _ENTRY_SLACK * unit / len(metric))
        trace = float(np.trace(metric))
        if trace > self.trace_bound + _TRACE_SLACK * unit:
            found.append(f"trace {trace:.6g} exceeds the bound {self.trace_bound:g}")
        smallest = smallest_eigenvalue(metric)
        if smallest < self.min_eigenvalue - _EIGENVALUE_SLACK * unit:
            found.append(f"smallest eigenvalue {smallest:.6g} is below {self.min_eigenvalue:g}")
        return tuple(found)

    def _entry_violations(self, metric: FloatArray, slack: float) -> list[str]:  # noqa: ARG002 (for subclasses)
        """Return a sentence for each condition on single entries that `metric` breaks."""
        return []

    def hull_violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return what keeps `metric` out of the set's convex hull, which is this set."""
        return self.violations(metric)

    def hull_repaired(self, metric: FloatArray) -> FloatArray:
        """Return a member of that hull near `metric` (see `repaired`)."""
        return self.repaired(metric)

    def repaired(self, metric: FloatArray) -> FloatArray:
        """Return the member nearest to `metric` on the segment to a point inside the set.

        Meant for violations of the order of round-off, as `contains` allows them: a saved result,
        or what an inexact solver returned.

        Parameters
        ----------
        metric : ndarray of shape (K, K)
            Symmetric.

        Returns
        -------
        ndarray of shape (K, K)

        Notes
        -----
        λ_min is concave and the trace linear along the segment, so the share t of the inner point
        that mends both conditions has a closed form.
        """
        size = len(metric)
        mended = self.entries_repaired(metric)
        inner = self.base(size)
        inner[np.diag_indices(size)] += self.budget(size) / (2 * size)
        share = 0.0
        smallest = smallest_eigenvalue(mended)
        if smallest < self.min_eigenvalue:
            gain = smallest_eigenvalue(inner) - smallest
            share = (self.min_eigenvalue - smallest) / gain
        trace = float(np.trace(mended))
        if trace > self.trace_bound:
            share = max(share, (trace - self.trace_bound) / (trace - float(np.trace(inner))))
        result: FloatArray = (1 - share) * mended + share * inner if share > 0 else mended
        return result

    def entries_repaired(self, metric: FloatArray) -> FloatArray:
        """Return `metric` with off-diagonals on the wrong side of 0 set to 0: the nearest such."""
        return metric

    def projected(
        self,
        metric: FloatArray,
        *,
        accuracy: float = 1e-10,
        correction: FloatArray | None = None,
    ) -> Projection:
        """Return the member of the set's convex hull that is nearest to `metric`.

        Parameters
        ----------
        metric : array-like of shape (K, K)
            Symmetric.
        accuracy : float, optional
            How far the answer may be from the semidefinite cone, as a share of C. `hull_repaired`
            mends what is left of it.
        correction : ndarray of shape (K, K), optional
            Of the projection of a metric nearby, to start from.

        Returns
        -------
        Projection
            In the Frobenius norm.

        Raises
        ------
        InvalidInputError
            When the metric is not a finite symmetric matrix, or K×K matrices do not fit.

        Examples
        --------
        >>> import gdaopt as gda
        >>> feasible_set = gda.GraphMetrics(trace_bound=4.0, min_eigenvalue=0.0)
        >>> feasible_set.projected(np.array([[1.0, 2.0], [2.0, -1.0]])).point
        array([[1., 0.],
               [0., 0.]])
        """
        metric = symmetric_matrix("metric", metric)
        size = len(metric)
        self.check_size(size)
        base = self.base(size)
        found = self._projected(metric - base, self.budget(size), accuracy, correction)
        return replace(found, point=found.point + base)

    def _projected(
        self, above: FloatArray, budget: float, accuracy: float, correction: FloatArray | None
    ) -> Projection:
        """Return the nearest of all ``N ⪰ 0`` of trace ≤ τ and of the signs asked for."""
        return project_on_intersection(
            above,
            lambda matrix: self._on_polyhedron(matrix, budget),
            accuracy * self.trace_bound,
            correction,
        )

    def on_polyhedron(self, metric: FloatArray) -> FloatArray:
        """Return the nearest matrix that keeps all conditions but that on the eigenvalues.

        With an edge floor, those of the convex hull.

        Parameters
        ----------
        metric : ndarray of shape (K, K)
            Symmetric.

        Examples
        --------
        >>> import gdaopt as gda
        >>> feasible_set = gda.GraphMetrics(trace_bound=4.0, min_eigenvalue=0.0)
        >>> feasible_set.on_polyhedron(np.array([[4.0, 2.0], [2.0, 2.0]]))
        array([[3., 0.],
               [0., 1.]])
        """
        base = self.base(len(metric))
        nearest: FloatArray = base + self._on_polyhedron(metric - base, self.budget(len(metric)))
        return nearest

    def _on_polyhedron(self, above: FloatArray, budget: float) -> FloatArray:
        """Return the nearest of all N of trace ≤ τ and of the signs asked for."""
        excess = (float(np.trace(above)) - budget) / len(above)
        nearest: FloatArray = self.entries_repaired(above) - max(excess, 0.0) * np.eye(len(above))
        return nearest
