"""Checks of arguments: numbers of any type become Python's own, and are used as such."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.printing import shortened
from gdaopt.validation import finite_array, integer, number

FLOATS: list[Any] = [np.float16, np.float32, np.float64, np.longdouble, Fraction, float]
INTEGERS: list[Any] = [
    *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, int),
]

# Each constructor with one number of a type: 2 or 1/2, which every type holds exactly.
FLOAT_FIELDS: dict[str, tuple[Any, float]] = {
    "trace_bound": (lambda x: gda.GraphMetrics(x, 1e-3), 2.0),
    "min_eigenvalue": (lambda x: gda.DiagonalMetrics(9.0, x), 0.5),
    "path_weight": (lambda x: gda.GraphMetrics(9.0, 1e-3, path_weight=x), 0.5),
    "tolerance": (lambda x: gda.Certified(tolerance=x), 0.5),
    "absolute_tolerance": (lambda x: gda.Alternating(absolute_tolerance=x), 0.5),
    "time_limit": (lambda x: gda.FrankWolfe(time_limit=x), 2.0),
    "edge_floor": (lambda x: gda.Joint(edge_floor=x), 0.5),
    "initial_edge_weight": (lambda x: gda.Alternating(initial_edge_weight=x), 0.5),
    "accuracy": (lambda x: gda.steps.Exact(accuracy=x), 0.5),
    "decrease": (lambda x: gda.steps.Adaptive(decrease=x), 0.5),
    "increase": (lambda x: gda.steps.Adaptive(increase=x), 2.0),
    "lipschitz": (lambda x: gda.steps.Short(lipschitz=x), 2.0),
}
INTEGER_FIELDS: dict[str, Any] = {
    "max_iterations": lambda n: gda.ProjectedGradient(max_iterations=n),
    "trace_every": lambda n: gda.Semidefinite(trace_every=n),
    "block_iterations": lambda n: gda.Alternating(block_iterations=n),
    "realign_every": lambda n: gda.Joint(realign_every=n),
    "memory_limit": lambda n: gda.Certified(memory_limit=n),
}


@pytest.mark.parametrize("kind", FLOATS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", FLOAT_FIELDS)
def test_numbers_are_stored_as_floats(name: str, kind: Any) -> None:
    make, value = FLOAT_FIELDS[name]
    stored = getattr(make(kind(value)), name)
    assert (type(stored), stored) == (float, value)


@pytest.mark.parametrize("kind", INTEGERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", [*INTEGER_FIELDS, *FLOAT_FIELDS])
def test_whole_numbers_are_stored_as_what_they_count_for(name: str, kind: Any) -> None:
    if name in INTEGER_FIELDS:
        stored = getattr(INTEGER_FIELDS[name](kind(2)), name)
        assert (type(stored), stored) == (int, 2)
        return
    make, _ = FLOAT_FIELDS[name]
    whole = 1 if name in ("min_eigenvalue", "path_weight", "decrease") else 2
    stored = getattr(make(kind(whole)), name)
    assert (type(stored), stored) == (float, float(whole))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
def test_a_set_of_other_floats_computes_in_float64(kind: Any) -> None:
    """A trace bound of float32 gave a trace 9e-8 above C."""
    bound, least = kind(7), kind(1e-3)
    X = np.random.default_rng(0).standard_normal((12, 5))
    problem = gda.MetricProblem(gda.GLR(X, np.arange(12) % 2), gda.GraphMetrics(bound, least))
    result = gda.solve(problem, "certified", tolerance=1e-9)
    exact = gda.MetricProblem(problem.objective, gda.GraphMetrics(7.0, float(least)))
    assert result.status == "converged"
    assert np.trace(result.metric) <= 7.0 * (1 + 1e-12)
    assert result.objective == gda.solve(exact, "certified", tolerance=1e-9).objective


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8, np.uint16, np.longdouble])
def test_arrays_become_float64(kind: Any) -> None:
    array = finite_array("X", np.ones((2, 2), dtype=kind), ndim=2)
    assert array.dtype == np.float64


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
        (np.float32("nan"), "C must be finite"),
    ],
    ids=["10^400", "a fraction", "10^5000", "text", "bool", "NumPy's bool", "1j", "None", "NaN"],
)
def test_what_is_no_number_is_refused_in_one_sentence(value: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as info:
        number("C", value)
    assert len(str(info.value)) < 120


@pytest.mark.parametrize(
    "value", [-(10**5000), 2.0, "2", True, None], ids=["long", "float", "text", "bool", "None"]
)
def test_what_is_no_whole_number_is_refused_in_one_sentence(value: object) -> None:
    with pytest.raises(
        InvalidInputError, match=r"^n must be (a whole number|at least 0), got "
    ) as e:
        integer("n", value, at_least=0)
    assert len(str(e.value)) < 120


def test_long_values_are_cut() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shortened(Broken()) == "a value of type Broken"
    assert shortened(list(range(1000))).startswith("[0, 1, 2")
    assert len(shortened(list(range(1000)))) == 60
