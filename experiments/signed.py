"""Compare colourings of signed graphs: what given and greedy colours cost against the best ones.

Run ``python experiments/signed.py`` from the top of a checkout. It solves each problem over graph
metrics, over the colours of `gdaopt.SignedGraphMetrics.for_signal`, by the greedy colours of
``alternating``, over all colours by ``balanced``, over their hull and over definite metrics. It
also measures the errors of learners over these sets, on the folds of ``experiments/learners``, and
the seconds of ``certified`` over the hull and over graph metrics. It appends a line to
``figures/signed.jsonl`` for each; what is there already is not measured again. From these lines it
makes the tables ``figures/signed.md`` and the picture ``figures/signed.png``. The data of the
published system are read from the folder ``sgml`` in ``GDAOPT_DATA``, where it is. ``--time-limit``
is that of a run, 60 s by default, and ``--largest`` the largest K, 2000; ``--again TABLE`` measures
the lines of a table anew: colours, errors or seconds.
"""

import argparse
import json
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from pages import FIGURES, Page, header, here
from problems import CASES
from scipy.io import loadmat
from sklearn.exceptions import ConvergenceWarning

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.sets import FeasibleSet
from gdaopt.support.files import write_atomically, write_text
from gdaopt.support.validation import FloatArray
from learners.data import DATA, folds
from learners.scores import standard_error, wrong_shares

ROWS, PICTURE = (FIGURES / f"signed.{kind}" for kind in ("jsonl", "png"))
OBJECTIVES = ("GLR", "MCML", "LMNN", "DEML", "LSML", "LogDet")
RHO = 1e-6
MOST_SAMPLES = 1000  # of a whole data set
MOST_GREEDY = 500  # features: the alternation aligns discs before each of 2 K columns
LEAST = 1e-4  # percent: what is less above the best is the best
NOTHING = 1e-6  # an objective that is smaller has its optimum at 0
WHOLE = (
    *("australian", "breast-cancer", "diabetes", "fourclass", "heart", "monk1", "sonar", "WDBC"),
    *("madelon", "colon-cancer"),
)
IN_FRONT = {"breast-cancer": 1}  # columns to leave out: numbers of patients
OWN = ("iris", "wine", "breast_cancer", "seeds")  # that `gdaopt.datasets` knows
FEW = tuple(f"few samples {number}" for number in range(1, 18))
TABLES = ("colours", "errors", "seconds")
LEARNED = ("graph", "signed", "sdd", "balanced", "definite")
COLORED = {"graph": "all the same", "signal": "by the signal", "greedy colours": "greedy"}
TIMED = ("GLR", "MCML", "LMNN")
REPEATS = 9

Data = tuple[str, FloatArray, Any]
Row = dict[str, Any]


class Rows:
    """The lines of the file; what is there already is not measured again."""

    def __init__(self, path: Path, again: str | None = None) -> None:
        self._path = path
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        rows = [json.loads(line) for line in text.splitlines()]
        self._rows = [row for row in rows if row["table"] != again]

    def of(self, table: str) -> list[Row]:
        """Return the rows of a table."""
        return [row for row in self._rows if row["table"] == table]

    def add(self, table: str, data: str, kind: str, measure: Callable[[], Row]) -> None:
        """Measure a row, unless it is there, and write the file; say where that is refused."""
        name = {"table": table, "data": data, "objective": kind}
        if any(name.items() <= row.items() for row in self._rows):
            return
        try:
            row = name | measure()
        except gda.errors.GdaoptError as error:  # such as classes of a single sample
            print(f"skipped {table} of {data}, {kind}: {error}")
            return
        self._rows.append(row)
        write_text(self._path, "".join(f"{json.dumps(each)}\n" for each in self._rows))
        print(row, flush=True)


