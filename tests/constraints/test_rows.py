"""Linear constraints as rows: read from CVXPY, evaluated, corrected, and refused."""

import contextlib
import itertools
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.atoms.affine import wraps
from cvxpy.atoms.affine.affine_atom import AffAtom
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.constraints.rows import LinearConstraints, read_constraints
from gdaopt.linalg.atoms import Atoms, decomposition
from gdaopt.linalg.entries import all_edges, entries_of, pairs_of
from gdaopt.programs import Knapsack
from gdaopt.programs.constrained import keep_rows
from gdaopt.support.cvxpy_internals import VERSION, AffineExpressions, set_label
from gdaopt.support.warning_filters import ignoring
from tests.helpers import PROPERTY, Rng, generators, properties, random_metric, random_symmetric

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
        set_label(metric[1, 2] + metric[2, 1] <= 1, "both"),
        0 * metric[0, 0] <= 1,  # true whatever the metric is
        metric[0, 1] == 0,
        cp.Zero(metric[1, 1:3] - half),
        cp.NonNeg(metric[1, 2:] + 0.25),
    ]


def rows() -> LinearConstraints:
    return read_constraints(several, SIZE)


@PROPERTY
@given(generators)
def test_residuals_are_cvxpys(rng: Rng) -> None:
    metric = cp.Variable((SIZE, SIZE), symmetric=True)
    metric.value = random_symmetric(rng, SIZE)
    given_rows = [row for row in several(metric) if "0.0 *" not in str(row)]
    signs = [-1.0 if isinstance(row, cp.NonNeg) else 1.0 for row in given_rows]
    values = [np.ravel(row.expr.value, order="F") for row in given_rows]
    expected = np.concatenate([sign * value for sign, value in zip(signs, values, strict=True)])
    read = rows()
    found = read.norms * read.residuals(np.asarray(metric.value))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    # And as constraints for CVXPY again, one for each that was written.
    again = read(metric)
    assert len(again) == len(given_rows)
    for ours, theirs in zip(again, given_rows, strict=True):
        assert (ours.violation().max() > 1e-9) == (np.max(theirs.violation()) > 1e-9)


def test_the_way_back_ends_where_the_last_row_holds() -> None:
    read = read_constraints(lambda M: [M[0, 0] <= 1, M[1, 1] <= 1, M[2, 2] <= 9], SIZE)
    metric, inner = np.diag([1.5, 1.2, 1.0, 1.0]), 0.5 * np.eye(SIZE)
    assert read.way_back(metric, inner) == pytest.approx(0.5)
    assert read.way_back(inner, inner) == 0
    equality = read_constraints(lambda M: [M[0, 0] == 0.5], SIZE)
    assert equality.way_back(metric, inner) == 1


def test_labels() -> None:
    names = rows().names
    assert names[0] == "M[0, 1] == 0.0 (1)"  # it is there twice
    assert names[2] == "-0.5 <= M[0, 1:4] [0]"
    assert "both" in names
    assert len(names) == len(rows()) == 1 + 1 + 3 + 1 + 1 + SIZE**2 + 1 + 1 + 2 + 2
    matrices = rows().matrices.toarray()
    np.testing.assert_allclose(np.linalg.norm(matrices, axis=1), 1.0)
    for matrix in matrices.reshape(-1, SIZE, SIZE):
        np.testing.assert_array_equal(matrix, matrix.T)


LOOKALIKES = ("a", "a (1)", "a (2)", "a (1) (1)", "a [0]", "budget", "budget (own)", "")


