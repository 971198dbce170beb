"""What the detector says, against enumeration of signs and against the semidefinite program."""

from __future__ import annotations

from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt import lmi
from gdaopt.errors import InvalidInputError
from gdaopt.lmi.balance import find_bridges, find_switching
from tests.lmi.models import random_inequality

ACCURATE = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


@pytest.mark.parametrize("seed", range(40))
def test_what_is_exact_has_the_value_of_the_semidefinite_program(seed: int) -> None:
    problem, matrix, _ = random_inequality(seed)
    exact = problem.solve(solver="CLARABEL", **ACCURATE)
    inner = cp.Problem(problem.objective, [*lmi.sdd(matrix), *problem.constraints[1:]])
    by_cones = inner.solve(solver="CLARABEL", **ACCURATE)
    assert by_cones >= exact - 2e-7 * (1 + abs(exact))
    if lmi.structure(problem).is_exact:
        assert by_cones == pytest.approx(exact, abs=2e-7 * (1 + abs(exact)))


def test_some_inequalities_are_not_exact_and_their_cones_miss_the_optimum() -> None:
    gaps = []
    for seed in range(40):
        problem, matrix, _ = random_inequality(seed)
        if lmi.structure(problem).is_exact:
            continue
        inner = cp.Problem(problem.objective, [*lmi.sdd(matrix), *problem.constraints[1:]])
        gaps.append(inner.solve(solver="CLARABEL") - problem.solve(solver="CLARABEL"))
    assert max(gaps) > 1e-3


edges_of_graphs = st.integers(2, 6).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.sets(
            st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
            .filter(lambda pair: pair[0] != pair[1])
            .map(lambda pair: (min(pair), max(pair))),
            min_size=1,
        ),
    )
)


@given(edges_of_graphs, st.integers(0, 2**15))
def test_switching_is_found_exactly_if_enumeration_finds_one(
    graph: tuple[int, set[tuple[int, int]]], bits: int
) -> None:
    size, pairs = graph
    edges = np.array(sorted(pairs))
    signs = np.array([1.0 if bits >> k & 1 else -1.0 for k in range(len(edges))])
    first, second = edges.T
    sides = [np.array(side) for side in product([1.0, -1.0], repeat=size)]
    exists = any((signs * side[first] * side[second] < 0).all() for side in sides)
    switching, cycle = find_switching(size, edges, signs)
    assert exists == (not cycle)
    if exists:
        assert (signs * switching[first] * switching[second] < 0).all()
    else:
        steps = zip(cycle, [*cycle[1:], cycle[0]], strict=True)
        numbers = [sorted(pairs).index((min(step), max(step))) for step in steps]
        assert np.count_nonzero(signs[numbers] > 0) % 2 == 1


@given(edges_of_graphs)
def test_bridges_are_the_edges_whose_removal_disconnects(
    graph: tuple[int, set[tuple[int, int]]],
) -> None:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    size, pairs = graph
    edges = np.array(sorted(pairs))

    def count(some: Any) -> int:
        ones = np.ones(len(some))
        places = (some[:, 0], some[:, 1])
        return int(connected_components(csr_array((ones, places), shape=(size, size)))[0])

    without = [count(np.delete(edges, k, axis=0)) > count(edges) for k in range(len(edges))]
    assert find_bridges(size, edges).tolist() == without


def triangle(first: float, second: float, third: float) -> cp.Problem:
    t = cp.Variable()
    matrix = np.array([[0, first, third], [first, 0, second], [third, second, 0]])
    return cp.Problem(cp.Maximize(t), [matrix + 3 * np.eye(3) >> t * np.eye(3)])


def test_an_obstacle_is_named_by_its_nodes() -> None:
    report = lmi.structure(triangle(1.0, 1.0, 1.0))
    assert not report.is_exact
    assert set(report.inequalities[0].cycle) == {0, 1, 2}
    assert "frustrated" in str(report)
    assert lmi.structure(triangle(1.0, 1.0, -1.0)).is_exact


