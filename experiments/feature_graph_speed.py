"""Time feature graph learning against the same algorithm written out with loops.

Run ``python experiments/feature_graph_speed.py`` from the top of a checkout (half a minute); it
prints the table and writes ``figures/feature_graph_speed.md``.
"""

from __future__ import annotations

import importlib
import platform
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np

import gdaopt as gda
from gdaopt.datasets import load, scale_features
from gdaopt.estimators.baselines.feature_graph import FeatureGraphLearning
from gdaopt.support.files import write_text
from gdaopt.support.validation import FloatArray

ROOT = Path(__file__).parent.parent
OUT = ROOT / "figures" / "feature_graph_speed.md"
REPEATS = 5
PUBLISHED = (1e-3, 1e-5)  # inner tolerances
AT_ONCE = 1e9  # a tolerance that ends everything after one step
SEED = 0


def seconds(learner: FeatureGraphLearning, X: FloatArray, z: FloatArray) -> float:
    """Return the median time of a fit."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        learner.fit(X, z)
        times.append(time.perf_counter() - start)
    return median(times)


def main() -> None:
    """Measure, print, write."""
    sys.path.insert(0, str(ROOT))  # the loops are in its tests, which compare with them
    loops_module = "tests.estimators.baselines.literal_feature_graph"
    literal_fit = importlib.import_module(loops_module).literal_fit
    wine = load("wine")
    chosen = np.random.default_rng(SEED).permutation(len(wine.features))[: len(wine.features) // 2]
    X, z = scale_features(wine.features[chosen], "zscore"), wine.signal("class_0")[chosen]
    n, size = X.shape

    learner = FeatureGraphLearning("K", tolerance=AT_ONCE, inner_tolerance=AT_ONCE)
    ours = seconds(learner, X, z)
    start = time.perf_counter()
    metric, history = literal_fit(X, z, AT_ONCE, AT_ONCE)
    loops = time.perf_counter() - start
    np.testing.assert_allclose(learner.metric_, metric, atol=1e-9)
    lines = [
        "# Speed of feature graph learning",
        "",
        f"Half of wine, class_0 against the rest, scale zscore, trace bound K: "
        f"N = {n}, K = {size}. *ours*:",
        f"`FeatureGraphLearning`, median of {REPEATS} fits. *loops*: the same written with loops",
        "over samples, pairs and rows,",
        "`tests/estimators/baselines/literal_feature_graph.py`. Both take a step on the",
        "diagonal and one on each row, to the same metric.",
        "",
        f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}, "
        f"gdaopt {gda.__version__}.",
        "",
        "| steps | ours, ms | loops, ms | loops / ours |",
        "|--:|--:|--:|--:|",
        f"| {len(history) - 1} | {1e3 * ours:.1f} | {1e3 * loops:.0f} | {loops / ours:.0f} |",
        "",
        "Whole fits, with the published tolerances.",
        "",
        "| inner tolerance | steps | rounds | seconds |",
        "|--:|--:|--:|--:|",
    ]
    for tolerance in PUBLISHED:
        learner = FeatureGraphLearning("K", inner_tolerance=tolerance)
        time_of_fit = seconds(learner, X, z)
        steps = len(learner.objective_) - 1
        lines.append(f"| {tolerance:g} | {steps} | {learner.n_iter_} | {time_of_fit:.2f} |")
    text = "\n".join(lines) + "\n"
    print(text)
    write_text(OUT, text)


if __name__ == "__main__":
    main()
