"""Draw the README's figure: what the alternation learns on wine, and how discs align.

Run ``python experiments/learn_wine.py`` from the top of a checkout; it writes
``figures/learn_wine.png``.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import gdaopt as gda
from gdaopt import plotting
from gdaopt.io import write_atomically
from gdaopt.linalg.eigen import align
from gdaopt.studies.learning import LearningOptions, learn_classes

SHOWN = "class_1"
OUT = Path(__file__).parent.parent / "figures" / "learn_wine.png"


def main() -> None:
    """Learn, draw, write."""
    wine = gda.datasets.load("wine")
    options = LearningOptions()
    results = dict(learn_classes(options.problems(wine), gda.Alternating(solver="HIGHS")))
    metric = results[SHOWN].metric
    v = align(metric, options.min_eigenvalue).v

    figure = Figure(figsize=(13, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.1, 1, 1))
    plotting.convergence(results, ax=left).set_title("each class against the rest")
    plotting.discs(metric, names=wine.feature_names, ax=middle).set_title(f"{SHOWN}: discs of M")
    plotting.discs(metric, v, ax=right).set_title("the same, aligned")
    right.set_yticks([])
    write_atomically(OUT, lambda file: figure.savefig(file, format="png", dpi=120))
    for name, result in results.items():
        print(f"{name}\n{result}")


if __name__ == "__main__":
    main()
