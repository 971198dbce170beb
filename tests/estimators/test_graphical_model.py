"""The graphical models against scikit-learn's conventions, and against what is known of them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import EmpiricalCovariance
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.estimators import LaplacianGraphicalModel, LaplacianGraphicalModelCV
from gdaopt.estimators.likelihood import most_likely_metric
from gdaopt.sets import EdgeMask
from gdaopt.support.validation import FloatArray
from tests import digits


def chain(size: int, n_samples: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Return samples of a Gaussian chain, and its precision."""
    precision = 2.2 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1)
    rng = np.random.default_rng(seed)
    mean = np.arange(size, dtype=float)
    return rng.multivariate_normal(mean, np.linalg.inv(precision), n_samples), precision


@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_the_optimum(alpha: float) -> None:
    X, _ = chain(8, 60)
    weights = np.random.default_rng(1).random((8, 8))
    weights += weights.T
    model = LaplacianGraphicalModel(alpha, weights=weights, tol=1e-9).fit(X)
    S = np.cov(X.T, bias=True)
    off_diagonal = weights - np.diag(np.diagonal(weights))
    problem = gda.MetricProblem(gda.LogDet(S - alpha * off_diagonal), gda.GraphMetrics(1e4, 0.0))
    optimum = gda.solve(problem, tolerance=1e-9).objective
    assert problem.objective.value(model.precision_) == pytest.approx(optimum, abs=1e-7)
    assert model.result_.gap <= 8e-9
    np.testing.assert_allclose(model.covariance_ @ model.precision_, np.eye(8), atol=1e-8)
    np.testing.assert_allclose(model.location_, X.mean(axis=0))


def test_scores_are_those_of_scikit_learn() -> None:
    X, _ = chain(6, 50)
    model = LaplacianGraphicalModel().fit(X)
    reference = EmpiricalCovariance()
    reference.location_, reference.covariance_ = model.location_, model.covariance_
    reference.precision_, reference.n_features_in_ = model.precision_, 6
    assert model.score(X) == pytest.approx(reference.score(X))
    np.testing.assert_allclose(model.mahalanobis(X), reference.mahalanobis(X))
    assert model.error_norm(np.eye(6)) == pytest.approx(reference.error_norm(np.eye(6)))


@pytest.mark.parametrize("criterion", ["likelihood", "ebic"])
def test_the_choice_of_alpha(criterion: str) -> None:
    X, _ = chain(6, 40)
    model = LaplacianGraphicalModelCV([0.01, 0.3, 0.1], criterion=criterion, cv=3).fit(X)
    results = model.cv_results_
    np.testing.assert_array_equal(results["alphas"], [0.3, 0.1, 0.01])
    if criterion == "likelihood":
        search = GridSearchCV(LaplacianGraphicalModel(), {"alpha": results["alphas"]}, cv=3).fit(X)
        scores = search.cv_results_["mean_test_score"]
        np.testing.assert_allclose(results["mean_test_score"], scores, rtol=1e-5)
        assert model.alpha_ == search.best_params_["alpha"]
    else:
        assert model.alpha_ == results["alphas"][results["ebic"].argmin()]
        edges, price = len(model.graph_.edges), np.log(40) + 2 * np.log(6)
        expected = -2 * 40 * model.score(X) + edges * price
        assert results["ebic"].min() == pytest.approx(expected, rel=1e-5)
    single = LaplacianGraphicalModel(model.alpha_).fit(X)
    np.testing.assert_allclose(model.precision_, single.precision_, atol=1e-3)


def test_names_masks_covariances_and_few_samples() -> None:
    X, _ = chain(4, 30)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = LaplacianGraphicalModel(0.0, edges=[(0, 1), (2, 3)]).fit(frame)
    assert {name for *pair, _ in model.graph_.named_edges() for name in pair} == {*"abcd"}
    assert (model.precision_[:2, 2:] == 0).all()
    by_names = LaplacianGraphicalModel(0.0, edges=[("a", "b"), ("c", "d")]).fit(frame)
    np.testing.assert_array_equal(by_names.precision_, model.precision_)
    given = LaplacianGraphicalModel(covariance="precomputed").fit(np.cov(X.T, bias=True))
    np.testing.assert_allclose(given.precision_, LaplacianGraphicalModel().fit(X).precision_)
    few = LaplacianGraphicalModel(0.0).fit(chain(30, 6)[0])  # S is singular; a maximum exists
    assert few.result_.status == "converged"
    assert np.linalg.eigvalsh(few.precision_)[0] > 0


