"""What the detector says, against enumeration of signs and against the semidefinite program."""

from __future__ import annotations

from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from gdaopt import lmi
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.balance import find_switching
from tests.helpers import PROPERTY
from tests.lmi.models import random_inequality

ACCURATE = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def is_balanced(matrices: list[Any]) -> bool:
    """Say by enumeration whether some D makes all entries in cycles of all DFD at most 0."""
    size = len(matrices[0])
    links = np.any([matrix != 0 for matrix in matrices], axis=0) & ~np.eye(size, dtype=bool)

    def n_parts(graph: Any) -> int:
        return int(connected_components(csr_array(graph))[0])

    in_cycles = np.zeros_like(links)
    for i, j in np.argwhere(np.triu(links)):
        without = links.copy()
        without[i, j] = without[j, i] = False
        in_cycles[i, j] = in_cycles[j, i] = n_parts(without) == n_parts(links)
    return any(
        all((np.outer(side, side) * matrix)[in_cycles].max(initial=0.0) <= 0 for matrix in matrices)
        for side in product([1.0, -1.0], repeat=size)
    )


@pytest.mark.parametrize(
    "seeds", [range(16), pytest.param(range(16, 200), marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_verdicts_agree_with_enumeration_and_with_the_semidefinite_program(seeds: range) -> None:
    largest_gap, n_exact = 0.0, 0
    for seed in seeds:
        problem, matrix, x = random_inequality(seed)
        corners = []
        for corner in product([0.0, 1.0], repeat=x.size):
            x.value = np.array(corner) * min(1.0, x.size / 2 / max(sum(corner), 1.0))
            corners.append(np.asarray(matrix.value))
        as_variable, _, _ = random_inequality(seed, as_variable=True)
        reports = lmi.structure(problem), lmi.structure(as_variable)
        assert [report.is_exact for report in reports] == [is_balanced(corners)] * 2, seed
        exact = problem.solve(solver="CLARABEL", **ACCURATE)
        inner = cp.Problem(problem.objective, [*lmi.sdd(matrix), *problem.constraints[1:]])
        if np.isinf(exact):  # no point keeps the inequality
            assert np.isinf(inner.solve(solver="CLARABEL"))
            continue
        gap = (inner.solve(solver="CLARABEL", **ACCURATE) - exact) / (1 + abs(exact))
        assert gap >= -2e-7, seed
        if reports[0].is_exact:
            n_exact += 1
            assert gap <= 2e-7, seed
            by_discs = as_variable.solve(method="discs", **ACCURATE)
            assert by_discs == pytest.approx(exact, abs=2e-7 * (1 + abs(exact))), seed
        largest_gap = max(largest_gap, gap)
    assert largest_gap > 1e-3
    assert 0.3 * len(seeds) < n_exact < 0.9 * len(seeds)


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


@PROPERTY
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
    switching, cycle = find_switching(size, (first, second), signs)
    assert exists == (not cycle)
    if exists:
        assert (signs * switching[first] * switching[second] < 0).all()
    else:
        steps = zip(cycle, [*cycle[1:], cycle[0]], strict=True)
        numbers = [sorted(pairs).index((min(step), max(step))) for step in steps]
        assert np.count_nonzero(signs[numbers] > 0) % 2 == 1


def triangle(first: float, second: float, third: float) -> cp.Problem:
    t = cp.Variable()
    matrix = np.array([[0, first, third], [first, 0, second], [third, second, 0]])
    return cp.Problem(cp.Maximize(t), [matrix + 3 * np.eye(3) >> t * np.eye(3)])


def test_an_obstacle_is_named_by_its_nodes() -> None:
    report = lmi.structure(triangle(1.0, 1.0, 1.0))
    assert not report.is_exact
    assert set(report.inequalities[0].cycle) == {0, 1, 2}
    assert "frustrated" in repr(report)
    assert lmi.structure(triangle(1.0, 1.0, -1.0)).is_exact


def test_signs_follow_from_bounds_rows_programs_or_the_users_word() -> None:
    x, y = cp.Variable(3), cp.Variable()
    matrix = cp.bmat([[1, x[0], x[1]], [x[0], 1, x[2]], [x[1], x[2], 1]])
    inequality = matrix >> 0

    def asked(*rows: cp.Constraint, **options: Any) -> lmi.Structure:
        held = [x <= 9, x >= -9]  # else the entries are free, and the inequality exact
        constraints = [inequality, y >= 0, *held, *rows]
        return lmi.structure(cp.Problem(cp.Minimize(y), constraints), **options)

    assert "3 of 3 signs" in repr(asked())
    assert asked(x <= 0).is_exact
    assert asked(cp.sum(x) <= -2, x >= -1, x[:2] >= -0.25).inequalities[0].n_unknown == 0
    ordered = (x[0] <= x[1], x[1] <= x[2], x[2] <= 0)
    assert asked(*ordered).is_exact
    assert asked(nonpositive=[inequality]).is_exact
    combined = (x[0] + x[1] <= 0, x[0] - x[1] <= 0, x[1] == y - 1, x[2] <= 0, y <= 2)
    assert asked(*combined).inequalities[0].n_unknown == 2
    assert asked(*combined, by_programs=True).inequalities[0].signs.tolist() == [-1, 0, -1]


def test_semidefinite_variables_and_blocks_are_read() -> None:
    matrix = cp.Variable((3, 3), PSD=True)
    free = cp.Problem(cp.Minimize(cp.trace(matrix)), [matrix[0, 1] >= 1])
    assert lmi.structure(free).inequalities[0].is_free
    chain = cp.Problem(cp.Minimize(cp.trace(matrix)), [matrix[0, 1] >= 1, matrix[0, 2] == 0])
    assert not lmi.structure(chain).inequalities[0].matrix.in_cycle.any()
    held = cp.Problem(
        cp.Minimize(cp.trace(matrix)), [matrix >= -1, matrix[0, 1] + matrix[1, 2] <= 1]
    )
    assert lmi.structure(held).inequalities[0].n_unknown == 3
    negative = cp.Problem(cp.Minimize(cp.trace(matrix)), [matrix - cp.diag(cp.diag(matrix)) <= 0])
    assert lmi.structure(negative).is_exact


def complex_model() -> cp.Problem:
    matrix = cp.Variable((2, 2), hermitian=True)
    return cp.Problem(cp.Minimize(cp.real(cp.trace(matrix))), [matrix >> np.eye(2)])


def curved_model() -> cp.Problem:
    x = cp.Variable(2)
    return cp.Problem(cp.Minimize(cp.sum(x)), [cp.diag(cp.square(x)) >> np.eye(2)])


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (cp.Problem(cp.Minimize(cp.Variable(nonneg=True))), "no matrix inequality"),
        (complex_model(), "is complex"),
        (curved_model(), "is not convex by the rules of CVXPY; a matrix inequality must be affine"),
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
    with pytest.raises(InvalidInputError, match=r"CLARABEL refuses the options .'sequence'"):
        triangle(1, 1, -1).solve(method="discs", sequence="tangents")
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
