"""What users pass to estimators: samples, labels, tuples of samples, numbers and functions."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval as SklearnInterval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_array,
    check_consistent_length,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.samples import is_sparse
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, as_vector, refuse_masked

Codes = npt.NDArray[np.intp]
"""Class of each sample, as an index from 0 on."""

Mask = npt.NDArray[np.bool_]
"""Which samples have some property, True or False for each."""

_SHOWN = 5  # names of columns in a message
_MANY_CLASSES = 20
_DATES = ("m", "M")  # kinds of NumPy's times: a conversion to floats makes numbers of them


class Interval(SklearnInterval):
    """An interval of numbers of any type; that of scikit-learn fails at a `fractions.Fraction`."""

    def __contains__(self, value: Real) -> bool:
        try:
            compared = value if isinstance(value, Integral) else float(value)
        except OverflowError:
            return False
        is_inside: bool = super().__contains__(compared)
        return is_inside


def called(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function of the user's returns; refuse one that cannot be called so."""
    try:
        return function(*arguments)
    except TypeError as error:
        raise InvalidInputError(
            f"{name} = {shortened(function)} cannot be called with {len(arguments)} argument(s): "
            f"{error}"
        ) from error


def feature_names(estimator: Any) -> list[str]:
    """Return the names of the features of a fitted estimator; by their numbers if it has none."""
    numbered = [f"x{number}" for number in range(estimator.n_features_in_)]
    return [str(name) for name in getattr(estimator, "feature_names_in_", numbered)]


def read_samples(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool = True) -> Any:
    """Return samples, and labels if given, as scikit-learn's `validate_data` reads them.

    Refused as well are masks, dates, columns of text, and whole numbers that are too large for
    floats. Sparse samples become a `csr_array`, if the tags of the estimator take them.
    """
    formats = "csr" if get_tags(estimator).input_tags.sparse else False
    with _refusing("X", X):
        _refuse_hidden("y", y)
        read = validate_data(estimator, X, y, reset=reset, dtype=np.float64, accept_sparse=formats)
    samples, *labels = read if isinstance(read, tuple) else (read,)
    samples = csr_array(samples) if is_sparse(samples) else samples
    return (samples, *labels) if labels else samples


def read_weights(sample_weight: Any, n_samples: int) -> FloatArray | None:
    """Return one weight for each sample; None where all count alike."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_samples, sample_weight)
    weights = as_vector("sample_weight", sample_weight, n_samples)
    if weights.min() < 0:
        raise InvalidInputError(
            f"sample_weight must not be negative, got {weights.min():g} at index "
            f"{int(weights.argmin())}; 0 leaves a sample out"
        )
    if not weights.any():
        raise InvalidInputError(
            f"all {n_samples} entries of sample_weight are zero, which leaves everything out; some "
            "must be positive"
        )
    return weights


def read_weighted_samples(
    estimator: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[Any, npt.NDArray[Any], FloatArray | None, Mask]:
    """Return the samples without those of weight 0, labels, weights, and which they are."""
    X, y = read_samples(estimator, X, y)
    weights = read_weights(sample_weight, len(y))
    has_weight = np.ones(len(y), dtype=bool) if weights is None else weights > 0
    if weights is None or has_weight.all():
        return X, y, weights, has_weight
    classes = np.unique(y[has_weight]).tolist()
    if len(classes) == 1 < len(np.unique(y)):
        raise InvalidInputError(
            f"sample_weight is 0 for all samples but those of class {shortened(classes[0])}, and 0 "
            "leaves a sample out; give some of another class a positive weight"
        )
    return X[has_weight], y[has_weight], weights[has_weight], has_weight


@contextmanager
def _refusing(name: str, values: Any) -> Iterator[None]:
    """Refuse what scikit-learn's checks let through, or refuse without saying what to do."""
    _refuse_hidden(name, values)
    try:
        yield
    except OverflowError as error:
        raise InvalidInputError(
            f"{name} holds a number that is too large for a float of 64 bits"
        ) from error
    except (TypeError, ValueError) as error:
        if not is_sparse(values):
            _refuse_text(name, values, error)
        raise


