"""What is odd, and no error, in a data set that is not yet scaled."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from gdaopt.datasets.dataset import Dataset
from gdaopt.datasets.faults import list_option
from gdaopt.datasets.numbers import float_or_nan
from gdaopt.linalg.samples import is_sparse
from gdaopt.support.text import shortened

_MOST_NAMES = 5  # constant columns that are named
_FEW_VALUES = 10  # numbers as labels, at most so many, are classes


def remarks(dataset: Dataset) -> list[str]:
    """Return a sentence on each thing that is odd, and no error, in a data set not yet scaled."""
    if is_sparse(dataset.features):
        share = 100 * dataset.features.nnz / math.prod(dataset.features.shape)
        advice = ""
        notes = [
            f"samples are sparse ({share:.2g} % of their entries are not 0) and stay so: scaled "
            "features are not centred, which changes no distance"
        ]
    else:
        notes, advice = [*dataset.notes, *_on_columns(dataset)], "; --label names another column"
    labels = np.array([float_or_nan(name.replace(",", ".")) for name in dataset.classes])
    is_fraction = np.isfinite(labels).all() and bool((labels % 1 != 0).any())
    is_count = np.isfinite(labels).all() and len(labels) > _FEW_VALUES
    if is_fraction or is_count:
        notes.append(
            f"the labels are {len(labels)} different numbers, from {labels.min():g} to "
            f"{labels.max():g}, and look like measurements rather than classes{advice}"
        )
    pair = _written_alike(dataset.classes)
    if pair:
        notes.append(
            f"the labels {' and '.join(map(shortened, pair))} differ in writing alone, and are two "
            "classes; write them alike if they are one"
        )
    return notes


def _written_alike(names: Iterable[str]) -> tuple[str, str] | None:
    """Return two names that are the same number, or differ in capitals alone."""
    seen: dict[float | str, str] = {}
    for name in names:
        number = float_or_nan(name)
        key = name.casefold() if math.isnan(number) else number
        if key in seen:
            return seen[key], name
        seen[key] = name
    return None


def _on_columns(dataset: Dataset) -> list[str]:
    is_constant = (dataset.features == dataset.features[0]).all(axis=0)
    constant = np.array(dataset.feature_names)[is_constant].tolist()
    names = ", ".join(shortened(name) for name in constant[:_MOST_NAMES])
    if len(constant) == 1:
        option = list_option("--drop", constant)
        return [f"column {names} is constant and says nothing; {option} leaves it out"]
    more = f" and {len(constant) - _MOST_NAMES} more" if len(constant) > _MOST_NAMES else ""
    told = f"columns {names}{more} are constant and say nothing; --drop leaves them out"
    return [told] if constant else []
