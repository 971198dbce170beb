"""Labelled data: data sets known by name, tables from CSV files, and the scaling of features."""

from gdaopt.datasets.builtin import BUILTIN, FROM_UCI, load
from gdaopt.datasets.dataset import SCALES, Dataset, scale_features
from gdaopt.datasets.tabular import read_csv

__all__ = [
    "BUILTIN",
    "FROM_UCI",
    "SCALES",
    "Dataset",
    "load",
    "read_csv",
    "scale_features",
]
