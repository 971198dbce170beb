"""What looks odd in a data set: columns of row numbers, constant ones, labels that measure."""

from __future__ import annotations

import math

import numpy as np

from gdaopt.datasets.dataset import Dataset
from gdaopt.datasets.tabular import float_or_nan
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray

_MOST_NAMES = 5  # constant columns that are named
_FEW_VALUES = 10  # numbers as labels, at most so many, are classes


def remarks(dataset: Dataset) -> list[str]:
    """Return a sentence on each thing that is odd in a data set, with what to do about it.

    Its features are not scaled yet. Nothing of it is an error: a column of row numbers can be
    learned from, a constant column gets no weight that matters, and numbers may be classes.
    """
    found = []
    constant = []
    for name, column in zip(dataset.feature_names, dataset.features.T, strict=True):
        if _numbers_the_rows(column):
            found.append(f"column {shortened(name)} numbers the rows; --drop {name} leaves it out")
        elif (column == column[0]).all():
            constant.append(name)
    if constant:
        names = ", ".join(shortened(name) for name in constant[:_MOST_NAMES])
        if len(constant) == 1:
            found.append(
                f"column {names} is constant and says nothing; --drop {constant[0]} leaves it out"
            )
        else:
            more = f" and {len(constant) - _MOST_NAMES} more" if len(constant) > _MOST_NAMES else ""
            found.append(
                f"columns {names}{more} are constant and say nothing; --drop leaves them out"
            )
    labels = np.array([float_or_nan(name.replace(",", ".")) for name in dataset.classes])
    is_fraction = np.isfinite(labels).all() and bool((labels % 1 != 0).any())
    is_count = np.isfinite(labels).all() and len(labels) > _FEW_VALUES
    if is_fraction or is_count:
        found.append(
            f"the labels are {len(labels)} different numbers, from {labels.min():g} to "
            f"{labels.max():g}, and look like measurements rather than classes; --label names "
            "another column"
        )
    return found


def _numbers_the_rows(column: FloatArray) -> bool:
    """Say whether a column counts up by 1, or holds distinct whole numbers close together."""
    if len(column) < 3 or math.isinf(column.max() - column.min()):
        return False
    if (np.diff(column) == 1).all():
        return True
    whole = bool((column % 1 == 0).all())
    # Rows that were shuffled, or a sample of numbered ones.
    extent = float(np.ptp(column)) + 1
    return whole and len(np.unique(column)) == len(column) >= 20 and extent <= 2 * len(column)
