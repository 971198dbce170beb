"""Every public constructor and function, with each argument replaced by what it may and may not be.

Names and parameters are found by inspection: a new parameter is a KeyError until it has a valid
value in `tests.public_cases`.
"""

import dataclasses
import warnings
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import InvalidParameterError

import gdaopt as gda
from tests.public_cases import EXEMPT, M, X, calls, public_callables

FLOATS: list[Any] = [np.float16, np.float32, np.float64, np.longdouble, Fraction]
INTEGERS: list[Any] = [
    *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
]


def nothing(*_: Any, **__: Any) -> None:
    """Return None, whatever is asked for."""


WRONG: dict[str, Any] = {
    "None": None,
    "a text": "x",
    "bytes": b"x",
    "an object": object(),
    "a class": int,
    "a function": nothing,
    "an empty list": [],
    "an empty dict": {},
    "a set": {1, 2},
    "NaN": np.nan,
    "inf": np.inf,
    "-1": -1,
    "10^400": 10**400,
    "10^5000": 10**5000,
    "1j": 1j,
    "True": True,
    "a ragged list": [[1.0, 2.0], [3.0]],
    "an empty array": np.empty((0, 3)),
    "objects": np.array([[None, object()], ["a", 1]], dtype=object),
    "texts": [["1", "2", "3"]] * 6,
    "dates": np.full((6, 3), "2020-01-01", dtype="datetime64[D]"),
    "three dimensions": np.ones((2, 2, 2)),
    "a matrix of NaN": np.full((3, 3), np.nan),
    "a vector of NaN": np.full(3, np.nan),
    "10^400 in a list": [10**400] * 3,
    "masked samples": np.ma.masked_equal(X, 1.0),
    "a masked matrix": np.ma.masked_equal(M, 2.0),
    "an expression": cp.Variable((3, 3), symmetric=True),
}


def test_every_public_name_is_walked() -> None:
    public = dict(public_callables())
    assert EXEMPT.keys() <= public.keys()
    assert public.keys() - calls().keys() == EXEMPT.keys()


@pytest.mark.parametrize("name", sorted(calls().keys() - {"datasets.read_csv"}))
def test_the_calls_are_valid(name: str) -> None:
    call, arguments = calls()[name]
    call(**arguments)


def is_clear(error: Exception) -> bool:
    """Say whether an error is the package's own or scikit-learn's, in one line."""
    if isinstance(error, InvalidParameterError):
        return True
    if isinstance(error, gda.errors.GdaoptError):
        return len(str(error)) < 400 and "\n" not in str(error)
    return raised_by_scikit_learn(error)


def raised_by_scikit_learn(error: Exception) -> bool:
    """Say whether scikit-learn itself refused samples or labels."""
    trace = error.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    return isinstance(error, ValueError | TypeError) and (
        trace.tb_frame.f_globals["__name__"].startswith("sklearn.")
    )


@pytest.mark.parametrize("name", calls())
def test_wrong_objects_are_refused_in_one_sentence(name: str) -> None:
    call, arguments = calls()[name]
    unclear = []
    for parameter in arguments:
        for kind, wrong in WRONG.items():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call(**{**arguments, parameter: wrong})
            except Exception as error:
                if not is_clear(error):
                    unclear.append(f"{parameter} = {kind}: {type(error).__name__}: {error}")
    assert unclear == []


def facts(value: Any) -> Any:
    """Return what two equal results have in common: types and values, to the last bit."""
    if isinstance(value, BaseEstimator):
        fitted = {k: v for k, v in vars(value).items() if k.endswith("_") and k[0] != "_"}
        arrays = {k: v for k, v in fitted.items() if isinstance(v, np.ndarray | float | int)}
        return facts(arrays)
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes() if value.dtype != object else len(value)
    if isinstance(value, csr_array):
        return facts([value.shape, value.data, value.indices, value.indptr])
    if isinstance(value, dict):
        return {key: facts(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [facts(entry) for entry in value]
    if dataclasses.is_dataclass(value):
        return {
            field.name: facts(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, gda.programs.Program):
        return facts(value.options)
    return type(value), value


NUMBERS = [
    (name, parameter)
    for name, (_, arguments) in calls().items()
    for parameter, value in arguments.items()
    if isinstance(value, int | float)
    and not isinstance(value, bool)
    and parameter != "missing_label"
]


@pytest.mark.parametrize(("name", "parameter"), NUMBERS, ids=lambda text: text)
def test_numbers_of_all_types_give_the_same(name: str, parameter: str) -> None:
    call, arguments = calls()[name]
    value = arguments[parameter]
    expected = facts(call(**arguments))
    for kind in [*FLOATS, *INTEGERS] if isinstance(value, float) else INTEGERS:
        if kind(value) == value:
            assert facts(call(**{**arguments, parameter: kind(value)})) == expected, kind


@pytest.mark.parametrize("kind", [np.float32, Fraction])
def test_arrays_of_all_types_give_the_same(kind: Any) -> None:
    """The entries of the cases are such that each type holds them exactly."""
    for name, (call, arguments) in calls().items():
        for parameter, value in arguments.items():
            if isinstance(value, np.ndarray):
                other = (
                    np.array([Fraction(x) for x in value.ravel().tolist()]).reshape(value.shape)
                    if kind is Fraction
                    else value.astype(kind)
                )
                found = facts(call(**{**arguments, parameter: other}))
                assert found == facts(call(**arguments)), (name, parameter)
