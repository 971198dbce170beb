"""Measure each objective of labelled samples with each method: seconds to a certified 1e-6.

Run ``python experiments/objectives.py`` from the top of a checkout (15 minutes). It prints the
tables and writes ``figures/objectives.md`` and ``figures/objectives.png``. Each run has a process
of its own, with one thread.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import gdaopt as gda
from gdaopt.datasets import load, scale_features
from gdaopt.io import write_text
from gdaopt.objectives import Objective
from gdaopt.plotting.style import COLOURS, GREY, MARKERS
from gdaopt.scaling import auto_min_eigenvalue, auto_trace_bound
from gdaopt.studies.worker_pool import ONE_THREAD
from gdaopt.validation import FloatArray

FIGURES = Path(__file__).parent.parent / "figures"
TOLERANCE, LIMIT = 1e-6, 20.0  # relative gap; seconds of a run
DATA = ("iris", "wine", "breast_cancer", "K = 500", "K = 2000")
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
TIMES_FASTER = 30


@dataclass(frozen=True)
class Run:
    """How a run ended."""

    seconds: float
    gap: float | None
    status: str
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
    if not data.startswith("K = "):
        found = load(data)
        return scale_features(found.features), np.unique(found.labels, return_inverse=True)[1]
    size = int(data.removeprefix("K = "))
    X = np.random.default_rng(0).standard_normal((4, size))
    return X / np.sqrt(2 * size), np.array([0, 0, 1, 1])


def problem(name: str, data: str) -> gda.MetricProblem:
    """Return the problem over graph metrics: C by the rule "auto", or K where there is none."""
    X, y = samples(data)
    objective, size = OBJECTIVES[name](X, y), X.shape[1]
    try:
        bound = auto_trace_bound(objective, gda.GraphMetrics(1.0))
    except gda.InvalidInputError:
        bound = float(size)
    return gda.MetricProblem(objective, gda.GraphMetrics(bound, auto_min_eigenvalue(bound, size)))


def run(name: str, data: str, method: str) -> Run:
    """Return a run."""
    options: dict[str, Any] = {"solver": "analytic"} if method in ("joint", "alternating") else {}
    made = problem(name, data)
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # answers that solvers call inexact
            result = gda.solve(
                made, method, tolerance=TOLERANCE, time_limit=LIMIT, trace_every=0, **options
            )
    except gda.GdaoptError as error:  # such as a program that would not fit in memory
        return Run(0.0, None, "refused", str(error))
    return Run(time.process_time() - start, result.relative_gap, result.status, result.message)


def in_a_process(name: str, data: str, method: str) -> Run:
    """Return a run in a fresh process."""
    command = [sys.executable, __file__, "--run", name, data, method]
    environment = {**os.environ, **ONE_THREAD}
    try:
        output = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment, timeout=10 * LIMIT
        ).stdout
    except subprocess.TimeoutExpired:
        return Run(10 * LIMIT, None, "time_limit")
    return Run(**json.loads(output))


def tables(runs: Mapping[tuple[str, str, str], Run]) -> Iterator[str]:
    """Yield the lines of the tables."""
    for data in DATA:
        X, y = samples(data)
        yield f"## {data}: {len(X)} samples, {X.shape[1]} features, {y.max() + 1} classes"
        yield ""
        wide = data.startswith("K = ")
        more = " published | times faster |" if wide else ""
        yield f"| objective | {' | '.join(METHODS)} |{more}"
        yield f"|---|{'--:|' * (len(METHODS) + 2 * wide)}"
        for name in OBJECTIVES:
            cells = [str(runs[name, data, method]) for method in METHODS]
            if wide:
                published = PUBLISHED.get(name, {}).get(data)
                best = runs[name, data, "certified"]
                known = published is not None and best.is_certified
                ratio = published / best.seconds if published and known else None
                cells += ["" if published is None else f"{published:g}"]
                missed = ratio is not None and ratio < TIMES_FASTER
                cells += ["" if ratio is None else f"{ratio:.0f}{' (missed)' if missed else ''}"]
            yield f"| {' | '.join([name, *cells])} |"
        yield ""


def picture(runs: Mapping[tuple[str, str, str], Run]) -> Figure:
    """Return the seconds of all runs that are certified, a panel for each data set."""
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    panels = figure.subplots(1, len(DATA), sharey=True)
    rows = np.arange(len(OBJECTIVES))
    for panel, data in zip(panels, DATA, strict=True):
        for number, method in enumerate(METHODS):
            found = [runs[name, data, method] for name in OBJECTIVES]
            seconds = [run.seconds if run.is_certified else np.nan for run in found]
            panel.plot(seconds, rows, MARKERS[number], color=COLOURS[number], markersize=5)
        known = [PUBLISHED.get(name, {}).get(data, np.nan) for name in OBJECTIVES]
        panel.plot(known, rows, "D", color=GREY, fillstyle="none", markersize=5)
        panel.set_xscale("log")
        panel.set_title(data, fontsize="medium")
        panel.set_xlabel("seconds")
        panel.grid(alpha=0.3)
    panels[0].set_yticks(rows, list(OBJECTIVES))
    panels[0].invert_yaxis()
    handles = [
        Line2D([], [], linestyle="", marker=MARKERS[n], color=COLOURS[n], label=method)
        for n, method in enumerate(METHODS)
    ]
    handles.append(
        Line2D([], [], linestyle="", marker="D", color=GREY, fillstyle="none", label="published")
    )
    figure.legend(handles=handles, loc="outside upper left", ncols=5, frameon=False)
    return figure


def main() -> None:
    """Measure, print, write."""
    runs = {}
    for name in OBJECTIVES:
        for data in DATA:
            for method in METHODS:
                runs[name, data, method] = one = in_a_process(name, data, method)
                print(name, data, method, asdict(one), flush=True)
    certified = [found for (_, _, method), found in runs.items() if method == "certified"]
    head = [
        "# Objectives and methods",
        "",
        f"CPU seconds, one thread, to a certified relative gap of {TOLERANCE:g} over graph",
        'metrics; C by the rule "auto" of each objective, or K where there is none (LSML),',
        "ρ = C/(1000 K), features of the scale `unit`. Runs end after "
        f"{LIMIT:g} s; in brackets the",
        "certified gap that was reached by then, or where the method stalled. A dash: the method",
        "refuses the problem, whose conic program would not fit in memory. *Published*: seconds of",
        "the authors of the paper at this size (their machine, their best method, no certificate).",
        "Written by `python experiments/objectives.py`.",
        "",
        f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}, "
        f"gdaopt {gda.__version__}.",
        "",
    ]
    reached = sum(found.is_certified for found in certified)
    text = "\n".join(
        [
            *head,
            *tables(runs),
            f"`certified` reaches the gap in {reached} of {len(certified)} runs.",
        ]
    )
    print(text)
    write_text(FIGURES / "objectives.md", f"{text}\n")
    mpl.use("agg")
    picture(runs).savefig(FIGURES / "objectives.png", dpi=150)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(asdict(run(*sys.argv[2:]))))
    else:
        main()
