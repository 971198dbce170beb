"""The built-in data sets, from scikit-learn."""

from __future__ import annotations

from gdaopt.datasets.dataset import Dataset
from gdaopt.errors import unknown_name

__all__ = ["BUILTIN", "load"]

BUILTIN = ("breast_cancer", "iris", "wine")
"""The names that `load` knows."""


def load(name: str) -> Dataset:
    """Return a built-in data set, its features unscaled.

    Parameters
    ----------
    name : {"breast_cancer", "iris", "wine"}
        Which one.

    Returns
    -------
    Dataset
        With scikit-learn's feature names, and its target names as labels.

    Raises
    ------
    InvalidInputError
        When there is no such data set.

    Examples
    --------
    >>> wine = load("wine")
    >>> wine.features.shape, wine.classes
    ((178, 13), ('class_0', 'class_1', 'class_2'))
    """
    if name not in BUILTIN:
        raise unknown_name("data set", name, BUILTIN)
    import sklearn.datasets  # slow to import, and needed here only

    bunch = getattr(sklearn.datasets, f"load_{name}")()
    return Dataset(name, bunch.data, bunch.target_names[bunch.target], bunch.feature_names)
