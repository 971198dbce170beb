"""Checks of arguments: numbers that are none, matrices and vectors, and what is refused."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gdaopt.errors import InvalidInputError
from gdaopt.support.validation import (
    as_path,
    as_symmetric,
    as_vector,
    check_instance,
    finite_array,
    flag,
    integer,
    number,
    options_mapping,
    positive_vector,
    symmetric_matrix,
)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (10**400, "C is too large for a float of 64 bits"),
        (Fraction(10**400, 3), "C is too large for a float of 64 bits"),
        (10**5000, "C is too large for a float of 64 bits"),
        ("3", "C must be a number, got '3'"),
        (True, "C must be a number, got True"),
        (np.True_, "C must be a number, got np.True_"),
        (1j, "C must be a number, got 1j"),
        (None, "C must be a number, got None"),
        (np.timedelta64(3, "s"), "C must be a number, got np.timedelta64"),
        (np.float32("nan"), "C must be finite"),
    ],
    ids=[
        *("10^400", "a fraction", "10^5000", "text", "bool", "NumPy's bool", "1j", "None"),
        *("a time", "NaN"),
    ],
)
def test_what_is_no_number_is_refused_in_one_sentence(value: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as info:
        number("C", value)
    assert len(str(info.value)) < 120
    assert number("C", Decimal("0.5")) == finite_array("X", [Decimal("0.5")], ndim=1) == 0.5
    for wrong in (-(10**5000), 2.0, "2", True, None):
        with pytest.raises(
            InvalidInputError, match=r"^n must be (a whole number|at least 0), got .{,100}$"
        ):
            integer("n", wrong, at_least=0)


def test_matrices_that_are_symmetric_are_not_copied() -> None:
    matrix = np.array([[1.0, 0.25], [0.25, 2.0]])
    assert as_symmetric("M", matrix) is matrix
    matrix[0, 1] += 1e-16  # round-off
    assert as_symmetric("M", matrix) is matrix
    assert as_symmetric("M", matrix.astype(np.float32)).dtype == np.float64
    huge = np.full((2, 2), 1e308)  # its sum is infinite
    assert as_symmetric("M", huge) is huge
    assert as_vector("v", matrix[0]).base is matrix


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: as_symmetric("M", np.array([[1.0, 2.0], [3.0, 4.0]])), "M is not symmetric"),
        (lambda: as_symmetric("M", np.array([[1.0, 2.0], [2.0 + 1e-9, 4.0]])), "M is not symm"),
        (lambda: as_symmetric("M", np.full((2, 2), np.nan)), "M holds nan at index"),
        (lambda: as_symmetric("M", np.eye(2, 3)), "M must be square"),
        (lambda: as_symmetric("M", np.empty((0, 0))), "M is empty"),
        (lambda: as_symmetric("M", np.ma.masked_equal(np.eye(2), 1)), "M has 2 masked"),
        (lambda: symmetric_matrix("M", np.eye(3), 2), "M must be 2×2, got 3×3"),
        (lambda: as_vector("v", [1, 2], size=3), "v must have 3 entries, got 2"),
        (lambda: as_vector("v", np.array([1.0, np.inf])), r"v holds inf at index \(1,\)"),
        (lambda: positive_vector("v", [1, 0]), "v must be positive, got 0 at index 1"),
        (lambda: flag("verbose", 1), "verbose must be True or False, got 1"),
        (lambda: options_mapping("opts", {1: 2}), "opts must be a dict of options by their names"),
        (lambda: check_instance("text", 1, str), "text must be a str, got 1"),
        (lambda: as_path("path", 1), "path must be a path, got 1"),
        (lambda: number("t", 1.5, at_most=1), r"t must be at most 1, got 1\.5"),
        (lambda: integer("n", 2**63, at_least=0), "n must fit into 64 bits"),
    ],
)
def test_what_is_refused(check: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        check()
