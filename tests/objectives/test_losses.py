"""What is special of each objective of distances: limits, targets, trace bounds; and bad input."""

import re
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives import OBJECTIVES, SeparablePairs, Term, lmnn, softmax
from gdaopt.objectives.lmnn import target_neighbors
from gdaopt.objectives.pairs import read_labelled_pairs
from gdaopt.objectives.scalar_functions import (
    Identity,
    Logistic,
    ScalarFunction,
    SmoothHinge,
    SquaredHinge,
)
from gdaopt.scaling import auto_trace_bound, read_trace_bound
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric
from tests.objectives.cases import CASES, LABELS, K, N, make_tiles_small, samples, within

X = samples()


def test_mcml_keeps_its_digits_where_the_classes_collapse() -> None:
    """Two pairs of samples, each nearly one point, far apart: Q is about exp(-δ)."""
    corners = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    objective = gda.MCML(corners, [0, 0, 1, 1])
    metric = np.diag([30.0, 1.0])
    assert objective.value(metric) == pytest.approx(2 * np.exp(-30.0), rel=1e-2)
    assert objective.gradient(metric)[0, 0] == pytest.approx(-2 * np.exp(-30.0), rel=1e-10)


def test_mcml_of_a_sample_alone_in_its_class() -> None:
    y = ["a", "a", "b"]
    expected = CASES["MCML"].value(np.eye(K), X=X[:3], y=y)
    assert gda.MCML(X[:3], y).value(np.eye(K)) == pytest.approx(expected, rel=1e-13)


def test_mcml_far_outside_of_the_range_of_exponentials() -> None:
    """Distances of 1e5 and of -1e5: nothing over- or underflows."""
    objective = gda.MCML(100 * X, LABELS)
    for metric in (np.eye(K), -np.eye(K)):
        point = objective.at(metric)
        assert np.isfinite(point.value)
        assert np.isfinite(point.gradient()).all()
        assert point.degenerate_reason() is None


@pytest.mark.parametrize("entries", [50, 2**18])
def test_target_neighbors_are_those_of_scikit_learn(
    entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lmnn, "_TILE_ENTRIES", entries)
    rng = np.random.default_rng(0)
    points, codes = rng.standard_normal((60, 3)), rng.integers(3, size=60)
    targets = target_neighbors(points, codes, 4)
    for code in range(3):
        members = np.flatnonzero(codes == code)
        expected = NearestNeighbors(n_neighbors=4).fit(points[members]).kneighbors()[1]
        np.testing.assert_array_equal(targets[members], members[expected])


def test_the_lipschitz_constant_of_lmnn() -> None:
    """``(μ/(N k ω)) Σ_ijl (‖d_ij‖⁴ + ‖d_il‖⁴)``."""
    fourth = ((X[:, None] - X[None]) ** 2).sum(axis=2) ** 2
    targets = target_neighbors(X, np.unique(LABELS, return_inverse=True)[1], 2)
    total = sum(
        fourth[i, j] + fourth[i, k]
        for i in range(N)
        for j in targets[i]
        for k in np.flatnonzero(LABELS[i] != LABELS)
    )
    constant = gda.LMNN(X, LABELS, n_neighbors=2, push_weight=0.3, width=0.5).lipschitz(0.0)
    assert constant == pytest.approx(0.3 / (N * 2 * 0.5) * total)


def test_the_lipschitz_constant_of_mcml_counts_the_farthest_sample() -> None:
    """All samples but one are near 0, and the slopes there change by the distance to that one."""
    X, weights = np.append(0.01 * np.arange(9), 10.0)[:, None], np.append(np.ones(9), 1e-6)
    mcml = gda.MCML(X, np.arange(10) % 2, sample_weight=weights)
    step = 1e-6 * np.eye(1)
    change = (mcml.gradient(step) - mcml.gradient(0 * step)) / step
    assert 900 < float(change[0, 0]) <= mcml.lipschitz(0.0)


