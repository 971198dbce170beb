"""Labelled data: data sets known by name, tables from files, and the scaling of features."""

from gdaopt.datasets.builtin import BUILTIN, FROM_UCI, load
from gdaopt.datasets.dataset import Dataset
from gdaopt.datasets.svmlight import read_svmlight
from gdaopt.datasets.table_files import TableFormat
from gdaopt.datasets.tabular import read_table
from gdaopt.scaling import scale_features

__all__ = [
    "BUILTIN",
    "FROM_UCI",
    "Dataset",
    "TableFormat",
    "load",
    "read_svmlight",
    "read_table",
    "scale_features",
]
