"""Quadratic and linear programs with few rows: the primal active-set method.

Algorithm 16.3 of Nocedal, Wright, *Numerical Optimization*. It begins at a point that keeps all
rows, and so does each of its steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr
from scipy.linalg.lapack import dposv, dtrtrs

from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

LEAST_ROOM = 1e-11
"""A row with less room than this binds, in its own units: the last digits may break it."""

_ACCURACY = 1e-12  # how exact slopes are, in the units of the program
_CHANGES = 20  # changes of the set of variables that are 0, and of the rows that bind
_PIVOTS = 200  # the same, of a linear program
_IDLE = 20  # as many of these may lower nothing
_INDEPENDENT = 1e-14  # a share of its norm: the distance of a row to those that determine it
_ROUND_OFF = 2.0**-50  # a share of the terms of a residual
_REGULARISATION = (1e-13, 1e-10, 1e-7)  # a share of the unit diagonal: for a singular matrix

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """min g'd + ½ d'Hd  s.t.  x + d ≥ 0 and ``left·(x + d) ≤ right``, first `n_equal` equalities.

    The unknown is the step d, because digits would cancel in ``g - Hx``. x keeps all rows. The
    caller chooses units of variables, rows and values in which numbers of size 1 matter. The last
    variable is the slack of a bound on the others' sum.

    Prices ``g + Hd + λ·left`` of variables above 0 end above 0 by a share `lift` of their terms.
    """

    x: FloatArray
    slope: FloatArray
    hessian: FloatArray
    left: FloatArray
    right: FloatArray
    n_equal: int
    lift: float = 0.0

    @property
    def is_equality(self) -> Flags:
        """Which rows are equalities, shape (m,)."""
        return np.arange(len(self.right)) < self.n_equal

    def solve(self) -> tuple[FloatArray, FloatArray]:
        """Return x + d and the multipliers of the rows.

        There is a short cut: all variables and rows that gain become free at once, and the best
        alone if that lowers nothing. A linear program may end before its optimum, at a vertex where
        more rows bind than needed.
        """
        step, free = np.zeros(len(self.x)), self.x > 0
        binds = self.is_equality | (self._residuals(step) > -LEAST_ROOM)
        step, prices, free, binds = self._minimize_on_face(step, free, binds)
        is_linear, n_idle = not self.hessian.any(), 0
        for _ in range(_PIVOTS if is_linear else _CHANGES):
            slopes = self._slopes(step) + prices @ self.left
            opens = binds & ~self.is_equality
            gains = np.concatenate([np.where(free, 0.0, slopes), np.where(opens, prices, 0.0)])
            if gains.min() >= -_ACCURACY:
                break
            for least in (-_ACCURACY, gains.min()):
                joins, opens = np.split(gains <= least, [len(self.x)])
                there = self._minimize_on_face(step, free | joins, binds & ~opens)
                moved = there[0] - step
                if float((self._slopes(step) + self.hessian @ moved / 2) @ moved) < 0:
                    break
            else:  # more rows bind than needed
                n_idle += 1
                if is_linear and n_idle > _IDLE:  # it may go in a circle
                    break
            step, prices, free, binds = there
        return self.x + step, np.where(self.is_equality, prices, np.maximum(prices, 0.0))

    @cached_property
    def _magnitudes(self) -> FloatArray:
        return np.abs(self.left)

    @cached_property
    def _lengths(self) -> FloatArray:
        lengths: FloatArray = np.linalg.norm(self.left, axis=1)
        return lengths

    def _slopes(self, step: FloatArray) -> FloatArray:
        slopes: FloatArray = self.slope + self.hessian @ step
        return slopes

    def _residuals(self, step: FloatArray) -> FloatArray:
        """Return how far the rows are broken, 0 for round-off.

        A step that mends round-off would move variables off 0 at a vertex of more rows than needed.
        """
        residuals = (self.left @ self.x - self.right) + self.left @ step
        terms = self._magnitudes @ np.abs(self.x + step) + np.abs(self.right)
        return np.where(np.abs(residuals) <= _ROUND_OFF * terms, 0.0, residuals)

    def _minimize_on_face(
        self, step: FloatArray, free: Flags, binds: Flags
    ) -> tuple[FloatArray, FloatArray, Flags, Flags]:
        """Return the minimiser where the other variables are 0 and some rows bind.

        A variable that becomes 0, and a row that becomes tight, stops the way there, and stays so.
        Also returned are the multipliers, the free variables and the independent rows that bind.
        """
        while True:
            check_time()
            change, prices, independent = self._newton_step(step, free, binds)
            at, room, rates = self.x + step, -self._residuals(step), self.left @ change
            falls = free & (change < 0)
            rises = ~binds & (rates > LEAST_ROOM * (self._magnitudes @ np.abs(change)))
            lengths, ways = np.full(len(at), np.inf), np.full(len(room), np.inf)
            lengths[falls] = -at[falls] / change[falls]
            ways[rises] = np.maximum(room[rises], 0.0) / rates[rises]
            length = min(lengths.min(), ways.min(initial=np.inf))
            if length >= 1:
                return step + change, prices, free, independent | self.is_equality
            stays = lengths > length
            step = np.where(stays, step + length * change, -self.x)
            free, binds = free & stays, binds | (ways <= length)

    def _newton_step(
        self, step: FloatArray, free: Flags, binds: Flags
    ) -> tuple[FloatArray, FloatArray, Flags]:
        """Return the step to the minimiser on a face, multipliers, and which rows determine it.

        Rows that are nearly dependent have large multipliers, which cancel. So the rows that bind
        are factored, by a QR factorisation with pivots: what they determine is solved for by their
        triangle, and what they leave by the second derivatives alone.
        """
        # Units in which the second derivatives have a diagonal of 1, and the rows a norm of 1.
        hessian = self.hessian[np.ix_(free, free)]
        units = 1 / np.sqrt(np.diagonal(hessian) + _ACCURACY)
        hessian = hessian * units * units[:, None]
        rows = self.left[np.ix_(binds, free)]
        # What cancels in a row is no coefficient.
        rows[np.linalg.norm(rows, axis=1) <= _INDEPENDENT * self._lengths[binds]] = 0.0
        rows *= units
        norms = np.linalg.norm(rows, axis=1)
        norms[norms == 0] = 1.0
        factors: Any = qr((rows / norms[:, None]).T, pivoting=True, check_finite=False)
        basis, triangle, order = factors
        order = order[: int((np.abs(np.diagonal(triangle)) > _INDEPENDENT).sum())]
        across, along = basis[:, : len(order)], basis[:, len(order) :]
        triangle, norms = triangle[: len(order), : len(order)], norms[order]
        rows, chosen = rows[order] / norms[:, None], np.flatnonzero(binds)[order]

        change = across @ _solve_triangle(
            triangle, -self._residuals(step)[chosen] / norms, transposed=True
        )
        slopes = units * self._slopes(step)[free]
        down = -along.T @ (slopes + hessian @ change)
        if len(down):
            solution = solve_regular(along.T @ hessian @ along, down) if hessian.any() else None
            # Without curvature down the slope until a variable or a row stops the way.
            change += along @ (down / _ACCURACY if solution is None else solution)
        slopes += hessian @ change
        multipliers = _solve_triangle(triangle, -across.T @ slopes)
        # Once more for digits that cancel. The price of the slack is 0.
        above = self.lift * (np.abs(slopes) + np.abs(multipliers) @ np.abs(rows))
        above[np.flatnonzero(free) == len(free) - 1] = 0.0
        multipliers += _solve_triangle(triangle, across.T @ (above - slopes - multipliers @ rows))

        whole, prices = np.zeros(len(self.x)), np.zeros(len(self.right))
        whole[free], prices[chosen] = units * change, multipliers / norms
        return whole, prices, np.isin(np.arange(len(binds)), chosen)


def _solve_triangle(
    triangle: FloatArray, right: FloatArray, transposed: bool = False
) -> FloatArray:
    """Return ``R⁻¹b`` or ``R⁻ᵀb`` for an upper triangle R, which may have no rows."""
    if not len(right):
        return right
    solution: FloatArray = dtrtrs(triangle, right, trans=int(transposed))[0]
    return solution


def solve_regular(matrix: FloatArray, right: FloatArray) -> FloatArray | None:
    """Return ``A⁻¹b`` for a positive semidefinite A, a little of the unit matrix added; A is lost.

    None is returned if A is not positive semidefinite by more than round-off. Whoever solves one
    system after the other need not check the time.
    """
    check_time()
    diagonal = matrix.ravel()[:: len(right) + 1]  # a view
    exact = diagonal.copy()
    for share in _REGULARISATION:
        diagonal[:] = exact + share
        _, solution, failed = dposv(matrix, right, lower=1)
        if not failed:
            x: FloatArray = solution
            return x
    return None
