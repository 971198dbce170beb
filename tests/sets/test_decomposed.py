"""Members of each set as sums of weighted atoms."""

import copy
import pickle
import re
from collections.abc import Callable
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.constraints.model import ModelReader
from gdaopt.objectives.round_off import UNIT
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from tests import digits
from tests.helpers import PROPERTY, Rng, generators, random_symmetric, sum_of_atoms
from tests.sets.cases import FAMILIES, Family

families = pytest.mark.parametrize("family", FAMILIES, ids=str)


class TestMembers:
    @families
    @PROPERTY
    @given(rng=generators, size=st.integers(1, 12), scale=st.sampled_from([0.0, 0.0, 1e-16, 1e-13]))
    def test_are_sums_of_atoms(self, family: Family, rng: Rng, size: int, scale: float) -> None:
        """Also of a saved result: checked with its slack, made feasible, taken apart."""
        feasible_set, member = family.feasible_set(size), family.member(rng, size)
        if scale:
            member = feasible_set.made_feasible(member + scale * random_symmetric(rng, size))
            assert feasible_set.violations(member) == ()
        atoms, weights = sum_of_atoms(feasible_set, member)
        assert weights.min() >= 0
        u = atoms.dense(size)
        np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1, rtol=1e-13)
        assert np.count_nonzero(u, 1).max() <= {"definite": size, "diagonal": 1}.get(family.kind, 2)
        if family.kind not in ("diagonal", "definite"):
            signs = [family.of_graph(-np.outer(vector, vector)) for vector in u]
            assert min(np.triu(sign, 1).min() for sign in signs) >= 0
        assert not ((abs(u).T @ abs(u)) * (1 - family.mask(size))).any()
        total = family.base(size) + (u.T * weights) @ u
        np.testing.assert_allclose(
            total, member, rtol=0, atol=1e-12 * np.abs(member).max() + 1e-11 * size * (scale > 0)
        )


OUTSIDE = [
    ("graph", "smallest eigenvalue -2 is below 0.1", [[1, -3], [-3, 1]]),
    ("graph", "smallest eigenvalue -3 is below 0.1", [[-1, -2], [-2, -1]]),
    ("graph", r"off-diagonal \[0,1\] is positive: 0.5", [[1, 0.5], [0.5, 1]]),
    ("graph", "trace 4 exceeds the bound 3", 2 * np.eye(2)),
    ("graph-path", r"without the fixed part of the set: .* is positive: 0.1", np.eye(2)),
    ("graph-path", "without the fixed part of the set: smallest", [[0.1, -0.2], [-0.2, 0.1]]),
    ("diagonal", r"off-diagonal \[0,1\] is not among the edges: -3", [[1, -3], [-3, 1]]),
    ("diagonal", "smallest eigenvalue 0.05 is below 0.1", np.diag([1, 0.05])),
    ("definite", "smallest eigenvalue -2 is below 0.1", [[1, -3], [-3, 1]]),
    ("signed", "smallest eigenvalue -2 is below 0.1", [[1, -3], [-3, 1]]),
    ("sdd", ".*eigenvalue of the comparison matrix -2 is below 0.1", [[1, 3], [3, 1]]),
    ("signed-path", r"without the fixed part of the set: .* is negative: -0.1", np.eye(2)),
]


@pytest.mark.parametrize(("name", "message", "matrix"), OUTSIDE)
def test_what_is_no_sum_of_atoms_is_refused(name: str, message: str, matrix: FloatArray) -> None:
    family = next(family for family in FAMILIES if str(family) == name)
    found = family.feasible_set(2).violations(family.flipped(np.asarray(matrix, dtype=float)))
    assert any(re.match(message, sentence) for sentence in found)


# --- `least_price` -------------------------------------------------------------------------------


SEEDS = range(30)
COLORS = [1.0, -1.0, 1.0]
SETS: dict[str, FeasibleSet] = {
    "diagonal": gda.DiagonalMetrics(3.0),
    "graph": gda.GraphMetrics(3.0),
    "signed": gda.SignedGraphMetrics(COLORS, 3.0),
    "partial": gda.SDDMetrics(3.0, colors=[1, 0, -1]),
    "sdd": gda.SDDMetrics(3.0),
    "definite": gda.PositiveDefiniteMetrics(3.0),
}


