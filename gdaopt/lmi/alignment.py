"""Three sequences of linear programs for exact matrix inequalities.

The tangents of the cones of edges always converge. Alignment by the programs' own multipliers has
smaller programs, but may need many more. Alignment by the first eigenvector is what metrics are
learned by, and may stop above the optimum. See `docs/theory/lmi.md`, "Alignment by multipliers".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, hstack

from gdaopt.errors import SolverFailedError
from gdaopt.lmi.graphs import incidence
from gdaopt.lmi.model import stack
from gdaopt.lmi.programs import DiscPrograms, Optimum, first_eigenvector
from gdaopt.support.validation import FloatArray

_CUT = 1e-10  # relative to p + q: cones that are broken by less get no tangent
_SPREAD = 7.5  # of the multipliers of the first program
_WIDEST, _NARROWEST = 1e6, 1 + 1e-9
_LEAST = 1e-2  # relative to the largest entry: of the first vector of multipliers
_SLOW = 1e-9  # relative: the first eigenvector does not make less progress later

Round = tuple[FloatArray, Optimum]
"""A point that keeps the linear constraints, and a program whose value is a lower bound; its
multipliers are those of nodes."""


def align_by_multipliers(programs: DiscPrograms) -> Iterator[Round]:
    """Let ``v = √μ`` for the multipliers μ of the last program, in a trust region around its v.

    The region grows and shrinks by how much of what a program promises the lower bound has risen.
    """
    v, spread = programs.first_alignment(), _SPREAD
    v = np.maximum(v, _LEAST * v.max())
    best = programs.bound_below(v)
    while True:
        try:
            step = programs.aligned(v, spread)
        except SolverFailedError:  # the wider, the harder is the program
            spread = spread ** (1 / 3)
            if spread < _NARROWEST:
                raise
            continue
        roots = np.sqrt(step.multipliers)
        below = programs.bound_below(roots)
        yield step.x, below
        if np.isfinite(best.value):
            promised, gain = step.value - best.value, below.value - best.value
        else:
            promised, gain = 1.0, float(below.value > best.value)
        if gain > 0.1 * promised:
            v, best = roots, below
        if gain > 0.75 * promised:
            spread = min(spread**2, _WIDEST)
        elif gain < 0.25 * promised:
            spread = max(spread ** (1 / 3), _NARROWEST)


def align_by_eigenvector(programs: DiscPrograms) -> Iterator[Round]:
    """Let v be the first eigenvector at the optimum of the last program."""
    v, least = programs.first_alignment(), np.inf
    while True:
        above = programs.aligned(v)
        yield above.x, programs.bound_below(np.sqrt(above.multipliers))
        if least - above.value <= _SLOW * abs(above.value):
            return
        least = above.value
        v, _ = first_eigenvector(programs.switched(above.x), v)


def cut_by_tangents(programs: DiscPrograms) -> Iterator[Round]:
    """Replace each cone ``p q ≥ F²`` by tangents ``r p + q / r ≥ 2 |F|``, added where it is broken.

    The optimum of each program is a lower bound.
    """
    first, second = programs.edges.T
    count, size = len(first), programs.n_nodes
    is_mixed = programs.model.is_integer.any()  # its interior is not looked for
    v = np.ones(size) if is_mixed else programs.first_alignment()
    edges = np.tile(np.arange(count), 2)
    ratios = np.concatenate([v[first] / v[second], np.ones(count)])
    shares = hstack([-incidence(first, size), -incidence(second, size)])
    nodes = programs.diagonal.with_variables(shares)
    while True:
        places = np.arange(len(edges)), edges
        sides = [csr_array((each, places), (len(edges), count)) for each in (ratios, 1 / ratios)]
        doubled = csr_array((np.full(len(edges), -2.0), places), (len(edges), count))
        tangents = (doubled @ programs.magnitudes).with_variables(hstack(sides))
        below = programs.minimize(stack([nodes, tangents]))
        yield below.x, replace(below, multipliers=below.multipliers[:size])
        p, q = np.maximum(below.more[:count], 0.0), np.maximum(below.more[count:], 0.0)
        sizes = -np.asarray(programs.switched(below.x)[first, second]).ravel()
        radii = np.hypot((p - q) / 2, sizes)
        is_broken = (p + q) / 2 - radii < -_CUT * (p + q)
        if not is_broken.any():
            return
        # The first eigenvector of [[p, -|F|], [-|F|, q]] gives the tangent that is broken most.
        heights = ((p - q) / 2 + radii)[is_broken]
        edges = np.concatenate([edges, np.flatnonzero(is_broken)])
        ratios = np.concatenate([ratios, sizes[is_broken] / heights])


SEQUENCES: dict[str, Callable[[DiscPrograms], Iterator[Round]]] = {
    "tangents": cut_by_tangents,
    "multipliers": align_by_multipliers,
    "eigenvector": align_by_eigenvector,
}