def data_sets() -> Iterator[Data]:
    """Yield names, samples and classes; say which are absent."""
    for name in OWN:
        try:
            data = load(name)
        except gda.errors.GdaoptError as error:
            print(f"skipped {name}: {error}")
            continue
        yield name, data.features, np.unique(data.labels, return_inverse=True)[1]
    folder = Path(os.environ.get("GDAOPT_DATA", "data")) / "sgml"
    four = folder / "four_samples.mat"
    if four.exists():
        held = loadmat(four)
        for number, name in enumerate(FEW, start=1):
            X = np.asarray(held[f"data{number}_feature"], dtype=np.float64)
            yield name, X, held[f"data{number}_label"].ravel().astype(int)
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
    if name == "LMNN":  # of few samples a class may have two
        fewest = int(np.unique(y, return_counts=True)[1].min())
        return gda.LMNN(X, y, n_neighbors=max(1, min(3, fewest - 1)))
    return getattr(gda, name)(X, y)


def measured(kind: str, X: FloatArray, y: Any, limit: float) -> Row:
    """Solve one problem over all sets; return objectives, and how the search went."""
    of = objective(kind, X, y)
    bounds: Row = {"trace_bound": float(X.shape[1]), "min_eigenvalue": RHO}
    signal = np.where(y == y.min(), 1.0, -1.0)
    sets: dict[str, FeasibleSet] = {
        "graph": gda.GraphMetrics(**bounds),
        "signal": gda.SignedGraphMetrics.for_signal(X, signal, **bounds),
        "hull": gda.SDDMetrics(**bounds),
        "definite": gda.PositiveDefiniteMetrics(**bounds),
    }
    row: Row = {"limit": limit, "N": len(X), "K": X.shape[1]}

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


def errors(name: str, limit: float) -> Row:
    """Return errors of 5 nearest neighbours by set, standard errors, and fits not at the end."""
    row: Row = {"limit": limit}
    for metrics in LEARNED:
        found = [gda.MetricLearner(metrics=metrics, time_limit=limit) for _ in folds(name)]
        if metrics == "signed" and len(np.unique(folds(name)[0].y)) > 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # they are counted
            for learner, fold in zip(found, folds(name), strict=True):
                learner.fit(fold.X, fold.y)
        wrong = wrong_shares(name, [learner.components_ for learner in found])
        late = sum(learner.result_.status == "time_limit" for learner in found)
        row[metrics] = [float(wrong.mean()), standard_error(wrong), late]
    return row


def seconds(kind: str, X: FloatArray, y: Any) -> Row:
    """Return seconds, rounds and atoms of `certified` over graph and SDD metrics, run in turn."""
    of, row = objective(kind, X, y), {}
    problems = {
        "graph": gda.MetricProblem(of, gda.GraphMetrics(float(X.shape[1]), RHO)),
        "hull": gda.MetricProblem(of, gda.SDDMetrics(float(X.shape[1]), RHO)),
    }
    taken: dict[str, list[float]] = {name: [] for name in problems}
    for _ in range(REPEATS):
        for name, problem in problems.items():
            start = time.process_time()
            found = gda.solve(problem, trace_every=0)
            taken[name].append(time.process_time() - start)
            assert found.atoms is not None
            row[name] = [median(taken[name]), found.iterations, len(found.atoms)]
    return row


def measure_all(rows: Rows, limit: float, largest: int) -> None:
    """Measure the rows that are missing."""
    for case in CASES:
        for kind in TIMED:
            name = f"half of {case.name}"
            rows.add("seconds", name, kind, partial(seconds, kind, *case.data()))
    for name, X, y in data_sets():
        if X.shape[1] > largest or len(np.unique(y)) < 2:
            print(f"skipped {name}: {X.shape[1]} features, {len(np.unique(y))} classes")
            continue
        kept = np.random.default_rng(0).permutation(len(X))[:MOST_SAMPLES]
        given = scaled(X[kept]), y[kept]
        for kind in OBJECTIVES:
            rows.add("colours", name, kind, partial(measured, kind, *given, limit))
            if kind in TIMED and name in OWN:
                rows.add("seconds", name, kind, partial(seconds, kind, *given))
    for name in DATA:
        rows.add("errors", name, "MCML", partial(errors, name, limit))


