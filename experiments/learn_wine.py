"""Draw the README's figure: what the alternation learns on wine, and how left-ends align.

Run ``python experiments/learn_wine.py`` from the top of a checkout; it writes
``figures/learn_wine.png`` and prints how far from the optimum it ends.
"""

from pathlib import Path

from matplotlib.figure import Figure

import gdaopt as gda
from gdaopt import plotting
from gdaopt.studies.learning import LearningOptions
from gdaopt.support.files import write_atomically

SHOWN = "class_1"
OUT = Path(__file__).parent.parent / "figures" / "learn_wine.png"


def main() -> None:
    wine = gda.datasets.load("wine")
    options = LearningOptions()
    method = gda.methods.Alternating(solver="HIGHS")
    results = {name: gda.solve(problem, method) for name, problem in options.problems(wine)}
    shown = results[SHOWN]

    figure = Figure(figsize=(12, 7.6), layout="constrained")
    (above,), (below,) = figure.subfigures(2, 1, squeeze=False, height_ratios=(0.85, 1))
    left, right = above.subplots(1, 2)
    plotting.convergence(results, left, y="objective", relative=True, problems=list(results))
    left.set_title("learning each class against the rest", pad=22)  # above the legend
    plotting.left_ends(shown, ax=right)
    right.set_title(f"{SHOWN}: left-ends of the discs, step by step", pad=22)
    raw, aligned = plotting.discs(shown, names=wine.feature_names, ax=below.subplots(1, 2))
    raw.set_title(f"{SHOWN}: Gershgorin discs of the metric learned")
    aligned.set_title("the same, aligned by its first eigenvector")
    write_atomically(OUT, lambda file: figure.savefig(file, format="png", dpi=120))
    for name, problem in options.problems(wine):
        optimum = gda.solve(problem, "certified").objective
        above = results[name].objective / optimum - 1
        print(f"{name}: {above:.1%} above the optimum {optimum:.8g}\n{results[name]}")


if __name__ == "__main__":
    main()
