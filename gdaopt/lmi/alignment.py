"""Three sequences of linear programs for exact matrix inequalities.

The tangents of the cones of edges always converge. Alignment by the programs' own multipliers has
smaller programs, but may need many more. Alignment by the first eigenvector is what metrics are
learned by, and may stop above the optimum. See `docs/theory/lmi.md`, "Alignment by multipliers".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, hstack, vstack

from gdaopt.linalg.balance import first_eigenvector
from gdaopt.linalg.entries import incidence
from gdaopt.lmi.programs import DiscPrograms, Optimum
from gdaopt.support.validation import FloatArray

_CUT = 1e-10  # relative to p + q: cones that are broken by less get no tangent
_SPREAD = 7.5  # of the multipliers of the first program
_WIDEST, _NARROWEST = 1e4, 1 + 1e-9
_LEAST = 1e-2  # relative to the largest entry: of the first vector of multipliers
_SLOW = 1e-9  # relative: the first eigenvector does not make less progress later

Round = tuple[FloatArray, Optimum]
"""A point that keeps the linear constraints, and a program whose value is a lower bound; its
multipliers are those of nodes."""


def align_by_multipliers(programs: DiscPrograms) -> Iterator[Round]:
    """Let ``v = √μ`` for the multipliers μ of the last program, in a trust region around its v.

    The value of a program is what the lower bound can rise to. The region grows if the bound rises
    by more than half of that, and else shrinks.
    """
    v, spread = programs.first_alignment(), _SPREAD
    v = np.maximum(v, _LEAST * v.max())
    best = programs.bound_below(v)
    while True:
        step = programs.aligned(v, spread)
        roots = np.sqrt(step.multipliers)
        below = programs.bound_below(roots)
        yield step.point, below
        is_near = below.value > (best.value + step.value) / 2
        spread = min(spread**2, _WIDEST) if is_near else max(spread ** (1 / 3), _NARROWEST)
        if below.value > best.value:
            v, best = roots, below


def align_by_eigenvector(programs: DiscPrograms) -> Iterator[Round]:
    """Let v be the first eigenvector at the optimum of the last program."""
    v, least = programs.first_alignment(), np.inf
    while True:
        above = programs.aligned(v)
        yield above.point, programs.bound_below(np.sqrt(above.multipliers))
        if least - above.value <= _SLOW * abs(above.value):
            return
        least = above.value
        v, _ = first_eigenvector(programs.switched(above.point), v)


def cut_by_tangents(programs: DiscPrograms) -> Iterator[Round]:
    """Replace each cone ``p q ≥ F²`` by tangents ``r p + q / r ≥ 2 |F|``, added where it is broken.

    The optimum of each program is a lower bound.
    """
    size, (first, second) = programs.matrix.n_nodes, programs.matrix.edges
    v = programs.first_alignment()
    places = np.tile(np.arange(len(first)), 2)
    ratios = np.append(v[first] / v[second], np.ones(len(first)))
    shares = [-incidence(ends, size) for ends in (first, second)]
    nodes = hstack([programs.diagonal, *shares])
    while True:
        at = eye_array(len(first), format="csr")[places]
        sides = [diags_array(each) @ at for each in (ratios, 1 / ratios)]
        tangents = hstack([-2 * at @ programs.magnitudes, *sides])
        below = programs.minimize(csr_array(vstack([nodes, tangents])))
        yield below.point, replace(below, multipliers=below.multipliers[:size])
        p, q = np.maximum(below.more, 0.0).reshape(2, -1)
        sizes = np.abs(programs.matrix.entries @ below.point)
        radii = np.hypot((p - q) / 2, sizes)
        is_broken = (p + q) / 2 - radii < -_CUT * (p + q)
        if not is_broken.any():
            return
        # The first eigenvector of [[p, -|F|], [-|F|, q]] gives the tangent that is broken most.
        heights = ((p - q) / 2 + radii)[is_broken]
        places = np.append(places, np.flatnonzero(is_broken))
        ratios = np.append(ratios, sizes[is_broken] / heights)


SEQUENCES: dict[str, Callable[[DiscPrograms], Iterator[Round]]] = {
    "tangents": cut_by_tangents,
    "multipliers": align_by_multipliers,
    "eigenvector": align_by_eigenvector,
}
