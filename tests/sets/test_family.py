"""The exact linear minimisation oracle of each set: against CVXPY and against brute force."""

from collections.abc import Callable

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh

from gdaopt.linalg import spectrum
from gdaopt.linalg.atoms import Atoms
from gdaopt.programs.whole_set import place_entries
from gdaopt.sets import PositiveDefiniteMetrics, PricedAtoms
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, Rng, generators, random_symmetric
from tests.sets.cases import FAMILIES, GRADIENTS, RHO, Draw, Family, unit_of

families = pytest.mark.parametrize("family", FAMILIES, ids=str)
closed_forms = pytest.mark.parametrize(
    "family", [family for family in FAMILIES if family.kind != "definite"], ids=str
)
draws = st.sampled_from(list(GRADIENTS.values()))


def symmetric(family: Family, size: int) -> cp.Expression:
    return cp.Variable((size, size), symmetric=True)


FORMS: dict[str, Callable[[Family, int], cp.Expression]] = {
    "by hand": symmetric,
    "semidefinite": symmetric,
    "second-order": symmetric,
    "positive semidefinite": lambda family, size: cp.Variable((size, size), PSD=True),
    "any square": lambda family, size: cp.Variable((size, size)),
    "an expression": lambda family, size: 2 * symmetric(family, size),
    "its entries": lambda family, size: place_entries(
        cp.Variable(size + len(family.feasible_set(size).family.edges_of(size)[0])),
        size,
        family.feasible_set(size).family.edges_of(size),
    ),
}
"""Ways to write the set in CVXPY: the constraints by hand, or the set's own, and the metric."""


def assert_oracle_is_optimal(family: Family, size: int, form: str) -> None:
    """Solve one problem for several gradients; the solver sees costs of entries up to 1."""
    feasible_set = family.feasible_set(size)
    metric = FORMS[form](family, size)
    cone = "second-order" if form == "second-order" else "semidefinite"
    by_hand = form == "by hand"
    constraints = family.constraints(metric) if by_hand else feasible_set.of(metric, cone=cone)
    cost = cp.Parameter((size, size), symmetric=True)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(cost, metric))), constraints)
    rng = np.random.default_rng(size)
    for gradient in (draw(rng, size) for draw in GRADIENTS.values()):
        unit = unit_of(gradient)
        cost.value = gradient / unit
        expected = problem.solve(solver="CLARABEL")
        found = feasible_set.minimize_linear(gradient).value / unit
        assert found == pytest.approx(expected, rel=0, abs=1e-7 * family.budget(size))
        assert metric.value is not None
        np.testing.assert_allclose(metric.value, metric.value.T, atol=1e-6)


class TestAgainstCvxpy:
    @pytest.mark.covering(2, 2)
    @families
    @pytest.mark.parametrize("size", [1, 2, 3, 6])
    @pytest.mark.parametrize("form", FORMS)
    def test_the_least_value_is_the_oracles(self, family: Family, size: int, form: str) -> None:
        if form == "second-order" and family.kind == "definite":
            pytest.skip("no form in second-order cones")
        assert_oracle_is_optimal(family, size, form)

    @pytest.mark.parametrize("family", FAMILIES[:8], ids=str)  # whose constraints are on M alone
    def test_constraints_hold_where_the_hull_is(self, family: Family) -> None:
        size, rng = 4, np.random.default_rng(0)
        feasible_set = family.feasible_set(size)
        metric = cp.Variable((size, size), symmetric=True)
        constraints = feasible_set.of(metric)
        points = [any_of.member(rng, size) for any_of in FAMILIES for _ in range(8)]
        points += [2.5 * member for member in points]
        satisfied = []
        for point in points:
            metric.value = point
            satisfied.append(all(constraint.value(1e-9) for constraint in constraints))
        assert satisfied == [not feasible_set.violations(point) for point in points]
        assert 8 <= sum(satisfied) <= len(points) - 8


