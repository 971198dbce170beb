"""Feasible sets of metric matrices: bounds, and the family of atoms that they are made of."""

from collections.abc import Mapping
from typing import Any

from gdaopt.sets.definite import AllUnitVectors, PositiveDefiniteMetrics
from gdaopt.sets.family import AtomFamily, PricedAtoms
from gdaopt.sets.feasible_set import FeasibleSet, LinearMinimum
from gdaopt.sets.graph import DiagonalMetrics, GraphMetrics
from gdaopt.sets.mask import EdgeMask
from gdaopt.sets.signed import SDDMetrics, SignedGraphMetrics
from gdaopt.sets.two_sparse import TwoSparseAtoms
from gdaopt.support.validation import check_name

__all__ = [
    "SETS",
    "AllUnitVectors",
    "AtomFamily",
    "DiagonalMetrics",
    "EdgeMask",
    "FeasibleSet",
    "GraphMetrics",
    "LinearMinimum",
    "PositiveDefiniteMetrics",
    "PricedAtoms",
    "SDDMetrics",
    "SignedGraphMetrics",
    "TwoSparseAtoms",
    "set_of_record",
]

SETS: dict[str, type[FeasibleSet]] = {
    kind.name: kind
    for kind in (
        GraphMetrics,
        DiagonalMetrics,
        PositiveDefiniteMetrics,
        SignedGraphMetrics,
        SDDMetrics,
    )
}
"""The kinds of sets by their names, as files and the command line know them."""


def set_of_record(record: Mapping[str, Any]) -> FeasibleSet:
    """Return the feasible set that `FeasibleSet.record` describes.

    Raises
    ------
    InvalidInputError
        For a kind of sets that is not known here: it was one of the user's own, and a name in
        `SETS` makes it known.

    Examples
    --------
    >>> set_of_record(GraphMetrics(3.0, 0.1).record())
    GraphMetrics(trace_bound=3.0, min_eigenvalue=0.1, path_weight=0.0, edges=None)
    """
    values = dict(record)
    kind = values.pop("kind")
    check_name("kind of feasible set", kind, SETS)
    if "edges" in values:
        values["edges"] = EdgeMask.of_record(values["edges"])
    return SETS[kind](**values)
