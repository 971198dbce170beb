"""Compare colourings of signed graphs: what given and greedy colours cost against the best ones.

Each problem is solved over graph metrics, over the colours of `SignedGraphMetrics.for_signal`, by
the greedy colours of ``alternating``, over all colours by ``balanced``, over their hull and over
definite metrics. Measured are also the errors of learners over these sets, on the folds of
``experiments/learners``, and the seconds of ``certified`` over the hull and over graph metrics. The
data of the published system are read from the folder ``sgml`` in ``GDAOPT_DATA``, where it is.

Each line that is measured is in ``signed.jsonl``. To make the tables anew from the lines in
``figures``, copy that file into ``figures-unfinished/signed`` and run the experiment.
"""

import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.io import loadmat
from sklearn.exceptions import ConvergenceWarning

import gdaopt as gda
from experiments.learners.data import DATA, folds
from experiments.learners.scores import standard_error, wrong_shares
from experiments.pages import Experiment, MeasuredRows, Page, header, write_figure
from experiments.problems import CASES
from gdaopt.datasets import load
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray

OBJECTIVES = ("GLR", "MCML", "LMNN", "DEML", "LSML", "LogDet")
RHO = 1e-6
LIMIT = 60.0  # seconds of a run
MOST_SAMPLES = 1000  # of a whole data set
MOST_FEATURES = 2000
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
LEARNED = ("graph", "signed", "sdd", "balanced", "definite")
COLORED = {"graph": "all the same", "signal": "by the signal", "greedy colours": "greedy"}
TIMED = ("GLR", "MCML", "LMNN")
REPEATS = 9

Data = tuple[str, FloatArray, Any]
Row = dict[str, Any]


def measured_row(
    rows: MeasuredRows, table: str, data: str, kind: str, measure: Callable[[], Row]
) -> list[Row]:
    """Return the row of a table, in a list; an empty one, and say so, where that is refused."""
    try:
        return [rows.get_or_measure(measure, table=table, data=data, objective=kind)]
    except gda.errors.GdaoptError as error:  # such as classes of a single sample
        print(f"skipped {table} of {data}, {kind}: {error}")
        return []


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
        arrays = loadmat(four)
        for number, name in enumerate(FEW, start=1):
            X = np.asarray(arrays[f"data{number}_feature"], dtype=np.float64)
            yield name, X, arrays[f"data{number}_label"].ravel().astype(int)
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
    scores = (X - X.mean(axis=0)) / np.where(spreads > 0, spreads, 1.0)
    return np.asarray(scores / np.sqrt(2 * X.shape[1]))


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


def colours(kind: str, X: FloatArray, y: Any) -> Row:
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
    row: Row = {"limit": LIMIT, "N": len(X), "K": X.shape[1]}

    def run(column: str, feasible_set: FeasibleSet, method: str, **options: Any) -> gda.Result:
        problem, start = gda.MetricProblem(of, feasible_set), time.process_time()
        result = gda.solve(problem, method, time_limit=LIMIT, trace_every=0, **options)
        row[f"{column} seconds"] = time.process_time() - start
        row[column] = result.objective
        return result

    for column, feasible_set in sets.items():
        run(column, feasible_set, "certified")
    best = run("balanced", sets["hull"], "balanced")
    row |= {"gap": best.relative_gap, "nodes": best.trace[-1].round, "status": best.status}
    if X.shape[1] <= MOST_GREEDY:
        greedy = run("greedy", sets["hull"], "alternating", solver="analytic", greedy_colors=True)
        if greedy.colors is not None:  # what the colours cost, apart from the alternation's end
            colored = gda.SignedGraphMetrics(greedy.colors.tolist(), **bounds)
            run("greedy colours", colored, "certified")
    return row


def errors(name: str) -> Row:
    """Return errors of 5 nearest neighbours by set, standard errors, and fits not at the end."""
    row: Row = {"limit": LIMIT}
    for metrics in LEARNED:
        learners = [gda.MetricLearner(metrics=metrics, time_limit=LIMIT) for _ in folds(name)]
        if metrics == "signed" and len(np.unique(folds(name)[0].y)) > 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # they are counted
            for learner, fold in zip(learners, folds(name), strict=True):
                learner.fit(fold.X, fold.y)
        wrong = wrong_shares(name, [learner.components_ for learner in learners])
        late = sum(learner.result_.status == "time_limit" for learner in learners)
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
            result = gda.solve(problem, trace_every=0)
            taken[name].append(time.process_time() - start)
            assert result.atoms is not None
            row[name] = [median(taken[name]), result.iterations, len(result.atoms)]
    return row