def test_signs_follow_from_bounds_rows_programs_or_the_users_word() -> None:
    x, y = cp.Variable(3), cp.Variable()
    matrix = cp.bmat([[1, x[0], x[1]], [x[0], 1, x[2]], [x[1], x[2], 1]])
    inequality = matrix >> 0

    def asked(*rows: cp.Constraint, **options: Any) -> lmi.Structure:
        held = [x <= 9, x >= -9]  # else the entries are free, and the inequality exact
        constraints = [inequality, y >= 0, *held, *rows]
        return lmi.structure(cp.Problem(cp.Minimize(y), constraints), **options)

    assert "3 of 3 signs" in str(asked())
    assert asked(x <= 0).is_exact
    assert asked(cp.sum(x) <= -2, x >= -1, x[:2] >= -0.25).inequalities[0].n_unknown == 0
    ordered = (x[0] <= x[1], x[1] <= x[2], x[2] <= 0)
    assert asked(*ordered).is_exact
    assert asked(nonpositive=[inequality]).is_exact
    combined = (x[0] + x[1] <= 0, x[0] - x[1] <= 0, x[1:] == cp.hstack([y - 1, 0]), y <= 2)
    assert asked(*combined).inequalities[0].n_unknown == 2
    assert asked(*combined, by_programs=True).inequalities[0].signs.tolist() == [-1, 0, -1]


def test_semidefinite_variables_and_blocks_are_read() -> None:
    matrix = cp.Variable((3, 3), PSD=True)
    free = cp.Problem(cp.Minimize(cp.trace(matrix)), [matrix[0, 1] >= 1])
    assert lmi.structure(free).inequalities[0].is_free
    chain = cp.Problem(cp.Minimize(cp.trace(matrix)), [matrix[0, 1] >= 1, matrix[0, 2] == 0])
    assert lmi.structure(chain).inequalities[0].is_bridge.all()
    held = cp.Problem(
        cp.Minimize(cp.trace(matrix)), [matrix >= -1, matrix[0, 1] + matrix[1, 2] <= 1]
    )
    assert lmi.structure(held).inequalities[0].n_unknown == 3
    negative = cp.Problem(cp.Minimize(cp.trace(matrix)), [matrix - cp.diag(cp.diag(matrix)) <= 0])
    assert lmi.structure(negative).is_exact


def complex_model() -> cp.Problem:
    matrix = cp.Variable((2, 2), hermitian=True)
    return cp.Problem(cp.Minimize(cp.real(cp.trace(matrix))), [matrix >> np.eye(2)])


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (cp.Problem(cp.Minimize(cp.Variable(nonneg=True))), "no matrix inequality"),
        (complex_model(), "is complex"),
    ],
)
def test_wrong_models_are_refused(problem: cp.Problem, sentence: str) -> None:
    with pytest.raises(InvalidInputError, match=sentence):
        lmi.structure(problem)


def test_other_wrong_use_gets_a_sentence() -> None:
    x = cp.Variable()
    with pytest.raises(InvalidInputError, match="no matrix inequality of the problem"):
        lmi.structure(triangle(1, 1, 1), nonpositive=[x >= 0])
    with pytest.raises(InvalidInputError, match="frustrated"):
        triangle(1, 1, 1).solve(method="discs", strict=True)
    with pytest.raises(InvalidInputError, match="has no value"):
        lmi.certify(triangle(1, 1, -1))
    wrong_edges: list[tuple[list[Any], str]] = [
        ([[0, 3]], "from 0 to 2"),
        ([[1, 1]], "different nodes"),
        ([[0, 1], [1, 0]], "twice"),
        ([[0.5, 1]], "whole numbers"),
    ]
    for edges, sentence in wrong_edges:
        with pytest.raises(InvalidInputError, match=sentence):
            lmi.sdd(np.ones(3), edges, np.ones(len(edges)))
    with pytest.raises(InvalidInputError, match="the shape"):
        lmi.sdd(np.ones(3), [[0, 1]], np.ones(2))
    with pytest.raises(InvalidInputError, match="n×n"):
        lmi.sdd(np.ones(3))
    with pytest.raises(InvalidInputError, match="positive"):
        lmi.left_ends(np.eye(2), [1.0, 0.0])