@pytest.mark.parametrize(
    "model",
    [LaplacianGraphicalModel(1e-3, max_iter=1), LaplacianGraphicalModelCV([1e-3], max_iter=1)],
)
def test_a_fit_that_ends_too_early_warns_its_caller(model: Any) -> None:
    with pytest.warns(ConvergenceWarning, match=r"allowed is 1e-05 \(iteration_limit") as caught:
        model.fit(chain(10, 30)[0])
    assert [warning.filename for warning in caught] == [__file__]
    assert model.result_.gap > 1e-5


# --- Blocks and bridges against the whole problem in one piece -----------------------------------


def penalised(seed: int, size: int, alpha: float) -> FloatArray:
    """Return the covariance of a few samples, less a penalty."""
    rng = np.random.default_rng(seed)
    mixed = np.eye(size) + 0.6 * np.eye(size, k=1) + 0.3 * (rng.random((size, size)) < 0.05)
    samples = rng.standard_normal((3 * size, size)) @ mixed
    covariance: FloatArray = np.cov(samples.T, bias=True)
    covariance[~np.eye(size, dtype=bool)] -= alpha
    return covariance


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("is_masked", [False, True])
def test_pieces_make_the_whole(seed: int, alpha: float, is_masked: bool) -> None:
    size = 12
    S = penalised(seed, size, alpha)
    allowed = np.random.default_rng(seed).random((size, size)) < 0.6
    mask = EdgeMask.of(allowed | allowed.T) if is_masked else None
    found = most_likely_metric(S, mask, tolerance=1e-13)
    log_det = gda.LogDet(S)
    problem = gda.MetricProblem(log_det, gda.GraphMetrics(1e5, 0.0, edges=mask))
    whole = gda.solve(problem, "projected-newton", tolerance=1e-13)
    np.testing.assert_allclose(found.result.metric, whole.metric, atol=1e-6)
    assert log_det.value(found.result.metric) == pytest.approx(whole.objective, abs=1e-9)
    assert found.result.objective == pytest.approx(whole.objective, abs=1e-9)
    assert found.result.gap is not None
    assert 0 <= found.result.gap < 1e-9
    np.testing.assert_allclose(found.covariance, np.linalg.inv(found.result.metric), atol=1e-7)
    np.testing.assert_allclose(np.diagonal(found.covariance), np.diagonal(S), rtol=1e-7)


def test_the_pieces_are_small() -> None:
    counts = [most_likely_metric(penalised(0, 30, alpha)) for alpha in (0.0, 0.6, 10.0)]
    assert [found.n_blocks for found in counts] == sorted(found.n_blocks for found in counts)
    assert counts[0].largest_block > counts[1].largest_block > counts[2].largest_block == 1
    masked = most_likely_metric(penalised(0, 30, 1.2), EdgeMask.of(np.ones((30, 30), dtype=bool)))
    assert masked.n_blocks == 30
    assert counts[2].result.components == counts[2].n_blocks == 30


def test_a_forest_needs_no_steps() -> None:
    S = penalised(2, 10, 0.0)
    forest = EdgeMask.of([(k, k + 1) for k in range(9)])
    found = most_likely_metric(S, forest)
    assert (found.n_blocks, found.result.iterations) == (10, 0)
    assert found.result.gap is not None
    assert found.result.gap < 1e-12


def test_limits_and_no_optimum() -> None:
    found = most_likely_metric(penalised(3, 20, 0.0), max_iterations=2)
    assert (found.result.status, found.result.iterations) == ("iteration_limit", 2)
    S = penalised(0, 4, 0.0)[np.ix_([0, 0, 1, 2, 3], [0, 0, 1, 2, 3])]
    with pytest.raises(InvalidInputError, match="features 0 and 1 are perfectly correlated"):
        most_likely_metric(S)


# --- Against 50 digits -------------------------------------------------------------------------


TWINS = [[0.3, 0.7141428428542829], [0.7141428428542829, 1.7]]  # 1 - r² is 5.9e-15


def test_twins() -> None:
    model = LaplacianGraphicalModel(0.0, covariance="precomputed")
    with pytest.warns(
        ConvergenceWarning, match=r"stalled.*; features 0 and 1 are the most similar"
    ):
        model.fit(TWINS)
    S, result = np.array(TWINS), model.result_
    optimum, value = digits.optimum_of_forest(S, [(0, 1)]), digits.likelihood(S, model.precision_)
    assert optimum - 1e-13 < result.lower_bound <= optimum
    assert value <= result.objective <= value + 0.05
    np.testing.assert_array_equal(model.covariance_, S)


