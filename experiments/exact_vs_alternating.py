"""Measure on real data how far from the optimum the aligned methods stop."""

from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.figure import Figure

import gdaopt as gda
from experiments.pages import Experiment, MeasuredRows, Page, header, row, write_figure
from experiments.problems import SEED, half, problem_of
from gdaopt.plotting.canvas import MARKERS

MULTIPLES = (0.2, 1.0, 10.0)  # C / K
RHOS = (1e-6, 1e-3)
EXACT = 1e-9
METHODS: dict[str, dict[str, Any]] = {
    "alternating": {"method": "alternating", "solver": "analytic"},
    "joint": {"method": "joint", "solver": "analytic"},
    "joint, align=gradient": {"method": "joint", "solver": "analytic", "align": "gradient"},
}
"""What is compared, with the package's defaults: exact steps, tolerance 1e-5, the path start."""

# The two classes of breast cancer are the same problem: the signals differ in their sign.
CLASSES = [
    *(("iris", name) for name in ("setosa", "versicolor", "virginica")),
    *(("wine", name) for name in ("class_0", "class_1", "class_2")),
    ("breast_cancer", "malignant"),
]


def measure(source: str, positive: str, multiple: float, rho: float) -> dict[str, Any]:
    """Return how far each method stops from the optimum of one problem."""
    problem = problem_of(half(source, positive), multiple, rho)
    optimum = gda.solve(problem, "certified", tolerance=EXACT, trace_every=0)
    assert optimum.lower_bound is not None
    ends = {}
    for name, options in METHODS.items():
        result = gda.solve(problem, trace_every=0, **options)
        excess = (result.objective - optimum.lower_bound) / optimum.lower_bound
        ends[name] = {
            "excess": excess,
            "steps": result.iterations,
            "components": result.components,
        }
    return {"optimum": optimum.objective, "components": optimum.components, **ends}


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines of the table."""
    names = " | ".join(METHODS)
    lines = header(f"data, class | C/K | ρ | optimum | components | {names} | components | steps")
    for one in rows:
        cells = [
            f"{one['data']} {one['class']}",
            f"{one['C/K']:g}",
            f"{one['rho']:g}",
            f"{one['optimum']:.6g}",
            f"{one['components']}",
            *(percent(one[name]["excess"]) for name in METHODS),
            ", ".join(str(one[name]["components"]) for name in METHODS),
            ", ".join(str(one[name]["steps"]) for name in METHODS),
        ]
        lines.append(row(*cells))
    return lines


def percent(share: float) -> str:
    """Return a share in percent, with digits where it is small."""
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return what the table shows, in numbers: medians and extremes by method and C/K."""
    lines = header("method | C/K | least | median | most | within 0.1 % | more than 10 %")
    for name, multiple in product(METHODS, MULTIPLES):
        excesses = [row[name]["excess"] for row in rows if row["C/K"] == multiple]
        close, far = sum(x <= 1e-3 for x in excesses), sum(x > 0.1 for x in excesses)
        count = len(excesses)
        lines.append(
            f"| {name} | {multiple:g} | {percent(min(excesses))} | {percent(median(excesses))} "
            f"| {percent(max(excesses))} | {close} of {count} | {far} of {count} |"
        )
    return lines


def picture(rows: Sequence[dict[str, Any]]) -> Figure:
    """Return a picture of the excess of each method and problem: a panel for each C/K."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    axes = figure.subplots(1, len(MULTIPLES), sharey=True, sharex=True)
    places = [f"{source} {name}" for source, name in CLASSES]
    for ax, multiple in zip(axes, MULTIPLES, strict=True):
        for n, name in enumerate(METHODS):
            for rho, filled in zip(RHOS, ("full", "none"), strict=True):
                shown = [r for r in rows if r["C/K"] == multiple and r["rho"] == rho]
                height = {p: k + 0.22 * (n - 1) for k, p in enumerate(places)}
                ax.plot(
                    [100 * row[name]["excess"] for row in shown],
                    [height[f"{row['data']} {row['class']}"] for row in shown],
                    MARKERS[n],
                    color=f"C{n}",
                    fillstyle=filled,
                    markersize=5 if filled == "full" else 10,  # around the other where they agree
                    label=f"{name}, ρ = {rho:g}",
                )
        ax.set_xscale("log")
        ax.set_title(f"C = {multiple:g} K")
        ax.set_xlabel("above the optimum, %")
        ax.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(places)), places)
    axes[0].invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("Where the aligned methods stop, on half of the samples")
    return figure


def run(quick: bool, out: Path) -> None:
    """Measure all problems, and write the page and the picture."""
    measured = MeasuredRows(out / "exact_vs_alternating.jsonl")
    classes = CLASSES[:2] if quick else CLASSES
    rows = [
        measured.get_or_measure(
            partial(measure, *names, c, rho),
            **{"data": names[0], "class": names[1], "C/K": c, "rho": rho},
        )
        for names, c, rho in product(classes, MULTIPLES, RHOS)
    ]
    page = Page(
        out,
        "exact_vs_alternating",
        "How far from the optimum the aligned methods stop",
        "GLR over graph metrics, each class against the rest, half of the samples (seed "
        f"{SEED}), features of scale unit (z-scored and divided by √(2K)). The optimum is "
        f"certified to a relative gap of {EXACT:g}; excess: (Q - lower bound) / lower bound at "
        "the method's end, with the package's defaults (exact steps, tolerance 1e-5, path "
        "start, analytic programs). Components of the graph: of the optimum, and of the "
        "methods' ends in their order. The two classes of breast cancer are the same problem.",
    )
    page.add(*summary(rows), "", *table(rows))
    page.write()
    write_figure(out / "exact_vs_alternating.png", picture(rows))


EXPERIMENT = Experiment(
    "how far from the optimum the alternation and the joint method stop",
    minutes=4,
    files=("exact_vs_alternating.md", "exact_vs_alternating.png"),
    run=run,
)
