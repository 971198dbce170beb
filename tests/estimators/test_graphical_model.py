"""The graphical models against scikit-learn's conventions, and against what is known of them."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.estimators import LaplacianGraphicalModel, LaplacianGraphicalModelCV
from gdaopt.support.validation import FloatArray


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    [
        LaplacianGraphicalModel(),
        LaplacianGraphicalModelCV(alphas=3, cv=2),
        LaplacianGraphicalModelCV(alphas=3, criterion="ebic"),
    ]
)
def test_scikit_learns_conventions(estimator: Any, check: Any) -> None:
    check(estimator)


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
    assert problem.objective.value(model.precision_) == pytest.approx(
        gda.solve(problem, tolerance=1e-9).objective, abs=1e-7
    )
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


def test_finds_the_chain() -> None:
    X, precision = chain(10, 300)
    model, unpenalised = LaplacianGraphicalModelCV(criterion="ebic"), LaplacianGraphicalModel(0.0)
    model.fit(X), unpenalised.fit(X)
    assert {tuple(edge) for edge in model.graph_.edges.tolist()} >= {(k, k + 1) for k in range(9)}
    assert len(model.graph_.edges) < len(unpenalised.graph_.edges)
    assert model.error_norm(np.linalg.inv(precision)) < 0.2


@pytest.mark.parametrize("criterion", ["likelihood", "ebic"])
def test_the_choice_of_alpha(criterion: str) -> None:
    X, _ = chain(6, 40)
    model = LaplacianGraphicalModelCV([0.01, 0.3, 0.1], criterion=criterion, cv=3).fit(X)
    results = model.cv_results_
    np.testing.assert_array_equal(results["alphas"], [0.3, 0.1, 0.01])
    if criterion == "likelihood":
        search = GridSearchCV(LaplacianGraphicalModel(), {"alpha": results["alphas"]}, cv=3).fit(X)
        np.testing.assert_allclose(
            results["mean_test_score"], search.cv_results_["mean_test_score"], rtol=1e-5
        )
        assert model.alpha_ == search.best_params_["alpha"]
    else:
        assert model.alpha_ == results["alphas"][results["ebic"].argmin()]
        edges, price = len(model.graph_.edges), np.log(40) + 2 * np.log(6)
        expected = -2 * 40 * model.score(X) + edges * price
        assert results["ebic"].min() == pytest.approx(expected, rel=1e-5)
    single = LaplacianGraphicalModel(model.alpha_).fit(X)
    np.testing.assert_allclose(model.precision_, single.precision_, atol=1e-3)


def test_names_of_features_and_masks() -> None:
    X, _ = chain(4, 30)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = LaplacianGraphicalModel(0.0, edges=[(0, 1), (2, 3)]).fit(frame)
    assert {name for *pair, _ in model.graph_.named_edges() for name in pair} == {*"abcd"}
    assert (model.precision_[:2, 2:] == 0).all()


def test_precomputed_covariances() -> None:
    X, _ = chain(5, 30)
    S = np.cov(X.T, bias=True)
    given = LaplacianGraphicalModel(covariance="precomputed").fit(S)
    np.testing.assert_allclose(given.precision_, LaplacianGraphicalModel().fit(X).precision_)


def test_few_samples() -> None:
    """A maximum exists, though S is singular."""
    X, _ = chain(30, 6)
    model = LaplacianGraphicalModel(0.0).fit(X)
    assert model.result_.status == "converged"
    assert np.linalg.eigvalsh(model.precision_)[0] > 0


@pytest.mark.parametrize(
    "model",
    [LaplacianGraphicalModel(1e-3, max_iter=1), LaplacianGraphicalModelCV([1e-3], max_iter=1)],
)
def test_a_fit_that_ends_too_early_warns_its_caller(model: Any) -> None:
    with pytest.warns(ConvergenceWarning, match=r"allowed is 1e-05 \(iteration_limit") as caught:
        model.fit(chain(10, 30)[0])
    assert [warning.filename for warning in caught] == [__file__]
    assert model.result_.gap > 1e-5


def test_pickles() -> None:
    model = LaplacianGraphicalModel().fit(chain(5, 30)[0])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.precision_, model.precision_)
    assert again.result_ == model.result_
    assert clone(model).get_params() == model.get_params()


X_TWICE = np.column_stack([np.arange(5.0), np.arange(5.0), [1.0, 0.0, 2.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("options", "X", "says"),
    [
        ({"covariance": "precomputed"}, [[1.0, 0.5], [0.4, 1.0]], "is not symmetric"),
        ({"alpha": 0.0}, X_TWICE, "no maximum .* features 0 and 1 are perfectly correlated"),
        ({"alpha": 0.0}, X_TWICE * [1, 0, 1], "no maximum .* feature 1 has no variance"),
        ({"weights": -np.ones((3, 3))}, X_TWICE, "weights must not be negative, the least is -1"),
        ({"weights": np.ones((2, 2))}, X_TWICE, "weights .*3"),
        ({"edges": np.ones((4, 4), dtype=bool)}, X_TWICE, "edges .* 4 .* 3"),
        ({"edges": [(0, 5)]}, X_TWICE, "5"),
        ({"alpha": -1.0}, X_TWICE, "alpha"),
    ],
)
def test_bad_input(options: dict[str, Any], X: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        LaplacianGraphicalModel(**options).fit(X)
    if "alpha" not in options or options["alpha"] >= 0:
        assert isinstance(caught.value, InvalidInputError)
