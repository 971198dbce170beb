"""Three sequences of linear programs for exact matrix inequalities.

The tangents of the cones of edges always converge. Alignment by the programs' own multipliers takes
fewer programs if it converges. Alignment by the first eigenvector is what metrics are learned by,
and may stop above the optimum. See `docs/theory/lmi.md`, "Alignment by multipliers".
"""

from __future__ import annotations

from collections.abc import Callable

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array

from gdaopt.errors import InfeasibleProblemError, SolverFailedError
from gdaopt.lmi.cones import incidence
from gdaopt.lmi.programs import DiscPrograms, Optimum, first_eigenvector
from gdaopt.lmi.proof import Proof
from gdaopt.support.validation import FloatArray

_CUT = 1e-9  # relative to p + q: cones that are broken by less get no tangent


class Search:
    """The best bounds so far, and when to stop."""

    def __init__(self, programs: DiscPrograms, tolerance: float, max_programs: int) -> None:
        self.programs, self.tolerance, self._max_programs = programs, tolerance, max_programs
        nowhere = np.full(programs.model.x.size, np.nan)
        self.best = Proof(-np.inf, np.inf, nowhere, np.zeros(programs.n_nodes), 0)

    def improve(self, above: Optimum | None, below: float, d: FloatArray) -> bool:
        """Keep better bounds; say whether they are near enough, or no program is left."""
        best, n_programs = self.best, self.programs.n_solved
        lower, vector = (below, d) if below > best.lower else (best.lower, best.vector)
        upper, x = best.upper, best.x
        if above is not None and above.value < upper:
            upper, x = above.value, above.x
        self.best = Proof(lower, upper, x, vector, n_programs)
        return self.best.gap <= self.tolerance or n_programs >= self._max_programs


def align_by_multipliers(programs: DiscPrograms, search: Search) -> None:
    """Let ``v = √z``, with an average z of the multipliers of the left-ends so far."""
    v = programs.first_alignment()
    squares, k = v**2, 0
    while True:
        above = _above(programs, search, v)
        if above is None:
            return
        d, below = _below(programs, above)
        if search.improve(above, below, d) or above.multipliers is None or not d.any():
            return
        # Later multipliers count more, as later vertices do in the usual steps of Frank–Wolfe.
        total, share, k = above.multipliers.sum(), 2 / (k + 3), k + 1
        squares = (1 - share) * squares / squares.sum() + share * above.multipliers / total
        v = np.sqrt(squares)
        if search.improve(None, programs.bound_below(v), v * np.sqrt(total)):
            return


def align_by_eigenvector(programs: DiscPrograms, search: Search) -> None:
    """Let v be the first eigenvector at the optimum of the last program."""
    v = programs.first_alignment()
    while True:
        before = search.best.upper
        above = _above(programs, search, v)
        if above is None:
            return
        d, below = _below(programs, above)
        is_slow = before - above.value <= search.tolerance * (1 + abs(above.value))
        if search.improve(above, below, d) or is_slow:
            return
        v, _ = first_eigenvector(programs.switched(above.x), v)


def _above(programs: DiscPrograms, search: Search, v: FloatArray) -> Optimum | None:
    """Return the optimum of discs that v aligns; only the first v is sure to have a point."""
    try:
        return programs.from_above(v)
    except (InfeasibleProblemError, SolverFailedError):
        if search.best.upper == np.inf:
            raise
        return None


def _below(programs: DiscPrograms, above: Optimum) -> tuple[FloatArray, float]:
    """Return the d of the multipliers of left-ends, and the lower bound that it gives."""
    d = np.zeros(programs.n_nodes) if above.multipliers is None else np.sqrt(above.multipliers)
    return d, programs.bound_below(d)


def cut_by_tangents(programs: DiscPrograms, search: Search) -> None:
    """Replace each cone ``p q ≥ F²`` by tangents ``r p + q / r ≥ 2 |F|``, added where it is broken.

    The optimum of each program is a lower bound. A feasible point is on the line to an inner one;
    with whole numbers it is the optimum of a program of aligned discs where these are fixed.
    """
    first, second = programs.edges.T
    count, size = len(first), programs.n_nodes
    if not count:  # left-ends of a diagonal matrix are its entries, for any v
        exact = programs.from_above(np.ones(size))
        search.improve(exact, exact.value, _below(programs, exact)[0])
        return
    has_integers = programs.model.is_integer.any()
    v = np.ones(size) if has_integers else programs.first_alignment()
    edges = np.tile(np.arange(count), 2)
    ratios = np.concatenate([v[first] / v[second], np.ones(count)])
    p, q = cp.Variable(count, nonneg=True), cp.Variable(count, nonneg=True)
    nodes = programs.diagonal - incidence(first, size) @ p - incidence(second, size) @ q >= 0
    while True:
        places = np.arange(len(edges)), edges
        times, over = (
            csr_array((each, places), shape=(len(edges), count)) for each in (ratios, 1 / ratios)
        )
        tangents = times @ p + over @ q >= 2 * programs.magnitudes[edges]
        below = programs.minimize([nodes, tangents])
        at_p, at_q = np.asarray(p.value), np.asarray(q.value)
        sizes = -np.asarray(programs.switched(below.x)[first, second]).ravel()
        above = _feasible(programs, below.x)
        d = np.zeros(size) if below.multipliers is None else np.sqrt(below.multipliers)
        radii = np.hypot((at_p - at_q) / 2, sizes)
        is_broken = (at_p + at_q) / 2 - radii < -_CUT * (at_p + at_q)
        if search.improve(above, below.value, d) or not is_broken.any():
            return
        # The first eigenvector of [[p, -|F|], [-|F|, q]] gives the tangent that is broken most.
        heights = ((at_p - at_q) / 2 + radii)[is_broken]
        edges = np.concatenate([edges, np.flatnonzero(is_broken)])
        ratios = np.concatenate([ratios, sizes[is_broken] / heights])


def _feasible(programs: DiscPrograms, x: FloatArray) -> Optimum | None:
    """Return a point near x that keeps all inequalities; None if there is none."""
    if not programs.model.is_integer.any():
        return programs.feasible_near(x)
    try:
        return programs.from_above(first_eigenvector(programs.switched(x))[0], x)
    except InfeasibleProblemError:
        return None


SEQUENCES: dict[str, Callable[[DiscPrograms, Search], None]] = {
    "tangents": cut_by_tangents,
    "multipliers": align_by_multipliers,
    "eigenvector": align_by_eigenvector,
}