def test_deml_where_two_classes_coincide() -> None:
    """In X: such pairs add 0. Under a metric: the gradient is infinite, and there is no bound."""
    both = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    deml = gda.DEML(both, [0, 1, 0, 1])
    assert deml.value(np.eye(2)) == pytest.approx((1 + 4) / 2 - (0 + 1 + 2 + np.sqrt(5)) / 4)
    gda.check_objective(deml)
    singular = np.diag([1.0, 0.0])
    point = deml.at(singular)
    assert point.value == pytest.approx(1 / 2 - 2 / 4)
    says = "the gradient of the objective is not finite: the distance of two"
    assert (point.degenerate_reason() or "").startswith(says)
    certificate = gda.certify(gda.MetricProblem(deml, gda.DiagonalMetrics(2.0)), singular)
    assert certificate.bound == "none"
    line = deml.at(np.eye(2)).line(gda.linalg.DenseDirection(np.diag([0.0, -1.0])))
    assert line.value(1.0) == pytest.approx(point.value)
    assert line.derivatives(1.0)[0] == np.inf


@pytest.mark.parametrize("size", [3, 40])
@pytest.mark.parametrize("make", [gda.DEML, gda.LSML])
def test_infinite_slopes_come_without_warnings(make: Any, size: int) -> None:
    """Times features of 0 they are no numbers."""
    samples = np.zeros((12, size))
    samples[:, 0], samples[:, 1] = [0, 0, 1, 1, 2, 2] * 2, np.arange(12)
    of_first = np.zeros(size)
    of_first[0] = 1.0
    for scale in (1e-200, 1.0, 1e200):
        objective, metric = make(samples, [0, 1] * 6), scale * np.diag(of_first)
        atoms = Atoms.of_features(np.arange(2))
        # At points of their own, so that none finds what another one has computed.
        assert not np.isfinite(objective.at(metric).gradient()).all()
        every = np.arange(size)
        for columns in every, np.ones_like(every):
            entries = objective.at(metric).gradient_entries(every, columns)
            assert not np.isfinite(entries).all()
        assert not np.isfinite(objective.at(metric).slopes(atoms)).all()
        assert objective.at(metric).curvature(atoms).shape == (2, 2)


def test_no_atoms_have_no_curvature() -> None:
    point = gda.DEML(X, LABELS).at(np.eye(K))
    assert point.curvature(Atoms.of_features(np.arange(0))).shape == (0, 0)


def test_lsml_draws_pairs_of_one_class_and_of_two() -> None:
    lsml = gda.LSML(X, LABELS, n_quadruplets=500, random_state=3)
    a, b, c, d = lsml.quadruplets.T
    assert len(a) == 500
    assert (a != b).all()
    assert (LABELS[a] == LABELS[b]).all()
    assert (LABELS[c] != LABELS[d]).all()
    drawn = np.unique(lsml.quadruplets[:, 2:], axis=0)
    assert len(drawn) > 150  # of 2 × 81 ordered pairs of two classes
    again, other = (
        gda.LSML(X, LABELS, n_quadruplets=500, random_state=seed).quadruplets for seed in (3, 4)
    )
    np.testing.assert_array_equal(again, lsml.quadruplets)
    assert (other != lsml.quadruplets).any()


PAIR, THREE, SIGNAL = [[0, 1]], [[0.0], [1.0], [2.0]], [1, -1, -1]

BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: gda.MCML(X, ["a"] * N), "y is a for all 16 samples"),
    (lambda: gda.MCML(X, np.arange(N)), "each of the 16 samples is alone"),
    (lambda: gda.LMNN(X * np.nan, LABELS), "X"),
    (lambda: gda.MCML(X, [np.nan] + [1.0] * 15), "y is NaN at index 0"),
    (lambda: gda.MCML(X, np.array(["a", 1] * 8, object)), "must be all numbers or all texts"),
    (lambda: gda.MCML(X, LABELS[:5]), "X has 16 samples and y has 5"),
    (lambda: gda.DEML(X, np.eye(N)), "y must have a label for each sample"),
    (lambda: gda.MCML(X[:1], ["a"]), "pairs need at least 2"),
    (lambda: gda.MCML(0 * X, LABELS), "all 16 samples of X coincide"),
    (lambda: gda.MCML(1e-200 * X, LABELS), "rescale X"),
    (lambda: gda.GLR(1e170 * X, LABELS == "a"), "rescale X"),
    (
        lambda: gda.MCML(X, LABELS, sample_weight=np.zeros(N)),
        "must be positive, got 0 at index 0",
    ),
    (lambda: gda.LMNN(X, LABELS, n_neighbors=3), "n_neighbors is 3, and a class has 3 sample(s)"),
    (lambda: gda.LMNN(X, LABELS, push_weight=2), "push_weight must be at most 1"),
    (lambda: gda.LMNN(X, LABELS, width=0), "width must be"),
    (lambda: gda.LogisticPairs(X, LABELS, bias=-1), "bias must be"),
    (lambda: gda.PairLoss(X, LABELS, "hinges"), "did you mean 'hinge'"),
    (
        lambda: gda.PairLoss(X, LABELS, cast(Any, np.square)),
        "unknown function (or a gdaopt.objectives",
    ),
    (lambda: gda.PairLoss(X, LABELS, lower=0.0), "lower must be"),
    (lambda: gda.PairHinge(X, LABELS, lower=0), "lower must be"),
    (lambda: gda.LogisticPairs(X, LABELS, pairs=[[0, 2]]), "no two samples of different classes"),
    (lambda: gda.PairHinge(X, LABELS, pairs=[[0, 1]]), "pairs holds no two samples of one class"),
    (lambda: gda.DEML(X, LABELS, pairs=[[0, 16]]), "pairs refers to samples"),
    (lambda: gda.DEML(X, LABELS, similar_weight=-1), "similar_weight must be"),
    (
        lambda: gda.DEML([[0.0], [0.0], [1.0]], [0, 1, 0], pairs=[[0, 1], [0, 2]]),
        "all pairs of samples of different classes coincide",
    ),
    (lambda: gda.PairHinge(X, LABELS, pairs=PAIR, similar=[True]), "got both y and similar"),
    (lambda: gda.PairHinge(X, pairs=PAIR), "got neither y nor similar"),
    (lambda: gda.PairHinge(X, similar=[True]), "pass pairs, too"),
    (
        lambda: gda.LogisticPairs(X, pairs=[[0, 1], [0, 2]], similar=[1, -1]),
        "similar must be a boolean for each of the 2 pairs, got [1, -1]",
    ),
    (lambda: gda.PairHinge(X, pairs=[[0, 1], [0, 2]], similar=[True]), "each of the 2 pairs"),
    (lambda: gda.PairHinge(X, pairs=PAIR, similar=[True]), "no two dissimilar samples"),
    (lambda: gda.PairHinge(X, pairs=PAIR, similar=[False]), "no two similar samples"),
    (lambda: gda.TripletHinge(X, PAIR), "of shape (n, 3)"),
    (lambda: gda.TripletHinge(X, np.empty((0, 3), int)), "triplets holds none"),
    (lambda: gda.LogisticTriplets(X, [[0, 1, 2]], push_weight=1.5), "must be at most 1"),
    (lambda: gda.LSML(X, LABELS, quadruplets=[[0, 1, 2, 3]]), "y or quadruplets, got both"),
    (lambda: gda.LSML(X), "pass either labels y or quadruplets, got neither"),
    (lambda: gda.LSML(X, quadruplets=[[0, 1, 2, 2]]), "c and d of quadruplet 0 coincide"),
    (lambda: gda.LSML(X, quadruplets=[[0, 1, 2]]), "of shape (n, 4)"),
    (
        lambda: gda.GLR(THREE, SIGNAL, sample_weight=[1, 1]),
        "must have 3 entries, got 2",
    ),
    (
        lambda: gda.GLR(THREE, SIGNAL, sample_weight=[1, -2, 1]),
        "must be positive, got -2 at",
    ),
    (lambda: gda.GLR(THREE, SIGNAL, sample_weight=[1, np.nan, 1]), "sample_weight holds nan"),
    (
        lambda: gda.GLR(THREE, SIGNAL, sample_weight=[1, 1e-101, 1]),
        "sample_weight goes from 1e-101 to 1, and products of two weights leave floating point",
    ),
    (lambda: gda.GLR(THREE, SIGNAL, sample_weight=[1, 1e101, 1]), "goes from 1 to 1e+101, and"),
    (lambda: gda.GLR(THREE, SIGNAL, pairs=[[0, 3]]), "pairs refers to samples 0 to 3"),
    (lambda: gda.GLR(THREE, SIGNAL, pairs=[[-1, 1]]), "pairs refers to samples -1 to 1"),
    (lambda: gda.GLR(THREE, SIGNAL, pairs=[[0.0, 1.0]]), "pairs must be whole numbers"),
    (lambda: gda.GLR(THREE, SIGNAL, pairs=[0, 1]), "pairs must be whole numbers of shape (n, 2)"),
    (lambda: gda.GLR(THREE, SIGNAL, pairs=[[1, 2]]), "no two samples with different signals"),
    (lambda: gda.GLR(THREE, SIGNAL, pairs=np.zeros((0, 2), int)), "pairs holds no two samples"),
    (lambda: gda.LogDet(np.diag([1.0, np.inf])), "S holds inf at index (1, 1)"),
    (lambda: gda.LogDet([[1.0, 0.5], [0.4, 1.0]]), "not symmetric: [0,1] is 0.5, [1,0] is 0.4"),
    (lambda: gda.LogDet(np.ones((2, 3))), "S must be square, got shape (2, 3)"),
    (lambda: gda.LogDet(np.zeros((0, 0))), "S is empty"),
    (lambda: gda.GMML(np.eye(2), np.diag([1.0, -0.5])), "D must be positive semidefinite"),
    (lambda: gda.GMML(np.eye(2), np.eye(3)), "D"),
    (lambda: gda.GMML(np.eye(2), np.diag([1.0, np.nan])), "D holds nan"),
    (lambda: gda.GMML([[1.0, 0.5], [0.0, 1.0]], np.eye(2)), "S is not symmetric"),
    (lambda: gda.Ridge(0), "n_features must be at least 1"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("trace_bound", [3.0, 1e2, 1e5])
@pytest.mark.parametrize("kind", ["graph", "definite"])
def test_mcml_of_pairs_that_are_far_apart_ends_at_its_minimum(
    kind: str, trace_bound: float
) -> None:
    """Its optimum is 0 or next to it, of which a share is no tolerance."""
    sets = {"graph": gda.GraphMetrics, "definite": gda.PositiveDefiniteMetrics}
    mcml = gda.MCML([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]], [0, 0, 1, 1])
    problem = gda.MetricProblem(mcml, sets[kind](trace_bound))
    result = gda.solve(problem, "certified")
    assert result.status == "stalled"
    assert "up to that the objective is at its minimum" in result.message
    assert result.gap is not None
    assert 0 <= result.objective < 1e-11
    assert result.gap <= 1e-12 * max(1.0, trace_bound)
    again = gda.solve(problem, "certified", absolute_tolerance=2 * result.gap)
    assert again.status == "converged"


