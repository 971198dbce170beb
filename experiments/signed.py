"""Compare colourings of signed graphs: what given and greedy colours cost against the best ones.

Run ``python experiments/signed.py`` from the top of a checkout. It solves each problem over graph
metrics, over the colours of `gdaopt.SignedGraphMetrics.for_signal`, by the greedy colours of
``alternating``, over all colours by ``balanced``, over their hull and over definite metrics, and
appends a line to ``figures/signed.jsonl`` for each; what is there already is not solved again. From
these lines it makes the table ``figures/signed.md`` and the picture ``figures/signed.png``. The
data of the published system are read from the folder ``sgml`` in ``GDAOPT_DATA``, where it is.
``--time-limit`` is that of a run, 60 s by default, and ``--largest`` the largest K, 2000.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.io import loadmat
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import gdaopt as gda
from gdaopt.sets import FeasibleSet
from gdaopt.support.files import write_atomically, write_text
from gdaopt.support.validation import FloatArray

FIGURES = Path(__file__).parent.parent / "figures"
ROWS, TABLE, PICTURE = (FIGURES / f"signed.{kind}" for kind in ("jsonl", "md", "png"))
OBJECTIVES = ("GLR", "MCML", "LMNN", "DEML", "LSML", "LogDet")
RHO = 1e-6
MOST_SAMPLES = 1000  # of a whole data set
MOST_GREEDY = 100  # features: the alternation aligns discs before each of 2 K columns
NOTHING = 1e-6  # an objective that is smaller has its optimum at 0
WHOLE = (
    *("seeds", "australian", "breast-cancer", "diabetes", "fourclass", "heart", "monk1", "sonar"),
    *("WDBC", "colon-cancer"),
)
IN_FRONT = {"breast-cancer": 1}  # columns to leave out: numbers of patients

Data = tuple[str, FloatArray, Any]


def data_sets() -> Iterator[Data]:
    """Yield names, samples and classes; say which are absent."""
    for name, load in (
        ("iris", load_iris),
        ("wine", load_wine),
        ("breast cancer", load_breast_cancer),
    ):
        yield name, *load(return_X_y=True)
    folder = Path(os.environ.get("GDAOPT_DATA", "data")) / "sgml"
    four = folder / "four_samples.mat"
    if four.exists():
        held = loadmat(four)
        for number in range(1, 18):
            X = np.asarray(held[f"data{number}_feature"], dtype=np.float64)
            yield f"few samples {number}", X, held[f"data{number}_label"].ravel().astype(int)
    else:
        print(f"skipped the few samples of 17 data sets: there is no {four}")
    for name in WHOLE:
        paths = [path for kind in ("csv", "dat") if (path := folder / f"{name}.{kind}").exists()]
        if not paths:
            print(f"skipped {name}: there is no file of this name in {folder}")
            continue
        table = pd.read_csv(paths[0], header=None, sep=r"[,\s]+", engine="python", na_values="?")
        table = table.dropna().iloc[:, IN_FRONT.get(name, 0) :]
        labels = table.iloc[:, -1].astype("category").cat.codes.to_numpy().astype(int)
        yield name, table.iloc[:, :-1].to_numpy(dtype=np.float64), labels


def scaled(X: FloatArray) -> FloatArray:
    """Return z-scores divided by √(2K)."""
    spreads = X.std(axis=0)
    found: FloatArray = (X - X.mean(axis=0)) / np.where(spreads > 0, spreads, 1.0)
    return np.asarray(found / np.sqrt(2 * X.shape[1]))


def objective(name: str, X: FloatArray, y: Any) -> Any:
    """Return an objective; GLR takes the first class against the rest."""
    if name == "GLR":
        return gda.GLR(X, np.where(y == y.min(), 1.0, -1.0))
    if name == "LogDet":
        S = np.cov(X.T).reshape(X.shape[1], -1) * 2 * X.shape[1]
        return gda.LogDet(S + 0.1 * np.eye(len(S)))
    if name == "LSML":
        return gda.LSML(X, y, random_state=0)
    return getattr(gda, name)(X, y)


def measured(name: str, kind: str, X: FloatArray, y: Any, limit: float) -> dict[str, Any]:
    """Solve one problem over all sets; return objectives, and how the search went."""
    of = objective(kind, X, y)
    bounds: dict[str, Any] = {"trace_bound": float(X.shape[1]), "min_eigenvalue": RHO}
    signal = np.where(y == y.min(), 1.0, -1.0)
    sets: dict[str, FeasibleSet] = {
        "graph": gda.GraphMetrics(**bounds),
        "signal": gda.SignedGraphMetrics.for_signal(X, signal, **bounds),
        "hull": gda.SDDMetrics(**bounds),
        "definite": gda.PositiveDefiniteMetrics(**bounds),
    }
    row: dict[str, Any] = {"data": name, "objective": kind, "N": len(X), "K": X.shape[1]}

    def run(column: str, feasible_set: FeasibleSet, method: str, **options: Any) -> gda.Result:
        problem, start = gda.MetricProblem(of, feasible_set), time.process_time()
        found = gda.solve(problem, method, time_limit=limit, trace_every=0, **options)
        row[f"{column} seconds"] = time.process_time() - start
        row[column] = found.objective
        return found

    for column, feasible_set in sets.items():
        run(column, feasible_set, "certified")
    found = run("balanced", sets["hull"], "balanced")
    row |= {"gap": found.relative_gap, "nodes": found.trace[-1].round, "status": found.status}
    if X.shape[1] <= MOST_GREEDY:
        greedy = run("greedy", sets["hull"], "alternating", solver="analytic", greedy_colors=True)
        if greedy.colors is not None:  # what the colours cost, apart from the alternation's end
            colored = gda.SignedGraphMetrics(greedy.colors.tolist(), **bounds)
            run("greedy colours", colored, "certified")
    return row


def all_rows(limit: float, largest: int) -> list[dict[str, Any]]:
    """Return all rows, those of the file and those that are missing there."""
    rows = []
    if ROWS.exists():
        rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    done = {(row["data"], row["objective"]) for row in rows}
    for name, X, y in data_sets():
        if X.shape[1] > largest or len(np.unique(y)) < 2:
            print(f"skipped {name}: {X.shape[1]} features, {len(np.unique(y))} classes")
            continue
        kept = np.random.default_rng(0).permutation(len(X))[:MOST_SAMPLES]
        for kind in OBJECTIVES:
            if (name, kind) in done or (kind == "LogDet" and len(X) < X.shape[1]):
                continue
            try:
                row = measured(name, kind, scaled(X[kept]), y[kept], limit)
            except gda.errors.InvalidInputError as error:  # such as classes of a single sample
                print(f"skipped {kind} of {name}: {error}")
                continue
            rows.append(row)
            write_text(ROWS, "".join(f"{json.dumps(each)}\n" for each in rows))
            print(row, flush=True)
    return rows


def percent(row: dict[str, Any], column: str) -> float | None:
    """Return by how much an objective is above the best balanced one, in percent of its size.

    None where there is none, or where the best is 0 up to round-off.
    """
    best: float = row["balanced"]
    if column not in row or abs(best) < NOTHING:
        return None
    return float(100 * (row[column] - best) / abs(best))


def excess(row: dict[str, Any], column: str) -> str:
    """Return `percent` as text."""
    found = percent(row, column)
    return "–" if found is None else f"{found:+.2g}"


def write_table(rows: list[dict[str, Any]], limit: float) -> None:
    """Write the rows, and the published seconds beside those of the same data."""
    lines = [
        "# Colours of signed graphs",
        "",
        "`python experiments/signed.py`: features z-scored and divided by √(2K), C = K, ρ = 1e-6.",
        "Best balanced: the objective of `gda.solve(problem, 'balanced')`, its certified relative",
        "gap over all colourings, nodes and processor seconds. The other columns say by how many",
        "percent of that the optimum over another set is above it (+) or below (-): graph metrics,",
        "the colours of the correlation with the signal, the greedy colours by the alternation",
        "itself and by a certified solve for the same colours, the hull of all colourings, and",
        f"definite ones. A run took {limit:g} s at most. LogDet has the correlations plus 0.1 I.",
        "The few samples are those that come with the published system, a data set in each line.",
        "",
        f"Python {platform.python_version()}, numpy {np.__version__}, gdaopt {gda.__version__}.",
        "",
        "| data | N | K | objective | best balanced | gap | nodes | s | graph | signal | greedy "
        "| its colours | hull | definite |",
        "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    columns = ("graph", "signal", "greedy", "greedy colours", "hull", "definite")
    for row in rows:
        cells = [row["data"], row["N"], row["K"], row["objective"], f"{row['balanced']:.6g}"]
        cells += [f"{row['gap']:.1e}", row["nodes"], f"{row['balanced seconds']:.2g}"]
        cells += [excess(row, column) for column in columns]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    # Where the optimum is 0, a share of it is 0 too, and no relative gap can be closed.
    proven = [row for row in rows if row["gap"] <= 1.1e-6 or abs(row["balanced"]) < NOTHING]
    at_root = [row for row in proven if row["nodes"] == 1]
    lines += [
        "",
        f"Of {len(rows)} problems {len(proven)} are proven to 1e-6, {len(at_root)} of them by the "
        "hull alone.",
    ]
    published = Path(os.environ.get("GDAOPT_DATA", "data")) / "sgml" / "published_seconds.csv"
    if published.exists():
        theirs = pd.read_csv(published)
        lines += ["", "Seconds published for four samples (on their machine) beside ours:", ""]
        lines += ["| data | objective | SGML, published | balanced, ours |", "|---|---|--:|--:|"]
        for line in theirs.to_dict("records"):
            number = {"madelon": 16, "colon-cancer": 17}[line["data"]]
            wanted = (f"few samples {number}", line["objective"])
            ours = [row for row in rows if (row["data"], row["objective"]) == wanted]
            seconds = f"{ours[0]['balanced seconds']:.2g}" if ours else "–"
            lines.append(f"| {line['data']} | {line['objective']} | {line['SGML']:g} | {seconds} |")
    write_text(TABLE, "\n".join(lines) + "\n")


def draw(rows: list[dict[str, Any]]) -> None:
    """Draw what colours cost: a dot for each problem, in percent above the best ones."""
    figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
    columns = {"graph": "all the same", "signal": "by the signal", "greedy colours": "greedy"}
    for place, column in enumerate(columns):
        found = [percent(row, column) for row in rows]
        above = [each for each in found if each is not None]
        jitter = np.random.default_rng(0).uniform(-0.25, 0.25, len(above))
        ax.plot(place + jitter, np.maximum(above, 1e-4), "o", markersize=4, alpha=0.6)
    ax.set_xticks(range(len(columns)), columns.values())
    ax.set_yscale("log")
    ax.set_ylabel("above the best colours, in %\n(1e-4: no more than that)")
    ax.set_xlabel("colours of the features")
    write_atomically(PICTURE, lambda file: figure.savefig(file, dpi=150, format="png"))


def main() -> None:
    """Measure what is missing, then write table and picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--largest", type=int, default=2000)
    given = parser.parse_args()
    rows = all_rows(given.time_limit, given.largest)
    write_table(rows, given.time_limit)
    draw(rows)


if __name__ == "__main__":
    main()