def nearly_singular(rng: Rng, size: int) -> FloatArray:
    """Return a matrix whose leading block has an eigenvalue near 0, of entries over decades."""
    a, b = 10 ** rng.uniform(-2, 0, 2)
    matrix = np.diag(np.full(size, 10 * (a + b)))
    matrix[:2, :2] = [[a, 0.0], [0.0, b]]
    matrix[0, 1] = matrix[1, 0] = np.sqrt(a * b) * (1 + rng.choice([-2, -1, 1, 2]) * UNIT)
    return matrix


GRADIENTS: dict[str, Callable[[Rng, int], FloatArray]] = {
    "usual": random_symmetric,
    "nearly singular": nearly_singular,
    "zero": lambda _, size: np.zeros((size, size)),
}
ERRORS = {"none": 0.0, "round-off": 4e-8, "large": 1.0}


@pytest.mark.covering(2)
@pytest.mark.parametrize("errors", ERRORS)
@pytest.mark.parametrize("gradient", GRADIENTS)
@pytest.mark.parametrize("name", SETS)
def test_never_above_the_least_price(name: str, gradient: str, errors: str) -> None:
    """``u'Gu - (|u|'g)²`` is a quadratic form of u for each pattern of its signs.

    The certificate itself allows for a few roundings relative to the price.
    """
    family, size = SETS[name].family, 3
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        matrix = GRADIENTS[gradient](rng, size)
        if name == "signed":
            matrix = matrix * np.outer(COLORS, COLORS)
        g = ERRORS[errors] * 10 ** rng.uniform(-2, 0, size)
        price = float(family.best_atoms(matrix).prices[0])
        assert_below_all_prices(SETS[name], family.least_price(price, matrix, g), matrix, g)


def assert_below_all_prices(
    feasible_set: FeasibleSet, least: float, matrix: FloatArray, g: FloatArray
) -> None:
    found = digits.exact([least])[0] - 4 * UNIT * digits.exact([abs(least)])[0]
    for signs in product([1.0], *[[1.0, -1.0]] * (len(matrix) - 1)):
        off = digits.exact(g * signs)
        lowered = digits.exact(matrix) - np.outer(off, off)
        assert found <= digits.least_price(feasible_set, lowered)


def test_errors_count_where_an_eigenvalue_is_sharper_than_its_round_off() -> None:
    G, g = np.diag([0.0, 1.0, 1.0]), np.array([1e-8, 0.0, 0.0])
    found = SETS["definite"].family.least_price(0.0, G, g)
    assert_below_all_prices(SETS["definite"], found, G, g)
    assert found >= -1.01e-16


def test_a_matrix_that_has_a_factor_may_have_an_eigenvalue_below_0() -> None:
    """A Gram matrix of fewer vectors than features: its least eigenvalue is round-off."""
    n_below, definite = 0, SETS["definite"]
    for seed in range(12):
        vectors = np.random.default_rng(seed).standard_normal((5, 6))
        G = vectors.T @ vectors
        exact = digits.least_price(definite, digits.exact(G))
        assert abs(exact) <= 8 * len(G) * UNIT * np.linalg.norm(G)
        assert definite.family.least_price(0.0, G, np.zeros(len(G))) <= exact
        n_below += exact < 0
    assert n_below >= 3


# --- Constraints that remember the set they came from --------------------------------------------


@pytest.mark.parametrize("cone", ["semidefinite", "second-order"])
def test_every_copy_remembers_the_set(cone: str) -> None:
    feasible_set = gda.GraphMetrics(4.0, edges=[(0, 1), (1, 2)])
    M = cp.Variable((3, 3), symmetric=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(1 * M)), feasible_set.of(M, cone=cone))
    for other in (
        problem,
        cp.Problem(problem.objective, problem.constraints),
        copy.copy(problem),
        copy.deepcopy(problem),
        pickle.loads(pickle.dumps(problem)),
        problem + cp.Problem(cp.Minimize(cp.trace(M))),
    ):
        model = ModelReader(other).model()
        assert (model.feasible_set, model.rows) == (feasible_set, None)


@pytest.mark.parametrize("shape", [(2, 3), (4,)])
def test_what_is_not_square_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match="metric must be a K×K expression"):
        gda.GraphMetrics(2.0).of(cp.Variable(shape))


def test_second_order_cones_are_one_for_each_pair_of_features() -> None:
    for size in (2, 5):
        feasible_set = gda.GraphMetrics(float(size))
        M = cp.Variable((size, size), symmetric=True)
        program = cp.Problem(cp.Minimize(cp.trace(M)), feasible_set.of(M, cone="second-order"))
        dims = program.get_problem_data("CLARABEL")[0]["dims"]
        assert dims.soc == [3] * (size * (size - 1) // 2)
        assert not dims.psd
