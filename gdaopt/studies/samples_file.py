"""The file of a learning run with the samples that it has learned from, to the last bit."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from gdaopt.datasets import Dataset
from gdaopt.support.files import write_text

__all__ = ["SAMPLES", "read_samples", "write_samples"]

SAMPLES = "samples.csv"
"""Its name."""


def write_samples(path: Path, dataset: Dataset) -> None:
    """Write the samples of a data set, not scaled; the last column holds the labels."""
    table = pd.DataFrame(dataset.features, columns=list(dataset.feature_names))
    table.insert(len(table.columns), "label", dataset.labels, allow_duplicates=True)
    write_text(path, table.to_csv(index=False))


def read_samples(path: Path, name: str, feature_names: Sequence[str]) -> Dataset:
    """Read what `write_samples` wrote; the name of the data set and its features are not in it.

    Raises
    ------
    OSError, ValueError
        When there is no such file, or when it holds something else.
    """
    with path.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    features = [[float(text) for text in row[:-1]] for row in rows]
    return Dataset(
        name, np.array(features), np.array([row[-1] for row in rows]), tuple(feature_names)
    )
