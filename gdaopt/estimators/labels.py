"""Class labels: which samples have one, the classes as indices and as 0/1 signals."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import assert_all_finite, column_or_1d

from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, refuse_masked

__all__ = [
    "Codes",
    "Mask",
    "class_signal",
    "expected_failed_checks",
    "fitted_clone",
    "last_step",
    "one_hot",
    "read_labels",
    "takes_unlabelled",
]

Codes = npt.NDArray[np.intp]
"""Class of each sample, as an index from 0 on."""

Mask = npt.NDArray[np.bool_]
"""Which samples have some property, True or False for each."""


def read_labels(y: Any, missing_label: Any) -> tuple[npt.NDArray[Any], Codes, Mask]:
    """Return the classes in `y`, which samples have a label, and the classes of these.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Numbers, booleans or strings, and `missing_label` for samples without a label. A list such
        as ``["a", -1, "b"]`` is read label by label, since NumPy would turn the -1 into a string.
    missing_label : object
        The value that stands for "no label". None, NaN and pandas' NA all mean the same, namely
        any missing value.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The different labels, sorted.
    codes : ndarray of int, shape (n_labelled,)
        Index in `classes` for each labelled sample.
    labelled : ndarray of bool, shape (n_samples,)
        Which samples have a label.

    Raises
    ------
    InvalidInputError
        If no sample has a label, if `y` holds missing values although `missing_label` is not one,
        if the labels are of mixed types, or if the labels are -1 and 1 while `missing_label` is -1.
    ValueError
        If the labels are not classes: fractions, infinity, or objects of other types.

    Examples
    --------
    >>> read_labels(["b", -1, "a"], missing_label=-1)
    (array(['a', 'b'], dtype='<U1'), array([1, 0]), array([ True, False,  True]))
    """
    refuse_masked("y", y)
    labels = column_or_1d(y, dtype=object, warn=True)
    labelled = ~_are_missing(labels, missing_label)
    if not labelled.any():
        raise InvalidInputError(
            f"y holds no label: all of its {len(labels)} samples are unlabelled under "
            f"missing_label={shortened(missing_label)}; label some samples, or pass another "
            "missing_label"
        )
    classes, codes = np.unique(_of_one_type(labels[labelled]), return_inverse=True)
    if _is_minus_one(missing_label) and not labelled.all() and classes.tolist() == [1]:
        raise InvalidInputError(
            f"y holds only -1 and 1, and missing_label={missing_label!r} says that the "
            f"{np.count_nonzero(~labelled)} sample(s) with -1 have no label; if -1 is a class, "
            "pass missing_label=None, or another value that stands for no label"
        )
    return classes, codes, labelled


def _is_minus_one(missing_label: Any) -> bool:
    return isinstance(missing_label, Real) and missing_label == -1


def _are_missing(labels: npt.NDArray[np.object_], missing_label: Any) -> Mask:
    """Return which labels are `missing_label`, and refuse other missing values."""
    import pandas as pd  # imported on demand: slow, and not needed to import gdaopt

    null: Mask = np.asarray(pd.isna(labels))
    # Only a scalar can be null; for anything else pandas answers with an array.
    if pd.api.types.is_scalar(missing_label) and pd.isna(missing_label):
        return null
    if null.any():
        index = int(null.argmax())
        raise InvalidInputError(
            f"y holds {shortened(labels[index])} at index {index}; pass missing_label=None if "
            f"missing values stand for no label (now missing_label={shortened(missing_label)} "
            "stands for it)"
        )
    try:
        return np.array([bool(label == missing_label) for label in labels], dtype=bool)
    except (TypeError, ValueError):  # arrays, for which equality is no truth value
        raise InvalidInputError(
            f"missing_label must be a single value, got {shortened(missing_label)}"
        ) from None


def _of_one_type(labels: npt.NDArray[np.object_]) -> npt.NDArray[Any]:
    """Return labels as an array of numbers, booleans or strings."""
    try:
        array = np.array(labels.tolist())
    except ValueError:  # lists of different lengths
        array = labels
    if array.dtype.kind == "U":  # if one label is a string, NumPy turns all of them into strings
        other = [label for label in labels if not isinstance(label, str)]
        if other:
            raise InvalidInputError(
                f"y holds labels of mixed types, such as {shortened(str(array[0]))} and "
                f"{shortened(other[0])}; use either strings or numbers"
            )
    elif array.dtype.kind == "f":
        assert_all_finite(array, input_name="y")
        fractions = array != np.round(array)
        if fractions.any():
            raise InvalidInputError(
                f"Unknown label type: continuous. y holds {array[fractions][0]:g}; "
                "classes are whole numbers or strings"
            )
    elif array.dtype.kind not in "biu":
        raise InvalidInputError(
            f"Unknown label type: y holds {shortened(labels[0])}; classes are numbers, booleans or "
            "strings"
        )
    return array


def one_hot(codes: Codes) -> FloatArray:
    """Return the 0/1 indicators of the classes, shape (N, n_classes).

    Examples
    --------
    >>> one_hot(np.array([1, 0]))
    array([[0., 1.],
           [1., 0.]])
    """
    shares: FloatArray = np.eye(codes.max() + 1)[codes]
    return shares


def class_signal(codes: Codes) -> FloatArray:
    """Return the 0/1 signals of the classes: one signal for two classes, else one for each class.

    Parameters
    ----------
    codes : ndarray of int, shape (N,)
        Class of each sample, from 0 on.

    Returns
    -------
    ndarray of shape (N, m)
        One column for each signal: m is 1 for two classes, else the number of classes.

    Examples
    --------
    >>> class_signal(np.array([0, 1, 1])).T
    array([[0., 1., 1.]])
    """
    indicators = one_hot(codes)
    return indicators[:, 1:] if indicators.shape[1] == 2 else indicators


def takes_unlabelled(estimator: Any) -> bool:
    """Say whether an estimator's `fit` takes samples without labels.

    Such an estimator, or the last step of such a pipeline, has the parameter `missing_label`.
    """
    return "missing_label" in last_step(estimator).get_params(deep=False)


def expected_failed_checks(estimator: Any) -> dict[str, str]:
    """Return the checks of scikit-learn that an estimator fails on purpose, with the reasons.

    It is what the argument of the same name of scikit-learn's `parametrize_with_checks` takes, and
    for one estimator that of `check_estimator`. One check fits classifiers to the labels -1 and 1.
    Where -1 is the `missing_label`, as by default, it never stands for a class, whatever other
    labels there are: so these labels are refused. scikit-learn leaves the check out for its own
    `LabelPropagation`, `LabelSpreading` and `SelfTrainingClassifier`. With any other
    `missing_label`, such as None, all checks pass.

    Parameters
    ----------
    estimator : estimator
        Such as `gdaopt.GraphClassifier` or `gdaopt.estimators.OneVsRestMetricClassifier`.

    Returns
    -------
    dict of str to str
        The reason by the name of the check; empty for estimators that fail none.

    Examples
    --------
    >>> import gdaopt as gda
    >>> expected_failed_checks(gda.GraphClassifier())
    {'check_classifiers_classes': 'labels -1 and 1 are refused: -1 stands for no label'}
    >>> expected_failed_checks(gda.GraphClassifier(missing_label=None))
    {}
    """
    missing_label = getattr(estimator, "missing_label", None)
    if not is_classifier(estimator) or not _is_minus_one(missing_label):
        return {}
    return {"check_classifiers_classes": "labels -1 and 1 are refused: -1 stands for no label"}


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, and any other estimator itself.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MaxAbsScaler, StandardScaler
    >>> last_step(make_pipeline(StandardScaler(), MaxAbsScaler()))
    MaxAbsScaler()
    """
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def fitted_clone(estimator: Any, X: FloatArray, labels: npt.NDArray[Any], labelled: Mask) -> Any:
    """Fit a clone of an estimator, on all samples if it takes samples without labels.

    The clone then has ``missing_label=None``, which cannot be the label of a class. Any other
    estimator is fitted on the labelled samples only.

    Parameters
    ----------
    estimator : estimator
        A learner or a classifier.
    X : ndarray of shape (n_samples, n_features)
        All samples.
    labels : ndarray of shape (n_labelled,)
        Labels of the samples that have one.
    labelled : ndarray of bool, shape (n_samples,)
        Which samples have a label.

    Returns
    -------
    estimator
        The clone.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, labelled = np.array([[0.0], [1.0], [5.0]]), np.array([True, False, True])
    >>> fitted_clone(KNeighborsClassifier(1), X, np.array(["a", "b"]), labelled).n_samples_fit_
    2
    """
    copy = clone(estimator)
    if not takes_unlabelled(copy):
        return copy.fit(X[labelled], labels)
    y = np.full(len(X), None, dtype=object)
    y[labelled] = labels
    last_step(copy).set_params(missing_label=None)
    return copy.fit(X, y)
