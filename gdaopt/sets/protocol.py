"""What methods and results need to know of a feasible set."""

from __future__ import annotations

from typing import Protocol

from gdaopt.validation import FloatArray

__all__ = ["FeasibleSet"]


class FeasibleSet(Protocol):
    """A closed set of metric matrices, bounded by the trace."""

    @property
    def trace_bound(self) -> float:
        """C, the largest trace."""

    @property
    def min_eigenvalue(self) -> float:
        """ρ, the smallest eigenvalue that is allowed."""

    def check_size(self, n_features: int) -> None:
        """Raise InvalidInputError when the set has no interior for K×K matrices."""

    def violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return a sentence for each condition that `metric` breaks; none for a member."""

    def start(self, n_features: int) -> FloatArray:
        """Return a K×K member to start from."""

    def repaired(self, metric: FloatArray) -> FloatArray:
        """Return a member near `metric`, which may break conditions by round-off only."""

    def n_components(self, metric: FloatArray) -> int:
        """Return the number of components of the metric's graph."""