class TestMinimizeLinear:
    @families
    @PROPERTY
    @given(rng=generators, size=st.integers(1, 12), draw=draws)
    def test_the_vertex_is_extreme(self, family: Family, rng: Rng, size: int, draw: Draw) -> None:
        gradient, feasible_set = draw(rng, size), family.feasible_set(size)
        unit, budget = unit_of(gradient), family.budget(size)
        minimum = feasible_set.minimize_linear(gradient)
        value, u = minimum.value / unit, minimum.atom
        round_off = 1e-14 * size * family.bound(size)
        assert np.vdot(gradient / unit, minimum.vertex) == pytest.approx(value, abs=round_off)
        for _ in range(2):
            assert np.vdot(gradient / unit, family.member(rng, size)) >= value - round_off
        assert feasible_set.violations(minimum.vertex) == ()
        np.testing.assert_array_equal(minimum.vertex, minimum.vertex.T)
        assert np.trace(minimum.vertex) <= family.bound(size) * (1 + 1e-12)
        assert np.linalg.eigvalsh(minimum.vertex)[0] >= RHO - 1e-12 * family.bound(size)
        atomic_part = minimum.vertex - family.base(size)
        if u is None:
            np.testing.assert_allclose(atomic_part, 0, rtol=0, atol=1e-15)
            return
        np.testing.assert_allclose(
            atomic_part, budget * np.outer(u, u), rtol=0, atol=1e-14 * budget
        )
        assert np.linalg.norm(u) == pytest.approx(1, rel=1e-14)
        assert np.count_nonzero(u) <= {"diagonal": 1, "definite": size}.get(family.kind, 2)
        if family.kind not in ("diagonal", "definite"):
            products = family.of_graph(-np.outer(u, u))
            assert products[~np.eye(size, dtype=bool)].min(initial=0.0) >= 0
            assert not (np.outer(u, u) * (1 - family.mask(size))).any()

    @families
    @pytest.mark.parametrize("shift", [0.0, 2.0])
    def test_nothing_is_gained(self, family: Family, shift: float) -> None:
        for size in [1, 2, 7]:
            gradient = shift * np.eye(size) + np.sign(shift)
            minimum = family.feasible_set(size).minimize_linear(gradient)
            assert minimum.atom is None
            np.testing.assert_allclose(minimum.vertex, family.base(size), rtol=0, atol=1e-16)
            assert minimum.value == pytest.approx(np.vdot(gradient, family.base(size)), rel=1e-15)


def all_prices(family: Family, gradient: FloatArray) -> FloatArray:
    """Return diagonals and smaller eigenvalues of the blocks of ``G_ij > 0``, ascending."""
    diagonal, of_graph = np.diagonal(gradient), family.of_graph(gradient)
    i, j = np.nonzero(np.triu(of_graph, 1) > 0)
    mean, half = (diagonal[i] + diagonal[j]) / 2, (diagonal[i] - diagonal[j]) / 2
    return np.sort(np.concatenate([diagonal, mean - np.hypot(half, of_graph[i, j])]))


def assert_priced(gradient: FloatArray, best: PricedAtoms, abs_tolerance: float = 0.0) -> None:
    """Assert that atoms are of unit length, prices ascending, and ``u'Gu``."""
    size, unit = len(gradient), unit_of(gradient)
    u = best.atoms.dense(size)
    prices = ((u @ (gradient / unit)) * u).sum(axis=1)
    atol = 1e-14 * size + abs_tolerance
    np.testing.assert_allclose(best.prices / unit, prices, rtol=0, atol=atol)
    np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1, rtol=1e-13)
    assert (np.diff(best.prices) >= 0).all()


def assert_best(family: Family, gradient: FloatArray, count: int) -> None:
    """Assert that the atoms are those of the least prices of all."""
    best = family.feasible_set(len(gradient)).family.best_atoms(gradient, count)
    assert_priced(gradient, best)
    expected = all_prices(family, gradient)[:count]
    np.testing.assert_allclose(best.prices, expected, rtol=0, atol=1e-14 * unit_of(gradient))