@properties(60)
@given(st.lists(st.tuples(st.sampled_from(LOOKALIKES), st.booleans()), min_size=1, max_size=8))
def test_labels_never_mix_constraints(drawn: list[tuple[str, bool]]) -> None:
    """Whatever constraints are called: each has its own rows, kind and name, also pickled."""
    size, inside = 3, np.array([[1.0, -0.2, 0.0], [-0.2, 0.8, -0.1], [0.0, -0.1, 0.6]])

    def constraints(metric: cp.Expression) -> list[cp.Constraint]:
        found = []
        for number, (label, is_equality) in enumerate(drawn):
            i, j = divmod(number, size)
            left, right = metric[i, : j + 1], inside[i, : j + 1]
            found.append(set_label(left == right if is_equality else left <= right, label))
        return found

    problem = gda.MetricProblem(gda.LogDet(np.eye(size)), gda.GraphMetrics(4.0), constraints)
    again = pickle.loads(pickle.dumps(problem))
    assert again.rows is not None
    assert len(set(again.rows.names)) == len(again.rows.names)
    parts = again.rows.parts()
    assert [(len(own), equality) for _, own, equality in parts] == [
        (number % size + 1, equality) for number, (_, equality) in enumerate(drawn)
    ]
    diagonal = Knapsack(np.zeros(size), 4.0, current=np.diagonal(inside))
    pairs = (np.arange(size), np.arange(size))
    names = keep_rows(diagonal, again.rows, inside, pairs).duals(np.zeros(size), None)
    assert len(names) == 2 + len(drawn)
    values = []
    for one in (problem, again):
        metric = cp.Variable((size, size), symmetric=True)
        written = one.to_cvxpy(metric)
        with ignoring("solution may be inaccurate"):  # the values are compared
            values.append(written.solve("CLARABEL"))
        assert len(written.constraints) == len(problem.to_cvxpy(metric).constraints)
    assert values[1] == pytest.approx(values[0], abs=1e-6)


@PROPERTY
@given(generators, st.booleans())
def test_coefficients_of_entries_and_atoms(rng: Rng, few: bool) -> None:
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
    np.testing.assert_allclose(read.forms_and_sizes(atoms)[0] @ weights, products, atol=1e-12)
    multipliers = rng.standard_normal(len(read))
    combined = read.combine(multipliers)
    assert np.vdot(combined, metric) == pytest.approx(multipliers @ products, abs=1e-12)


def test_magnitudes_are_sums_of_the_sizes_of_all_terms() -> None:
    read, metric = rows(), np.diag([1.0, 2, 3, 4]) - 0.5
    multipliers = np.arange(1.0, len(read) + 1)
    own = multipliers * read.norms
    matrices = np.abs(read.matrices.toarray()).reshape(len(read), SIZE, SIZE)
    sizes, terms = read.magnitudes(-multipliers, metric)
    np.testing.assert_allclose(sizes, np.einsum("k,kij->ij", own, matrices))
    of_metric = np.einsum("k,kij,ij->", own, matrices, np.abs(metric))
    assert terms == pytest.approx(of_metric + own @ np.abs(read.bounds))


def test_forms_that_are_round_off_are_0() -> None:
    """Else a weight of 1e17 could keep a row that no metric of the atom keeps."""
    read = read_constraints(lambda M: [M[0, 0] - M[1, 1] == 0, M[0, 0] == 0], 2)
    atoms = Atoms.of_vectors(np.array([[0.1 + 0.2, 0.3], [1.0, 2.0]]))
    forms = read.forms_and_sizes(atoms)[0]
    assert forms[0, 0] == 0
    assert (forms[1] > 0).all()
    assert forms[0, 1] == pytest.approx(-3 / np.sqrt(2))


@PROPERTY
@given(generators)
def test_corrected_is_the_nearest_matrix(rng: Rng) -> None:
    read = read_constraints(lambda M: [M[0, 1] == 0.3, cp.sum(M[2]) <= -1], SIZE)
    metric = random_symmetric(rng, SIZE)
    corrected = read.correct(metric, trace_bound=0.5)
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


def test_what_still_counts_as_keeping_a_row() -> None:
    """It is a share of the trace, or of a bound of a row that is larger, but of no more than C."""
    metric, off = 100 * np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])
    exact = read_constraints(lambda M: [M[0, 1] == 0], 2)
    assert not exact.violations(metric + 5e-7 * off, trace_bound=1e9)
    assert exact.violations(metric + 5e-6 * off, trace_bound=1e9)
    wide = read_constraints(lambda M: [M[0, 1] == 0, M[0, 0] <= 1e9], 2)
    assert not wide.violations(metric + 1e-6 * off, trace_bound=1000.0)
    assert wide.violations(metric + 1e-5 * off, trace_bound=1000.0)
    assert not wide.violations(metric + 1.0 * off, trace_bound=1e9)