def test_all_terms_of_all_chunks_may_vanish(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then sums in units of 0 gave NaN."""
    monkeypatch.setattr("gdaopt.objectives.pairs.pairs._CHUNK", 2**8)
    make_tiles_small(monkeypatch, 200)
    many = samples(count=80)
    glr = within(1, lambda: gda.GLR(1e100 * many, np.arange(80) % 2))
    point = glr.at(1e150 * np.eye(K))
    assert len(glr._chunks) > 1
    assert point.value == 0
    assert point.logarithm().value == -np.inf
    assert not point.gradient().any()
    assert "is 0 in floating point" in (point.degenerate_reason() or "")


class Wrong(Identity):
    """A scalar function with a wrong derivative."""

    def __call__(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        return z, -np.ones_like(z)


def test_a_wrong_loss_of_ones_own_is_found_out() -> None:
    labelled = read_labelled_pairs(X, np.arange(len(X)) % 2, None)
    objective = SeparablePairs(labelled, (Term(True, Wrong(), 1.0),))
    problem = gda.MetricProblem(objective, gda.GraphMetrics(4.0))
    with pytest.raises(
        gda.errors.InvalidInputError, match=r"the gradient of .*SeparablePairs.* is wrong"
    ):
        gda.solve(problem, "certified")


# --- The trace bounds of objectives that have a rule of their own ---------------------------------


RULES = sorted(OBJECTIVES.keys() - {"glr", "none"})


def classes(seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Return samples of three classes, each with its own mean."""
    rng, y = np.random.default_rng(seed), np.arange(30) % 3
    return rng.normal(size=(30, 4)) + y[:, None], y.astype(np.float64)


@pytest.mark.parametrize("name", RULES)
def test_units_constant_features_and_copies_drop_out(name: str) -> None:
    X, y = classes()
    bound = read_trace_bound("auto", OBJECTIVES[name](X, y), gda.GraphMetrics(1.0))
    assert bound > 0
    others = [(10 * X, bound / 100), (np.column_stack([X, np.ones(len(X))]), bound)]
    if name == "mcml":  # the others see all distances doubled, as their thresholds do not
        others.append((np.column_stack([X, X]), bound))
    for other, expected in others:
        found = auto_trace_bound(OBJECTIVES[name](other, y), gda.GraphMetrics(1.0))
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("name", ["logistic-pairs", "pair-hinge"])
def test_larger_isotropic_metrics_are_worse_than_none(name: str) -> None:
    for seed in range(5):
        objective = OBJECTIVES[name](*classes(seed))
        bound = auto_trace_bound(objective, gda.GraphMetrics(1.0))
        larger = objective.at(1.001 * np.eye(4) * bound / 4)
        assert larger.value > objective.at(np.zeros((4, 4))).value


def test_larger_isotropic_metrics_are_too_large_for_deml() -> None:
    objective = gda.DEML(*classes())
    isotropic = np.eye(4) * objective.auto_trace_bound() / 4
    assert np.vdot(objective.gradient(1.001 * isotropic), isotropic) > 0


def test_the_mean_distance_within_classes_that_mcml_allows() -> None:
    X, y = classes()
    left, right = np.nonzero(np.equal.outer(y, y) & ~np.eye(30, dtype=bool))
    distances = gda.MCML(X, y).auto_trace_bound() / 4 * ((X[left] - X[right]) ** 2).sum(axis=1)
    assert distances.mean() == pytest.approx(np.log(29))


def test_the_trace_bound_of_lmnn_where_all_target_neighbors_coincide() -> None:
    """Of few binary features: the bound is then by all pairs of one class."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]).repeat(3, axis=0)
    y = np.arange(12) // 6
    lmnn = gda.LMNN(X, y, n_neighbors=2)
    left, right = np.nonzero(np.equal.outer(y, y) & ~np.eye(12, dtype=bool))
    squares = ((X[left] - X[right]) ** 2).mean(axis=0)  # the second feature is constant in a class
    assert lmnn.auto_trace_bound() == pytest.approx(2 * 0.9 / squares[0])


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (gda.LMNN(*classes(), push_weight=1.0), "push_weight=1"),
        (gda.DEML(*classes(), similar_weight=0.0), "similar_weight=0"),
        (gda.MCML([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1]), "near each other coincide"),
        (gda.TripletHinge([[0.0], [0.0], [1.0]], [[0, 1, 2]]), "near each other coincide"),
    ],
)
def test_where_nothing_pulls_there_is_no_trace_bound(objective: Any, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        objective.auto_trace_bound()


@pytest.mark.parametrize("weight", [5e-324, 1.7e308])
@pytest.mark.parametrize("loss", [gda.MCML, gda.NCA])
def test_the_scale_of_weights_drops_out_of_means(loss: Any, weight: float) -> None:
    expected = loss(X, LABELS).value(np.eye(K))
    assert loss(X, LABELS, sample_weight=np.full(N, weight)).value(np.eye(K)) == expected


def test_the_surrogate_is_an_upper_bound() -> None:
    """Up to the mean logarithm of the numbers of other samples, and 1."""
    rng = np.random.default_rng(0)
    labels = np.where(LABELS == "c", "b", LABELS)
    weights = rng.uniform(0.5, 2, N)
    nca = gda.NCA(X, labels, sample_weight=weights)
    surrogate = nca.surrogate()
    n_others = (labels[:, None] == labels).sum(axis=1) - 1
    constant = 1 - np.average(np.log(n_others), weights=weights)
    assert surrogate.convex
    for size in (1e-3, 0.1, 1.0, 10.0):
        metric = size * random_metric(rng, K)
        mcml = gda.MCML(X, labels, sample_weight=weights).value(metric)
        assert surrogate.value(metric) == pytest.approx(mcml, rel=1e-12)
        assert nca.value(metric) <= mcml - constant


def test_second_derivatives_of_nca_of_many_pairs_are_nearly_those_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some pairs stand for the others, always the same; a subsample would be off by far more."""
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(400, 6)), np.arange(400) % 3
    atoms = Atoms.of_vectors(rng.normal(size=(12, 6)))
    point = gda.NCA(X, labels).at(4 * np.eye(6))
    thinned, again = point.curvature(atoms), point.curvature(atoms)
    monkeypatch.setattr(softmax, "MANY_PAIRS", X.shape[0] ** 2)
    exact = point.curvature(atoms)
    assert (thinned == again).all()
    assert 0 < np.linalg.norm(thinned - exact) < 0.05 * np.linalg.norm(exact)