class TestBestAtoms:
    @closed_forms
    @PROPERTY
    @given(
        rng=generators, size=st.integers(1, 12), draw=draws, count=st.sampled_from([1, 2, 9, 999])
    )
    def test_they_are_the_best(
        self, family: Family, rng: Rng, size: int, draw: Draw, count: int
    ) -> None:
        assert_best(family, draw(rng, size), count)

    @pytest.mark.parametrize("size", [300, 700])
    @pytest.mark.parametrize("count", [1, 60, 1000])
    @pytest.mark.parametrize("order", ["random", "best last", "ties"])
    def test_blocks_of_rows(self, size: int, count: int, order: str) -> None:
        gradient = random_symmetric(np.random.default_rng(size), size)
        if order == "best last":
            gradient -= np.linspace(0, 1, size) + np.linspace(0, 1, size)[:, None]
        elif order == "ties":
            gradient = np.round(gradient)
        assert_best(FAMILIES[0], gradient, count)


class TestDefinite:
    @pytest.mark.parametrize(
        ("size", "count"), [(1, 4), (1, 8), (2, 9), (7, 64), (12, 3), (12, 4), (12, 9)]
    )
    def test_several_and_more_than_there_are(self, size: int, count: int) -> None:
        gradient = random_symmetric(np.random.default_rng(0), size)
        best = PositiveDefiniteMetrics(40.0).family.best_atoms(gradient, count)
        assert len(best.atoms) == len(best.prices) <= count
        assert_priced(gradient, best)
        if count > size:
            np.testing.assert_allclose(best.prices[:size], np.linalg.eigvalsh(gradient), atol=1e-14)


ROOT = np.random.default_rng(0).standard_normal((50, 300))
LARGE = {"Wigner": random_symmetric(np.random.default_rng(0), 300), "low rank": -ROOT.T @ ROOT}
EIGENPAIRS = {name: eigh(matrix) for name, matrix in LARGE.items()}

GUESSES: dict[str, Callable[[Rng, FloatArray], FloatArray]] = {
    "exact": lambda rng, vectors: vectors[:5],
    "nearby": lambda rng, vectors: vectors[:5] + 1e-3 * rng.standard_normal((5, 300)),
    "random": lambda rng, vectors: rng.standard_normal((5, 300)),
    "largest": lambda rng, vectors: vectors[-5:],
    "all but the smallest": lambda rng, vectors: vectors[1:6],
    "nothing": lambda rng, vectors: np.zeros((5, 300)),
    "five times one": lambda rng, vectors: vectors[[0, 0, 0, 0, 0]],
    "two-sparse": lambda rng, vectors: np.eye(300)[:5],
}


@pytest.mark.parametrize("matrix", LARGE)
class TestWarmStarts:
    @pytest.mark.parametrize("guess", GUESSES.values(), ids=GUESSES.keys())
    @pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
    def test_the_first_price_is_the_smallest_eigenvalue(
        self,
        matrix: str,
        guess: Callable[[Rng, FloatArray], FloatArray],
        scale: float,
    ) -> None:
        gradient, (values, vectors) = LARGE[matrix], EIGENPAIRS[matrix]
        # What a Cholesky factor cannot tell from nothing: 1e-13 of the diagonal's magnitudes.
        margin = 1.01e-13 * np.abs(np.diagonal(gradient)).sum()
        atoms = Atoms.of_vectors(guess(np.random.default_rng(0), vectors.T))
        best = PositiveDefiniteMetrics(4.0).family.best_atoms(scale * gradient, 3, atoms)
        prices = best.prices / scale
        assert values[0] - margin <= prices[0] <= values[0] + 1e-14 * np.abs(values).max()
        assert (prices[1:] >= values[1:3] - margin).all()
        assert_priced(gradient, PricedAtoms(best.atoms, prices), margin / unit_of(gradient))

    def test_a_good_guess_saves_work(self, matrix: str, monkeypatch: pytest.MonkeyPatch) -> None:
        guess = Atoms.of_vectors(EIGENPAIRS[matrix][1].T[:5])
        monkeypatch.setattr(spectrum, "eigh", None)
        best = PositiveDefiniteMetrics(4.0).family.best_atoms(LARGE[matrix], 3, guess)
        assert len(best.atoms) == 3