def test_chosen_rows_keep_their_names_and_kinds() -> None:
    read = read_constraints(
        lambda M: [M[0, 1] == 0, set_label(cp.diag(M) <= 2, "diagonal"), M[1, 1] == 1], 2
    )
    chosen = read.select(np.array([2, 3]))
    assert chosen.names == ("diagonal", "M[1, 1] == 1.0")
    sentences = chosen.violations(3 * np.eye(2), trace_bound=6.0)
    assert sentences == ["diagonal: off by 1", "M[1, 1] == 1.0: off by 2"]


WRONG: tuple[tuple[Any, str], ...] = (
    (lambda M: [cp.norm(M) <= 1], "is not linear"),
    (lambda M: [cp.sum(cp.abs(M)) <= 1], "is not linear"),
    (lambda M: M >> 0, "is not linear"),
    (lambda M: [cp.Variable(name="x") <= M[0, 0]], "a variable beside the metric M: x"),
    (lambda M: [cp.Parameter() <= M[0, 1]], "a parameter without a value"),
    (lambda M: [True], "a list of CVXPY constraints"),
    (lambda M: None, "a list of CVXPY constraints"),
    (lambda M: [M[0, 1] <= np.nan], "not finite"),
    (lambda M: [0 * M[0, 1] <= -1], "false whatever the metric is"),
    ([cp.Variable() == 0], "constraints must be a function"),
)


@pytest.mark.parametrize(("function", "message"), WRONG)
def test_refused(function: Any, message: str) -> None:
    false = "false" in message
    error = gda.errors.InfeasibleProblemError if false else gda.errors.InvalidInputError
    with pytest.raises(error, match=message):
        gda.MetricProblem(gda.LogDet(np.eye(3)), gda.GraphMetrics(3.0), constraints=function)


def test_one_constraint_and_none() -> None:
    objective, feasible_set = gda.LogDet(np.eye(3)), gda.GraphMetrics(9.0)
    problem = gda.MetricProblem(objective, feasible_set, lambda M: cp.trace(M) <= 1.5)
    metric = cp.Variable((3, 3), symmetric=True)
    assert problem.to_cvxpy(metric).solve("CLARABEL") == pytest.approx(1.5 + 3 * np.log(2))
    problem = gda.MetricProblem(objective, feasible_set, constraints=lambda M: [])
    assert problem.rows is None
    assert gda.solve(problem, "frank-wolfe", max_iterations=1).constraints == ()


ONE_FEATURE: tuple[Callable[[cp.Expression], Any], ...] = (
    lambda M: [2 * M[0, 0] <= 1],
    lambda M: [M == 0.5],
    lambda M: [cp.trace(M) >= 0.5, 3 - M <= 2.9, cp.vec(M, order="F") <= 0.6],
    lambda M: [cp.hstack([M[0, 0], 4 * M[0, 0]]) <= 2, cp.bmat([[M, M], [M, M]]) >= 0.4],
    lambda M: [np.ones((3, 1)) @ M <= 0.5, cp.sum(cp.diag(M)) + M[0, 0] / 2 <= 10],
)


@PROPERTY
@given(st.sampled_from(ONE_FEATURE), st.floats(-2, 2))
def test_one_feature(constraints: Callable[[cp.Expression], Any], entry: float) -> None:
    """CVXPY returns gradients of other shapes here."""
    metric = cp.Variable((1, 1), symmetric=True)
    metric.value = np.array([[entry]])
    expected = [np.ravel(row.expr.value, order="F") for row in constraints(metric)]
    read = read_constraints(constraints, 1)
    found = read.norms * read.residuals(np.array([[entry]]))
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-12)


def test_long_labels_are_cut_and_stay_distinct() -> None:
    read = read_constraints(lambda M: [set_label(M[0, k] <= k, "a" * 10_000) for k in (0, 1)], 2)
    assert [len(name) for name in read.names] == [104, 104]
    assert read.names[0] != read.names[1]
    for wrong in (
        lambda M: [set_label(cp.norm(M) <= 1, "a" * 10_000)],
        lambda M: [M[0, 0] <= cp.Variable(name="a" * 10_000)],
    ):
        with pytest.raises(gda.errors.InvalidInputError) as caught:
            read_constraints(wrong, 2)
        assert len(str(caught.value)) < 500