@pytest.mark.parametrize("unit", [1.0, 1e100])
@pytest.mark.parametrize("digit", [2, 8, 12, 14])
def test_a_path_of_nearly_equal_features(digit: int, unit: float) -> None:
    """The gap is of second order in the round-off of the metric."""
    rng, size = np.random.default_rng(digit), 5
    roots = rng.uniform(0.5, 2, size) * [1, unit, 1, 1 / unit, 1]
    S, edges = np.diag(roots**2), [(k, k + 1) for k in range(size - 1)]
    for i, j in edges:
        S[i, j] = S[j, i] = (1 - 10.0**-digit) * roots[i] * roots[j]
    found = most_likely_metric(S, EdgeMask.of(edges))
    optimum, value = digits.optimum_of_forest(S, edges), digits.likelihood(S, found.result.metric)
    assert found.result.lower_bound is not None
    assert optimum - 1e-11 < found.result.lower_bound <= optimum <= value
    assert -1e-11 <= found.result.objective - value <= 3 * (value - optimum) + 1e-11
    assert found.result.gap is not None
    assert found.result.gap <= (300 * 10.0 ** (digit - 16)) ** 2 + 1e-11
    assert (found.result.status == "converged") is (found.result.gap <= size * 1e-6)
    np.testing.assert_allclose(np.diagonal(found.covariance), np.diagonal(S), rtol=1e-15)
    np.testing.assert_allclose(found.covariance[tuple(np.transpose(edges))], np.diag(S, 1), 1e-15)


def two_triangles(entry: float) -> FloatArray:
    """Return the covariance of two blocks that a bridge joins."""
    S = np.full((6, 6), -0.01)
    S[:3, :3] = S[3:, 3:] = 0.4 * np.ones((3, 3)) + np.diag([0.6, 0.6, 0.6])
    S[0, 1] = S[1, 0] = 0.5
    S[2, 3] = S[3, 2] = entry
    return S


@pytest.mark.parametrize("rest", [1e-2, 1e-6, 1e-10])
@pytest.mark.parametrize("max_iterations", [0, 1, 2, None])
def test_blocks_that_are_not_exact_joined_across_nearly_equal_features(
    max_iterations: int | None, rest: float
) -> None:
    """Also where their inverse is ten times as large as the covariance, as it is at the start."""
    S = two_triangles(1 - rest / 2)
    found, best = (
        most_likely_metric(S, tolerance=1e-9, max_iterations=most, initial=np.eye(6) / 10)
        for most in (max_iterations, None)
    )
    value, optimum = (digits.likelihood(S, each.result.metric) for each in (found, best))
    assert found.result.lower_bound is not None
    assert found.result.lower_bound <= optimum <= value
    assert found.result.objective == pytest.approx(float(value), abs=1e-9)
    assert (found.result.status == "converged") is (max_iterations is None)
    product = found.covariance @ found.result.metric
    np.testing.assert_allclose(product, np.eye(6), atol=1e-14 / rest)


def test_only_pairs_of_a_block_that_may_have_an_edge_count() -> None:
    """Features 3 and 5 are the same, which a mask without their edge does not mind."""
    S = two_triangles(0.2)[:, [0, 1, 2, 3, 4, 3]][[0, 1, 2, 3, 4, 3]]
    S[5, :3] = S[:3, 5] = -0.01
    edges = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5)]
    with pytest.raises(InvalidInputError, match="features 3 and 5 are perfectly correlated"):
        most_likely_metric(S)
    S[4, 5] = S[5, 4] = 0.3
    with pytest.raises(InvalidInputError, match="features 3 and 5 are perfectly correlated"):
        most_likely_metric(S, EdgeMask.of([*edges, (3, 5)]))
    assert most_likely_metric(S, EdgeMask.of(edges)).result.status == "converged"


@pytest.mark.parametrize("variance", [1e-300, 1e-309])
def test_variances_that_are_too_small_to_have_an_inverse(variance: float) -> None:
    S = variance * np.array([[1.0, 1 - 1e-13], [1 - 1e-13, 1.0]])
    with pytest.raises(InvalidInputError):
        most_likely_metric(S)