def _refuse_hidden(name: str, value: Any) -> None:
    """Refuse arrays that become other numbers than they show."""
    refuse_masked(name, value)
    if getattr(getattr(value, "dtype", None), "kind", "") in _DATES:
        raise InvalidInputError(f"{name} holds dates or times; pass numbers")


def _refuse_text(name: str, X: Any, error: Exception) -> None:
    """Refuse columns with text that is no number."""
    texts: dict[Any, str] = {}
    with suppress(IndexError, ValueError):  # no table, such as rows of different lengths
        columns = getattr(X, "columns", None)  # if X is a data frame
        table = np.array(X, dtype=object)
        for index, column in enumerate(range(table.shape[1]) if columns is None else columns):
            for value in filter(_is_text, table[:, index]):
                texts.setdefault(column, value)
    if not texts:
        return
    which, holds, them = (
        ("column", "holds", "it") if len(texts) == 1 else ("columns", "hold", "them")
    )
    shown = ", ".join(shortened(column) for column in list(texts)[:_SHOWN])
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    raise InvalidInputError(
        f"{which} {shown}{more} of {name} {holds} text, such as "
        f"{shortened(next(iter(texts.values())))}; turn {them} into numbers, such as by "
        f"sklearn.preprocessing.OneHotEncoder, or drop {them}"
    ) from error