def is_nothing(row: Row) -> bool:
    """Say whether the optimum is 0 up to round-off: no relative gap can be closed there."""
    return bool(abs(row["balanced"]) < NOTHING)


def is_proven(row: Row) -> bool:
    """Say whether no colours are better by more than 1e-6."""
    return row["gap"] <= 1.1e-6 or is_nothing(row)


def gap(row: Row) -> str:
    """Return the relative gap of the best balanced metric as text."""
    return "–" if is_nothing(row) else f"{row['gap']:.1e}"


def percent(row: Row, column: str) -> float | None:
    """Return by how much an objective is above the best balanced one, in percent of its size.

    None where there is none, or where the best is 0 up to round-off.
    """
    best: float = row["balanced"]
    if column not in row or is_nothing(row):
        return None
    return float(100 * (row[column] - best) / abs(best))


def known(rows: list[Row], column: str) -> list[float]:
    """Return `percent` of the rows that have it."""
    return [each for row in rows if (each := percent(row, column)) is not None]


def excess(row: Row, column: str) -> str:
    """Return `percent` as text."""
    found = percent(row, column)
    return "–" if found is None else f"{found:+.2g}"


def longest(rows: list[Row]) -> str:
    """Return the longest time limit of some rows."""
    return f"{max((row['limit'] for row in rows), default=0):g} s"


