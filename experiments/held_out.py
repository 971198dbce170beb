"""Compare precision matrices by the likelihood of samples that they have not seen.

`gda.LaplacianGraphicalModelCV` and scikit-learn's `GraphicalLassoCV` choose their penalty by five
folds of the training samples, both with their defaults. Each data set is divided at random five
times, 60 % for training, in z-scores by the training samples; features that are constant there are
left out. The synthetic samples are Gaussian: a tree and a grid of ``experiments/precision.py``,
whose partial correlations are positive, and a chain whose neighbours have partial correlations of
both signs, as the edges of a graph metric have not.
"""

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import sem
from sklearn.covariance import EmpiricalCovariance, GraphicalLassoCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.model_selection import ShuffleSplit
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from experiments.pages import Experiment, MeasuredRow, MeasuredRows, Page, header, row, wrap
from experiments.precision import Case
from gdaopt.support.validation import FloatArray

DIVISIONS = 5
MODELS: dict[str, Callable[[], Any]] = {
    "maximum likelihood": EmpiricalCovariance,
    "GraphicalLassoCV": GraphicalLassoCV,
    "LaplacianGraphicalModelCV": gda.LaplacianGraphicalModelCV,
}


def graph_samples(graph: str, n_features: int, times_k: float) -> FloatArray:
    """Return samples of a tree or a grid."""
    return Case(graph, n_features, times_k, "").data()[0]


def chain_samples(n_features: int, n_samples: int) -> FloatArray:
    """Return samples of a chain, every second of whose partial correlations is negative."""
    along = np.arange(n_features - 1)
    precision = np.eye(n_features)
    precision[along, along + 1] = precision[along + 1, along] = 0.45 * (-1.0) ** along
    noise = np.random.default_rng(0).standard_normal((n_samples, n_features))
    return np.linalg.solve(np.linalg.cholesky(precision).T, noise.T).T


SAMPLES: dict[str, Callable[[], Any]] = {
    "iris": lambda: load_iris().data,
    "wine": lambda: load_wine().data,
    "breast cancer": lambda: load_breast_cancer().data,
    "diabetes": lambda: load_diabetes().data,
    "digits": lambda: load_digits().data,
    "tree, K = 50, N = 100": partial(graph_samples, "tree", 50, 2.0),
    "tree, K = 100, N = 1000": partial(graph_samples, "tree", 100, 10.0),
    "grid, K = 49, N = 100": partial(graph_samples, "grid", 49, 100 / 49),
    "grid, K = 100, N = 1000": partial(graph_samples, "grid", 100, 10.0),
    "chain of both signs, K = 30, N = 300": partial(chain_samples, 30, 300),
}


def measure(X: FloatArray) -> MeasuredRow:
    """Return held-out likelihoods, seconds, edges and warnings of each model in each division."""
    measured: MeasuredRow = {name: [] for name in MODELS}
    for train, test in ShuffleSplit(DIVISIONS, train_size=0.6, random_state=0).split(X):
        varies = X[train].std(axis=0) > 0
        scaler = StandardScaler().fit(X[train][:, varies])
        samples, others = (scaler.transform(X[part][:, varies]) for part in (train, test))
        for name, make in MODELS.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                start = time.process_time()
                model = make().fit(samples)
                seconds = time.process_time() - start
                edges = int(np.count_nonzero(np.triu(model.precision_, 1)))
                likelihood = float(model.score(others))
            measured[name].append([likelihood, seconds, edges, len(caught)])
    return measured


def lines_of(rows: list[MeasuredRow]) -> list[str]:
    """Return the table, and what it amounts to."""
    lines = header(
        "data | K | maximum likelihood | GraphicalLassoCV | LaplacianGraphicalModelCV | difference "
        "| time / GraphicalLassoCV | edges | of GraphicalLassoCV | its warnings"
    )
    wins, ratios = 0, []
    for each in rows:
        plain, lasso, ours = (np.array(each[name]) for name in MODELS)
        gain = ours[:, 0] - lasso[:, 0]
        ratios.append(np.median(ours[:, 1] / lasso[:, 1]))
        wins += gain.mean() > 0
        lines.append(
            row(
                each["data"],
                each["features"],
                *(f"{model[:, 0].mean():.4g}" for model in (plain, lasso, ours)),
                f"{gain.mean():+.3f} ± {sem(gain):.3f}",
                f"{ratios[-1]:.2f}",
                *(f"{np.median(model[:, 2]):.0f}" for model in (ours, lasso)),
                int(lasso[:, 3].sum()),
            )
        )
    warned = sum(np.array(each["LaplacianGraphicalModelCV"])[:, 3].sum() for each in rows)
    return [
        *lines,
        "",
        *wrap(
            f"`LaplacianGraphicalModelCV` has the larger held-out likelihood on {wins} of "
            f"{len(rows)} sets, in {np.median(ratios):.2f} of the time of `GraphicalLassoCV` "
            f"(median), and warns {warned:.0f} times."
        ),
    ]


def run(quick: bool, out: Path) -> None:
    """Measure what is missing, with `quick` the smallest set, and write the page."""
    measured = MeasuredRows(out / "held_out.jsonl")
    names = ["iris"] if quick else list(SAMPLES)
    rows = []
    for name in names:
        X: Any = SAMPLES[name]()
        rows.append(measured.get_or_measure(partial(measure, X), data=name, features=X.shape[1]))
    page = Page(
        out,
        "held_out",
        "Precision matrices by the likelihood of held-out samples",
        "Mean log-likelihood of a held-out sample, over five random divisions, and the difference "
        "of LaplacianGraphicalModelCV and GraphicalLassoCV ± its standard error over these; "
        "processor time as a ratio within one run, one thread; edges: the median.",
    )
    page.add(*(__doc__ or "").split("\n\n", 1)[1].split("\n"))
    page.add(*lines_of(rows))
    page.write()


EXPERIMENT = Experiment(
    "precision matrices beside scikit-learn's, by the likelihood of held-out samples",
    minutes=4,
    files=("held_out.md",),
    run=run,
)
