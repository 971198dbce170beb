"""Feasible sets of metric matrices: bounds, and the family of atoms that they are made of."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from gdaopt.sets.family import AtomFamily, PricedAtoms
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.sets.kinds import (
    DiagonalMetrics,
    EntrywiseMetrics,
    GraphMetrics,
    PositiveDefiniteMetrics,
    SDDMetrics,
    SignedGraphMetrics,
    has_sparse_members,
)
from gdaopt.sets.mask import EdgeMask
from gdaopt.sets.two_sparse import TwoSparseAtoms
from gdaopt.support.validation import check_name

__all__ = [
    "SETS",
    "AtomFamily",
    "DiagonalMetrics",
    "EdgeMask",
    "EntrywiseMetrics",
    "FeasibleSet",
    "GraphMetrics",
    "PositiveDefiniteMetrics",
    "PricedAtoms",
    "SDDMetrics",
    "SignedGraphMetrics",
    "TwoSparseAtoms",
    "has_sparse_members",
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


def record_of(feasible_set: FeasibleSet) -> dict[str, Any]:
    """Return the kind of a set and its fields that are not None, as plain values for a file."""
    record: dict[str, Any] = {"kind": feasible_set.name}
    for field in fields(feasible_set):  # type: ignore[arg-type]
        value = getattr(feasible_set, field.name)
        if value is not None:
            record[field.name] = value.record() if isinstance(value, EdgeMask) else value
    return record


def set_of_record(record: Mapping[str, Any]) -> FeasibleSet:
    """Return the feasible set that `record_of` describes, of a kind in `SETS`."""
    values = dict(record)
    kind = values.pop("kind")
    check_name("kind of feasible set", kind, SETS)
    if "edges" in values:
        values["edges"] = EdgeMask.of_record(values["edges"])
    return SETS[kind](**values)
