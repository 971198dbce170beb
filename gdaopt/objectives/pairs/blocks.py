"""Blocks of pairs, and what changes along them when the weights of atoms change.

With the coordinates a of the samples along n atoms, the distances of the pairs (r, c) of a block
change by ``φ_k = (a_r - a_c)_k²`` with the weight of atom k. All n changes of all pairs of a block
are many numbers, and often few pairs count; so they are computed on demand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from gdaopt.support.validation import FloatArray

__all__ = ["Block", "CentredChanges", "Changes", "KnownChanges", "OuterChanges"]


@dataclass(frozen=True)
class Block:
    """A part of the pairs of samples.

    Attributes
    ----------
    rows, columns : slice
        The samples of a rectangle ``rows × columns``. Of a list of pairs, `rows` are entries of the
        list, and `columns` is empty.
    """

    rows: slice
    columns: slice = field(default_factory=lambda: slice(0, 0))


class Changes(Protocol):
    """How the distances of a block change along n directions; what it returns may be changed."""

    def all(self) -> FloatArray:
        """Return the changes of all pairs, shape (n, …) with that of the block."""

    def at(self, *indices: Any) -> FloatArray:
        """Return the changes of the pairs of given indices into the block, shape (n, m)."""


@dataclass(frozen=True, eq=False)
class KnownChanges:
    """Changes that are there already: a `Changes`.

    Attributes
    ----------
    values : ndarray of shape (n, …)
        The changes along each direction, in the shape of the block.
    """

    values: FloatArray

    def all(self) -> FloatArray:
        """Return a copy of them."""
        return self.values.copy()

    def at(self, *indices: Any) -> FloatArray:
        """Return those of some pairs."""
        chosen: FloatArray = self.values[(slice(None), *indices)]
        return chosen


@dataclass(frozen=True, eq=False)
class OuterChanges:
    """The changes ``(a_r - a_c)²`` of a rectangle: a `Changes`.

    Attributes
    ----------
    rows, columns : ndarray of shape (n, R) and (n, C)
        a of the samples of each side.
    """

    rows: FloatArray
    columns: FloatArray

    def all(self) -> FloatArray:
        """Return the changes of all pairs, shape (n, R, C)."""
        differences: FloatArray = self.rows[:, :, None] - self.columns[:, None, :]
        differences *= differences
        return differences

    def at(self, *indices: Any) -> FloatArray:
        """Return the changes of pairs (r, c), shape (n, m)."""
        r, c = indices
        differences: FloatArray = self.rows[:, r] - self.columns[:, c]
        differences *= differences
        return differences


@dataclass(frozen=True, eq=False)
class CentredChanges:
    """Changes less a number for each direction: a `Changes`.

    Attributes
    ----------
    changes : Changes
        The changes along n directions.
    means : ndarray of shape (n,)
        What is subtracted.
    """

    changes: Changes
    means: FloatArray

    def all(self) -> FloatArray:
        """Return the centred changes of all pairs."""
        values = self.changes.all()
        values -= self.means.reshape(-1, *[1] * (values.ndim - 1))
        return values

    def at(self, *indices: Any) -> FloatArray:
        """Return those of some pairs."""
        values = self.changes.at(*indices)
        values -= self.means[:, None]
        return values