def _is_text(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def read_classes(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Codes]:
    """Return the sorted classes of labels, of which there are two or more, and their codes."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    check_classes(classes)
    return classes, codes


def warn_of_numbers(classes: npt.NDArray[Any]) -> None:
    """Warn the caller of `fit` of many numbers with gaps, which look like no classes."""
    if len(classes) <= _MANY_CLASSES or classes.dtype.kind not in "iuf":
        return
    if classes[-1] - classes[0] > len(classes) - 1:
        warnings.warn(
            f"y has {len(classes)} different numbers, from {classes[0]:g} to {classes[-1]:g}, "
            "and looks like measurements rather than classes; make few classes of them",
            stacklevel=4,  # through fit and scikit-learn's decorator
        )


def check_classes(classes: npt.NDArray[Any]) -> None:
    """Refuse a single class."""
    if len(classes) < 2:
        (label,) = classes.tolist()
        raise InvalidInputError(
            f"y has 1 class, {shortened(label)}; a metric is learned from two classes or more"
        )


def read_labels(X: Any, y: Any, missing_label: Any) -> tuple[npt.NDArray[Any], Codes, Mask]:
    """Return the sorted classes in `y`, the codes of its labelled samples, and which these are.

    There has to be a label, or the one for none, for each sample in `X`.
    """
    refuse_masked("y", y)
    # By its labels, as NumPy would turn the -1 in ["a", -1, "b"] into text.
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
    check_consistent_length(X, labelled)
    return classes, codes, labelled


def _is_minus_one(missing_label: Any) -> bool:
    return isinstance(missing_label, Real) and missing_label == -1


def _are_missing(labels: npt.NDArray[np.object_], missing_label: Any) -> Mask:
    null: Mask = np.array([_is_null(label) for label in labels], dtype=bool)
    if _is_null(missing_label):
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
    except Exception:  # arrays and expressions, for which equality is no truth value
        raise InvalidInputError(
            f"missing_label must be a single value, got {shortened(missing_label)}"
        ) from None


def _is_null(value: Any) -> bool:
    """Say whether a value is None, NaN, NaT, or pandas' NA."""
    if value is None or value is getattr(sys.modules.get("pandas"), "NA", None):
        return True
    try:
        return bool(value != value)
    except Exception:  # arrays and expressions, for which it is no truth value
        return False


def _of_one_type(labels: npt.NDArray[np.object_]) -> npt.NDArray[Any]:
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
    """Return the 0/1 indicators of the classes, shape (N, n_classes)."""
    return np.eye(codes.max() + 1)[codes]


def class_signal(codes: Codes) -> FloatArray:
    """Return the 0/1 signals of the classes: one for two classes, else one for each class."""
    indicators = one_hot(codes)
    return indicators[:, 1:] if indicators.shape[1] == 2 else indicators


def expected_failed_checks(estimator: Any) -> dict[str, str]:
    """Return the checks of scikit-learn that an estimator fails on purpose, with the reasons.

    The arguments of the same name of scikit-learn's ``parametrize_with_checks`` and
    ``check_estimator`` take them. One check fits classifiers to the labels -1 and 1, which are
    refused if -1 is the ``missing_label``, as by default. Another one takes weights for numbers of
    copies: those of learners say how much the terms of a sample count. A weight of 0 leaves a
    sample out, as that check asks for, too.

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
    expected = {}
    if is_classifier(estimator) and _is_minus_one(getattr(estimator, "missing_label", None)):
        reason = "labels -1 and 1 are refused: -1 stands for no label"
        expected["check_classifiers_classes"] = reason
    if has_fit_parameter(estimator, "sample_weight"):
        reason = "a weight is not a number of copies, which would be neighbours of each other"
        expected["check_sample_weight_equivalence_on_dense_data"] = reason
        if get_tags(estimator).input_tags.sparse:
            expected["check_sample_weight_equivalence_on_sparse_data"] = reason
    return expected


def read_tuples(
    name: str, tuples: Any, size: int, preprocessor: Any = None, n_features: int | None = None
) -> FloatArray:
    """Return tuples of samples, given as such or as indices, as an array of shape (n, size, K)."""
    refuse_masked(name, tuples)
    if _holds_sparse(tuples):
        raise InvalidInputError(
            f"{name} holds sparse samples; pass an array of shape (n_{name}, {size}, n_features), "
            "as by their toarray()"
        )
    try:
        dimensions = np.ndim(tuples)
    except ValueError as error:
        raise InvalidInputError(f"{name} has rows of different lengths") from error
    if preprocessor is not None and dimensions == 2:
        samples = _read_by_indices(name, tuples, size, preprocessor)
    else:
        samples = _floats(name, tuples, ensure_2d=False, allow_nd=True)
    width = "n_features" if n_features is None else str(n_features)
    expected = (size, samples.shape[-1] if samples.ndim and n_features is None else n_features)
    if samples.ndim != 3 or samples.shape[1:] != expected:
        features = "" if n_features is None else f" with {n_features} features"
        hint = "" if samples.ndim != 2 else "; indices of samples need a preprocessor"
        raise InvalidInputError(
            f"{name} has shape {samples.shape}; {name} of samples{features} have shape "
            f"(n_{name}, {size}, {width}){hint}"
        )
    return samples


def _holds_sparse(tuples: Any) -> bool:
    while isinstance(tuples, list | tuple) and tuples:
        tuples = tuples[0]
    return is_sparse(tuples)


def _read_by_indices(name: str, tuples: Any, size: int, preprocessor: Any) -> FloatArray:
    indices = np.asarray(tuples)
    if indices.ndim != 2 or indices.shape[1] != size or not len(indices):
        raise InvalidInputError(
            f"{name} has shape {indices.shape}; {name} of indices have shape (n_{name}, {size}), "
            f"with at least one row"
        )
    try:
        distinct, places = np.unique(indices, return_inverse=True)
    except TypeError as error:
        raise InvalidInputError(
            f"{name} holds indices of mixed types; pass numbers or texts"
        ) from error
    if callable(preprocessor):
        returned = called("preprocessor", preprocessor, distinct)
        chosen = _floats("what preprocessor returns", returned)
        if len(chosen) != len(distinct):
            raise InvalidInputError(
                f"preprocessor returned {len(chosen)} samples for {len(distinct)} indices"
            )
    else:
        samples = _floats("preprocessor", preprocessor)
        if not np.issubdtype(distinct.dtype, np.integer):
            raise InvalidInputError(
                f"{name} must hold whole numbers, the rows of the preprocessor, got "
                f"{shortened(distinct[0])}"
            )
        if not (distinct[0] >= 0 and distinct[-1] < len(samples)):
            raise InvalidInputError(
                f"{name} refers to samples {distinct[0]} to {distinct[-1]}; preprocessor has 0 to "
                f"{len(samples) - 1}"
            )
        chosen = samples[distinct]
    return chosen[places.reshape(indices.shape)]


def _floats(name: str, values: Any, **options: Any) -> FloatArray:
    with _refusing(name, values):
        array: FloatArray = check_array(values, dtype=np.float64, input_name=name, **options)
    return array
