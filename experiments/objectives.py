"""Measure each objective of labelled samples with each method: seconds to a certified 1e-6.

Each run has a process of its own.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import gdaopt as gda
from experiments.pages import Experiment, Page, header, in_a_process, row, write_figure
from gdaopt.datasets import load, scale_features
from gdaopt.objectives import Objective
from gdaopt.plotting.canvas import MARKERS, MUTED, ink
from gdaopt.scaling import auto_trace_bound
from gdaopt.support.validation import FloatArray

TOLERANCE, LIMIT = 1e-6, 20.0  # relative gap; seconds of a run
SHARE = 1e-3  # ρ as a share of C/K
WIDE = ("K = 500", "K = 2000")
DATA = ("iris", "wine", "breast_cancer", *WIDE)
METHODS = ("certified", "joint", "alternating", "sdp")
Make = Callable[[FloatArray, np.ndarray], Objective]
OBJECTIVES: dict[str, Make] = {
    "GLR": lambda X, y: gda.GLR(X, np.eye(y.max() + 1)[y]),
    "MCML": gda.MCML,
    "LMNN": lambda X, y: gda.LMNN(X, y, n_neighbors=1 if len(y) == 4 else 3),
    "DEML": gda.DEML,
    "LSML": gda.LSML,
    "LogisticPairs": gda.LogisticPairs,
    "PairHinge": gda.PairHinge,
}
PUBLISHED = {  # seconds of the authors of the paper: their best method, without a certificate
    "MCML": {"K = 500": 8.1, "K = 2000": 130.0},
    "DEML": {"K = 500": 15.6, "K = 2000": 153.0},
    "LSML": {"K = 500": 0.87, "K = 2000": 29.0},
    "LMNN": {"K = 500": 6.3, "K = 2000": 113.0},
    "GLR": {"K = 500": 12.1, "K = 2000": 334.0},
}
OVER_GRAPHS = {"LSML": {"K = 500": 2.4, "K = 2000": 70.0}}  # where that is not the best method
TIMES_FASTER = 30


@dataclass(frozen=True)
class Run:
    """How a run ended."""

    seconds: float
    gap: float | None
    status: str
    objective: float = np.nan
    message: str = ""

    @property
    def is_certified(self) -> bool:
        """Whether the certified gap is small enough."""
        return self.gap is not None and self.gap <= TOLERANCE

    def __str__(self) -> str:
        if self.is_certified:
            return f"{self.seconds:.2g}"
        if self.status == "refused":
            return "–"
        gap = "no gap" if self.gap is None or np.isinf(self.gap) else f"{self.gap:.0e}"
        late = f"> {LIMIT:g} s" if self.status == "time_limit" else self.status
        return f"{late} ({gap})"


def samples(data: str) -> tuple[FloatArray, np.ndarray]:
    """Return samples and labels: those of a data set, or four random samples of two classes."""
    if data not in WIDE:
        table = load(data)
        return scale_features(table.features), np.unique(table.labels, return_inverse=True)[1]
    size = int(data.removeprefix("K = "))
    X = np.random.default_rng(0).standard_normal((4, size))
    return X / np.sqrt(2 * size), np.array([0, 0, 1, 1])


def problem(name: str, data: str) -> gda.MetricProblem:
    """Return the problem over graph metrics: C by the rule "auto", or K where there is none."""
    X, y = samples(data)
    objective, size = OBJECTIVES[name](X, y), X.shape[1]
    try:
        bound = auto_trace_bound(objective, gda.GraphMetrics(1.0))
    except gda.errors.InvalidInputError:
        bound = float(size)
    return gda.MetricProblem(objective, gda.GraphMetrics(bound, SHARE * bound / size))


def measure(name: str, data: str, method: str) -> Run:
    """Return a run."""
    # In a process of its own a solver's seconds would not be among ours.
    options: dict[str, Any] = {"isolate": False} if method == "sdp" else {}
    options = {"solver": "analytic"} if method in ("joint", "alternating") else options
    made = problem(name, data)
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # answers that solvers call inexact
            result = gda.solve(
                made, method, tolerance=TOLERANCE, time_limit=LIMIT, trace_every=0, **options
            )
    except gda.errors.GdaoptError as error:  # such as a program that would not fit in memory
        return Run(0.0, None, "refused", message=str(error))
    seconds = time.process_time() - start
    return Run(seconds, result.relative_gap, result.status, result.objective, result.message)


Runs = Mapping[tuple[str, str, str], Run]
"""Runs by objective, data and method."""


def times_faster(runs: Runs, name: str, data: str, published: Mapping[str, Any]) -> float | None:
    """Return how many times faster `certified` is than a published time, if both are known."""
    seconds, ours = published.get(name, {}).get(data), runs[name, data, "certified"]
    return seconds / ours.seconds if seconds is not None and ours.is_certified else None


def tables(runs: Runs) -> Iterator[str]:
    """Yield the lines of the tables."""
    for data in dict.fromkeys(data for _, data, _ in runs):
        X, y = samples(data)
        yield f"## {data}: {len(X)} samples, {X.shape[1]} features, {y.max() + 1} classes"
        yield ""
        wide = data in WIDE
        more = " | published | times faster" if wide else ""
        yield from header(f"objective | {' | '.join(METHODS)}{more}")
        for name in dict.fromkeys(name for name, _, _ in runs):
            cells = [str(runs[name, data, method]) for method in METHODS]
            if wide:
                published = PUBLISHED.get(name, {}).get(data)
                ratio = times_faster(runs, name, data, PUBLISHED)
                cells += ["" if published is None else f"{published:g}"]
                cells += ["" if ratio is None else f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}"]
            yield row(name, *cells)
        yield ""


def verdicts(runs: Runs) -> Iterator[str]:
    """Yield which objectives are so many times faster than published, and which not, and why."""
    asked = [(name, data) for name, data, method in runs if data in WIDE and method == "certified"]
    asked = [(name, data) for name, data in asked if name in PUBLISHED]
    ratios = {where: times_faster(runs, *where, PUBLISHED) for where in asked}
    reached = [where for where, ratio in ratios.items() if ratio and ratio >= TIMES_FASTER]
    yield (
        f"`certified` is at least {TIMES_FASTER} times faster than the best published time in "
        f"{len(reached)} of {len(asked)} cases."
    )
    for name, data in asked:
        if (name, data) in reached:
            continue
        ratio, ours = ratios[name, data], runs[name, data, "certified"]
        if ratio is None:
            yield f"* {name}, {data}: no certified gap of {TOLERANCE:g}: {ours}."
            continue
        graphs = times_faster(runs, name, data, OVER_GRAPHS)
        where = (
            ""
            if graphs is None
            else ". The published time is that of a search over the positive definite cone; over "
            f"graph metrics, as here, it is {OVER_GRAPHS[name][data]:g} s, {graphs:.2g} times ours"
        )
        yield f"* {name}, {data}: {ratio:.2g} times{where}."


def picture(runs: Runs) -> Figure:
    """Return the seconds of all runs that are certified, a panel for each data set."""
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    names, data_sets = (dict.fromkeys(key[place] for key in runs) for place in (0, 1))
    panels = figure.subplots(1, len(data_sets), sharex=True, sharey=True, squeeze=False)[0]
    rows = np.arange(len(names))
    for panel, data in zip(panels, data_sets, strict=True):
        for number, method in enumerate(METHODS):
            ends = [runs[name, data, method] for name in names]
            seconds = [end.seconds if end.is_certified else np.nan for end in ends]
            panel.plot(seconds, rows, MARKERS[number], color=f"C{number}", markersize=5)
        published = [PUBLISHED.get(name, {}).get(data, np.nan) for name in names]
        panel.plot(published, rows, "D", color=ink(MUTED), fillstyle="none", markersize=5)
        panel.set_xscale("log")
        panel.set_title(data, fontsize="medium")
        panel.set_xlabel("seconds")
        panel.grid(alpha=0.3)
    panels[0].set_yticks(rows, list(names))
    panels[0].invert_yaxis()
    handles = [
        Line2D([], [], linestyle="", marker=MARKERS[n], color=f"C{n}", label=method)
        for n, method in enumerate(METHODS)
    ]
    handles.append(
        Line2D(
            [], [], linestyle="", marker="D", color=ink(MUTED), fillstyle="none", label="published"
        )
    )
    figure.legend(handles=handles, loc="outside upper left", ncols=5, frameon=False)
    return figure


def run(quick: bool, out: Path) -> None:
    """Measure all, with `quick` one objective on one data set, and write page and picture."""
    names, data_sets = (("GLR",), DATA[:1]) if quick else (tuple(OBJECTIVES), DATA)
    runs = {}
    for key in product(names, data_sets, METHODS):
        in_time = in_a_process(measure, *key, limit=10 * LIMIT)
        runs[key] = in_time or Run(10 * LIMIT, None, "time_limit")
        print(*key, runs[key], runs[key].message, flush=True)
    certified = [one for (_, _, method), one in runs.items() if method == "certified"]
    page = Page(
        out,
        "objectives",
        "Objectives and methods",
        f"CPU seconds, one thread, to a certified relative gap of {TOLERANCE:g} over graph "
        'metrics; C by the rule "auto" of each objective, or K where there is none (LSML), '
        f"ρ = C/(1000 K), features of the scale `unit`. Runs end after {LIMIT:g} s; in brackets "
        "the certified gap that was reached by then, or with which the method ended before. A "
        "dash: the method refuses the problem, whose conic program would not fit in memory. "
        "*Published*: seconds of the authors of the paper at this size (their machine, their best "
        "method, no certificate). *Objectives* are those that `certified` reaches.",
    )
    page.add(*tables(runs))
    page.add(
        "## Objectives reached by `certified`", "", *header(f"objective | {' | '.join(data_sets)}")
    )
    for name in names:
        page.add(
            row(name, *(f"{runs[name, data, 'certified'].objective:.9g}" for data in data_sets))
        )
    reached = sum(one.is_certified for one in certified)
    page.add("", f"`certified` reaches the gap in {reached} of {len(certified)} runs.")
    page.add(*verdicts(runs))
    page.write()
    write_figure(out / "objectives.png", picture(runs))


EXPERIMENT = Experiment(
    "seven objectives by four methods: seconds to a certified gap of 1e-6",
    minutes=30,
    files=("objectives.md", "objectives.png"),
    run=run,
)
