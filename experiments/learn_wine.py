"""Draw the README's figure: what the alternation learns on wine, and how left-ends align.

It also prints how far from the optimum each class ends.
"""

from pathlib import Path

from matplotlib.figure import Figure

import gdaopt as gda
from experiments.pages import Experiment, write_figure
from gdaopt import plotting
from gdaopt.studies.class_problems import ProblemOptions

SHOWN = "class_1"


def run(quick: bool, out: Path) -> None:
    """Learn each class, with `quick` by a few steps, and draw."""
    wine = gda.datasets.load("wine")
    options = ProblemOptions()
    method = gda.methods.Alternating(solver="HIGHS", max_iterations=20 if quick else None)
    results = {name: gda.solve(problem, method) for name, problem in options.problems(wine)}
    shown = results[SHOWN]

    figure = Figure(figsize=(12, 7.6), layout="constrained")
    (above,), (below,) = figure.subfigures(2, 1, squeeze=False, height_ratios=(0.85, 1))
    left, right = above.subplots(1, 2)
    plotting.convergence(results, left, y="objective", relative=True, problems=list(results))
    left.set_title("learning each class against the rest", pad=38)  # above the legend
    plotting.left_ends(shown, ax=right)
    right.set_title(f"{SHOWN}: left-ends of the discs, step by step", pad=38)
    raw, aligned = plotting.discs(shown, names=wine.feature_names, ax=below.subplots(1, 2))
    raw.set_title(f"{SHOWN}: Gershgorin discs of the metric learned")
    aligned.set_title("the same, aligned by its first eigenvector")
    write_figure(out / "learn_wine.png", figure, dpi=120)
    for name, problem in options.problems(wine):
        optimum = gda.solve(problem, "certified").objective
        above = results[name].objective / optimum - 1
        print(f"{name}: {above:.1%} above the optimum {optimum:.8g}\n{results[name]}")


EXPERIMENT = Experiment(
    "the README's figure: wine learned by the alternation", 1, ("learn_wine.png",), run
)