# --- Affine expressions as arrays, beside CVXPY's own values and gradients, as paramete-----------


K = 3
M: Any = cp.Variable((K, K), symmetric=True)
C: Any = cp.Parameter(value=2.0)
V: Any = cp.Parameter(K, value=np.arange(3.0))
W = np.arange(9.0).reshape(K, K)

EXPRESSIONS: dict[str, Callable[[], Any]] = {
    "constant": lambda: cp.Constant([1.0, 2.0]),
    "entry": lambda: M[0, 1] - 1,
    "offset with a parameter": lambda: cp.trace(M) - 2 * C,
    "coefficients with parameters": lambda: V @ cp.diag(M) + C * M[0, 1],
    "matrix": lambda: W @ M @ W.T - np.eye(K),
    "not affine in the parameters": lambda: cp.square(C) * M[:, 0] - cp.exp(C) + V,
    "three dimensions": lambda: cp.reshape(M, (K, 1, K), order="F") + 1,
    "without a form in C++": lambda: cp.broadcast_to(M[0], (2, K)),
    "nothing": lambda: 0 * M[0, 0],
    # Affine, though they have atoms that are not.
    "no entries": lambda: cp.multiply(np.zeros((K, K)), cp.exp(M)) + M,
    "no outer function": lambda: 0 * cp.exp(M[0, 0]) + 0.0 * cp.norm(M[0]) - M[0, 1],
    "no quadratic form": lambda: cp.quad_form(M[0], np.zeros((K, K))) + C,
    "first powers": lambda: cp.power(C, 1) * M[0] + cp.power(0 * cp.abs(M[0]) + M[1], 1),
    "mean of one": lambda: cp.geo_mean(M[0], [0, 1, 0]) + cp.exp(V[0] / 9) * M[0, 0],
}


@pytest.mark.parametrize("names", [*([name] for name in EXPRESSIONS), list(EXPRESSIONS)], ids=str)
def test_the_arrays_have_cvxpys_values(names: list[str]) -> None:
    expressions = [EXPRESSIONS[name]() for name in names]
    affine = AffineExpressions(expressions, M)
    rng = np.random.default_rng(0)
    for factor in (1.0, -3.0, 0.0):
        C.value, V.value = 2.0 * factor, factor * np.arange(3.0)
        coefficients, offsets = affine.arrays()
        assert coefficients.shape == affine.shape == (sum(e.size for e in expressions), M.size)
        M.value = np.abs((matrix := rng.standard_normal((K, K))) + matrix.T)
        expected = np.concatenate([np.ravel(each.value, order="F") for each in expressions])
        found = coefficients @ np.ravel(M.value, order="F") + offsets
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_bound_of_infinity_is_none() -> None:
    bounds = np.array([0.5, np.inf, np.inf])
    for read in (
        read_constraints(lambda M: [cp.diag(M) <= bounds], K),
        read_constraints(lambda M: [cp.diag(M) >= -bounds], K),
    ):
        assert len(read) == 1
        assert np.flatnonzero(read.matrices.toarray()).tolist() == [0]
    with pytest.raises(gda.errors.InfeasibleProblemError, match="false whatever"):
        read_constraints(lambda M: [M[0, 0] >= np.inf], K)
    with pytest.raises(gda.errors.InfeasibleProblemError, match="false whatever"):
        read_constraints(lambda M: [M[0, 0] == -np.inf], K)


# Arguments that fit most atoms. By trying, those are chosen for which an atom is affine.
P: Any = cp.Parameter((K, K), value=W)
ARRAYS = [M, M[0], cp.diag(M), P[0, 1] * M, [M, W], [[M, W], [W, M]], (1 + 2j) * M[0]]
ARRAYS += [cp.reshape(M, (K, 1, K), order="F")]
OTHERS: list[tuple[Any, ...]] = [(), (0,), (1,), (2,), (W,), (W[0],), (0 * W,), (M[1],), (0, 1)]
OTHERS += [([1, 0, 0],), ([0, 1, 0],), ((K, K),), ((1, K * K), "F"), ((K, K), 0), ((2, K, K),)]
ARGUMENTS = [*itertools.product(ARRAYS, OTHERS), (M[0, 1], (W,)), (M[0, 1], ((K,),))]
ATOMS = {name: getattr(cp.atoms, name) for name in dir(cp.atoms) if not name.startswith("_")}
ATOMS |= {
    name: getattr(wraps, name)
    for name in ("nonneg_wrap", "nonpos_wrap", "nsd_wrap")
    if hasattr(wraps, name)  # the last is there from CVXPY 1.9 on
}
ATOMS |= {"indices": lambda x: x[[0, 2], [1, 1]], "kron_right": lambda x, y: cp.kron(y, x)}


