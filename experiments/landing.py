"""Draw the first picture of the documentation, and the logo: discs, aligned, in the half disc."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

import gdaopt as gda
from experiments.notebooks.half_disc import (
    BEST,
    SHADE,
    TRIANGLE,
    draw_half_disc,
    metric_at,
    point_of,
)
from experiments.pages import Experiment, write_figure
from gdaopt.support.files import write_text
from gdaopt.support.validation import FloatArray

RHO, C = 0.1, 2.0
METRIC = metric_at(0.3, 0.64, C)
COLOURS = ("#0072B2", "#009E73")

LOGO = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">
  <path d="M14 4v56" stroke="#D55E00" stroke-width="4"/>
  <circle cx="38" cy="32" r="24" fill="#0072B244" stroke="#0072B2" stroke-width="4"/>
  <circle cx="27" cy="32" r="13" fill="#009E7355" stroke="#009E73" stroke-width="4"/>
</svg>
"""


def draw_circles(ax: Axes, v: FloatArray) -> None:
    """Draw the discs of the metric under a scaling, as circles in the complex plane."""
    ends = gda.linalg.left_ends(METRIC, v)
    for number, (centre, end, colour) in enumerate(
        zip(np.diag(METRIC), ends, COLOURS, strict=True), start=1
    ):
        ax.add_patch(
            Circle((centre, 0), centre - end, facecolor=f"{colour}33", edgecolor=colour, lw=1.8)
        )
        ax.plot([end], [0], "o", color=colour, label=f"left-end of feature {number}: {end:.2f}")
    ax.plot(np.linalg.eigvalsh(METRIC), [0, 0], "x", color="black", ms=9, mew=2, label="eigenvalue")
    ax.axvline(RHO, color=BEST, ls="--", lw=1.4, label=f"ρ = {RHO:g}")
    ax.set(xlim=(-0.15, 2.45), ylim=(-1.1, 1.1), aspect="equal", yticks=[])


def draw_metrics(ax: Axes, ratio: float) -> None:
    """Draw the metric in the half disc, and the triangle of its own scaling."""
    draw_half_disc(ax, C / 2 - RHO, [ratio])
    ax.plot(*point_of(METRIC), "s", color="black", label="the metric")
    for colour, edge, label in (
        (SHADE, "black", r"all metrics with $\lambda_{\min} \geq \rho$"),
        (f"{TRIANGLE}26", TRIANGLE, r"those with $M v \geq \rho v$"),
    ):
        ax.fill([], [], facecolor=colour, edgecolor=edge, label=label)


def run(_quick: bool, out: Path) -> None:
    """Draw the three pictures, and the logo."""
    v = gda.linalg.align(METRIC).v
    pictures: dict[str, Callable[[Axes], None]] = {
        "discs": partial(draw_circles, v=np.ones(2)),
        "aligned": partial(draw_circles, v=v),
        "half_disc": partial(draw_metrics, ratio=v[1] / v[0]),
    }
    for name, draw in pictures.items():
        figure = Figure(figsize=(4.6, 5), layout="constrained")
        ax = figure.subplots()
        draw(ax)
        figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", frameon=False)
        write_figure(out / f"landing_{name}.png", figure)
    write_text(out / "logo.svg", LOGO)


EXPERIMENT = Experiment(
    "the first pictures of the documentation, and its logo",
    0.1,
    ("landing_discs.png", "landing_aligned.png", "landing_half_disc.png", "logo.svg"),
    run,
)
