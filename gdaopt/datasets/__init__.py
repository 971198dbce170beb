"""Labelled data: data sets known by name, tables from CSV files, and the scaling of features."""

from gdaopt.datasets.builtin import BUILTIN, FROM_UCI, load
from gdaopt.datasets.dataset import Dataset
from gdaopt.datasets.svmlight import read_svmlight
from gdaopt.datasets.tabular import read_csv
from gdaopt.scaling import scale_features

__all__ = [
    "BUILTIN",
    "FROM_UCI",
    "Dataset",
    "load",
    "read_csv",
    "read_svmlight",
    "scale_features",
]