def affine_expressions(atom: Callable[..., Any]) -> list[Any]:
    """List an atom of all arguments for which it is affine, real, and depends on the metric."""
    expressions = []
    for first, others in ARGUMENTS:
        for arguments in ((first, *others), (*others, first)):
            with contextlib.suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # CVXPY deprecates some arguments
                expression = atom(*arguments)
                is_linear = expression.is_affine() and not expression.is_constant()
                if is_linear and expression.is_real():
                    P.value = M.value = np.eye(K)
                    assert expression.value.size == expression.size  # else it is not defined
                    expressions.append(expression)
    return expressions


AFFINE = {name: affine_expressions(atom) for name, atom in ATOMS.items() if callable(atom)}
AFFINE = {name: expressions for name, expressions in AFFINE.items() if expressions}


@pytest.mark.parametrize("name", AFFINE)
def test_all_affine_atoms_have_cvxpys_values(name: str) -> None:
    rng = np.random.default_rng(0)
    for expression in AFFINE[name]:
        try:
            affine = AffineExpressions([expression], M)
        except gda.errors.InvalidInputError:
            # Until 1.9.2 CVXPY fails on some products in three dimensions.
            assert expression.args[0].ndim == 3
            assert (1, 8) <= VERSION <= (1, 9)
            assert cp.__version__ < "1.9.3"
            continue
        for factor in (1.0, -2.0):
            P.value = factor * W
            M.value = np.abs((matrix := rng.standard_normal((K, K))) + matrix.T)
            coefficients, offsets = affine.arrays()
            values = coefficients @ np.ravel(M.value, order="F") + offsets
            expected = np.ravel(expression.value, order="F")
            np.testing.assert_allclose(values, expected, atol=1e-12, err_msg=str(expression))


def test_no_affine_atom_is_left_out() -> None:
    def subclasses(kind: type) -> set[type]:
        return {kind}.union(*map(subclasses, kind.__subclasses__()))

    tried = {kind for each in AFFINE.values() for one in each for kind in one.atoms()}
    left = {kind.__name__ for kind in subclasses(AffAtom) - tried}
    # Base classes, cumulated products, which are affine of nothing, and those of this package.
    bases = {"AffAtom", "BinaryOperator", "UnaryOperator", "Wrap"}
    assert left == {*bases, "cumprod", "Membership", "Unknown"}
    others = {kind.__name__ for kind in tried if not issubclass(kind, AffAtom)}
    # CVXPY 1.7 has other classes.
    newer = {"GeoMean", "GeoMeanApprox", "Power", "PowerApprox"}
    assert others >= {"QuadForm", *(newer if VERSION >= (1, 8) else {"power"})}


class Unknown(AffAtom):
    """An atom without a form for solvers."""

    def shape_from_args(self) -> tuple[int, ...]:
        return ()

    def numeric(self, values: list[Any]) -> float:
        return float(np.sum(values[0]))

    def graph_implementation(self, *_arguments: Any) -> Any:
        raise NotImplementedError


def test_what_cvxpy_does_not_compile_is_refused() -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=r"CVXPY does not compile Unknown\(M"):
        read_constraints(lambda M: [Unknown(M) <= 1], 2)


def test_coefficients_without_parameters_are_the_same_object() -> None:
    fixed = AffineExpressions([EXPRESSIONS["offset with a parameter"]()], M)
    C.value = 1.0
    first, offsets = fixed.arrays()
    C.value = 3.0
    second, others = fixed.arrays()
    assert second is first
    assert (offsets[0], others[0]) == (-2.0, -6.0)
    moving = AffineExpressions([EXPRESSIONS["coefficients with parameters"]()], M)
    assert moving.arrays()[0] is not moving.arrays()[0]