def measure_all(rows: MeasuredRows, *, quick: bool) -> tuple[list[Row], list[Row], list[Row]]:
    """Measure the rows that are missing, and return those of colours, errors and seconds."""
    seconds_rows, colour_rows, error_rows = [], [], []
    for case in CASES[:1] if quick else CASES:
        for kind in TIMED:
            name = f"half of {case.name}"
            measure = partial(seconds, kind, *case.data())
            seconds_rows += measured_row(rows, "seconds", name, kind, measure)
    for name, X, y in islice(data_sets(), 1 if quick else None):  # iris
        if X.shape[1] > MOST_FEATURES or len(np.unique(y)) < 2:
            print(f"skipped {name}: {X.shape[1]} features, {len(np.unique(y))} classes")
            continue
        chosen = np.random.default_rng(0).permutation(len(X))[:MOST_SAMPLES]
        samples = scaled(X[chosen]), y[chosen]
        for kind in OBJECTIVES:
            measure = partial(colours, kind, *samples)
            colour_rows += measured_row(rows, "colours", name, kind, measure)
            if kind in TIMED and name in OWN:
                measure = partial(seconds, kind, *samples)
                seconds_rows += measured_row(rows, "seconds", name, kind, measure)
    for name in ("iris",) if quick else DATA:
        error_rows += measured_row(rows, "errors", name, "MCML", partial(errors, name))
    return colour_rows, error_rows, seconds_rows


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


def percents(rows: list[Row], column: str) -> list[float]:
    """Return `percent` of the rows that have it."""
    return [each for row in rows if (each := percent(row, column)) is not None]


def excess(row: Row, column: str) -> str:
    """Return `percent` as text."""
    above = percent(row, column)
    return "–" if above is None else f"{above:+.2g}"


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
        "Features z-scored and divided by √(2K), C = K, ρ = 1e-6. Best balanced: the objective of "
        "`gda.solve(problem, 'balanced')`, its certified relative gap over all colourings, nodes "
        "and processor seconds. The other columns say by how many percent of that the optimum over "
        "another set is above it (+) or below (-): graph metrics, the colours of the correlation "
        "with the signal, the greedy colours by the alternation itself and by a certified solve "
        "for the same colours, the hull of all colourings, and definite ones. A run took "
        f"{longest(rows)} at most. LogDet has the correlations plus 0.1 I. The few samples are "
        "those that come with the published system, a data set in each line; LMNN is left out if "
        "a class has a single sample, which has no neighbour of its class, and greedy colours "
        f"beyond {MOST_GREEDY} features, because they take two runs for each. Where the optimum is "
        "0, as of LSML, nothing is a share of it (–). A search that was cut may end above the "
        "optimum of some of the colours.",
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
        above = percents(proven, column)
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


def picture(rows: list[Row]) -> Figure:
    """Return what colours cost: a dot for each proven problem, in percent above the best ones."""
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    ax = figure.subplots()
    for place, column in enumerate(COLORED):
        above = percents([row for row in rows if is_proven(row)], column)
        jitter = np.random.default_rng(0).uniform(-0.25, 0.25, len(above))
        ax.plot(place + jitter, np.maximum(above, LEAST), "o", markersize=4, alpha=0.6)
    ax.set_xticks(range(len(COLORED)), COLORED.values())
    ax.set_yscale("log")
    ax.set_ylabel("above the best colours, in %\n(1e-4: no more than that)")
    ax.set_xlabel("colours of the features")
    return figure


def run(quick: bool, out: Path) -> None:
    """Measure what is missing, with `quick` iris alone, and write page and picture."""
    rows = MeasuredRows(out / "signed.jsonl")
    colour_rows, error_rows, seconds_rows = measure_all(rows, quick=quick)
    about, *tables = colour_lines(colour_rows)
    page = Page(out, "signed", "Colours of signed graphs", about)
    page.add(*tables, "", *error_lines(error_rows), "", *second_lines(seconds_rows))
    page.write()
    write_figure(out / "signed.png", picture(colour_rows))


EXPERIMENT = Experiment(
    "what colours of signed graphs cost against the best ones",
    minutes=90,
    files=("signed.md", "signed.png", "signed.jsonl"),
    run=run,
)
