"""Feasible sets of metric matrices: bounds, and the family of atoms that they are made of."""

from collections.abc import Mapping
from typing import Any

from gdaopt.sets.family import AtomFamily, PricedAtoms
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.sets.kinds import (
    DiagonalMetrics,
    GraphMetrics,
    PositiveDefiniteMetrics,
    SDDMetrics,
    SignedGraphMetrics,
)
from gdaopt.sets.mask import EdgeMask
from gdaopt.sets.two_sparse import TwoSparseAtoms
from gdaopt.support.validation import check_name

__all__ = [
    "SETS",
    "AtomFamily",
    "DiagonalMetrics",
    "EdgeMask",
    "FeasibleSet",
    "GraphMetrics",
    "PositiveDefiniteMetrics",
    "PricedAtoms",
    "SDDMetrics",
    "SignedGraphMetrics",
    "TwoSparseAtoms",
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
    """Return the feasible set that `FeasibleSet.record` describes, of a kind in `SETS`."""
    values = dict(record)
    kind = values.pop("kind")
    check_name("kind of feasible set", kind, SETS)
    if "edges" in values:
        values["edges"] = EdgeMask.of_record(values["edges"])
    return SETS[kind](**values)