def test_subsamples_are_not_convex_either() -> None:
    X = np.random.default_rng(0).standard_normal((20_000, 2))
    subsample = gda.NCA(X, np.arange(20_000) % 2).subsample()
    assert subsample is not None
    assert not subsample.convex
    assert subsample.value(np.eye(2)) == pytest.approx(-0.5, abs=0.02)


# --- Functions of one number ----------------------------------------------------------------------


class Exponential(ScalarFunction):
    """``exp(z)``, of no argument beyond a largest one."""

    def __init__(self, most: float = np.inf) -> None:
        self.most = most

    def __call__(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        found = np.exp(np.minimum(z, self.most))
        return found, found

    def second(self, z: FloatArray) -> FloatArray:
        return np.exp(z)


def test_a_function_of_ones_own() -> None:
    """It needs values and two derivatives; what else methods want of it they say."""
    X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [0, 0, 1]
    loss = gda.PairLoss(X, y, Exponential(), upper=0.5, lower=3.0)
    expected = (np.exp(1 - 0.5) + np.exp(3.0 - 4) + np.exp(3.0 - 5)) / 3
    assert loss.value(np.eye(2)) == pytest.approx(expected, rel=1e-14)
    assert not loss.tested
    assert gda.PairLoss(X, y).tested
    assert repr(loss).startswith("PairLoss(3 samples")
    gda.check_objective(loss)
    problem = gda.MetricProblem(loss, gda.GraphMetrics(3.0, 0.1))
    assert gda.solve(problem, tolerance=1e-8).status == "converged"
    with pytest.raises(InvalidInputError, match="Exponential has no CVXPY expression"):
        gda.solve(problem, "sdp")


def test_names_are_functions() -> None:
    labels = np.arange(N) % 2
    for name, other in (
        ("hinge", gda.PairHinge(X, labels, lower=1.0)),
        ("logistic", gda.LogisticPairs(X, labels)),
    ):
        named = gda.PairLoss(X, labels, name, lower=1.0)
        assert named.value(np.eye(K)) == other.value(np.eye(K))
        assert named.auto_trace_bound() == other.auto_trace_bound()


@pytest.mark.parametrize("value", [0.5, 3.0, 1e6])
def test_what_a_function_reaches(value: float) -> None:
    assert SquaredHinge().reach(value) == pytest.approx(np.sqrt(value), rel=1e-12)
    assert SmoothHinge(0.3).reach(value) == pytest.approx(value + 0.15, rel=1e-12)
    for function in (SquaredHinge(), SmoothHinge(0.3), Logistic(), Exponential(20.0)):
        found = function.reach(value)
        assert function(np.array(found))[0] >= value
    with pytest.raises(InvalidInputError, match=r"Exponential does not reach 1e\+06"):
        Exponential(3.0).reach(1e6)
