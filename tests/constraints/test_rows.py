"""Linear constraints as rows: read from CVXPY, evaluated, corrected, and refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.constraints import LinearConstraints, read_constraints
from gdaopt.linalg.entries import all_edges, entries_of, pairs_of
from gdaopt.linalg.two_sparse import decomposition
from tests.helpers import PROPERTY, generators, random_metric, random_symmetric

SIZE = 4


def several(metric: cp.Expression) -> list[cp.Constraint]:
    """One of each way to write a constraint."""
    weights = np.arange(SIZE**2, dtype=float).reshape(SIZE, SIZE)
    half = cp.Parameter(value=0.5)
    return [
        metric[0, 1] == 0,
        cp.sum(cp.diag(metric)[:2]) <= 2 * half,
        metric[0, 1:] >= -0.5,
        cp.trace(metric @ weights) >= 1,
        metric[2, 3] == metric[0, 3],
        cp.vec(metric, order="F") >= -3,
        (metric[1, 2] + metric[2, 1] <= 1).set_label("both"),
        0 * metric[0, 0] <= 1,  # true whatever the metric is
        metric[0, 1] == 0,
    ]


def rows() -> LinearConstraints:
    return read_constraints(several, SIZE)


@PROPERTY
@given(generators)
def test_residuals_are_cvxpys(rng: np.random.Generator) -> None:
    metric = cp.Variable((SIZE, SIZE), symmetric=True)
    metric.value = random_symmetric(rng, SIZE)
    given_rows = [row for row in several(metric) if "0.0 *" not in str(row)]
    expected = np.concatenate([np.ravel(row.expr.value, order="F") for row in given_rows])
    read = rows()
    found = read.norms * read.residuals(np.asarray(metric.value))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    # And as constraints for CVXPY again, one for each that was written.
    again = read(metric)
    assert len(again) == len(given_rows)
    for ours, theirs in zip(again, given_rows, strict=True):
        assert (ours.violation().max() > 1e-9) == (np.max(theirs.violation()) > 1e-9)


def test_labels() -> None:
    names = rows().names
    assert names[0] == "M[0, 1] == 0.0 (1)"  # it is there twice
    assert names[2] == "-0.5 <= M[0, 1:4] [0]"
    assert "both" in names
    assert len(names) == len(rows()) == 1 + 1 + 3 + 1 + 1 + SIZE**2 + 1 + 1


def test_rows_are_of_norm_one() -> None:
    matrices = rows().matrices.toarray()
    np.testing.assert_allclose(np.linalg.norm(matrices, axis=1), 1.0)
    for matrix in matrices.reshape(-1, SIZE, SIZE):
        np.testing.assert_array_equal(matrix, matrix.T)


@PROPERTY
@given(generators, st.booleans())
def test_coefficients_of_entries_and_atoms(rng: np.random.Generator, few: bool) -> None:
    read, metric = rows(), random_metric(rng, SIZE)
    products = read.residuals(metric) + read.bounds
    edges = all_edges(SIZE)
    if few:
        metric[0, 1] = metric[1, 0] = metric[2, 3] = metric[3, 2] = 0.0
        products = read.residuals(metric) + read.bounds
        edges = (np.array([0, 0, 1, 1]), np.array([2, 3, 2, 3]))
    coefficients = read.of_entries(pairs_of(SIZE, edges))
    np.testing.assert_allclose(coefficients @ entries_of(metric, edges), products, atol=1e-12)
    atoms, weights = decomposition(metric, np.ones(SIZE))
    np.testing.assert_allclose(read.quadratic_forms(atoms) @ weights, products, atol=1e-12)
    multipliers = rng.standard_normal(len(read))
    combined = read.combined(multipliers)
    assert np.vdot(combined, metric) == pytest.approx(multipliers @ products, abs=1e-12)


@PROPERTY
@given(generators)
def test_corrected_is_the_nearest_matrix(rng: np.random.Generator) -> None:
    read = read_constraints(lambda M: [M[0, 1] == 0.3, cp.sum(M[2]) <= -1], SIZE)
    metric = random_symmetric(rng, SIZE)
    corrected = read.corrected(metric, trace_bound=0.5)
    broken = [*np.flatnonzero(read.excesses(metric))]
    assert np.abs(read.residuals(corrected)[broken]).max() < 1e-12
    if np.trace(metric) > 0.5:
        assert np.trace(corrected) == pytest.approx(0.5, abs=1e-12)
    # The change is a sum of the rows that were broken: there is no shorter one.
    own = read.matrices.toarray()[broken]
    if np.trace(metric) > 0.5:
        own = np.vstack([own, np.eye(SIZE).ravel()])
    change = (metric - corrected).ravel()
    sums = own.T @ np.linalg.lstsq(own.T, change)[0]
    np.testing.assert_allclose(sums, change, atol=1e-12)


def test_violations_are_in_the_users_units() -> None:
    read = read_constraints(lambda M: [10 * M[0, 0] <= 10, M[1, 1] == 5], SIZE)
    sentences = read.violations(2 * np.eye(SIZE), trace_bound=10.0)
    assert sentences == ["10.0 * M[0, 0] <= 10.0: off by 10", "M[1, 1] == 5.0: off by -3"]
    assert read.violation(2 * np.eye(SIZE)) == 3.0
    assert read.violation(np.diag([1.0, 5.0, 0.0, 0.0])) == 0.0


def test_a_problem_is_pickled_with_its_rows() -> None:
    objective = gda.LogDet(np.eye(3))
    problem = gda.MetricProblem(
        objective, gda.GraphMetrics(3.0), constraints=lambda M: [M[0, 1] == 0, M[2, 2] <= 0.5]
    )
    again = pickle.loads(pickle.dumps(problem))
    assert again.rows.names == problem.rows.names if problem.rows else False
    results = [gda.solve(one, "certified") for one in (problem, again)]
    np.testing.assert_array_equal(results[0].metric, results[1].metric)
    # Also as a program: a constraint for each that was written, under its name.
    metric = cp.Variable((3, 3), symmetric=True)
    assert "M[0, 1] == 0.0" in [row.label for row in again.to_cvxpy(metric).constraints]


class Wrong:
    """What users write, and what the message says."""

    CASES: tuple[tuple[Callable[[cp.Expression], Any], str], ...] = (
        (lambda M: [cp.norm(M) <= 1], "is not linear"),
        (lambda M: [cp.sum(cp.abs(M)) <= 1], "is not linear"),
        (lambda M: M >> 0, "is not linear"),
        (lambda M: [cp.Variable(name="x") <= M[0, 0]], "a variable beside the metric: x"),
        (lambda M: [cp.Parameter() <= M[0, 1]], "a parameter without a value"),
        (lambda M: [True], "a list of CVXPY constraints"),
        (lambda M: None, "a list of CVXPY constraints"),
        (lambda M: [M[0, 1] <= np.inf], "not finite"),
    )


@pytest.mark.parametrize(("function", "message"), Wrong.CASES)
def test_refused(function: Callable[[cp.Expression], Any], message: str) -> None:
    with pytest.raises(gda.InvalidInputError, match=message):
        gda.MetricProblem(gda.LogDet(np.eye(3)), gda.GraphMetrics(3.0), constraints=function)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(gda.InvalidInputError, match="constraints must be a function"):
        read_constraints([cp.Variable() == 0], 3)  # type: ignore[arg-type]


def test_false_whatever_the_metric_is() -> None:
    with pytest.raises(gda.InfeasibleProblemError, match="false whatever the metric is"):
        read_constraints(lambda M: [0 * M[0, 1] <= -1], 3)


def test_no_constraints_at_all() -> None:
    problem = gda.MetricProblem(
        gda.LogDet(np.eye(3)), gda.GraphMetrics(3.0), constraints=lambda M: []
    )
    assert problem.rows is None
    assert gda.solve(problem, "frank-wolfe", max_iterations=1).constraints == ()
