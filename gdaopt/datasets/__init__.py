"""Labelled data: the built-in sets, tables from CSV files, and how features are scaled."""

from gdaopt.datasets.builtin import BUILTIN, load
from gdaopt.datasets.dataset import SCALES, Dataset, scale_features
from gdaopt.datasets.tabular import read_csv

__all__ = ["BUILTIN", "SCALES", "Dataset", "load", "read_csv", "scale_features"]
