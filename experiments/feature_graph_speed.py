"""Time feature graph learning against the same algorithm written out with loops.

Run ``python experiments/feature_graph_speed.py`` from the top of a checkout (half a minute); it
prints the table and writes ``figures/feature_graph_speed.md``.
"""

import importlib
import sys
from statistics import median

import numpy as np
from pages import FIGURES, Page, header, here, row, timed

from gdaopt.datasets import load, scale_features
from gdaopt.estimators.baselines.feature_graph import FeatureGraphLearning
from gdaopt.support.validation import FloatArray

REPEATS = 5
PUBLISHED = (1e-3, 1e-5)  # inner tolerances
AT_ONCE = 1e9  # a tolerance that ends everything after one step
SEED = 0


def seconds(learner: FeatureGraphLearning, X: FloatArray, z: FloatArray) -> float:
    """Return the median time of a fit."""
    return median(timed(lambda: learner.fit(X, z))[0] for _ in range(REPEATS))


def main() -> None:
    sys.path.insert(0, str(FIGURES.parent))  # the loops are in its tests, which compare with them
    loops_module = "tests.estimators.baselines.literal_feature_graph"
    literal_fit = importlib.import_module(loops_module).literal_fit
    wine = load("wine")
    chosen = np.random.default_rng(SEED).permutation(len(wine.features))[: len(wine.features) // 2]
    X, z = scale_features(wine.features[chosen], "zscore"), wine.signal("class_0")[chosen]
    n, size = X.shape

    learner = FeatureGraphLearning("K", tolerance=AT_ONCE, inner_tolerance=AT_ONCE)
    ours = seconds(learner, X, z)
    loops, (metric, history) = timed(lambda: literal_fit(X, z, AT_ONCE, AT_ONCE))
    np.testing.assert_allclose(learner.metric_, metric, atol=1e-9)
    page = Page(
        "feature_graph_speed",
        "# Speed of feature graph learning",
        "",
        f"Half of wine, class_0 against the rest, scale zscore, trace bound K: "
        f"N = {n}, K = {size}. *ours*:",
        f"`FeatureGraphLearning`, median of {REPEATS} fits. *loops*: the same written with loops",
        "over samples, pairs and rows,",
        "`tests/estimators/baselines/literal_feature_graph.py`. Both take a step on the",
        "diagonal and one on each row, to the same metric.",
        "",
        here(),
        "",
        *header("steps | ours, ms | loops, ms | loops / ours", words=0),
        row(len(history) - 1, f"{1e3 * ours:.1f}", f"{1e3 * loops:.0f}", f"{loops / ours:.0f}"),
        "",
        "Whole fits, with the published tolerances.",
        "",
        *header("inner tolerance | steps | rounds | seconds", words=0),
    )
    for tolerance in PUBLISHED:
        learner = FeatureGraphLearning("K", inner_tolerance=tolerance)
        time_of_fit = seconds(learner, X, z)
        steps = len(learner.objective_) - 1
        page.add(row(f"{tolerance:g}", steps, learner.n_iter_, f"{time_of_fit:.2f}"))
    page.write()


if __name__ == "__main__":
    main()
