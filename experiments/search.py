"""What the search finds in noise, and what it costs beside one fit of others.

**The rule of `MetricLearnerCV`, stated before it was measured here.** Candidates are MCML and
neighbourhood components, with their automatic trace bounds and 4 times these. On each of two folds
they learn from at most 400 samples, and each held-out sample has the share of its 5 nearest
neighbours, among all training samples of the fold, that are of its class. After a fold each
objective goes on with its best bound alone, and leaves if that is more than half a paired standard
error behind the best candidate. At the end no learning is the choice, unless the largest t of the
candidates' gains over it is exceeded by that of fewer than 5 % of 400 bootstraps of the samples
(max-t). ``experiments/learner_families.py`` has chosen these numbers.

The noise has normal features and random labels of equal classes; all samples are learned from.
Times are CPU seconds of one thread, medians over three divisions, 60 % for training, in z-scores.
Accuracy is that of 5 nearest neighbours on the rest.
"""

import time
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import sem
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from experiments.learners.data import labelled_samples
from experiments.others_data import SETS
from experiments.pages import Experiment, MeasuredRow, MeasuredRows, Page, header, row
from experiments.signed import data_sets
from gdaopt.support.validation import FloatArray

SHAPES = ((100, 20, 2), (100, 4, 2), (60, 5, 2), (1000, 30, 2), (300, 10, 3))
SEEDS, DIVISIONS = 50, 3
OWN = (
    *("iris", "wine", "seeds", "breast_cancer", "digits", "page_blocks"),
    *("noise_2", "noise_5", "correlated_2"),
)
LEARNERS = {
    "none": None,
    "NCA": partial(NeighborhoodComponentsAnalysis, random_state=0),
    "default": gda.MetricLearner,
    "search": gda.MetricLearnerCV,
}


def pure_noise(shape: tuple[int, int, int], seed: int) -> tuple[FloatArray, Any]:
    """Return normal features, and labels that have nothing to do with them."""
    n_samples, n_features, n_classes = shape
    X = np.random.default_rng(seed).standard_normal((n_samples, n_features))
    y = np.random.default_rng(10_000 + seed).permutation(np.arange(n_samples) % n_classes)
    return X, y


def noise(shape: tuple[int, int, int], seed: int) -> MeasuredRow:
    """Return what the search chooses where there is nothing to find."""
    X, y = pure_noise(shape, seed)
    start = time.process_time()
    search = gda.MetricLearnerCV().fit(X, y)
    return {"chosen": search.objective_, "seconds": time.process_time() - start}


def divisions(X: FloatArray, y: Any) -> MeasuredRow:
    """Return seconds and accuracy of each learner in each division."""
    measured: MeasuredRow = {name: [] for name in LEARNERS} | {"chosen": []}
    splits = StratifiedShuffleSplit(DIVISIONS, train_size=0.6, random_state=0)
    for (train, test), (name, make) in product(splits.split(X, y), LEARNERS.items()):
        scaler = StandardScaler().fit(X[train])
        samples, queries = scaler.transform(X[train]), scaler.transform(X[test])
        start = time.process_time()
        if make is not None:
            learner = make().fit(samples, y[train])
            samples, queries = learner.transform(samples), learner.transform(queries)
        seconds = time.process_time() - start
        right = KNeighborsClassifier(5).fit(samples, y[train]).score(queries, y[test])
        measured[name].append([seconds, 100 * right])
        if name == "search":
            measured["chosen"].append(learner.objective_)
    return measured


def lines_of(of_noise: list[MeasuredRow], of_data: list[MeasuredRow]) -> Iterator[str]:
    """Yield the lines of the tables."""
    yield from [
        "## Noise",
        "",
        *header("samples | features | classes | searches | learners chosen"),
    ]
    for shape in dict.fromkeys(tuple(each["shape"]) for each in of_noise):
        chosen = [each["chosen"] != "none" for each in of_noise if tuple(each["shape"]) == shape]
        yield row(*shape, len(chosen), sum(chosen))
    share = np.mean([each["chosen"] != "none" for each in of_noise])
    yield from ["", f"In all {share:.1%} of {len(of_noise)} searches choose a learner.", ""]
    yield from ["## Times and accuracy", ""]
    yield from header(
        "data | NCA, s | search / NCA | / default | none, % | NCA | default | search | chosen"
    )
    ratios, gains = [], []
    for each in of_data:
        seconds, right = np.moveaxis(np.array([each[name] for name in LEARNERS]), 2, 0)
        taken = np.median(seconds, axis=1)
        ratios.append([taken[1], taken[3] / taken[1], taken[3] / taken[2]])
        gains.append(right[3] - right)
        cells = [each["data"], f"{taken[1]:.3g}", *(f"{ratio:.1f}" for ratio in ratios[-1][1:])]
        yield row(
            *cells, *(f"{mean:.1f}" for mean in right.mean(axis=1)), ", ".join(each["chosen"])
        )
    table = np.array(ratios)
    is_long = table[:, 0] >= 0.025
    yield ""
    for what, some in (("of at least 25 ms", is_long), ("of less", ~is_long)):
        if some.any():
            of_nca = table[some, 1]
            yield f"* NCA {what}: median {np.median(of_nca):.1f}, largest {of_nca.max():.1f}."
    times = table[:, 2]
    yield f"* search / default: median {np.median(times):.1f}, largest {times.max():.1f}."
    for place, name in enumerate(list(LEARNERS)[:3]):
        of_sets = np.array(gains)[:, place].mean(axis=1)
        yield f"* accuracy above {name}: {of_sets.mean():+.2f} ± {sem(of_sets):.2f} points."


def run(quick: bool, out: Path) -> None:
    """Measure what is missing, and write the page."""
    measured = MeasuredRows(out / "search.jsonl")
    shapes, seeds = (SHAPES[1:3], 2) if quick else (SHAPES, SEEDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of metrics that are as without learning
        of_noise = [
            measured.get_or_measure(partial(noise, shape, seed), shape=list(shape), seed=seed)
            for shape, seed in product(shapes, range(seeds))
        ]
        if quick:
            X, y = load_breast_cancer(return_X_y=True)
            samples = {"WDBC": (X[:100], y[:100])}
        else:
            samples = {name: (X, y) for name, X, y in data_sets() if name in SETS}
            samples |= {name: labelled_samples(name) for name in OWN}
        of_data = [
            measured.get_or_measure(partial(divisions, X, y), data=name)
            for name, (X, y) in samples.items()
        ]
    page = Page(
        out,
        "search",
        "The search: structure in noise, and its price",
        "What `MetricLearnerCV` with all defaults chooses in noise, and what it costs beside "
        "scikit-learn's NCA and the default learner.",
    )
    page.add(*(__doc__ or "").split("\n\n", 1)[1].split("\n"))
    page.add(*lines_of(of_noise, of_data))
    page.write()


EXPERIMENT = Experiment(
    "what the search finds in noise, and its price beside one fit of others",
    minutes=15,
    files=("search.md",),
    run=run,
)