def colour_lines(rows: list[Row]) -> list[str]:
    """Return the table of optima, and the published seconds beside those of the same data."""
    names = (*OWN, *FEW, *WHOLE)
    rows = sorted(
        rows, key=lambda row: (names.index(row["data"]), OBJECTIVES.index(row["objective"]))
    )
    lines = [
        "`python experiments/signed.py`: features z-scored and divided by √(2K), C = K, ρ = 1e-6.",
        "Best balanced: the objective of `gda.solve(problem, 'balanced')`, its certified relative",
        "gap over all colourings, nodes and processor seconds. The other columns say by how many",
        "percent of that the optimum over another set is above it (+) or below (-): graph metrics,",
        "the colours of the correlation with the signal, the greedy colours by the alternation",
        "itself and by a certified solve for the same colours, the hull of all colourings, and",
        f"definite ones. A run took {longest(rows)} at most. LogDet has the correlations plus",
        "0.1 I. The few samples are those that come with the published system, a data set in each",
        "line; LMNN is left out where a class has a single sample, which has no neighbour of its",
        f"class, and greedy colours beyond {MOST_GREEDY} features, as they take two runs for each.",
        "Where the optimum is 0, as of LSML, nothing is a share of it (–). A search that was cut",
        "may end above the optimum of some of the colours.",
        "",
        "| data | N | K | objective | best balanced | gap | nodes | s | graph | signal | greedy "
        "| its colours | hull | definite |",
        "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    columns = ("graph", "signal", "greedy", "greedy colours", "hull", "definite")
    for row in rows:
        cells = [row["data"], row["N"], row["K"], row["objective"], f"{row['balanced']:.6g}"]
        cells += [gap(row), row["nodes"], f"{row['balanced seconds']:.2g}"]
        cells += [excess(row, column) for column in columns]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    proven = [row for row in rows if is_proven(row)]
    at_root = [row for row in proven if row["nodes"] == 1]
    lines += [
        "",
        f"Of {len(rows)} problems {len(proven)} are proven to 1e-6, {len(at_root)} of them by the "
        "hull alone.",
        "",
        *header(
            "colours, of proven problems | above the best ones: median, % | most, % | the best"
        ),
    ]
    for column, words in COLORED.items():
        above = known(proven, column)
        best = sum(each <= LEAST for each in above)
        share = f"{best} of {len(above)}"
        lines.append(f"| {words} | {median(above):.2g} | {max(above):.3g} | {share} |")
    published = Path(os.environ.get("GDAOPT_DATA", "data")) / "sgml" / "published_seconds.csv"
    if published.exists():
        theirs = pd.read_csv(published)
        lines += ["", "Seconds published for four samples (on their machine) beside ours:", ""]
        lines += header("data | objective | SGML, published | balanced, ours", words=2)
        for line in theirs.to_dict("records"):
            name = {"madelon": FEW[15], "colon-cancer": FEW[16]}[line["data"]]
            wanted = (name, line["objective"])
            ours = [row for row in rows if (row["data"], row["objective"]) == wanted]
            taken = f"{ours[0]['balanced seconds']:.2g}" if ours else "–"
            lines.append(f"| {line['data']} | {line['objective']} | {line['SGML']:g} | {taken} |")
    return lines


def error_lines(rows: list[Row]) -> list[str]:
    """Return the table of errors."""
    lines = [
        "## Errors of learners",
        "",
        "Errors of 5 nearest neighbours under the metrics of `gda.MetricLearner(metrics=…)`, in",
        "percent, ± standard errors, on the folds of `figures/learners.md`. The set `signed` takes",
        f"its colours from the labels of two classes. A fit took {longest(rows)} at most; so many",
        "were cut as the brackets say.",
        "",
        *header(f"data | {' | '.join(LEARNED)}"),
    ]
    for row in rows:
        cells = [row["data"]]
        for metrics in LEARNED:
            mean, spread, late = row.get(metrics, (math.nan, 0.0, 0))
            cell = "–" if math.isnan(mean) else f"{mean:.2f} ± {spread:.2f}"
            cells.append(cell + (f" ({late} cut)" if late else ""))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def second_lines(rows: list[Row]) -> list[str]:
    """Return the table of the seconds of one set beside those of another one."""
    lines = [
        "## Seconds over the hull of all colourings",
        "",
        "`certified` over graph and over SDD metrics, in turn: processor seconds, medians of",
        f"{REPEATS} runs. Halves, and GLR over them, are as in `figures/certified_vs_conic.md`.",
        "",
        *header(
            "data | objective | graph, s | rounds | atoms | SDD, s | rounds | atoms | ratio "
            "| ratio of a round",
            words=2,
        ),
    ]
    for row in rows:
        cells = [row["data"], row["objective"]]
        for taken, rounds, atoms in (row["graph"], row["hull"]):
            cells += [f"{taken:.2g}", f"{rounds}", f"{atoms}"]
        ratio = row["hull"][0] / row["graph"][0]
        of_round = ratio * row["graph"][1] / row["hull"][1]
        lines.append(f"| {' | '.join(cells)} | {ratio:.2f} | {of_round:.2f} |")
    return lines


def draw(rows: list[Row]) -> None:
    """Draw what colours cost: a dot for each proven problem, in percent above the best ones."""
    figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
    for place, column in enumerate(COLORED):
        above = known([row for row in rows if is_proven(row)], column)
        jitter = np.random.default_rng(0).uniform(-0.25, 0.25, len(above))
        ax.plot(place + jitter, np.maximum(above, LEAST), "o", markersize=4, alpha=0.6)
    ax.set_xticks(range(len(COLORED)), COLORED.values())
    ax.set_yscale("log")
    ax.set_ylabel("above the best colours, in %\n(1e-4: no more than that)")
    ax.set_xlabel("colours of the features")
    write_atomically(PICTURE, lambda file: figure.savefig(file, dpi=150, format="png"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--largest", type=int, default=2000)
    parser.add_argument("--again", choices=TABLES)
    given = parser.parse_args()
    rows = Rows(ROWS, given.again)
    measure_all(rows, given.time_limit, given.largest)
    page = Page("signed", "# Colours of signed graphs", "", *colour_lines(rows.of("colours")))
    page.add("", *error_lines(rows.of("errors")), "", *second_lines(rows.of("seconds")), "", here())
    page.write()
    draw(rows.of("colours"))


if __name__ == "__main__":
    main()
